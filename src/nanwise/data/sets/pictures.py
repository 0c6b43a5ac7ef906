"""Pictures of digits and clothes: idx files of MNIST and Fashion-MNIST, MATLAB files of SVHN."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np

from nanwise.data.fetch import File
from nanwise.data.sets.modalities import ModalitySpec, Parts, pair_up
from nanwise.errors import DataError

#: digits that are shown together, as VSAE pairs them
PAIRS = ((0, 9), (1, 8), (2, 7), (3, 6), (4, 5))

_BYTES = 0x08
_WHITE = np.float32(255)


def read_idx(path: Path) -> np.ndarray:
    """Array of bytes in an idx file, gzipped or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        content = file.read()
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _BYTES:
        raise DataError(f"{path} is not an idx file of bytes: it begins with {content[:4]!r}")
    head = 4 + 4 * content[3]
    shape = struct.unpack(f">{content[3]}I", content[4:head])
    values = np.frombuffer(content, dtype=np.uint8, offset=head)
    if values.size != np.prod(shape):
        raise DataError(f"{path}: expected {shape} bytes, got {values.size}; the file is cut off")
    return values.reshape(shape)


def read_svhn(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pictures (N, 32, 32, 3) in bytes and digits (N,) of a file of cropped house numbers.

    In the files ``X`` is (32, 32, 3, N), and the digit 0 is called 10.
    """
    from scipy.io import loadmat

    content = loadmat(path)
    for name in ("X", "y"):
        if name not in content:
            raise DataError(f"{path}: expected the arrays X and y of SVHN, {name} is not there")
    return np.moveaxis(content["X"], 3, 0), content["y"].ravel().astype(np.int64) % 10


def _flat(pictures: np.ndarray) -> np.ndarray:
    """Rows of numbers between 0 and 1."""
    return pictures.reshape(len(pictures), -1) / _WHITE


def _with_label(paths: list[Path]) -> Parts:
    train, test = (
        {"image": _flat(read_idx(image)), "label": read_idx(label).astype(np.int64)}
        for image, label in zip(paths[::2], paths[1::2], strict=True)
    )
    return train, test


def _pairs(paths: list[Path]) -> Parts:
    train, test = (
        _paired(image, label) for image, label in zip(paths[::2], paths[1::2], strict=True)
    )
    return train, test


def _paired(image: Path, label: Path) -> dict[str, np.ndarray]:
    pictures, digits = read_idx(image), read_idx(label)
    first, second = pair_up(digits, digits, PAIRS)
    return {"first": _flat(pictures[first]), "second": _flat(pictures[second])}


def _with_svhn(paths: list[Path]) -> Parts:
    files = zip(paths[0:4:2], paths[1:4:2], paths[4:], strict=True)
    train, test = (_same_digit(*three) for three in files)
    return train, test


def _same_digit(image: Path, label: Path, house: Path) -> dict[str, np.ndarray]:
    pictures, digits = read_idx(image), read_idx(label)
    houses, numbers = read_svhn(house)
    first, second = pair_up(digits, numbers, [(digit, digit) for digit in range(10)])
    return {"mnist": _flat(pictures[first]), "svhn": _flat(houses[second])}


def _idx_files(folder: str) -> tuple[File, ...]:
    kinds = ("images-idx3", "labels-idx1")
    return tuple(
        File(f"{folder}/{part}-{kind}-ubyte.gz") for part in ("train", "t10k") for kind in kinds
    )


_SQUARE = (28, 28)
_MNIST_FILES = _idx_files("mnist")
_MNIST: dict[str, Any] = {
    "source": "http://yann.lecun.com/exdb/mnist",
    "licence": "CC BY-SA 3.0",
    "citation": "LeCun, Cortes, Burges (1998), The MNIST database of handwritten digits",
}
_HOUSES = "http://ufldl.stanford.edu/housenumbers"

SPECS = [
    ModalitySpec(
        name="mnist_pairs",
        about="Two handwritten digits that add up to 9; each picture of MNIST once at most",
        rows=(29071, 4832),
        shapes={"first": _SQUARE, "second": _SQUARE},
        files=_MNIST_FILES,
        read=_pairs,
        **_MNIST,
    ),
    ModalitySpec(
        name="mnist_label",
        about="Handwritten digits and which they are",
        rows=(60000, 10000),
        shapes={"image": _SQUARE, "label": ()},
        files=_MNIST_FILES,
        read=_with_label,
        **_MNIST,
    ),
    ModalitySpec(
        name="fashion_label",
        about="Pictures of clothes and of what kind they are",
        rows=(60000, 10000),
        shapes={"image": _SQUARE, "label": ()},
        source="https://github.com/zalandoresearch/fashion-mnist",
        licence="MIT",
        citation="Xiao, Rasul, Vollgraf (2017), Fashion-MNIST: a novel image dataset for "
        "benchmarking machine learning algorithms",
        files=_idx_files("fashion-mnist"),
        read=_with_label,
    ),
    ModalitySpec(
        name="mnist_svhn",
        about="A handwritten digit and the same digit on a house; each picture once at most",
        rows=(56068, 10000),
        shapes={"mnist": _SQUARE, "svhn": (32, 32, 3)},
        source=f"{_MNIST['source']} and {_HOUSES}",
        licence="CC BY-SA 3.0 (MNIST); SVHN: non-commercial use",
        citation="Netzer, Wang, Coates, Bissacco, Wu, Ng (2011), Reading digits in natural images "
        "with unsupervised feature learning",
        files=(*_MNIST_FILES, File("svhn/train_32x32.mat"), File("svhn/test_32x32.mat")),
        read=_with_svhn,
    ),
]
