"""Ratings in; scores against simple baselines, a stress test, a model and lists out."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from nanwise.bench.case import plain, versions
from nanwise.bench.ranking import coverage, mae, rank, relevant_cells, rmse
from nanwise.bench.rating_facts import data_facts, settings_of
from nanwise.bench.rating_stress import rating_stress
from nanwise.data.ratings import Ratings, split_ratings
from nanwise.errors import DataError
from nanwise.estimators.recommender import CHUNK_CELLS
from nanwise.registry import find, known
from nanwise.train.plan import Plan

#: with more ratings than this the network is not trained once more without its normalisation
CONTRAST_RATINGS = 200_000
#: ratings learnt from between two checkpoints, some minutes of work at most, and most epochs
CHECKPOINT_RATINGS, CHECKPOINT_EPOCHS = 100_000_000, 100


@dataclass(frozen=True)
class Recommendation:
    """What :func:`recommend` found.

    Attributes
    ----------
    facts : dict
        Everything a report shows, as plain values.
    model : Recommender
        Fitted on all ratings.
    """

    facts: dict[str, Any]
    model: Any


@dataclass(frozen=True)
class Settings:
    """The arguments of :func:`recommend` that shape what is measured."""

    method: str
    k: int
    split: str
    test: float
    leave: int
    seed: int
    stress: bool
    contrast: bool


@dataclass(frozen=True)
class Parts:
    """The ratings, what is learnt from, and what is held out; all on the same axes."""

    whole: Ratings
    train: Ratings
    held: Ratings
    liked_from: float


def recommend(
    ratings: Ratings,
    method: str = "autorec",
    params: Mapping[str, Any] | None = None,
    *,
    k: int = 10,
    split: str = "rating",
    test: float = 0.1,
    leave: int = 1,
    seed: int = 0,
    stress: bool = True,
    contrast: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Recommendation:
    """Measure a recommender on held-out ratings beside the baselines, then fit it on all of them.

    Parameters
    ----------
    ratings : Ratings
    method : str
        Name of a registered recommender.
    params : mapping, optional
        Its parameters. ``plan`` may be a mapping of single settings of the training; the others
        keep the method's own defaults.
    k : int
        Length of the lists that are scored.
    split : {"rating", "time", "leave_k_out"}
        How ratings are held out, see :func:`nanwise.data.ratings.split_ratings`.
    test : float
        Share that is held out.
    leave : int
        Ratings of each user that are held out by ``"leave_k_out"``.
    seed : int
        Seed of the split, of every fit and of the stress test.
    stress : bool
        Whether to see what becomes of predictions when fewer ratings are known.
    contrast : bool, optional
        Whether to train a network with ``normalize`` once more without it. None: if there are at
        most 200,000 ratings, so that it costs little.
    checkpoint : path-like, optional
        Folder for checkpoints of the trainings. After a kill the same call goes on from the last
        one and ends with the same result; trainings that were over by then are run again.
    progress : bool
        Whether to show progress bars.

    Returns
    -------
    Recommendation
    """
    check_params(method, params)
    if contrast is None:
        contrast = len(ratings) <= CONTRAST_RATINGS
    settings = Settings(method, k, split, test, leave, seed, stress, contrast)
    parts = _split(ratings, settings)
    model = make(method, params, seed, parts.train)
    measured = {method: model, **_beside(model, settings, params, parts.train)}
    for one in measured.values():
        if "plan" in one.get_params(deep=False):
            _set_run(one.plan, len(ratings), checkpoint, progress)
    rows = [_measure(name, one, parts, settings) for name, one in measured.items()]
    final, how = _refit(model, ratings)
    if checkpoint is not None and hasattr(final, "plan"):
        final.plan.set_params(checkpoint=None)
    return Recommendation(_facts(measured, rows, final, how, parts, settings), final)


def check_params(method: str, params: Mapping[str, Any] | None) -> Any:
    """The recommender with these parameters (a ``plan`` set aside), or a ValueError.

    Meant to be called before a long file is read.
    """
    found = find(method, kind="recommender")
    given = dict(params or {})
    asked = given.pop("plan", {})
    own = [name for name in found.make().get_params(deep=False) if name != "random_state"]
    _refuse_unknown(given, [name for name in own if name != "plan"], method)
    if asked:
        if "plan" not in own:
            raise ValueError(f"{method} is not trained in epochs: there is no plan to set")
        if not isinstance(asked, Mapping):
            raise ValueError(f"plan: give single settings, such as epochs; got {asked!r}")
        _refuse_unknown(asked, list(Plan().get_params()), f"the plan of {method}")
    model = found.make(**given)
    try:
        Plan(**asked).validate()
        model.validate()
    except TypeError as error:
        raise ValueError(str(error)) from error
    return model


def _refuse_unknown(given: Iterable[str], there: list[str], whose: str) -> None:
    for name in given:
        if name not in there:
            near = difflib.get_close_matches(name, there, n=2) or there
            raise ValueError(f"{whose} has no parameter {name!r}; near or known: {', '.join(near)}")


def make(method: str, params: Mapping[str, Any] | None, seed: int, train: Ratings) -> Any:
    """The unfitted recommender; settings of ``plan`` are laid over the method's own."""
    model = check_params(method, params).set_params(random_state=seed)
    if "plan" not in model.get_params(deep=False):
        return model
    # The defaults of a network depend on how many ratings there are.
    asked = (params or {}).get("plan", {})
    return model.set_params(plan=model.default_plan(train).set_params(**asked))


