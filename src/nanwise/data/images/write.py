"""Pictures back into files: holes filled, every other pixel as it was."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np

from nanwise.data.images.arrays import fill_npz
from nanwise.data.images.decode import Decoded, Header, decode, read_header
from nanwise.data.images.read import Pictures
from nanwise.data.images.resize import as_in_file
from nanwise.data.writing import replace
from nanwise.errors import DataError, need

_DEEP = "I"
#: formats that would change pixels that are there; their pictures become PNG files
_LOSSY = (".jpg", ".jpeg")
#: arguments of Pillow by which a format keeps every bit
_EXACT: dict[str, dict[str, Any]] = {".webp": {"lossless": True, "exact": True}}
_FORMATS = {".png": "PNG", ".bmp": "BMP", ".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP"}


def write_filled(
    pictures: Pictures, filled: np.ndarray, folder: str | os.PathLike[str]
) -> list[Path]:
    """Write pictures whose holes were filled, in the size and kind of their files.

    Parameters
    ----------
    pictures : Pictures
        As :func:`nanwise.data.images.read_images` gave them; their files are read again.
    filled : array of shape (N, C, H, W)
        Values for the holes, in [0, 1]. What it has elsewhere is not looked at.
    folder : path
        Gets the same names as below ``pictures.root``; made if it is not there. No file may come
        to lie in ``pictures.root``.

    Returns
    -------
    list of Path

    Notes
    -----
    Pixels that are there keep their bits. So a JPEG picture, which would not survive being written
    again, becomes ``.png``; one with a palette gets plain colours, as the filled ones may not be in
    it; one with 16 bits per colour, of which 8 are read, is written with 8. Filled pixels become
    opaque. A file without a hole is copied. A picture that was turned by its EXIF orientation is
    written upright. If pictures were resampled, what fills a hole is resampled back and pixels
    outside the hole still keep their bits.

    A file is there whole or not at all. An ``.npz`` file becomes one ``.npz`` file: ``X`` in its
    own size, layout and type, every other array as it was, ``observed`` left out.
    """
    filled = np.asarray(filled)
    if filled.shape != pictures.X.shape or not np.isfinite(filled[np.isnan(pictures.X)]).all():
        raise DataError(
            f"filled must be of shape {pictures.X.shape} without NaN in holes, got {filled.shape}"
        )
    filled = np.where(np.isnan(pictures.X), filled, pictures.X)  # resampling mixes neighbours
    paths = planned(pictures, Path(folder))
    root = pictures.root
    if not root.is_dir():
        replace(paths[0], lambda file: fill_npz(root, filled, file))
        return paths
    for name, values, path in zip(pictures.names, filled, paths, strict=True):
        _write(root / name, pictures.beside.get(name), values, path)
    return paths


def planned(pictures: Pictures, target: Path) -> list[Path]:
    """The files that will be written; refuses those that are read, or lie where they are."""
    root = pictures.root
    if not root.is_dir():
        path = target / root.name
        if path.exists() and path.samefile(root):
            raise DataError(f"{path} would be overwritten; choose another folder")
        return [path]
    refuse_inside(root, target)
    holes = np.isnan(pictures.X).any(axis=(1, 2, 3)).tolist()
    paths = [target / name for name in _targets(pictures.names, holes)]
    inside = root.resolve()
    read = {
        path.resolve() for path in (*(root / n for n in pictures.names), *pictures.beside.values())
    }
    for path in paths:
        place = path.resolve()
        if place.is_relative_to(inside) or place in read:
            raise DataError(
                f"{path} would be written where pictures are read; choose another folder"
            )
    return paths


def refuse_inside(root: Path, target: Path) -> None:
    """Refuse to write into the folder that is read: what is written would be read next time."""
    if root.is_dir() and target.resolve().is_relative_to(root.resolve()):
        raise DataError(f"{target} lies in {root}, which is read; choose a folder outside of it")


def _targets(names: Sequence[str], holes: Sequence[bool]) -> list[str]:
    """Names to write to; lossy formats change theirs, and keep the old ending if that collides."""
    lossy = [Path(n).suffix.lower() in _LOSSY and h for n, h in zip(names, holes, strict=True)]
    short = [
        str(PurePosixPath(n).with_suffix(".png")) if is_lossy else n
        for n, is_lossy in zip(names, lossy, strict=True)
    ]
    taken = Counter(short)
    chosen = [
        f"{n}.png" if is_lossy and taken[s] > 1 else s
        for n, s, is_lossy in zip(names, short, lossy, strict=True)
    ]
    for name, times in Counter(chosen).items():
        if times > 1:
            both = " and ".join(n for n, c in zip(names, chosen, strict=True) if c == name)
            raise DataError(f"{both} would both be written as {name}; give one another name")
    return chosen


def _write(source: Path, beside: Path | None, values: np.ndarray, path: Path) -> None:
    header = read_header(source)
    found = decode(header, beside)
    if not found.hidden.any():
        replace(path, lambda file: _copy(source, file))
        return
    ending = path.suffix.lower()
    image = _image(header, found, values)
    options = {"format": _FORMATS[ending], **_EXACT.get(ending, {}), **_profile(header)}
    replace(path, lambda file: image.save(file, **options))


def _image(header: Header, found: Decoded, values: np.ndarray) -> Any:
    """The picture as Pillow's, in the mode of its file where that can hold it."""
    pillow = need("PIL.Image", "images")
    own = as_in_file(values, found.values.shape)
    pixels = np.where(found.hidden, np.clip(own, 0, 1), found.values)
    if header.mode.startswith(_DEEP):
        return pillow.fromarray(np.rint(pixels[0] * 65535.0).astype(np.uint16))
    channels = list(np.rint(pixels * 255.0).astype(np.uint8))
    if found.alpha is not None:
        channels.append(np.where(found.hidden, np.uint8(255), found.alpha))
    stacked = channels[0] if len(channels) == 1 else np.stack(channels, axis=-1)
    image = pillow.fromarray(stacked)
    return image.convert("1", dither=pillow.Dither.NONE) if header.mode == "1" else image


def _profile(header: Header) -> dict[str, Any]:
    """The file's colour profile, without which the same numbers may look different."""
    if header.mode == "CMYK":
        return {}
    with need("PIL.Image", "images").open(header.path) as image:
        profile = image.info.get("icc_profile")
    return {"icc_profile": profile} if profile else {}


def _copy(source: Path, file: BinaryIO) -> None:
    with source.open("rb") as opened:
        shutil.copyfileobj(opened, file)
