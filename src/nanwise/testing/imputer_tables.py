"""Small tables with gaps: numbers, columns of every kind, columns that say little."""

from __future__ import annotations

import numpy as np
import pandas as pd


def numbers(n: int = 60, d: int = 4, share: float = 0.25, seed: int = 0) -> np.ndarray:
    """Correlated numbers of different sizes; row 2 has nothing, row 0 everything."""
    fixed, draw = np.random.default_rng(100), np.random.default_rng(seed)
    x = draw.normal(size=(n, 2)) @ fixed.normal(size=(2, d)) + 0.3 * draw.normal(size=(n, d))
    x = x * np.logspace(-1, 2, d) + np.arange(d)
    gap = draw.random((n, d)) < share
    gap[0] = False
    if share:
        gap[2] = True
    return np.where(gap, np.nan, x)


def mixed(n: int = 60, share: float = 0.2, seed: int = 0) -> pd.DataFrame:
    """A frame with a column of every kind, its own index, and every level among its rows."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=n)
    level = np.clip(np.rint(x + 1.5), 0, 3).astype(int)
    level[:4] = range(4)
    frame = pd.DataFrame(
        {
            "real": 10 * x + draw.normal(size=n),
            "whole": pd.array(np.rint(20 + 5 * x), dtype="Int64"),
            "count": draw.poisson(np.exp(0.5 * x)).astype(float),
            "colour": pd.Series(np.array(["red", "green", "blue", "grey"])[level], dtype="str"),
            "size": pd.Categorical.from_codes(level, ["S", "M", "L", "XL"], ordered=True),
            "flag": pd.array(x + 0.1 * draw.normal(size=n) > 0, dtype="boolean"),
        }
    )
    gap = draw.random(frame.shape) < share
    gap[:4] = False
    for j, name in enumerate(frame.columns):
        frame.loc[gap[:, j], name] = None
    return frame.set_index(pd.Index([f"r{i}" for i in range(n)]))


def odd(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """A level seen once, one distinct value, two columns never observed, an empty row."""
    draw = np.random.default_rng(seed)
    real = draw.normal(size=n)
    rare = pd.Series(np.where(real > 0, "a", "b"), dtype=object)
    rare[3] = "once"
    frame = pd.DataFrame(
        {
            "real": real,
            "rare": rare,
            "constant": 7.0,
            "one_level": pd.Series(["only"] * n, dtype=object),
            "never_a": np.nan,
            "never_b": np.nan,
        }
    )
    gap = draw.random((n, 4)) < 0.2
    gap[:4] = False
    gap[5] = True
    for j, name in enumerate(frame.columns[:4]):
        frame.loc[gap[:, j], name] = None
    return frame