def _set_run(plan: Plan, n_ratings: int, checkpoint: Any, progress: bool) -> None:
    """What belongs to this run and not to the model; a folder that the plan has already stands."""
    plan.set_params(progress=progress)
    if checkpoint is not None and plan.checkpoint is None:
        every = min(max(1, CHECKPOINT_RATINGS // n_ratings), CHECKPOINT_EPOCHS)
        plan.set_params(checkpoint=os.fspath(checkpoint), checkpoint_every=every)


def top_lists(model: Any, n: int, chunk: int = 4096) -> Iterator[dict[str, np.ndarray]]:
    """The first ``n`` items of every user, some users at a time: user, rank, item, score."""
    for start in range(0, len(model.users_), chunk):
        yield model.recommend(model.users_[start : start + chunk], n=n)


# -- splitting and measuring ----------------------------------------------------------------------


def _split(ratings: Ratings, settings: Settings) -> Parts:
    train, held = split_ratings(
        ratings,
        test=settings.test,
        by=settings.split,  # type: ignore[arg-type]
        k=settings.leave,
        random_state=settings.seed,
    )
    if len(train) < 2:
        raise DataError(f"{len(train)} rating is left to learn from; at least 2 are needed")
    return Parts(ratings, train, held, _liked_from(train))


def _liked_from(train: Ratings) -> float:
    """The first level of the scale that is not below the mean rating."""
    mean = float(train.matrix.data.mean(dtype=np.float64))
    return next((level for level in train.scale.levels if level >= mean), mean)


def _beside(model: Any, settings: Settings, params: Any, train: Ratings) -> dict[str, Any]:
    """What the model is measured against: the baselines, and itself without normalisation."""
    out = {}
    if settings.contrast and model.get_params(deep=False).get("normalize"):
        # made anew, since the method's own plan may be another without normalisation
        bare = {**(params or {}), "normalize": None}
        out[contrast_name(settings.method)] = make(settings.method, bare, settings.seed, train)
    for found in known("recommender"):
        if found.role == "baseline" and found.name != settings.method:
            out[found.name] = found.make(random_state=settings.seed)
    return out


def contrast_name(method: str) -> str:
    """How reports call a network that was trained without its normalisation."""
    return f"{method}, not normalised"


def _measure(name: str, model: Any, parts: Parts, settings: Settings) -> dict[str, Any]:
    """Fit on the training part and score on the held-out one."""
    start = perf_counter()
    model.fit(parts.train)
    fitted = perf_counter()
    held = parts.held.matrix
    predicted = model.predict_matrix_at(held)
    found = rank(
        lambda places: model.scores(model.users_[places]),
        parts.train.matrix,
        relevant_cells(held, parts.liked_from),
        settings.k,
        _warm_items(parts.train),
        CHUNK_CELLS,
    )
    return {
        "method": name,
        "rmse": rmse(held.data, predicted),
        "mae": mae(held.data, predicted),
        **{score: getattr(found, score) for score in ("ndcg", "recall", "precision")},
        "coverage": _coverage(model, settings.k),
        "fit_seconds": fitted - start,
        "score_seconds": perf_counter() - fitted,
        "ranked_users": found.users,
        "left_out": found.left_out,
    }


def _warm_items(train: Ratings) -> np.ndarray:
    """Items with training ratings: recommenders list no others."""
    return np.bincount(train.matrix.indices, minlength=len(train.items)) > 0


def _coverage(model: Any, k: int) -> float:
    place = {item: at for at, item in enumerate(model.items_.tolist())}
    lists = ([place[item] for item in part["item"].tolist()] for part in top_lists(model, k))
    return coverage(lists, len(place))


# -- the model that is kept -----------------------------------------------------------------------


def _refit(model: Any, ratings: Ratings) -> tuple[Any, str]:
    """The same model on all ratings, for as many epochs as were best on the training part."""
    best = best_epoch(getattr(model, "history_", None) or [])
    final = clone(model)
    if best is None:
        return final.fit(ratings), "fitted again on all ratings"
    final.set_params(plan=clone(model.plan).set_params(epochs=best, validation=None))
    epochs = "1 epoch" if best == 1 else f"{best} epochs"
    how = f"trained again on all ratings for {epochs}, the number that was best on validation"
    return final.fit(ratings), how


def best_epoch(history: list[dict[str, Any]]) -> int | None:
    """The epoch with the smallest validation loss; None if there was no validation."""
    seen = [(e["valid_loss"], e["epoch"]) for e in history if e.get("valid_loss") is not None]
    return int(min(seen)[1]) if seen else None


# -- facts ----------------------------------------------------------------------------------------


def _facts(
    measured: Mapping[str, Any],
    rows: list[dict[str, Any]],
    final: Any,
    how: str,
    parts: Parts,
    settings: Settings,
) -> dict[str, Any]:
    method = settings.method
    contrast = contrast_name(method)
    history = getattr(measured[method], "history_", None) or []
    facts = {
        "kind": "recommend",
        "title": f"Recommendations from {parts.whole.facts.get('source', 'ratings')}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": method,
        "contrast": contrast if contrast in measured else None,
        "data": data_facts(parts.whole),
        "protocol": _protocol(parts, rows[0], settings),
        "scores": [_scored(row, contrast) for row in rows],
        "history": history,
        "best_epoch": best_epoch(history),
        "stress": _stress(measured, parts, settings),
        "model": {"method": method, "path": None, "how": how, "params": settings_of(final)},
        "top": None,
        "settings": asdict(settings),
        "versions": versions(),
        "command": None,
    }
    return plain(facts)


def _scored(row: dict[str, Any], contrast: str) -> dict[str, Any]:
    row = {key: v for key, v in row.items() if key not in ("ranked_users", "left_out")}
    if row["method"] == contrast:
        return row | {"role": "contrast", "summary": "The same settings without normalisation."}
    found = find(row["method"])
    return row | {"role": found.role, "summary": found.summary}


def _stress(measured: Mapping[str, Any], parts: Parts, settings: Settings) -> dict[str, Any]:
    """Only networks are asked: they see ratings when they predict, the baselines do not."""
    names = [settings.method, contrast_name(settings.method)] if settings.stress else []
    found = {
        name: rating_stress(measured[name], parts.held.matrix, seed=settings.seed, name=name)
        for name in names
        if name in measured and hasattr(measured[name], "net_")
    }
    return {name: facts for name, facts in found.items() if facts}


def _protocol(parts: Parts, row: dict[str, Any], settings: Settings) -> dict[str, Any]:
    train, held = parts.train.matrix, parts.held
    warm_users = np.diff(train.indptr) > 0
    warm = warm_users[held.rows] & _warm_items(parts.train)[held.matrix.indices]
    return {
        "split": settings.split,
        "test": settings.test,
        "k": settings.k,
        "train": int(train.nnz),
        "held": len(held),
        "cold_ratings": int((~warm).sum()),
        "liked_from": parts.liked_from,
        "ranked_users": row["ranked_users"],
        "left_out": row["left_out"],
    }
