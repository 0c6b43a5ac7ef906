"""Pictures with holes from a folder or an ``.npz`` file."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from nanwise.data.images.arrays import read_npz
from nanwise.data.images.decode import ENDINGS, MASK, OTHER_ENDINGS, Header, decode, read_header
from nanwise.data.images.labels import from_csv, from_folders
from nanwise.data.images.resize import in_channels, resize
from nanwise.errors import DataError, GapWarning

#: files named in an error or a warning
NAMED = 5


@dataclass(frozen=True)
class Pictures:
    """Pictures, and what is needed to write them back.

    Attributes
    ----------
    X : array of shape (N, C, H, W)
        float32 in [0, 1]; NaN is a hole.
    names : list of str
        Path of each file below ``root``, or the number of the picture in an ``.npz`` file.
    root : Path
        The folder or file that was read.
    labels : array of shape (N,), optional
        Class of each picture.
    sizes : list of (int, int)
        Height and width in the file, upright.
    modes : list of str
        Pillow's name of how the file keeps pixels.
    beside : dict of str to Path
        Name of a picture to its mask file.
    notes : list of str
        What the reader of a report should know.
    """

    X: np.ndarray
    names: list[str]
    root: Path
    labels: np.ndarray | None = None
    sizes: list[tuple[int, int]] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    beside: dict[str, Path] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def classes(self) -> list[Any]:
        """The classes there are, sorted."""
        return [] if self.labels is None else np.unique(self.labels).tolist()

    @property
    def observed(self) -> np.ndarray:
        """(N, C, H, W), True where there is a pixel."""
        return ~np.isnan(self.X)


def read_images(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = "folders",
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
) -> Pictures:
    """Read a folder of pictures, or an ``.npz`` file.

    Parameters
    ----------
    path : path
        A folder, looked through to any depth for PNG, JPEG, BMP, TIFF and WebP; hidden files are
        left out. Or an ``.npz`` file with ``X`` and perhaps ``y`` and ``observed``, see Notes.
    labels : "folders", path of a CSV file, or None
        ``"folders"``: the class is the first folder below ``path``; no labels if pictures lie in
        ``path`` itself. A CSV file has a line of heads with ``file`` and ``label`` (else the first
        two columns are taken) and paths below ``path``.
    size : int or (int, int), optional
        Height and width to resample to, proportions are not kept; a number is both. A new pixel
        is a hole if any part of it is missing. Without it all pictures must have one size.
    channels : {1, 3}, optional
        Default: 1 if all files are grey, else 3.

    Returns
    -------
    Pictures

    Raises
    ------
    DataError
        If there is no picture, a file cannot be read (it is named), sizes differ, or labels and
        files do not belong together.

    Notes
    -----
    A hole is where alpha is 0; a pixel that is only half transparent is there. Or a mask file
    beside the picture says so: ``cat.mask.png`` (or ``cat.jpg.mask.png``) of the same size belongs
    to ``cat.jpg``, and white is hole. With both, a pixel is missing if either says so.

    Pictures and masks are turned upright, each after its own EXIF orientation. 8 bits, 16 bits grey
    and palettes are read to the bit; of 16 bits per colour Pillow reads 8, which a warning says.

    In an ``.npz`` file ``X`` is (N, H, W), (N, C, H, W) or (N, H, W, C) of bytes, or of floats in
    [0, 1] with NaN in holes; ``observed`` of the same shape (or without the axis of channels) is
    True where there is a pixel.
    """
    source, wanted = Path(path), _size(size)
    if channels not in (None, 1, 3):
        raise DataError(f"channels must be 1 or 3, got {channels!r}")
    if source.suffix.lower() == ".npz" and not source.is_dir():
        found = _from_npz(source, labels, wanted, channels)
    else:
        found = _from_folder(source, labels, wanted, channels)
    for note in found.notes:
        warnings.warn(note, GapWarning, stacklevel=2)
    return found


def _size(size: Any) -> tuple[int, int] | None:
    if size is None:
        return None
    pair = (size, size) if isinstance(size, Integral) else tuple(size)
    if len(pair) != 2 or not all(isinstance(side, Integral) and int(side) > 0 for side in pair):
        raise DataError(f"size must be a number of pixels or (height, width), got {size!r}")
    return int(pair[0]), int(pair[1])


# -- a folder -------------------------------------------------------------------------------------


def _from_folder(
    root: Path, labels: Any, size: tuple[int, int] | None, channels: int | None
) -> Pictures:
    paths, beside = find_files(root)
    headers = [read_header(path) for path in paths]
    names = [path.relative_to(root).as_posix() for path in paths]
    shape = size or _one_size(headers, names)
    classes = _labels(labels, names, root)
    depth = channels or (1 if all(header.grey for header in headers) else 3)
    X = np.empty((len(paths), depth, *shape), dtype=np.float32)
    for k, header in enumerate(headers):
        X[k] = _picture(header, beside.get(header.path), depth, shape)
    return Pictures(
        X=X,
        names=names,
        root=root,
        labels=classes,
        sizes=[(header.height, header.width) for header in headers],
        modes=[header.mode for header in headers],
        beside={path.relative_to(root).as_posix(): beside[path] for path in beside},
        notes=[*_empty(X, names), *_reduced(headers, names), *_not_read(root)],
    )


def find_files(root: Path) -> tuple[list[Path], dict[Path, Path]]:
    """Pictures of a folder by name, and which of them have a mask file."""
    if not root.is_dir():
        what = "is not a folder of pictures or an .npz file" if root.exists() else "does not exist"
        raise DataError(f"{root} {what}")
    there = [
        path
        for path in sorted(root.rglob("*"))
        if path.suffix.lower() in ENDINGS and not _is_hidden(path.relative_to(root))
    ]
    masks = [path for path in there if path.stem.lower().endswith(MASK)]
    apart = set(masks)
    pictures = [path for path in there if path not in apart]
    if not pictures:
        raise DataError(f"{root} has no pictures; looked for {', '.join(ENDINGS)}")
    return pictures, _pair(masks, pictures)


def _not_read(root: Path) -> list[str]:
    """A note on pictures of other formats."""
    others = [
        path
        for path in sorted(root.rglob("*"))
        if path.suffix.lower() in OTHER_ENDINGS and not _is_hidden(path.relative_to(root))
    ]
    if not others:
        return []
    what = "picture is" if len(others) == 1 else "pictures are"
    return [f"{len(others)} {what} not read, {others[0].name} for one; convert them to PNG"]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _pair(masks: list[Path], pictures: list[Path]) -> dict[Path, Path]:
    """Picture to mask; the whole file name counts before the name without its ending."""
    whole = {path.with_name(path.name.lower()): path for path in pictures}
    short: dict[Path, list[Path]] = {}
    for path in pictures:
        short.setdefault(path.with_name(path.stem.lower()), []).append(path)
    out = {}
    for found in masks:
        key = found.with_name(found.stem[: -len(MASK)].lower())
        fitting = [whole[key]] if key in whole else short.get(key, [])
        if len(fitting) != 1:
            many = " and ".join(path.name for path in fitting) or "no picture"
            raise DataError(
                f"{found} is a mask, and {many} beside it is called {key.name}; "
                f"call it NAME{MASK}{found.suffix} after the one picture it belongs to"
            )
        out[fitting[0]] = found
    return out


def _one_size(headers: list[Header], names: list[str]) -> tuple[int, int]:
    sizes = [(header.height, header.width) for header in headers]
    (common, count), *others = Counter(sizes).most_common()
    if others:
        odd = [
            f"{n} ({w} x {h})" for n, (h, w) in zip(names, sizes, strict=True) if (h, w) != common
        ]
        raise DataError(
            f"{len(others) + 1} sizes of pictures: {count} are {common[1]} x {common[0]} (width x "
            f"height), but {listed(odd)}; say which size to resample to, as in size={common}"
        )
    return common


def _labels(labels: Any, names: list[str], root: Path) -> np.ndarray | None:
    if labels is None:
        return None
    return from_folders(names) if labels == "folders" else from_csv(Path(labels), names, root)


def _picture(
    header: Header, beside: Path | None, channels: int, shape: tuple[int, int]
) -> np.ndarray:
    found = decode(header, beside)
    values, hidden = resize(in_channels(found.values, channels), found.hidden, shape)
    return np.where(hidden, np.float32(np.nan), values)


def _empty(X: np.ndarray, names: list[str]) -> list[str]:
    bare = [name for name, picture in zip(names, X, strict=True) if np.isnan(picture).all()]
    if not bare:
        return []
    is_are = "picture has" if len(bare) == 1 else "pictures have"
    return [f"{len(bare)} {is_are} no pixel at all: {listed(bare)}"]


def _reduced(headers: list[Header], names: list[str]) -> list[str]:
    deep = [name for name, header in zip(names, headers, strict=True) if header.reduced]
    if not deep:
        return []
    return [f"16 bits per colour are read as 8 in {listed(deep)}"]


def listed(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


# -- an .npz file ---------------------------------------------------------------------------------


def _from_npz(
    path: Path, labels: Any, size: tuple[int, int] | None, channels: int | None
) -> Pictures:
    X, y = read_npz(path)
    sizes = [X.shape[2:]] * len(X)
    if size is not None or channels is not None:
        X = _reshaped(X, size or X.shape[2:], channels or X.shape[1])
    names = [str(k) for k in range(len(X))]
    if labels not in (None, "folders"):
        raise DataError(f"{path}: labels of an .npz file are its array y, not a CSV file")
    return Pictures(
        X=X,
        names=names,
        root=path,
        labels=None if labels is None else y,
        sizes=sizes,
        modes=["L" if X.shape[1] == 1 else "RGB"] * len(X),
        notes=_empty(X, names),
    )


def _reshaped(X: np.ndarray, size: tuple[int, int], channels: int) -> np.ndarray:
    """A hole of one channel is one of all, as soon as pixels are mixed."""
    out = np.empty((len(X), channels, *size), dtype=np.float32)
    for k, picture in enumerate(X):
        hidden = np.isnan(picture).any(axis=0)
        values, hidden = resize(in_channels(np.nan_to_num(picture), channels), hidden, size)
        out[k] = np.where(hidden, np.nan, values)
    return out
