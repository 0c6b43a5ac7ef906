"""The stress test: does a prediction move only because more or fewer values arrive?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from nanwise.errors import DataError
from nanwise.stress_test.hide import Hiding, as_table, observed_cells, take, with_gaps
from nanwise.stress_test.predictor import Predictor
from nanwise.stress_test.result import StressResult
from nanwise.stress_test.scores import HIGHER, Scorer, check_target
from nanwise.stress_test.summary import LEVEL, output_facts

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
ROWS = 500
CELLS_PER_CALL = 20_000_000  # 160 MB of float64: the most one predict call is given
SAMPLE_ROWS = 3
SAMPLE_REPEATS = 25


def stress(
    model: Any,
    X: Any,
    y: Any = None,
    shares: Sequence[float] = SHARES,
    mechanism: str = "mcar",
    repeats: int = 50,
    metric: Callable[[Any, Any], float] | None = None,
    rows: int | None = None,
    random_state: Any = 0,
    output: Any = None,
) -> StressResult:
    """Hide more and more of each row and see what happens to the predictions.

    A model suffers from *variable sparsity* when its mean prediction moves with the number of
    values it is given. Hiding values at random tells nothing about the target, so a sound model may
    become less sure, but its mean prediction should stay where it was.

    Parameters
    ----------
    model : object or callable
        Anything with ``predict_proba`` or ``predict`` (both must take gaps), or a callable from a
        table to predictions, (N,) or (N, k). It is never fitted.
    X : ndarray or DataFrame of shape (N, D), pictures (N, C, H, W) or series (N, T, D)
        Rows to test on, best rows the model has not seen. Gaps stay gaps; nothing is revealed. Of
        pictures, pixels are hidden, each in all of its channels; of series, single values of single
        steps (both ``mcar`` only).
    y : array-like of shape (N,), optional
        The target; with it, scores are reported for every share.
    shares : sequence of float
        Shares of each row's observed values that stay, between 0 and 1.
    mechanism : {"mcar", "mar", "mnar"}
        How cells to hide are chosen. ``mcar`` keeps exactly ``round(share * count)`` cells of each
        row; the others come near the share on average (see :func:`nanwise.data.ampute.ampute`; MAR
        leaves a tenth of the columns alone). What is really left is in ``facts["kept"]``.
    repeats : int
        How often the hiding is drawn anew.
    metric : callable, optional
        ``metric(y, prediction) -> float``, in place of AUROC, accuracy and log loss for a
        classifier, RMSE and R2 for a regressor.
    rows : int, optional
        At most so many rows, drawn at random, are used. By default 500; give ``len(X)`` for all.
    random_state : int, RandomState or None
        Seed of the drawn rows and of the hiding.
    output : object, optional
        The class label (or the column of a multi-output answer) to follow. By default the second
        of two classes, and every class if there are more.

    Returns
    -------
    StressResult
        With ``slope``, ``slope_interval``, ``sparsity_bias``, ``scores``, ``facts``, ``plot()``.

    Notes
    -----
    The slope is the change of the mean prediction per 10 percentage points *more* values observed,
    by least squares on the shares really left. Its 95 % interval covers the choice of rows and
    the choice of hidden cells (see :func:`nanwise.stress_test.summary.drift`). With several
    outputs the headline is the one with the steepest slope, and the intervals hold jointly
    (Bonferroni), so that picking the worst one is paid for.

    There is one call of the model for the full rows and one per share below 1, each of
    ``rows * repeats`` rows; only calls of more than 20 million cells are split.
    """
    shares = _check_shares(shares)
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    table = as_table(X)
    if y is not None:
        y = check_target(y, len(table))
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    chosen, empty = _choose_rows(observed_cells(table), ROWS if rows is None else rows, seed)
    sample = take(table, chosen)
    predictor = Predictor(model, output)
    hiding = Hiding(sample, mechanism, repeats, seed)
    full = predictor.first(sample, gaps=not hiding.observed.all())
    scorer = _scorer(predictor, None if y is None else y[chosen], full, metric)
    shown = _rows_to_show(full[:, predictor.followed[0]])
    levels = [_level(predictor, hiding, share, full, scorer, shown) for share in shares]
    about = {"rows_total": len(table), "rows_empty": empty, "shown": chosen[shown].tolist()}
    return _result(predictor, hiding, shares, levels, full, about)


@dataclass(frozen=True)
class _Level:
    """What is kept of all predictions at one share; C outputs, R repeats, N rows."""

    kept: float
    """Mean share of a row's values really left."""
    rows: np.ndarray
    """(N, C), mean over repeats."""
    repeats: np.ndarray
    """(R, C), mean over rows."""
    scores: dict[str, np.ndarray]
    """Name -> (R,)."""
    shown_counts: np.ndarray
    """(R, k), values left in the rows that are shown one by one."""
    shown_predictions: np.ndarray
    """(R, k), their predictions."""


