"""Running one cell: a pure function of the case and the data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from nanwise.bench import grid
from nanwise.bench.case import Case, Record, plain, versions
from nanwise.bench.score import Scores, classification_scores, regression_scores
from nanwise.bench.table import Table
from nanwise.errors import TrainingError


@dataclass
class Measured:
    """What a protocol measured; it becomes a :class:`~nanwise.bench.case.Record`."""

    scores: Scores = field(default_factory=dict)
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def record(case: Case, work: Callable[[], Measured]) -> Record:
    """Do the work of a case and write down what came of it, be it an error."""
    base = {"case": plain(asdict(case)), "key": case.key, "versions": versions()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            measured = work()
        # Nothing is passed over: whatever a method raises is the result of its cell and is shown.
        except Exception as error:  # noqa: BLE001
            return Record(**base, error={"type": type(error).__name__, "text": _text(error)})
    said = list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    return Record(**base, **plain(asdict(measured)), warnings=said)


def run(case: Case, table: Table) -> Record:
    """One cell: fit a method on the training rows of a fold, score it on the others."""

    def work() -> Measured:
        train, test = _parts(table, case)
        return fit_and_score(table.model_of(case), train, test, table.task)

    return record(case, work)


def run_stress(case: Case, table: Table) -> Record:
    """One stress test, on the rows of a fold that the model was not fitted on."""

    def work() -> Measured:
        from nanwise.stress_test.run import stress

        train, test = _parts(table, case)
        model = table.model_of(case).fit(*train)
        sizes = {name: case.protocol.get(name) for name in ("repeats", "rows")}
        result = stress(model, *test, **sizes, random_state=case.seed)
        return Measured(facts={**result.facts, "model": case.method})

    return record(case, work)


def _parts(table: Table, case: Case) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    train, test = grid.split(table, case)
    return table.part(train), table.part(test)


def fit_and_score(model: Any, train: tuple[Any, Any], test: tuple[Any, Any], task: str) -> Measured:
    """Fit a model on (X, y), score it on other rows, and time both."""
    load_torch()
    started = time.perf_counter()
    model.fit(*train)
    fitted = time.perf_counter()
    scores = scores_of(model, *test, task)
    return Measured(
        scores=scores,
        fit_seconds=fitted - started,
        predict_seconds=time.perf_counter() - fitted,
        history=curve(model),
    )


def scores_of(model: Any, X: Any, y: Any, task: str) -> Scores:
    """Scores of a fitted model, after its task."""
    if task == "classification":
        proba = _finite(model.predict_proba(X))
        return classification_scores(np.asarray(y), proba, model.classes_)
    return regression_scores(np.asarray(y), _finite(model.predict(X)))


def curve(model: Any) -> list[dict[str, Any]]:
    """The learning curve of a fitted model, empty if it has none."""
    names = ("epoch", "train_loss", "valid_loss")
    history = getattr(model, "history_", None) or []
    return plain([{name: step.get(name) for name in names} for step in history])


def load_torch() -> None:
    """Before the clock starts: importing is not the work of whichever method comes first."""
    import lightning_fabric  # noqa: F401

    import nanwise.train.loop  # noqa: F401


def _finite(predicted: Any) -> np.ndarray:
    predicted = np.asarray(predicted, dtype=float)
    bad = ~np.isfinite(predicted).reshape(len(predicted), -1).all(axis=1)
    if bad.any():
        raise TrainingError(f"the predictions of {bad.sum()} of {len(bad)} rows are not numbers")
    return predicted


def _text(error: BaseException) -> str:
    return str(error).strip() or "no message"
