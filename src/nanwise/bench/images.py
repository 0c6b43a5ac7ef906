"""Treatments of holes in pictures against each other: one split, one network, one table."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from nanwise.bench.case import Case, Record, plain
from nanwise.bench.image_facts import best_of, facts_of, settings_of
from nanwise.bench.image_sheets import sheet
from nanwise.bench.run import Measured, fit_and_score, record
from nanwise.data.split import holdout
from nanwise.errors import DataError
from nanwise.estimators.image.choice import resolve
from nanwise.registry import find

#: what is compared unless something else is asked for; the first two share one density
TREATMENTS = ("misconv", "dmfa", "zero", "mask_channel", "partial_conv", "sn_conv", "knn")
#: the density of a hole for those that need one
DENSITY = "dmfa"
#: pictures shown in the report
SHOWN = 8


@dataclass(frozen=True)
class ImageComparison:
    """What :func:`compare_images` found.

    Attributes
    ----------
    facts : dict
        Everything a report shows, as plain values.
    model : NanImageClassifier or None
        The best one, fitted on the training part; None if all failed.
    records : list of Record
        One for each treatment.
    """

    facts: dict[str, Any]
    model: Any
    records: list[Record]


def compare_images(
    X: np.ndarray,
    y: np.ndarray,
    treatments: Sequence[str] | None = None,
    *,
    truth: np.ndarray | None = None,
    test: float = 0.2,
    params: Mapping[str, Any] | None = None,
    density: Mapping[str, Any] | None = None,
    make: Callable[[str], Any] | None = None,
    draws: int = 3,
    seed: int = 0,
    progress: bool = False,
) -> ImageComparison:
    """Train a classifier with each treatment of the holes and score it on pictures held out.

    All see the same split, whose training pictures are incomplete themselves. A treatment that
    fails is reported with its reason and has no place.

    Parameters
    ----------
    X : array of shape (N, C, H, W)
        Floats in [0, 1]; NaN is a hole.
    y : array of shape (N,)
        Classes.
    treatments : sequence of str, optional
        Values of ``gaps`` of :class:`nanwise.NanImageClassifier`; default: ``TREATMENTS``.
    truth : array of the same shape as X, optional
        Pictures before holes were cut on purpose; only shown, nothing learns from them.
    test : float
        Share of the pictures that is held out, in the proportions of the classes.
    params : mapping, optional
        Parameters of every classifier, such as ``{"width": 16, "plan__epochs": 5}``.
    density : mapping, optional
        Parameters of the DMFA that ``misconv`` and ``dmfa`` share.
    make : callable, optional
        ``make(treatment) -> unfitted classifier``, in the place of ``NanImageClassifier``.
    draws : int
        Random fillings shown in the report.
    seed : int
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    ImageComparison
    """
    names = list(dict.fromkeys(treatments or TREATMENTS))
    _check(X, y, names, known=make is None)
    start = time.perf_counter()
    train, held = holdout(y, "classification", test, seed)
    _check_split(y, train, held)
    maker = make or _Maker(X[train], params or {}, density or {}, seed)
    content = hashlib.sha256(np.ascontiguousarray(X)).hexdigest()[:16]
    protocol = {"kind": "holdout", "test": test}
    fitted: dict[str, Any] = {}
    records = []
    with tqdm(names, disable=not progress, unit=" treatment") as bar:
        for name in bar:
            bar.set_postfix_str(name)
            case = Case(content, name, plain(dict(params or {})), protocol, seed=seed)
            records.append(record(case, _work(name, maker, X, y, (train, held), fitted)))
    best = best_of(records)
    facts = facts_of(X, y, records, (train, held), best)
    facts |= {"settings": settings_of(params, density, test, seed)}
    shown = held[:SHOWN]
    facts["sheets"] = [
        sheet(
            X[shown],
            truth=None if truth is None else truth[shown],
            imputer=density_in(fitted.values()),
            draws=draws,
            seed=seed,
            names=[str(label)[:7] for label in y[shown]],
        )
    ]
    facts["seconds"] = time.perf_counter() - start
    return ImageComparison(plain(facts), fitted.get(best or ""), records)


def density_in(models: Any) -> Any:
    """The first imputer that a fitted classifier carries, None if there is none."""
    for model in models:
        treatment = getattr(model, "treatment_", None)
        for name in ("density_", "imputer_"):
            if hasattr(getattr(treatment, name, None), "complete"):
                return getattr(treatment, name)
    return None


def _check(X: np.ndarray, y: np.ndarray, names: list[str], known: bool) -> None:
    if len(X) != len(y):
        raise DataError(f"{len(X)} pictures and {len(y)} labels; each picture needs one")
    if not len(y):
        raise DataError("there are no pictures to compare on")
    if len(np.unique(y)) < 2:
        raise DataError(f"all pictures have the class {y[0]}; at least two classes are needed")
    if known:
        for name in names:
            resolve(name)


def _check_split(y: np.ndarray, train: np.ndarray, held: np.ndarray) -> None:
    """Refuse a training part without a choice between classes."""
    if len(np.unique(y[train])) < 2:
        raise DataError(
            f"of {len(y)} pictures {len(held)} are held out, and all others have the class "
            f"{y[train][0]}; at least two classes to learn from are needed: give more pictures, or "
            "hold out fewer"
        )


class _Maker:
    """Makes classifiers; a density that several need is learnt once, when it is first asked for."""

    def __init__(
        self, X: np.ndarray, params: Mapping[str, Any], density: Mapping[str, Any], seed: int
    ) -> None:
        self.X = X
        self.params = params
        self.density = density
        self.seed = seed
        self._learnt: Any = None
        self._seconds = 0.0

    def before(self, name: str) -> float:
        """Seconds of learning that a treatment needs before its own fit."""
        return self._seconds if name in ("misconv", DENSITY) else 0.0

    def __call__(self, name: str) -> Any:
        """An unfitted classifier."""
        from nanwise.estimators.image.classifier import NanImageClassifier

        model = NanImageClassifier(self._gaps(name), random_state=self.seed)
        return model.set_params(**self.params)

    def _gaps(self, name: str) -> Any:
        if name == "misconv":
            return find("image/misconv").make(density=self._shared())
        return self._shared() if name == DENSITY else name

    def _shared(self) -> Any:
        if self._learnt is None:
            fresh = find(DENSITY, "imputer", "image").make(random_state=self.seed)
            start = time.perf_counter()
            self._learnt = fresh.set_params(**self.density).fit(self.X)
            self._seconds = time.perf_counter() - start
        return self._learnt


def _work(
    name: str,
    make: Callable[[str], Any],
    X: np.ndarray,
    y: np.ndarray,
    parts: tuple[np.ndarray, np.ndarray],
    fitted: dict[str, Any],
) -> Callable[[], Measured]:
    train, held = parts

    def work() -> Measured:
        model = make(name)
        found = fit_and_score(model, (X[train], y[train]), (X[held], y[held]), "classification")
        fitted[name] = model
        found.facts = {"density_seconds": make.before(name) if isinstance(make, _Maker) else 0.0}
        return found

    return work
