"""Sheets of small pictures for a report: picture, hole, mean, draws and how sure a pixel is."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from nanwise.data.images.resize import resize

#: largest side of a tile in the report's file
SIDE = 64
#: colour of a hole, which no grey picture has
HOLE = (240, 163, 90)
#: from certain to uncertain: a path of colours that gets lighter all the way
HEAT = np.array([(13, 17, 43), (92, 26, 110), (190, 55, 82), (245, 145, 40), (252, 240, 165)])
#: smallest standard deviation that is drawn in the brightest colour
LEAST_SPREAD = 0.02


def sheet(
    X: np.ndarray,
    *,
    truth: np.ndarray | None = None,
    imputer: Any = None,
    draws: int = 3,
    seed: int = 0,
    names: list[str] | None = None,
) -> dict[str, Any]:
    """One sheet of all pictures in X, a column each.

    Parameters
    ----------
    X : array of shape (N, C, H, W)
        Pictures with holes, few.
    truth : array of the same shape, optional
        The same without the holes that were cut on purpose.
    imputer : ImageImputer, optional
        Fitted; fills the holes.
    draws : int
        Random fillings to show.
    seed : int
    names : list of str, optional
        What stands below the columns.

    Returns
    -------
    dict
        ``title``, ``caption`` and ``lines``, as :func:`nanwise.report.pictures.sheets` takes them.
    """
    lines = [] if truth is None else [_line("picture", truth)]
    lines.append(_line("hole", X))
    caption = "Orange: hole."
    if imputer is not None:
        lines.append(_line("mean", imputer.transform(X)))
        drawn = imputer.sample(X, draws, random_state=seed) if draws else ()
        lines += [_line(f"draw {k + 1}", one) for k, one in enumerate(drawn)]
        heat, top = _spread(imputer.complete(X))
        lines.append(heat)
        caption += f" Uncertainty: standard deviation of a pixel, bright: {top:.2f} or more."
    if names:
        lines.append({"name": "", "texts": names})
    return {"title": "Pictures", "caption": caption, "lines": lines}


def _line(name: str, X: np.ndarray) -> dict[str, Any]:
    small = [_small(picture) for picture in X]
    return {"name": name, "shape": list(small[0].shape), "tiles": [_packed(s) for s in small]}


def _small(picture: np.ndarray) -> np.ndarray:
    """(H, W, 3) bytes, holes in their colour; large pictures are resampled.

    Of channels that are neither grey nor colours the mean is shown.
    """
    hidden = np.isnan(picture).any(axis=0)
    if len(picture) not in (1, 3):
        picture = picture.mean(axis=0, keepdims=True)
    values, hidden = resize(np.nan_to_num(picture), hidden, _tile_size(hidden.shape))
    pixels = np.moveaxis(np.broadcast_to(values, (3, *hidden.shape)), 0, -1)
    pixels = np.rint(255 * np.clip(pixels, 0, 1)).astype(np.uint8)
    return np.where(hidden[..., None], np.array(HOLE, dtype=np.uint8), pixels)


def _spread(density: Any) -> tuple[dict[str, Any], float]:
    """The line of standard deviations, and the one that is drawn brightest."""
    sd = np.sqrt(np.asarray(density.variance()).clip(0)).mean(axis=1)
    top = max(float(np.quantile(sd, 0.995)), LEAST_SPREAD)
    small = []
    for one in sd:
        values, _ = resize(one[None] / top, np.zeros(one.shape, dtype=bool), _tile_size(one.shape))
        small.append(_heat(values[0]))
    tiles = [_packed(picture) for picture in small]
    return {"name": "uncertainty", "shape": list(small[0].shape), "tiles": tiles}, top


def _heat(values: np.ndarray) -> np.ndarray:
    at = np.linspace(0, 1, len(HEAT))
    channels = [np.interp(np.clip(values, 0, 1), at, HEAT[:, c]) for c in range(3)]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)


def _tile_size(shape: tuple[int, ...]) -> tuple[int, int]:
    """At most ``SIDE`` on both sides, in the same proportions."""
    factor = min(1.0, SIDE / max(shape))
    height, width = (max(1, round(factor * side)) for side in shape)
    return height, width


def _packed(pixels: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(pixels).tobytes()).decode("ascii")
