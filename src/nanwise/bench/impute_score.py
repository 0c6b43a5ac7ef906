"""Scores of an imputation: how far filled cells are from the values that were hidden there.

All functions take matrices of codes (see :class:`nanwise.data.encode.Encoder` with
``onehot=False``: numbers as they are, levels by their position) and ``held``, True for the cells
that are scored. ``x`` is the hidden value, ``y`` the filled one, ``s`` the standard deviation and
``[a, b]`` the range of the column before cells were hidden, ``u = (x - a) / (b - a)`` and
``v = (y - a) / (b - a)``. Scores of numbers leave out columns that hold one value only.

================== ==========================================================================
score              definition
================== ==========================================================================
error              mean over columns: RMSE / s of numbers, share of wrong levels; what is ranked
rmse               root of the mean of ``((x - y) / s)²`` over all held numbers
rmse_column        the same in each column, then the mean over columns
rmse_range         root of the mean of ``(u - v)²`` over all held numbers
rmse_rms           root of ``Σ (u - v)² / Σ u²`` over all held numbers
rmse_rms_column    the same in each column, then the mean over columns
mae                mean of ``|x - y| / s`` over all held numbers
pfc                share of held levels that are wrong in each column, then the mean over columns
wasserstein        distance of the distributions of hidden and filled cells, mean over columns
wasserstein_draws  the same with random draws instead of the best single value
crps               continuous ranked probability score of draws, mean over held numbers, in s
energy             energy score of draws, mean over rows with held cells
================== ==========================================================================

Literature that speaks of NRMSE without a formula means one of these; they differ by a factor of ten
(VAEAC: ``rmse_column``; HI-VAE: ``rmse_range``, there by columns; the figures printed for VSAE can
only be of the kind of ``rmse_rms``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nanwise.bench.score import METRICS, Metric, Scores

IMPUTE_METRICS = {
    metric.name: metric
    for metric in (
        Metric("error", "error", False),
        Metric("rmse", "RMSE / sd", False),
        Metric("rmse_column", "RMSE / sd by column", False),
        Metric("rmse_range", "RMSE / range", False),
        Metric("rmse_rms", "RMSE / RMS", False),
        Metric("rmse_rms_column", "RMSE / RMS by column", False),
        METRICS["mae"],
        Metric("pfc", "PFC", False),
        Metric("wasserstein", "Wasserstein", False),
        Metric("wasserstein_draws", "Wasserstein, draws", False),
        Metric("crps", "CRPS", False),
        Metric("energy", "energy score", False),
    )
}


@dataclass(frozen=True)
class Yardstick:
    """What errors of each column are measured in, taken from the table before cells were hidden.

    Attributes
    ----------
    levels : ndarray of int, shape (D,)
        Number of levels of a column; 0 for numbers.
    ordered : ndarray of bool, shape (D,)
        Whether the levels have an order.
    sd, low, width : ndarray of shape (D,)
        Standard deviation, smallest value and range of the observed cells; sd and range are 0 for a
        column with one value or none.
    """

    levels: np.ndarray
    ordered: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    width: np.ndarray

    @classmethod
    def of(
        cls, codes: np.ndarray, levels: Sequence[int], ordered: Sequence[bool] | None = None
    ) -> Yardstick:
        """Measure the columns of (N, D) codes, NaN in gaps."""
        columns = [column[~np.isnan(column)] for column in codes.T]
        spread = np.array([(c.std(), c.min(), np.ptp(c)) if len(c) else (0, 0, 0) for c in columns])
        sd, low, width = spread.reshape(-1, 3).T
        order = np.zeros(len(columns), bool) if ordered is None else np.asarray(ordered, bool)
        sd = np.where(width > 0, sd, 0.0)  # rounding leaves a constant column a tiny spread
        return cls(np.asarray(levels, dtype=int), order, sd, low, width)

    @property
    def numbers(self) -> np.ndarray:
        """Columns that are scored as numbers."""
        return (self.levels == 0) & (self.width > 0)

    @property
    def levelled(self) -> np.ndarray:
        """Columns that are scored as levels."""
        return self.levels > 0


def impute_scores(
    truth: np.ndarray,
    filled: np.ndarray,
    held: np.ndarray,
    yard: Yardstick,
    draws: np.ndarray | None = None,
) -> Scores:
    """All scores; None where there is nothing to score.

    Parameters
    ----------
    truth, filled : ndarray of shape (N, D)
        Codes before cells were hidden, and with them filled.
    held : ndarray of bool, shape (N, D)
    yard : Yardstick
    draws : ndarray of shape (n, N, D), optional
        Random completions; without them the last three scores are None.
    """
    columns = column_errors(truth, filled, held, yard)
    scores: Scores = {
        "error": mean_of(columns),
        **_number_scores(truth, filled, held, yard),
        "pfc": mean_of(columns[yard.levelled]),
        "wasserstein": mean_of(wasserstein(truth, filled[None], held, yard)),
        "wasserstein_draws": None,
        "crps": None,
        "energy": None,
    }
    if draws is not None:
        scores["wasserstein_draws"] = mean_of(wasserstein(truth, draws, held, yard))
        scores["crps"] = mean_of(crps(truth, draws, held, yard))
        scores["energy"] = energy_score(truth, draws, held, yard)
    return scores


def mean_of(values: np.ndarray) -> float | None:
    """Mean of the numbers among the values; None if there is none."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else None


def column_errors(
    truth: np.ndarray, filled: np.ndarray, held: np.ndarray, yard: Yardstick
) -> np.ndarray:
    """RMSE / s of columns of numbers, share of wrong levels of the others; NaN: nothing held."""
    out = np.full(truth.shape[1], np.nan)
    for j in np.flatnonzero((yard.numbers | yard.levelled) & held.any(axis=0)):
        x, y = truth[held[:, j], j], filled[held[:, j], j]
        wrong = (x != y).mean() if yard.levels[j] else np.sqrt(np.mean((x - y) ** 2)) / yard.sd[j]
        out[j] = wrong
    return out


