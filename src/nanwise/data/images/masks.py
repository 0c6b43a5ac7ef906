"""Holes for whole pictures: square, trapezoid, noise, strokes; the same for the same picture.

The random numbers of a picture come from the seed and from its pixels, so a picture has the same
hole in any company and order, in training and in every later run. Two pictures that are equal to
the last pixel therefore have the same hole.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

import numpy as np

from nanwise.errors import DataError

#: share of the pixels that is hidden unless another is asked for
SHARES = {"square": 0.25, "trapezoid": 0.5, "noise": 0.75, "strokes": 0.25}
KINDS = tuple(SHARES)

#: pixels worked on at once: the maps of a block stay in the cache
_BLOCK = 2**18
#: strokes of one picture; what they do not reach is taken by widening the brush
_MOST_STROKES = 64
#: radius of the brush as a share of the shorter side
_RADIUS = 0.07


def hide_pixels(
    X: np.ndarray, kind: str = "square", seed: int = 0, *, share: float | None = None
) -> np.ndarray:
    """Cut a hole into every picture.

    Parameters
    ----------
    X : array of shape (N, C, H, W)
        Floats; holes that are there already (NaN) stay.
    kind : {"square", "trapezoid", "noise", "strokes"}
        ``square``: a rectangle of the proportions of the picture, anywhere in it.
        ``trapezoid``: all on one side of a line from an edge of the picture to the opposite one.
        ``noise``: single pixels. ``strokes``: straight strokes of a round brush between any two
        points.
    seed : int
        Another seed, other holes.
    share : float, optional
        Share of the pixels to hide, above 0 and below 1. Default: a quarter for ``square`` (half
        the side) and ``strokes``, half for ``trapezoid``, three quarters for ``noise``. Met to the
        pixel by ``noise`` and ``strokes``, by the other two up to whole rows and columns.

    Returns
    -------
    array of shape (N, C, H, W)
        A copy with NaN in the holes, in all channels alike.

    Notes
    -----
    The hole of a picture depends on its pixels (as float32), ``kind``, ``seed`` and ``share`` only.
    """
    X = np.asarray(X)
    _check(X, kind)
    share = SHARES[kind] if share is None else float(share)
    if not 0 < share < 1:
        raise DataError(f"share must be above 0 and below 1, got {share}")
    out = np.array(X)
    height, width = X.shape[2:]
    step = max(1, _BLOCK // (height * width))
    for start in range(0, len(X), step):
        block = slice(start, start + step)
        hidden = _SHAPES[kind](_keys(X[block], kind, seed), height, width, share)
        np.copyto(out[block], np.nan, where=hidden[:, None])
    return out


def _check(X: np.ndarray, kind: str) -> None:
    if kind not in SHARES:
        raise DataError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    if X.ndim != 4 or X.dtype.kind != "f":
        got = f"{X.dtype} of shape {X.shape}"
        raise DataError(f"pictures must be an array of floats of shape (N, C, H, W), got {got}")


# -- random numbers -------------------------------------------------------------------------------


def _keys(X: np.ndarray, kind: str, seed: int) -> np.ndarray:
    """One 64-bit number per picture, from its content."""
    # Adding 0 makes -0 a 0, and one value stands for all kinds of NaN: equal means equal bytes.
    content = np.ascontiguousarray(np.where(np.isnan(X), -1, X), dtype=np.float32) + np.float32(0)
    salt = f"{int(seed)} {kind} {X.shape[1:]}".encode()
    digests = [hashlib.blake2b(salt + row.tobytes(), digest_size=8).digest() for row in content]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _bits(keys: np.ndarray, first: int, n: int) -> np.ndarray:
    """(N, n) random 64-bit numbers, numbers ``first`` to ``first + n`` of each key (SplitMix64)."""
    counts = np.arange(first + 1, first + n + 1, dtype=np.uint64)
    z = keys[:, None] + counts * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _uniform(keys: np.ndarray, first: int, n: int) -> list[np.ndarray]:
    """The same as ``n`` columns (N, 1, 1) of numbers in [0, 1)."""
    drawn = (_bits(keys, first, n) >> np.uint64(11)) * 2.0**-53
    return [column[:, None, None] for column in drawn.T]


# -- shapes: keys, height, width, share -> hidden (N, H, W) ---------------------------------------


def _square(keys: np.ndarray, height: int, width: int, share: float) -> np.ndarray:
    side = math.sqrt(share)
    down, across = _uniform(keys, 0, 2)
    rows = _stretch(down, height, round(side * height))[:, :, None]
    columns = _stretch(across, width, round(side * width))[:, None, :]
    return rows & columns


def _stretch(draw: np.ndarray, length: int, part: int) -> np.ndarray:
    """(N, length): ``part`` neighbours (at least one), every place equally likely."""
    part = min(max(part, 1), length)
    start = np.floor(draw[:, :, 0] * (length - part + 1))
    place = np.arange(length)
    return (place >= start) & (place < start + part)


def _trapezoid(keys: np.ndarray, height: int, width: int, share: float) -> np.ndarray:
    """All on one side of a straight line from an edge of the picture to the opposite one."""
    turn, slant, side = _uniform(keys, 0, 3)
    y, x = (np.arange(n) + 0.5 for n in (height, width))
    y, x = (y / height)[None, :, None], (x / width)[None, None, :]
    along, across = np.where(turn < 0.5, x, y), np.where(turn < 0.5, y, x)
    across = np.where(side < 0.5, across, 1 - across)
    ends = (2 * slant - 1) * min(share, 1 - share)  # how far the line's ends are off its middle
    return across < share + (2 * along - 1) * ends


def _noise(keys: np.ndarray, height: int, width: int, share: float) -> np.ndarray:
    count = _count(height * width, share)
    return _least(_bits(keys, 0, height * width), count).reshape(-1, height, width)


def _strokes(keys: np.ndarray, height: int, width: int, share: float) -> np.ndarray:
    """The brush moves until it has painted enough: pixels are ranked by when it reached them."""
    count = _count(height * width, share)
    when = np.full((len(keys), height, width), np.inf, dtype=np.float32)
    apart = when.copy()
    going = np.arange(len(keys))
    for number in range(_MOST_STROKES):
        time, distance = _stroke(keys[going], number, height, width)
        apart[going] = np.minimum(apart[going], distance)
        reached = np.where(distance <= _RADIUS * min(height, width), number + time, np.inf)
        when[going] = np.minimum(when[going], reached)
        going = going[(when[going] < np.inf).sum(axis=(1, 2)) < count]
        if not len(going):
            break
    rank = np.where(when < np.inf, when, _MOST_STROKES + apart).reshape(len(keys), -1)
    return _least(rank, count).reshape(when.shape)


def _stroke(
    keys: np.ndarray, number: int, height: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """When one stroke passes each pixel (0 to 1), and how far from it."""
    ends = _uniform(keys, 4 * number, 4)
    top, left, bottom, right = (
        (end * side).astype(np.float32)
        for end, side in zip(ends, (height, width, height, width), strict=True)
    )
    tall, wide = bottom - top, right - left
    rows = np.arange(height, dtype=np.float32)[None, :, None] + np.float32(0.5) - top
    columns = np.arange(width, dtype=np.float32)[None, None, :] + np.float32(0.5) - left
    long = tall * tall + wide * wide + np.float32(1e-6)
    time = np.clip(rows * (tall / long) + columns * (wide / long), 0, 1)
    return time, np.sqrt((rows - time * tall) ** 2 + (columns - time * wide) ** 2)


def _count(pixels: int, share: float) -> int:
    return min(max(round(share * pixels), 1), pixels)


def _least(rank: np.ndarray, count: int) -> np.ndarray:
    """True at the ``count`` smallest of each row."""
    chosen = np.argpartition(rank, count - 1, axis=1)[:, :count]
    out = np.zeros(rank.shape, dtype=bool)
    np.put_along_axis(out, chosen, True, axis=1)
    return out


_SHAPES: dict[str, Callable[[np.ndarray, int, int, float], np.ndarray]] = {
    "square": _square,
    "trapezoid": _trapezoid,
    "noise": _noise,
    "strokes": _strokes,
}
