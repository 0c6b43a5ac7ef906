"""Binarized MNIST: digits in black and white, on which densities are compared."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from nanwise.data.fetch import File, locate
from nanwise.errors import DataError

NAME = "binarized_mnist"
_HOME = "the authors of MADE (Germain et al. 2015) or of NADE (Larochelle and Murray 2011)"
_PIXELS = 784
#: split -> name in the file's name, number of rows
_SPLITS = {"train": ("train", 50_000), "validation": ("valid", 10_000), "test": ("test", 10_000)}

#: what scipy raises for a file that is cut off or no MATLAB 5 file; NotImplementedError: MATLAB 7.3
_DAMAGED = (
    OSError,
    ValueError,
    TypeError,
    IndexError,
    NotImplementedError,
    struct.error,
    zlib.error,
)


def load_binarized_mnist(split: str = "train") -> np.ndarray:
    """Pixels of binarized MNIST.

    Parameters
    ----------
    split : {"train", "validation", "test"}

    Returns
    -------
    ndarray of uint8, shape (50000 or 10000, 784)
        0 and 1, row by row of a picture of 28 x 28.

    Raises
    ------
    DataError
        The file is not there, or not the expected one.

    Notes
    -----
    Looked for are ``binarized_mnist/binarized_mnist_train.mat``, ``…_valid.mat`` and
    ``…_test.mat`` (MATLAB 5, array ``X``) below ``$NANWISE_DATA`` and in the cache.
    """
    path = find_binarized_mnist(split)
    X = _array(path)
    expected = (_SPLITS[split][1], _PIXELS)
    if X.shape != expected:
        raise DataError(f"{path}: expected an array of shape {expected}, got {X.shape}")
    if not np.isin(X, (0, 1)).all():
        raise DataError(f"{path}: expected 0 and 1 only; this is not the binarized MNIST")
    return X.astype(np.uint8)


def find_binarized_mnist(split: str) -> Path:
    """Where the file of a split lies, or a DataError that says how to get it."""
    if split not in _SPLITS:
        raise DataError(f"{NAME} has the splits {', '.join(_SPLITS)}; got {split!r}")
    return locate(File(f"{NAME}/{NAME}_{_SPLITS[split][0]}.mat"), NAME, _HOME)


def _array(path: Path) -> Any:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path)
    except (*_DAMAGED, MatReadError) as error:
        raise DataError(
            f"{path} cannot be read as a MATLAB 5 file ({error}); get it again"
        ) from error
    found = content.get("X")
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "buif":
        raise DataError(f"{path}: expected an array of numbers called X")
    return found