def wasserstein(
    truth: np.ndarray, draws: np.ndarray, held: np.ndarray, yard: Yardstick
) -> np.ndarray:
    """First Wasserstein distance of hidden and filled cells of each column, all draws together.

    Numbers: in standard deviations. Ordered levels: in steps, divided by the number of steps there
    are. Other levels: every two are 1 apart, which makes it the total variation distance.
    """
    out = np.full(truth.shape[1], np.nan)
    for j in np.flatnonzero((yard.numbers | yard.levelled) & held.any(axis=0)):
        x, y = truth[held[:, j], j], draws[:, held[:, j], j]
        if not yard.levels[j]:
            out[j] = np.abs(np.sort(np.tile(x, len(y))) - np.sort(y, axis=None)).mean() / yard.sd[j]
            continue
        gap = _shares(x, yard.levels[j]) - _shares(y.ravel(), yard.levels[j])
        if yard.ordered[j]:
            out[j] = np.abs(np.cumsum(gap)[:-1]).sum() / max(yard.levels[j] - 1, 1)
        else:
            out[j] = np.abs(gap).sum() / 2
    return out


def crps(truth: np.ndarray, draws: np.ndarray, held: np.ndarray, yard: Yardstick) -> np.ndarray:
    """Continuous ranked probability score of each held number, in standard deviations.

    ``E|Y - x| - E|Y - Y'| / 2`` with Y, Y' independent draws. The second expectation is taken over
    pairs of different draws, so that few draws are not at a disadvantage; with one draw it is
    unknown, and the scores are NaN.
    """
    cells = held & yard.numbers
    scale = np.broadcast_to(yard.sd, held.shape)[cells]
    y = np.sort(draws[:, cells], axis=0)
    n = len(y)
    if n < 2:
        return np.full(y.shape[1], np.nan)
    # The k-th of n sorted draws stands above k and below n - 1 - k others.
    weight = 2 * np.arange(n) - n + 1
    apart = (weight[:, None] * y).sum(axis=0) * 2 / (n * (n - 1))
    return (np.abs(y - truth[cells]).mean(axis=0) - apart / 2) / scale


def energy_score(
    truth: np.ndarray, draws: np.ndarray, held: np.ndarray, yard: Yardstick
) -> float | None:
    """``E|Y - x| - E|Y - Y'| / 2`` over the held cells of a row together, mean over rows.

    The distance of two completions of a row is the root of the sum over its held cells of the
    squared differences in standard deviations; two different levels are 1 apart (ordered ones: the
    share of the steps there are). Pairs of draws are as in :func:`crps`.
    """
    cells = held & (yard.numbers | yard.levelled)
    rows = np.flatnonzero(cells.any(axis=1))
    n = len(draws)
    if not len(rows) or n < 2:
        return None
    cells, truth, draws = cells[rows], truth[rows], draws[:, rows]
    off = np.mean([_distance(draw, truth, cells, yard) for draw in draws], axis=0)
    apart = np.zeros(len(rows))
    for k in range(n):
        for other in range(k):
            apart += _distance(draws[k], draws[other], cells, yard)
    return float((off - apart / (n * (n - 1))).mean())


def _distance(a: np.ndarray, b: np.ndarray, cells: np.ndarray, yard: Yardstick) -> np.ndarray:
    """Distance of each row of ``a`` from that of ``b``."""
    steps = np.where(yard.ordered, np.maximum(yard.levels - 1, 1), 1)
    unit = np.where(yard.numbers, np.where(yard.sd > 0, yard.sd, 1), steps)
    apart = np.where(cells, np.abs(a - b), 0) / unit
    plain = yard.levelled & ~yard.ordered
    apart[:, plain] = apart[:, plain] > 0
    return np.sqrt((apart**2).sum(axis=1))


def _number_scores(
    truth: np.ndarray, filled: np.ndarray, held: np.ndarray, yard: Yardstick
) -> Scores:
    names = ("rmse", "rmse_column", "rmse_range", "rmse_rms", "rmse_rms_column", "mae")
    numbers = yard.numbers
    cells = held[:, numbers]
    if not cells.any():
        return dict.fromkeys(names)
    x, y = truth[:, numbers], filled[:, numbers]
    sd, low, width = yard.sd[numbers], yard.low[numbers], yard.width[numbers]
    off = np.where(cells, x - y, np.nan)
    size = np.where(cells, (x - low) / width, np.nan)
    some = cells.any(axis=0)
    by_column = np.nanmean((off / sd)[:, some] ** 2, axis=0)
    squared, sizes = (off / width) ** 2, size**2
    held_sizes = np.nansum(sizes, axis=0)
    shares = np.nansum(squared, axis=0)[held_sizes > 0] / held_sizes[held_sizes > 0]
    values = (
        np.sqrt(np.nanmean((off / sd) ** 2)),
        np.sqrt(by_column).mean(),
        np.sqrt(np.nanmean(squared)),
        np.sqrt(np.nansum(squared) / held_sizes.sum()) if held_sizes.any() else None,
        np.sqrt(shares).mean() if len(shares) else None,
        np.nanmean(np.abs(off / sd)),
    )
    return {n: None if v is None else float(v) for n, v in zip(names, values, strict=True)}


def _shares(codes: np.ndarray, levels: int) -> np.ndarray:
    place = np.clip(np.rint(codes), 0, levels - 1).astype(int)
    return np.bincount(place, minlength=levels) / max(len(codes), 1)
