"""The protocol of the NeuMiss papers: simulate, train, choose a capacity, compare with Bayes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.table import Heading, PublishedTable
from nanwise.bench.run import Measured, fit_and_score, record, scores_of
from nanwise.data.simulate import Simulation, linear_gaussian

#: Test rows, and validation rows, of the authors.
HOLDOUT = 10_000
#: Numbers of training rows after which the authors scored; each adds rows to the ones before.
TRAINING = (10_000, 20_000, 100_000)

#: What a capacity of so much means for the parameters of a method on d columns.
CAPACITIES: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "depth": lambda depth, d: {"depth": depth},
    "width": lambda factor, d: {"hidden": [factor * d]},
    "layers": lambda layers, d: {"hidden": [d] * layers},
}


@dataclass(frozen=True)
class SimulatedTable(PublishedTable):
    """A published table on simulated data.

    Headings put into ``protocol``: ``d`` and ``n`` (columns and training rows), ``parts`` (whether
    the rows are drawn part by part, as the authors did where they scored several n), ``capacity``
    (a name in ``CAPACITIES``, or ``order`` of the Neumann series), ``at`` (its value in this cell;
    without one it is chosen on the validation rows), ``together`` (whether the values are trained
    in one run, because the best of them is the reference) and ``lr_times_d``.

    A scale says, beside the sizes, which values of each capacity are run; other cells stay empty.
    """

    def cases(self, row: Heading, column: Heading, scale: str) -> list[Case]:
        """The runs behind one cell; none if the scale leaves out its capacity."""
        sizes = self.sizes(scale)
        asked = {**self.protocol, **column.protocol, **row.protocol}
        params = {**self.params, **column.params, **row.params}
        protocol = _rows(asked, sizes["rows"])
        capacity, at = asked.get("capacity"), asked.get("at")
        if capacity is not None:
            values = list(sizes[capacity])
            if at is not None and at not in values:
                return []
            chosen = values if at is None or asked.get("together") else [at]
            protocol |= {"capacity": capacity, "values": chosen}
        return [
            Case(
                dataset=row.dataset or column.dataset or "",
                method=row.method or column.method or "",
                params={**params, **_plan(params, asked, sizes["epochs"])},
                protocol=protocol,
                fold=run,
                seed=run,
            )
            for run in range(sizes["runs"])
        ]


def _rows(asked: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    """How the rows are drawn: the same for two headings that a small scale makes equal."""
    n, d = asked["n"], asked["d"]
    if limit is not None:
        n = min(n, limit)
    holdout = HOLDOUT if limit is None else min(HOLDOUT, limit)
    before = [size for size in TRAINING if size < n] if asked.get("parts") else []
    sizes = [size + 2 * holdout for size in (*before, n)]
    return {"kind": "simulated", "d": d, "holdout": holdout, "n_sizes": sizes}


def _plan(
    params: Mapping[str, Any], asked: Mapping[str, Any], epochs: int | None
) -> dict[str, Any]:
    """The plan of a method that has one, with what depends on d and on the scale."""
    if "plan" not in params:
        return {}
    plan = dict(params["plan"] or {})
    if "lr_times_d" in asked:
        plan["lr"] = asked["lr_times_d"] / asked["d"]
    if epochs is not None:
        plan["epochs"] = epochs
    return {"plan": plan or None}


def run_simulated(case: Case) -> Record:
    """One run on simulated rows.

    ``case.dataset`` is a mechanism of :func:`~nanwise.data.simulate.linear_gaussian`, the seed is
    that of the authors' repetition. The first rows are for testing, as many for validation, the
    others for training. With several ``values`` of a capacity one model is trained for each, and
    the best on the validation rows counts.

    Scores, all on the test rows: ``r2``; ``bayes``, the R² of the Bayes predictor, where it has a
    closed form; ``gap``, the difference; ``gain``, R² minus that of least squares on zero-filled
    values and missingness indicators. For each value v of a capacity ``gap v``: R² minus ``bayes``,
    or without one minus the best of the values. For the order of the Neumann series ``gap v`` is
    that of the true predictor of that order, and the model is not asked.
    """
    return record(case, partial(_measure, case))


def _measure(case: Case) -> Measured:
    protocol = case.protocol
    data = _simulate(case.dataset, protocol["d"], tuple(protocol["n_sizes"]), case.seed)
    holdout = protocol["holdout"]
    test, valid, train = (
        (data.X[part], data.y[part])
        for part in (slice(holdout), slice(holdout, 2 * holdout), slice(2 * holdout, None))
    )
    bayes = _bayes(data, test)
    if protocol.get("capacity") == "order":
        scores = {f"gap {v}": _neumann(data, test, v) - bayes for v in protocol["values"]}
        return Measured(scores={**scores, "bayes": bayes})
    runs = {value: _run(case, value, train, valid, test) for value in protocol.get("values", [""])}
    found = max(runs.values(), key=lambda run: run.scores["valid_r2"])
    r2 = {value: run.scores["r2"] for value, run in runs.items()}
    reference = bayes if bayes is not None else max(r2.values())
    found.scores |= {
        f"gap {value}": score - reference for value, score in r2.items() if value != ""
    }
    found.scores |= {"gain": found.scores["r2"] - _least_squares(train, test)}
    if bayes is not None:
        found.scores |= {"bayes": bayes, "gap": found.scores["r2"] - bayes}
    found.fit_seconds = sum(run.fit_seconds for run in runs.values())
    found.facts = {"values": {str(value): run.scores for value, run in runs.items()}}
    return found


Rows = tuple[np.ndarray, np.ndarray]


def _run(case: Case, value: Any, train: Rows, valid: Rows, test: Rows) -> Measured:
    """One model, with its R² on the validation rows beside its scores."""
    from nanwise.estimators.table_model import make_estimator

    params = dict(case.params)
    if value != "":
        params |= CAPACITIES[case.protocol["capacity"]](value, case.protocol["d"])
    model = make_estimator(case.method, "regression", params, case.seed)
    found = fit_and_score(model, train, test, "regression")
    found.scores["valid_r2"] = scores_of(model, *valid, "regression")["r2"]
    return found


@lru_cache(maxsize=1)
def _simulate(mechanism: str, d: int, n_sizes: tuple[int, ...], seed: int) -> Simulation:
    """Kept, because a worker often meets the same rows in the next cell; never written to."""
    return linear_gaussian(n_sizes[-1], d, mechanism, n_sizes=n_sizes, random_state=seed)


def _bayes(data: Simulation, test: Rows) -> float | None:
    """R² of the Bayes predictor; probit self-masking has no closed form."""
    from nanwise.gaussian.predict import GaussianPredictor

    if data.mechanism == "probit_self_masking":
        return None
    predictor = GaussianPredictor(data.moments, data.coef, data.intercept, masking=data.masking)
    return _r2(test[1], predictor.predict(test[0]))


def _neumann(data: Simulation, test: Rows, order: int) -> float:
    """R² of the Neumann series, every row scaled by the spectral radius of its observed columns.

    That is how the authors computed it. :class:`~nanwise.gaussian.predict.NeumannPredictor` has one
    scale for all rows, as the paper and a network have, and needs more steps.
    """
    X, y = test
    observed = ~np.isnan(X)
    cov = data.moments.cov
    radius = np.linalg.eigvalsh(cov * observed[:, :, None] * observed[:, None, :])[:, -1:]
    step = 1 / np.where(radius > 0, radius, 1.0)
    rest = np.where(observed, X - data.moments.mean, 0.0)
    pull = rest
    for _ in range(order):
        pull = rest + np.where(observed, pull - step * (pull @ cov), 0.0)
    filled = np.where(observed, X, data.moments.mean + step * (pull @ cov))
    return _r2(y, data.intercept + filled @ data.coef)


def _least_squares(train: Rows, test: Rows) -> float:
    """R² of a linear model of zero-filled values and indicators: what every method should beat."""
    design = [
        np.column_stack([np.nan_to_num(X), np.isnan(X), np.ones(len(X))]) for X, _ in (train, test)
    ]
    coef, *_ = np.linalg.lstsq(design[0], train[1], rcond=None)
    return _r2(test[1], design[1] @ coef)


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(1 - np.mean((y - predicted) ** 2) / np.var(y))
