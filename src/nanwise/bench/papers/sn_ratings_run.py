"""The protocol of the sparsity normalisation papers on ratings: split, tune, train, score."""

from __future__ import annotations

import time
from functools import lru_cache, partial
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.ranking import mae, rmse
from nanwise.bench.run import Measured, record
from nanwise.data.ratings import Ratings, split_ratings
from nanwise.errors import DataError, TrainingError


def run_ratings(case: Case) -> Record:
    """One run on ratings.

    ``case.protocol`` holds ``test`` (share of the ratings), ``users`` (only so many, and as many
    items: those with the most ratings; None: all) and ``part``: which ratings are scored.
    ``"test"`` scores the test ratings of split ``case.fold``, cold ones included. ``"validation"``
    never looks at them: it trains and gives the error on the validation ratings that the
    recommender puts aside by itself.

    Scores: ``rmse`` and ``mae`` on the test ratings; ``valid_rmse`` at the best epoch.
    """
    return record(case, partial(_measure, case))


def _measure(case: Case) -> Measured:
    train, test = parts_of(case)
    model, seconds = fit(case, train)
    found = Measured(scores=validated(model), fit_seconds=seconds, facts=training_facts(model))
    if case.protocol["part"] == "test":
        started = time.perf_counter()
        predicted = predictions(model, test)
        found.predict_seconds = time.perf_counter() - started
        found.scores |= {
            "rmse": rmse(test.matrix.data, predicted),
            "mae": mae(test.matrix.data, predicted),
        }
    return found


def fit(case: Case, train: Ratings) -> tuple[Any, float]:
    """The fitted recommender of a case, and the seconds it took."""
    import nanwise.train.loop  # noqa: F401  (not on the clock of whichever run comes first)
    from nanwise.bench.recommend import make

    model = make(case.method, case.params, case.seed, train)
    started = time.perf_counter()
    model.fit(train)
    return model, time.perf_counter() - started


def validated(model: Any) -> dict[str, float | None]:
    """Error on the validation ratings at the epoch whose weights count."""
    losses = [epoch["valid_loss"] for epoch in model.history_]
    seen = [loss for loss in losses if loss is not None]
    return {"valid_rmse": float(np.sqrt(min(seen)))} if seen else {}


def training_facts(model: Any) -> dict[str, Any]:
    """What tells how long a network was trained."""
    return {"best_epoch": model.best_epoch_, "epochs": model.n_iter_}


def predictions(model: Any, test: Ratings) -> np.ndarray:
    """Predicted test ratings, or a TrainingError if some are not numbers."""
    predicted = model.predict_matrix_at(test)
    bad = ~np.isfinite(predicted)
    if bad.any():
        raise TrainingError(f"the predictions of {bad.sum()} of {len(bad)} ratings are not numbers")
    return predicted


def parts_of(case: Case) -> tuple[Ratings, Ratings]:
    """Training and test ratings; the same for all cases of one split of one data set."""
    return _parts(case.dataset, case.protocol["users"], case.protocol["test"], case.fold)


def not_there(dataset: str) -> str | None:
    """Why a set of ratings cannot be read; None if it can."""
    try:
        _load(dataset)
    except DataError as error:
        return str(error)
    return None


@lru_cache(maxsize=2)
def _parts(dataset: str, users: int | None, test: float, fold: int) -> tuple[Ratings, Ratings]:
    ratings = _load(dataset)
    if users is not None:
        sizes = np.diff(ratings.matrix.indptr), np.bincount(ratings.matrix.indices)
        ratings = ratings.restrict(*(_largest(size, users) for size in sizes))
    return split_ratings(ratings, test, random_state=fold)


def _largest(sizes: np.ndarray, n: int) -> np.ndarray:
    kept = np.zeros(len(sizes), dtype=bool)
    kept[np.argsort(-sizes, kind="stable")[:n]] = True
    return kept


@lru_cache(maxsize=3)
def _load(dataset: str) -> Ratings:
    """Kept, because a worker meets the same ratings in many cells; never written to."""
    from nanwise.data.sets import load_ratings

    return load_ratings(dataset)
