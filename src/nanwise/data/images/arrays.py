"""Pictures in ``.npz`` files, read without pickle."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nanwise.data.images.resize import as_in_file
from nanwise.errors import DataError

_CHANNELS = (1, 3)
_NAMES = ("X", "y", "observed")
#: how far floats may be outside of 0 and 1: a rescaled picture may be so by rounding
_SLACK = 1e-3


def read_npz(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Pictures (N, C, H, W) as float32 with NaN in holes, and their labels if there are any."""
    arrays = _arrays(path)
    X = _with_holes(arrays, path)
    return np.ascontiguousarray(_channels_first(X, path)), _labels(arrays.get("y"), len(X), path)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with _opened(path) as archive:
        there = {_array_name(name): name for name in archive.namelist()}
        if "X" not in there:
            got = ", ".join(there) or "none"
            raise DataError(f"{path}: expected an array called X, got {got}")
        return {name: _member(archive, there[name]) for name in _NAMES if name in there}


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, RuntimeError) as error:
        raise DataError(f"{path} cannot be read as an .npz file: {error}") from error


def _array_name(member: str) -> str:
    return member.removesuffix(".npy")


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _with_holes(arrays: dict[str, np.ndarray], path: Path) -> np.ndarray:
    """X as float32 in the layout of the file, NaN in holes."""
    X = _unit(arrays["X"], path)
    if "observed" in arrays:
        X[~_spread(arrays["observed"], X.shape, path)] = np.nan
    return X


def _unit(X: np.ndarray, path: Path) -> np.ndarray:
    """Bytes or floats as float32 between 0 and 1."""
    if X.dtype == np.uint8:
        return X / np.float32(255)
    if X.dtype.kind != "f":
        raise DataError(f"{path}: X must be bytes or floats, got {X.dtype}")
    found = X.astype(np.float32)
    low, high = np.nanmin(found, initial=np.inf), np.nanmax(found, initial=-np.inf)
    if low < -_SLACK or high > 1 + _SLACK:
        raise DataError(f"{path}: X must lie in [0, 1] (NaN: hole), got {low:g} to {high:g}")
    return np.clip(found, 0, 1)


def _spread(observed: np.ndarray, shape: tuple[int, ...], path: Path) -> np.ndarray:
    """``observed`` in the shape of X; one that is shared by all channels is repeated."""
    if observed.dtype != bool:
        raise DataError(f"{path}: observed must be booleans, got {observed.dtype}")
    if observed.shape == shape:
        return observed
    if len(shape) == 4:
        for axis in (1, 3):
            if observed.shape == shape[:axis] + shape[axis + 1 :] and shape[axis] in _CHANNELS:
                return np.broadcast_to(np.expand_dims(observed, axis), shape)
    raise DataError(f"{path}: observed has shape {observed.shape}, X has {shape}")


def _channels_first(X: np.ndarray, path: Path) -> np.ndarray:
    if 0 in X.shape:
        raise DataError(f"{path}: X has no pictures, or pictures without pixels: shape {X.shape}")
    if X.ndim == 3:
        return X[:, None]
    if X.ndim == 4 and X.shape[1] in _CHANNELS:
        return X
    if X.ndim == 4 and X.shape[3] in _CHANNELS:
        return np.moveaxis(X, 3, 1)
    raise DataError(
        f"{path}: X must be (N, H, W), (N, C, H, W) or (N, H, W, C) with C = 1 or 3, got {X.shape}"
    )


def _labels(y: np.ndarray | None, n: int, path: Path) -> np.ndarray | None:
    if y is not None and y.shape != (n,):
        raise DataError(f"{path}: y must have shape ({n},), got {y.shape}")
    if y is None or y.dtype.kind in "biuU":
        return y
    if y.dtype.kind == "S":
        return np.char.decode(y, "utf-8")
    if y.dtype.kind != "f" or not np.array_equal(y, np.rint(y)):
        raise DataError(f"{path}: y must hold classes, whole numbers or text; got {_odd(y)}")
    return y


def _odd(y: np.ndarray) -> str:
    """What is wrong with labels: the first that is no whole number, or their type."""
    if y.dtype.kind != "f":
        return str(y.dtype)
    first = int(np.argmax(y != np.rint(y)))
    return f"{y[first]} for picture {first}"


# -- back into a file -----------------------------------------------------------------------------


def fill_npz(path: Path, filled: np.ndarray, file: BinaryIO) -> None:
    """Write a file again with its holes filled, in its own size, layout and type.

    Parameters
    ----------
    path : Path
    filled : array of shape (N, C, H, W)
        Without NaN, in any size and channels. It is looked at in holes only.
    file : binary file
        Gets an archive of ``X`` and of all other members, byte by byte; ``observed`` is left out.
    """
    X = _filled(path, filled)
    with _opened(path) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        with new.open("X.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, X, allow_pickle=False)
        for name in old.namelist():
            if _array_name(name) not in ("X", "observed"):
                with old.open(name) as source, new.open(name, "w", force_zip64=True) as member:
                    shutil.copyfileobj(source, member)


def _filled(path: Path, filled: np.ndarray) -> np.ndarray:
    arrays = _arrays(path)
    hidden = _channels_first(np.isnan(_with_holes(arrays, path)), path)
    X = arrays["X"].copy()
    if len(filled) != len(X):
        raise DataError(f"{path} has {len(X)} pictures now, {len(filled)} when it was read")
    for picture, hole, values in zip(_channels_first(X, path), hidden, filled, strict=True):
        own = np.clip(as_in_file(values, picture.shape), 0, 1)
        own = np.rint(own * 255.0) if X.dtype == np.uint8 else own
        np.copyto(picture, own.astype(X.dtype), where=hole)
    return X
