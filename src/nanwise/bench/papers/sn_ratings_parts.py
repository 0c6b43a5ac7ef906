"""What the tables on ratings share: rows, columns, scales, notes, and reading of figures."""

from __future__ import annotations

from typing import Any

from nanwise.bench.papers.sn_ratings_table import FIND
from nanwise.bench.papers.table import Heading
from nanwise.bench.score import METRICS

PAPER = "Sparsity normalisation, ICLR 2020"
RMSE = METRICS["rmse"]
VECTORS = {"user vector": "user", "item vector": "item"}
SETS = {"Movielens 100K": "ml_100k", "Movielens 1M": "ml_1m", "Movielens 10M": "ml_10m"}
NORMALIZE: dict[str, dict[str, Any]] = {
    "w/o SN": {"normalize": None},
    "w/ SN": {"normalize": "sparsity", "power": 1.0},
}
#: between none and the published one: the inputs of a row go with (K / count) ** 0.7
MILD: dict[str, Any] = {"normalize": "sparsity", "power": 0.7}
#: where the search for λ starts: the same with and without normalisation
CENTRES = {
    "autorec": 100.0,
    "cfnade": 10.0,
    "cfuica": 50.0,
    "autorec_filled": 100.0,
    "autorec_gmmc": 100.0,
}
#: trained again on all training ratings, for as many epochs as were best
REFIT = ("autorec", "autorec_filled", "autorec_gmmc")

PROTOCOL: dict[str, Any] = {"kind": "ratings", "test": 0.1}
PARAMS: dict[str, Any] = {"hidden": 500, "penalty": FIND}

_TINY = {"epochs": 4, "patience": 4}
SCALES: dict[str, dict[str, Any]] = {
    "smoke": {
        "runs": {"ml_100k": 2},
        "fine": True,
        "users": 40,
        "units": 8,
        "patient": 1,
        "plans": dict.fromkeys(CENTRES, _TINY),
    },
    "laptop": {
        "runs": {"ml_100k": 5, "ml_1m": 3},
        "fine": False,
        "users": None,
        "units": None,
        "patient": 2,
        "plans": {
            "autorec": {"epochs": 1000, "patience": 25},
            "autorec_filled": {"epochs": 1000, "patience": 25},
            "autorec_gmmc": {"epochs": 1000, "patience": 25},
        },
    },
    "paper": {
        "runs": dict.fromkeys(SETS.values(), 5),
        "fine": True,
        "users": None,
        "units": None,
        "patient": 10,
        "plans": {
            "autorec": {"epochs": 20000, "patience": 1000},
            "autorec ml_10m": {"epochs": 1000, "patience": 50, "lr": 1e-4},
            "autorec_filled": {"epochs": 20000, "patience": 1000},
            "autorec_gmmc": {"epochs": 20000, "patience": 1000},
            "cfnade": {"epochs": 500, "lr": 1e-3, "batch": 512},
        },
    },
}

SPLITS = (
    "90 % of the ratings, drawn at random, for training, 10 % for testing; run k has split k in "
    "every row, so rows may be compared split by split, as the rows of differences do (95 % "
    "interval of Student's t over the runs). Ratings of users and items without training ratings "
    "are counted; they are predicted by the mean rating (in published code of AutoRec: by 3)."
)
TUNED = (
    "λ has one significant digit and is chosen on 5 % of the training ratings of run 0, once for "
    "every row and data set, starting from the same value with and without normalisation: 1, 2, 5, "
    "10, … until both neighbours are worse, then (not at scale laptop) all digits. The test "
    "ratings of run 0 are not looked at; most of those of the other runs are among its training "
    "ratings."
)
STOPPED = (
    "The number of epochs comes from 5 % of the training ratings of each run. AutoRec is then "
    "trained again for as many epochs on all of them; CF-NADE and CF-UIcA keep the weights of the "
    "best epoch. The paper does not say on what λ was tuned and training stopped."
)
NO_10M = (
    "MovieLens 10M is run at scale paper, where $NANWISE_DATA has it; it could not be had where "
    "our figures were measured."
)
MILDER = (
    "Rows with power 0.7 are not in the paper: inputs of a row with n ratings are multiplied by "
    "(K / n) ** 0.7 instead of K / n."
)
SHARED = (
    "CF-NADE shares weights between the levels of ratings, as in its own paper (Zheng et al., "
    "2016); the published rows with and without SN do not."
)
NOTES = (SPLITS, TUNED, STOPPED, NO_10M)


def columns() -> tuple[Heading, ...]:
    """One column per data set."""
    return tuple(Heading(name, dataset=dataset) for name, dataset in SETS.items())


def columns_by() -> tuple[Heading, ...]:
    """Two columns per data set: rows of the matrix are items, or users."""
    return tuple(
        Heading(f"{name} {vector}", dataset=dataset, params={"by": VECTORS[vector]})
        for name, dataset in SETS.items()
        for vector in ("item vector", "user vector")
    )


def pair(name: str, method: str, **params: Any) -> tuple[Heading, ...]:
    """A model without and with normalisation, and the difference of the two."""
    rows = [
        model(f"{name} {label}", method, **setting, **params)
        for label, setting in NORMALIZE.items()
    ]
    return (*rows, minus(f"{name} w/ SN − w/o SN", rows[1], rows[0]))


def mild(name: str, method: str, **params: Any) -> tuple[Heading, ...]:
    """What is not in the paper: normalisation with the power 0.7, and what it changes."""
    row, without = f"{name} w/ SN, power 0.7", f"{name} w/o SN"
    return (
        model(row, method, **MILD, **params),
        Heading(f"{row} − w/o SN", method=method, minus=(row, without)),
    )


def minus(name: str, first: Heading, second: Heading) -> Heading:
    """A row of differences."""
    return Heading(name, method=first.method, minus=(first.name, second.name))


def model(name: str, method: str, patient: bool = False, **params: Any) -> Heading:
    """A row: one model, its penalty to be found."""
    protocol = {"centre": CENTRES[method], "patient": patient}
    if method in REFIT:
        params = {"refit": True, **params}
    return Heading(name, method=method, params=params, protocol=protocol)


Figures = dict[tuple[str, str], tuple[float, float | None]]


def printed(rows: list[str], heads: tuple[Heading, ...], text: str) -> Figures:
    """Published cells from text: one line per row; ``mean±half``, ``mean``, or ``-`` for none."""
    cells: Figures = {}
    for row, line in zip(rows, text.strip().splitlines(), strict=True):
        for head, word in zip(heads, line.split(), strict=True):
            if word != "-":
                mean, _, half = word.partition("±")
                cells[row, head.name] = (float(mean), float(half) if half else None)
    return cells


def named(rows: tuple[Heading, ...]) -> list[str]:
    """Names of the rows that are in the paper: no differences, no other powers."""
    return [row.name for row in rows if not row.minus and row.params.get("power") != MILD["power"]]
