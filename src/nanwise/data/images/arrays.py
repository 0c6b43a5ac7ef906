"""Pictures in ``.npz`` files, read without pickle."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from nanwise.errors import DataError

_CHANNELS = (1, 3)
_NAMES = ("X", "y", "observed")
#: how far floats may be outside of 0 and 1: a rescaled picture may be so by rounding
_SLACK = 1e-3


def read_npz(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Pictures (N, C, H, W) as float32 with NaN in holes, and their labels if there are any."""
    arrays = _arrays(path)
    X = _unit(arrays["X"], path)
    if "observed" in arrays:
        X[~_spread(arrays["observed"], arrays["X"].shape, path)] = np.nan
    return np.ascontiguousarray(_channels_first(X, path)), _labels(arrays.get("y"), len(X), path)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(path) as archive:
            there = {name.removesuffix(".npy"): name for name in archive.namelist()}
            if "X" not in there:
                got = ", ".join(there) or "none"
                raise DataError(f"{path}: expected an array called X, got {got}")
            return {name: _member(archive, there[name]) for name in _NAMES if name in there}
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, RuntimeError) as error:
        raise DataError(f"{path} cannot be read as an .npz file: {error}") from error


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


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


def fill_npz(path: Path, X: np.ndarray, filled: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a file with holes filled, in its own type and layout.

    Parameters
    ----------
    path : Path
    X : array of shape (N, C, H, W)
        As it was given to the one that filled the holes.
    filled : array of shape (N, C, H, W)

    Returns
    -------
    dict
        ``X`` and ``y``. If pictures were resampled, ``X`` is that of the new size, in float32.
    """
    arrays = _arrays(path)
    own = arrays["X"]
    arrays.pop("observed", None)
    before, _ = read_npz(path)
    if before.shape != X.shape:
        return {**arrays, "X": np.where(np.isnan(X), filled, X).astype(np.float32)}
    hidden, values = (_as_stored(a, own) for a in (np.isnan(before), filled))
    if own.dtype == np.uint8:
        values = np.rint(values * 255.0)
    return {**arrays, "X": np.where(hidden, values.astype(own.dtype), own)}


def _as_stored(X: np.ndarray, own: np.ndarray) -> np.ndarray:
    """(N, C, H, W) in the layout of the file."""
    if own.ndim == 3:
        return X[:, 0]
    return X if own.shape == X.shape else np.moveaxis(X, 1, 3)