def _level(
    predictor: Predictor,
    hiding: Hiding,
    share: float,
    full: np.ndarray,
    scorer: Scorer | None,
    shown: np.ndarray,
) -> _Level:
    repeats = len(hiding.seeds)
    held = [hiding.held(share, r) for r in range(repeats)]
    if share >= 1:  # nothing is hidden, so every repeat is the prediction we have
        answers = np.broadcast_to(full, (repeats, *full.shape))
    else:
        answers = _predict(predictor, hiding.X, held).reshape(repeats, len(full), -1)
    followed = answers[:, :, predictor.followed]
    count = hiding.observed.sum(axis=1)
    left = np.stack([count - h.sum(axis=1) for h in held])
    return _Level(
        kept=float((left / count).mean()),
        rows=followed.mean(axis=0),
        repeats=followed.mean(axis=1),
        scores={} if scorer is None else scorer(answers),
        shown_counts=left[:SAMPLE_REPEATS, shown],
        shown_predictions=followed[:SAMPLE_REPEATS, shown, 0],
    )


def _predict(predictor: Predictor, X: Any, held: list[np.ndarray]) -> np.ndarray:
    per_call = max(1, CELLS_PER_CALL // max(1, held[0].size))
    parts = [np.stack(held[i : i + per_call]) for i in range(0, len(held), per_call)]
    return np.concatenate([predictor(with_gaps(X, part), gaps=True) for part in parts])


def _check_shares(shares: Sequence[float]) -> list[float]:
    out = sorted({float(s) for s in shares}, reverse=True)
    if len(out) < 2 or not all(0 <= s <= 1 for s in out):
        raise ValueError(
            f"shares must be at least two different numbers between 0 and 1, got {tuple(shares)}"
        )
    return out


def _choose_rows(observed: np.ndarray, rows: int, seed: int) -> tuple[np.ndarray, int]:
    """Positions of the rows to use, in order, and how many rows have nothing to hide."""
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    usable = np.flatnonzero(observed.any(axis=1))
    if len(usable) == 0:
        raise DataError("no row of X has an observed value, so there is nothing to hide")
    empty = len(observed) - len(usable)
    if len(usable) > rows:
        usable = np.sort(np.random.default_rng(seed).choice(usable, size=rows, replace=False))
    return usable, empty


def _rows_to_show(prediction: np.ndarray) -> np.ndarray:
    """Rows at the 10, 50 and 90 % points of the predictions at full information."""
    order = np.argsort(prediction, kind="stable")
    places = np.linspace(0.1, 0.9, SAMPLE_ROWS) * (len(order) - 1)
    return order[np.unique(np.rint(places).astype(int))]


def _scorer(
    predictor: Predictor, y: np.ndarray | None, full: np.ndarray, metric: Any
) -> Scorer | None:
    if y is None:
        return None
    task, classes = predictor.task, predictor.classes
    bare = not hasattr(predictor.model, "predict") and full.shape[1] == 1
    if bare and metric is None and len(np.unique(y)) == 2 and ((full >= 0) & (full <= 1)).all():
        # A function that gives numbers in [0, 1] for a target of two values gives probabilities.
        predictor.task, task, classes = "classification", "classification", list(np.unique(y))
    return Scorer(y, task, classes, metric)


def _result(
    predictor: Predictor,
    hiding: Hiding,
    shares: list[float],
    levels: list[_Level],
    full: np.ndarray,
    about: dict[str, Any],
) -> StressResult:
    kept = np.array([level.kept for level in levels])
    rows = np.stack([level.rows for level in levels])
    repeats = np.stack([level.repeats for level in levels])
    confidence = 1 - (1 - LEVEL) / len(predictor.names)
    outputs = [
        output_facts(name, full[:, j], rows[:, :, i], repeats[:, :, i], kept, confidence)
        for i, (name, j) in enumerate(zip(predictor.names, predictor.followed, strict=True))
    ]
    worst = max(outputs, key=lambda o: abs(o["slope"]))
    facts = {
        "kind": "stress",
        "model": predictor.name,
        "task": predictor.task,
        **_setting_facts(hiding, shares, kept, about),
        "output": worst["name"],
        **{k: worst[k] for k in ("slope", "slope_low", "slope_high", "sparsity_bias")},
        "outputs": outputs,
        "scores": _score_facts(levels),
        "samples": _sample_facts(levels, about["shown"]),
    }
    return StressResult(
        facts=_plain(facts),
        slope=worst["slope"],
        slope_interval=(worst["slope_low"], worst["slope_high"]),
        sparsity_bias=worst["sparsity_bias"],
        scores=_score_table(levels, shares),
    )


def _setting_facts(
    hiding: Hiding, shares: list[float], kept: np.ndarray, about: dict[str, Any]
) -> dict[str, Any]:
    """What was hidden, in which rows, how often."""
    rows, columns = hiding.observed.shape
    return {
        "mechanism": hiding.mechanism,
        "repeats": len(hiding.seeds),
        "rows": rows,
        "rows_total": about["rows_total"],
        "rows_empty": about["rows_empty"],
        "columns": columns,
        "observed_share": float(hiding.observed.mean()),
        "shares": shares,
        "kept": kept.tolist(),
    }


def _score_facts(levels: list[_Level]) -> dict[str, Any]:
    """Mean over the repeats with their middle 95 %: the luck of the hiding, not of the rows."""
    out = {}
    for name in levels[0].scores:
        runs = np.stack([level.scores[name] for level in levels])
        low, high = np.quantile(runs, [0.025, 0.975], axis=1)
        mean = runs.mean(axis=1)
        out[name] = {
            "mean": mean.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "higher_is_better": HIGHER.get(name),
        }
    return out


def _score_table(levels: list[_Level], shares: list[float]) -> dict[str, dict[float, float]]:
    return {
        name: {s: float(v.scores[name].mean()) for s, v in zip(shares, levels, strict=True)}
        for name in levels[0].scores
    }


def _sample_facts(levels: list[_Level], shown: list[int]) -> list[dict[str, Any]]:
    return [
        {
            "row": row,
            "observed": np.concatenate([v.shown_counts[:, k] for v in levels]).tolist(),
            "prediction": np.concatenate([v.shown_predictions[:, k] for v in levels]).tolist(),
            "mean_observed": [float(v.shown_counts[:, k].mean()) for v in levels],
            "mean_prediction": [float(v.shown_predictions[:, k].mean()) for v in levels],
        }
        for k, row in enumerate(shown)
    ]


def _plain(tree: Any) -> Any:
    """The same facts with None where a number is not finite, as JSON knows no other numbers."""
    if isinstance(tree, dict):
        return {k: _plain(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_plain(v) for v in tree]
    if isinstance(tree, float) and not math.isfinite(tree):
        return None
    return tree
