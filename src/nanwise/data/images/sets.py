"""Named sets of whole pictures, read in their official layouts."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nanwise.data.fetch import FOLDER, cache_folder
from nanwise.data.images.decode import decode, read_header
from nanwise.data.images.resize import resize
from nanwise.data.sets.pictures import read_idx, read_svhn
from nanwise.errors import DataError, need

Part = tuple[np.ndarray, np.ndarray]
_BYTE = np.float32(255)
_IDX = {"train": "train", "test": "t10k"}
_CIFAR = {"train": [f"data_batch_{k}" for k in range(1, 6)], "test": ["test_batch"]}
_CIFAR_SIDE = 32
_CELEBA = {"train": "0", "validation": "1", "test": "2"}
#: side of the square that is cut out of the middle of a face picture (178 x 218), and its new side
_CELEBA_CROP, _CELEBA_SIDE = 178, 64


def load_images(
    name: str,
    split: str = "train",
    root: str | os.PathLike[str] | None = None,
    *,
    attribute: str = "Smiling",
) -> tuple[np.ndarray, np.ndarray]:
    """Pictures and labels of a named set.

    Parameters
    ----------
    name : {"mnist", "fashion_mnist", "cifar10", "svhn", "celeba"}
    split : {"train", "test"}
        Of ``celeba`` also ``"validation"``.
    root : path, optional
        Folder with the sets, each in a folder of its own. Default: ``$NANWISE_DATA``, then the
        cache. Nothing is downloaded.
    attribute : str
        For ``celeba``: which of the 40 attributes is the label (1 or 0).

    Returns
    -------
    X : array of shape (N, C, H, W)
        float32 in [0, 1].
    y : array of shape (N,)
        int64.

    Notes
    -----
    Files below ``root``: ``mnist`` and ``fashion-mnist``: the four idx files, gzipped or not.
    ``cifar10``: the binary version (``data_batch_1.bin`` …), or PNG files of one picture per row
    (``data_batch_1.png`` …) with labels in JSON. ``svhn``: ``train_32x32.mat``, ``test_32x32.mat``.
    ``celeba``: ``img_align_celeba/``, ``list_eval_partition.txt``, ``list_attr_celeba.txt``; the
    middle square of each picture at 64 pixels.
    """
    if name not in _SETS:
        raise DataError(f"no set of pictures is called {name!r}; known: {', '.join(_SETS)}")
    splits = _CELEBA if name == "celeba" else _IDX
    if split not in splits:
        raise DataError(f"{name} has the splits {', '.join(splits)}; got {split!r}")
    folder, read = _SETS[name]
    home = _home(folder, name, root)
    X, y = read(home, split, attribute)
    if len(X) != len(y):
        raise DataError(f"{home} has {len(X)} pictures and {len(y)} labels in the split {split!r}")
    # files with channels last would leave them so in memory, and sums over pictures inexact
    return np.ascontiguousarray(X), y


def _home(folder: str, name: str, root: str | os.PathLike[str] | None) -> Path:
    own = os.environ.get(FOLDER)
    roots = [Path(root)] if root else ([Path(own)] if own else []) + [cache_folder()]
    for place in roots:
        if (place / folder).is_dir():
            return place / folder
    looked = " and ".join(map(str, roots))
    raise DataError(
        f"pictures of {name!r} are not there: no folder {folder} in {looked}; get them from their "
        f"home, put them there, and set ${FOLDER} or pass root="
    )


def _first(folder: Path, names: list[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} has no file {' or '.join(names)}")


def _read(read: Callable[[Path], Any], path: Path) -> Any:
    """What ``read`` finds in a file; a damaged one is named."""
    from scipy.io.matlab import MatReadError

    try:
        return read(path)
    except DataError:
        raise
    except (OSError, EOFError, ValueError, TypeError, struct.error, zlib.error, MatReadError) as e:
        raise DataError(f"{path} cannot be read ({e}); it is damaged, get it again") from e


# -- one reader per layout ------------------------------------------------------------------------


def _idx(folder: Path, split: str, _: str) -> Part:
    images, labels = (
        _read(read_idx, _first(folder, [f"{_IDX[split]}-{kind}-ubyte{end}" for end in (".gz", "")]))
        for kind in ("images-idx3", "labels-idx1")
    )
    return images[:, None] / _BYTE, labels.astype(np.int64)


def _svhn(folder: Path, split: str, _: str) -> Part:
    pictures, digits = _read(read_svhn, _first(folder, [f"{split}_32x32.mat"]))
    return _channels_first(pictures), digits


def _cifar(folder: Path, split: str, _: str) -> Part:
    parts = [_cifar_batch(folder, name) for name in _CIFAR[split]]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return X / _BYTE, y


def _cifar_batch(folder: Path, name: str) -> Part:
    path = _first(folder, [f"{name}.bin", f"cifar-10-batches-bin/{name}.bin", f"{name}.png"])
    return _cifar_png(path, folder) if path.suffix == ".png" else _cifar_binary(path)


def _cifar_binary(path: Path) -> Part:
    """A label and 3 x 32 x 32 bytes per picture."""
    record = 1 + 3 * _CIFAR_SIDE**2
    content = np.fromfile(path, dtype=np.uint8)
    if not content.size or content.size % record:
        raise DataError(f"{path}: {content.size} bytes are no whole number of pictures of {record}")
    rows = content.reshape(-1, record)
    return rows[:, 1:].reshape(-1, 3, _CIFAR_SIDE, _CIFAR_SIDE), rows[:, 0].astype(np.int64)


def _cifar_png(path: Path, folder: Path) -> Part:
    """One picture per row of a large one; labels of all training batches are in one file."""
    labels, place = _cifar_labels(folder, path.stem)
    pixels = _read(_pixels, path)
    if pixels.shape[1] != _CIFAR_SIDE**2:
        raise DataError(f"{path}: a row of {_CIFAR_SIDE**2} pixels per picture expected")
    rows = pixels.reshape(-1, _CIFAR_SIDE, _CIFAR_SIDE, 3)
    y = labels[place * len(rows) : (place + 1) * len(rows)]
    if len(y) != len(rows):
        raise DataError(f"{path} has {len(rows)} pictures, but {len(y)} labels are there for it")
    return np.moveaxis(rows, 3, 1), y


def _pixels(path: Path) -> np.ndarray:
    with need("PIL.Image", "images").open(path) as opened:
        return np.asarray(opened.convert("RGB"))


def _cifar_labels(folder: Path, stem: str) -> tuple[np.ndarray, int]:
    part = "test" if stem == "test_batch" else "train"
    path = _first(folder, [f"{part}_{end}.json" for end in ("labels", "lables")])
    labels = _read(_json, path)
    return labels, 0 if part == "test" else int(stem.rsplit("_", 1)[1]) - 1


def _json(path: Path) -> np.ndarray:
    return np.array(json.loads(path.read_text(encoding="utf-8")), dtype=np.int64)


def _celeba(folder: Path, split: str, attribute: str) -> Part:
    wanted = {
        name for name, part in _lines(folder / "list_eval_partition.txt") if part == _CELEBA[split]
    }
    count, heads, *rows = _lines(folder / "list_attr_celeba.txt")
    if attribute not in heads:
        raise DataError(f"celeba has no attribute {attribute!r}; there are: {', '.join(heads)}")
    at = heads.index(attribute) + 1
    chosen = [(row[0], row[at] == "1") for row in rows if row[0] in wanted]
    if not chosen:
        raise DataError(f"{folder}: no picture of {count[0]} is in the split {split!r}")
    X = np.stack([_face(folder / "img_align_celeba" / name) for name, _ in chosen])
    return X, np.array([label for _, label in chosen], dtype=np.int64)


def _lines(path: Path) -> list[list[str]]:
    if not path.is_file():
        raise DataError(f"{path} is not there; it is part of CelebA")
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _face(path: Path) -> np.ndarray:
    """The middle square, resampled."""
    found = decode(read_header(path))
    height, width = found.hidden.shape
    side = min(_CELEBA_CROP, height, width)
    top, left = (height - side) // 2, (width - side) // 2
    middle = np.s_[..., top : top + side, left : left + side]
    values, _ = resize(found.values[middle], found.hidden[middle], (_CELEBA_SIDE, _CELEBA_SIDE))
    return values


def _channels_first(pictures: np.ndarray) -> np.ndarray:
    return np.moveaxis(pictures, 3, 1) / _BYTE


_SETS: dict[str, tuple[str, Callable[[Path, str, str], Part]]] = {
    "mnist": ("mnist", _idx),
    "fashion_mnist": ("fashion-mnist", _idx),
    "cifar10": ("cifar10", _cifar),
    "svhn": ("svhn", _svhn),
    "celeba": ("celeba", _celeba),
}
