"""Pictures in ``.npz`` files, read without pickle."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from nanwise.errors import DataError

_CHANNELS = (1, 3)
_NAMES = ("X", "y", "observed")


def read_npz(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Pictures (N, C, H, W) as float32 with NaN in holes, and their labels if there are any."""
    arrays = _arrays(path)
    if "X" not in arrays:
        raise DataError(f"{path}: expected an array called X, got {', '.join(arrays) or 'none'}")
    X = _unit(arrays["X"], path)
    if "observed" in arrays:
        X[~_spread(arrays["observed"], arrays["X"].shape, path)] = np.nan
    return np.ascontiguousarray(_channels_first(X, path)), _labels(arrays.get("y"), len(X), path)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(path) as archive:
            there = {name.removesuffix(".npy"): name for name in archive.namelist()}
            return {name: _member(archive, there[name]) for name in _NAMES if name in there}
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
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
    if low < 0 or high > 1:
        raise DataError(f"{path}: X must lie in [0, 1] (NaN: hole), got {low:g} to {high:g}")
    return found


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
    return y


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
