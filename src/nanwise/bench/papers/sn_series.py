"""Sparsity normalisation, ICLR 2020: an LSTM on the PhysioNet Challenge 2012."""

from __future__ import annotations

import sys
from functools import lru_cache, partial
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.known_entries import SHARES, mean_targets, one_prediction, slope
from nanwise.bench.papers.table import Heading, PublishedTable, publish
from nanwise.bench.run import Measured, fit_and_score, record
from nanwise.bench.score import Metric
from nanwise.data.series import SeriesData
from nanwise.registry import find
from nanwise.train.plan import Plan

#: the official sets: learnt from, stopped on, scored on
TRAIN, HELD, TEST = "a", "b", "c"
#: stays that are predicted from parts of what is known of them, half with either outcome
ASKED = 600


def run_series(case: Case) -> Record:
    """Train on set A, stop early on set B, score on set C.

    ``case.method`` is the key of a treatment of series; ``case.params`` are those of
    :class:`nanwise.NanSeriesClassifier`. ``case.protocol`` holds ``steps``, into how many the 48
    hours are cut, and ``rows``, at most so many stays of each set, drawn at random (None: all).

    Beside the usual scores there are ``epochs``, ``epoch_seconds`` (mean, validation included) and
    ``peak_mb``, the largest memory of the process so far; and what Figure 1 shows: scores ``slope``
    and ``spread``, facts ``point``, ``targets`` and ``level``, see
    :func:`~nanwise.bench.papers.sn_fig1_run.run_known`.
    """
    return record(case, partial(_measure, case))


def _measure(case: Case) -> Measured:
    train, held, test = (_stays(case, split) for split in (TRAIN, HELD, TEST))
    model = _Validated(_model(case), held)
    found = fit_and_score(model, (train.X, train.y), (test.X, test.y), "classification")
    history = model.history_
    found.scores |= {
        "epochs": float(len(history)),
        "epoch_seconds": float(np.mean([step["seconds"] for step in history])),
        "peak_mb": _peak_mb(),
    }
    found.facts = {"valid_auroc": [step["valid_auroc"] for step in history]}
    _show_parts(found, model, train, test, case.seed)
    return found


# -- parts of what is known ------------------------------------------------------------------------


def _show_parts(
    found: Measured, model: _Validated, train: SeriesData, test: SeriesData, seed: int
) -> None:
    """Predict stays of the test set again from ever less, for Figure 1."""

    def death(X: np.ndarray) -> np.ndarray:
        return model.predict_proba(X)[:, 1]

    rng = np.random.default_rng(seed)
    asked = test.X[_balanced(np.asarray(test.y), rng)]
    level = [float(death(_thinned(asked, share, rng)).mean()) for share in SHARES]
    found.scores |= {"slope": slope(level), "spread": float(death(asked).std())}
    busy = asked[np.argsort(-np.isfinite(asked).sum(axis=(1, 2)))[: max(1, len(asked) // 4)]]
    one = busy[rng.integers(len(busy))]
    found.facts |= {
        "level": level,
        "point": one_prediction(
            np.isfinite(one), lambda kept: death(np.where(kept, one, np.nan)), rng
        ),
        "targets": mean_targets(
            np.isfinite(train.X).sum(axis=(1, 2)), np.asarray(train.y, dtype=float)
        ),
    }


def _balanced(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn of both outcomes, equally many.

    The loss weighs both outcomes equally. Who then answers P(death | what is known) rightly says
    1/2 on the mean of such rows, however much is hidden: E P(death | a part) = P(death). On rows as
    they come most survive, and the mean falls with what is known even of the best model.
    """
    rows = [rng.permutation(np.flatnonzero(y == outcome)) for outcome in (0, 1)]
    each = min(ASKED // 2, *map(len, rows))
    return np.sort(np.concatenate([found[:each] for found in rows]))


def _thinned(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(X.shape, dtype=np.float32) < share, X, np.nan)


# -- stays and models ------------------------------------------------------------------------------


class _Validated:
    """A classifier of series that stops on sequences of their own."""

    def __init__(self, model: Any, held: SeriesData) -> None:
        self.model, self.held = model, held

    def fit(self, X: Any, y: Any) -> _Validated:
        self.model.fit(X, y, validation=(self.held.X, self.held.y))
        self.classes_, self.history_ = self.model.classes_, self.model.history_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(X)


def _model(case: Case) -> Any:
    from nanwise.estimators.series.supervised import NanSeriesClassifier

    params = {**case.params, "plan": Plan(**case.params["plan"])}
    gaps = find(case.method, "treatment").make()
    return NanSeriesClassifier(gaps, random_state=case.seed, **params)


def _stays(case: Case, split: str) -> SeriesData:
    data = _load(split, case.protocol["steps"])
    limit = case.protocol["rows"]
    if limit is None or limit >= len(data):
        return data
    drawn = np.random.default_rng(case.seed).choice(len(data), limit, replace=False)
    return data.take(np.sort(drawn))


@lru_cache(maxsize=3)
def _load(split: str, steps: int) -> SeriesData:
    """Kept, because a worker meets the same sets in many cells; never written to."""
    from nanwise.data.series import load_physionet2012

    return load_physionet2012(split, steps)


def _peak_mb() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


ROWS = (
    Heading("Zero Imputation w/o SN", method="series/zero"),
    Heading("Zero Imputation w/ SN (ours.)", method="series/sparsity_norm"),
    Heading("Forward filling", method="series/forward_fill"),
    Heading("Observation indicator", method="series/observation_indicator"),
    Heading("Decay (GRU-D, LSTM cell)", method="series/decay"),
)
AUROC = Heading("Test AUROC", dataset="physionet2012", score="auroc")
COLUMNS = (
    AUROC,
    Heading("Epochs", dataset="physionet2012", score="epochs"),
    Heading("Seconds per epoch", dataset="physionet2012", score="epoch_seconds"),
    Heading("Peak memory, MB", dataset="physionet2012", score="peak_mb"),
)
PARAMS: dict[str, Any] = {
    "units": 108,
    "class_weight": "balanced",
    "scale": "clipped",
    "plan": {
        "optimizer": "adam",
        "weight_decay": 0.0,
        "schedule": None,
        "lr": 2e-4,
        "batch": 512,
        "monitor": "auroc",
    },
}

TABLE_6 = publish(
    PublishedTable(
        id="sn/table6",
        title="Mortality in intensive care by an LSTM with and without SN, PhysioNet 2012",
        source="Sparsity normalisation, ICLR 2020, Table 6, Appendix C.2",
        metric=Metric("auroc", "AUROC, or as named", True),
        rows=ROWS,
        columns=COLUMNS,
        run=run_series,
        scales={
            "smoke": {"runs": 1, "rows": 60, "epochs": 1, "patience": 1},
            "laptop": {"runs": 5, "rows": None, "epochs": 80, "patience": 10},
            "paper": {"runs": 5, "rows": None, "epochs": 300, "patience": 20},
        },
        published={
            (ROWS[0].name, AUROC.name): (0.8177, 0.0071),
            (ROWS[1].name, AUROC.name): (0.8152, 0.0010),
        },
        params=PARAMS,
        protocol={"kind": "series", "steps": 288},
        notes=(
            "After the paper: 35 examinations in 288 steps of ten minutes, standardised, an LSTM "
            "of 108 units whose last state gives the logit, loss with class weights, Adam with "
            "rate 2e-4, batches of 512, best epoch by the AUROC of validation stays. SN is applied "
            "to each time step.",
            "The files hold values that cannot be, a pH of 735 or a temperature of 0 among them; a "
            "step with one value is multiplied by K under SN, and such a value with it. So the "
            "lowest and the highest 0.5 % of each examination are moved to where the others begin "
            "before they are standardised, for all rows alike; the paper does not say what it did.",
            "The paper uses the official sets of 4000 stays and does not say which is which; ours "
            "learns from set A, stops on set B and is scored on set C. The five published runs "
            "then differ by their seeds alone, and so do ours. Epochs and patience are not "
            "published; ours are in the settings.",
            "Three quarters of the steps have no value at all. K is the mean number of values of "
            "the training steps that have one; over all steps it would be a quarter of that. Which "
            "the paper takes is not said. Of several values within ten minutes the last counts.",
            "Rows below the first two, and columns beside the first, are not published. Seconds "
            "include validation on set B; memory is the peak of the process, which may have run "
            "other cells before. Decay uses the LSTM cell of the other rows; published is a GRU.",
        ),
    )
)
