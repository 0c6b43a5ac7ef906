"""Sparsity normalisation, ICLR 2020: figures on MovieLens ratings."""

from __future__ import annotations

from typing import Any

from nanwise.bench.papers.sn_ratings_parts import (
    NORMALIZE,
    NOTES,
    PAPER,
    PARAMS,
    PROTOCOL,
    RMSE,
    SCALES,
    SETS,
    SPLITS,
    model,
)
from nanwise.bench.papers.sn_ratings_run import run_ratings
from nanwise.bench.papers.sn_ratings_sweep import SweepTable, run_sweep
from nanwise.bench.papers.sn_ratings_table import RatingTable
from nanwise.bench.papers.table import Heading, publish
from nanwise.bench.score import Metric

#: what the paper calls weak, moderate and strong
PENALTIES = {"weak": 50.0, "moderate": 500.0, "strong": 5000.0}
#: not in the paper: a K below the mean number of ratings, 95, keeps the hidden units in the middle
#: of the sigmoid, where noise from few ratings does not shift them
SMALL_K: dict[str, Any] = {**NORMALIZE["w/ SN"], "K": 15.0}
SHOWN_MODELS: dict[str, dict[str, Any]] = {
    **NORMALIZE,
    "w/ LN": {"normalize": "layer"},
    "w/ BN": {"normalize": "batch"},
    "w/ SN, K = 15": SMALL_K,
}
SHOWN = {"slope": "slope", "spread": "spread of predictions", "rmse": "RMSE"}
SLOPE = Metric(
    "slope", "change of the mean prediction per 10 points more ratings known; or as named", False
)

SWEEP_SCALES = {**SCALES, "laptop": {**SCALES["laptop"], "runs": {"ml_100k": 3, "ml_1m": 3}}}
SWEEP_NOTES = (
    SPLITS,
    "AutoRec on user vectors with fixed λ; training stops on 5 % of the training ratings.",
    "Slope: every user's known ratings are cut to 90, 80, … 10 % at random, and all test ratings "
    "are predicted anew from what is left; nothing in the ratings makes the mean prediction depend "
    "on how many are known. Spread: standard deviation of the predicted test ratings when all are "
    "known; near 0 the model answers the same to everybody.",
    "Charts: run 0, one test rating drawn among those of users with at least 200 known ratings, "
    "the same for all models; 100 draws for each number of known ratings, mean and middle 95 %. "
    "The paper plots single draws of another test rating; it prints no numbers.",
)


def _sweep_rows(names: dict[str, dict[str, Any]]) -> tuple[Heading, ...]:
    return tuple(
        Heading(f"{name}: {label}", method="autorec", score=score, params=params)
        for score, label in SHOWN.items()
        for name, params in names.items()
    )


COLUMNS_SWEEP = tuple(
    Heading(f"{name} (λ = {value:g})", dataset="ml_100k", params={"penalty": value})
    for name, value in PENALTIES.items()
)


def _sweep(id: str, names: dict[str, dict[str, Any]], **facts: Any) -> SweepTable:
    return SweepTable(
        id=id,
        metric=SLOPE,
        rows=_sweep_rows(names),
        columns=COLUMNS_SWEEP,
        run=run_sweep,
        scales=SWEEP_SCALES,
        params={**PARAMS, "by": "user"},
        protocol={**PROTOCOL, "part": "sweep"},
        **facts,
    )


FIGURE_1A = publish(
    _sweep(
        "sn/fig1a",
        NORMALIZE,
        title="Predictions of AutoRec against the number of known ratings, with and without SN",
        source=f"{PAPER}, Figure 1, first column",
        notes=(
            *SWEEP_NOTES,
            "First chart: mean test rating of users, grouped by their number of known ratings "
            "(first row of the figure), with 95 % intervals over users. The paper does not say "
            "which λ its figure has; here are the three of Figure 9.",
        ),
        targets=True,
    )
)

FIGURE_9 = publish(
    _sweep(
        "sn/fig9",
        SHOWN_MODELS,
        title="Predictions of AutoRec against the number of known ratings, four normalisations",
        source=f"{PAPER}, Figure 9, Appendix H.1.2",
        notes=(
            *SWEEP_NOTES,
            "Rows with K = 15 are not in the paper, where K is the mean number of ratings of a "
            "user: a smaller K makes predictions steadier and less accurate.",
        ),
    )
)

UNITS = (400, 500, 600, 700, 800, 900, 1000)
TUNED_AT = 500

FIGURE_6 = publish(
    RatingTable(
        id="sn/fig6",
        title="Test RMSE of AutoRec with SN against the number of hidden units",
        source=f"{PAPER}, Figure 6, Appendix B.2 (Figure 10 of the draft of 2019)",
        metric=RMSE,
        rows=tuple(
            Heading(
                f"{name} w/ SN",
                dataset=SETS[name],
                method="autorec",
                params=(row := model("", "autorec", by="item", **NORMALIZE["w/ SN"])).params,
                protocol={**row.protocol, "tuned_with": {"hidden": TUNED_AT}},
            )
            for name in ("Movielens 100K", "Movielens 1M")
        ),
        columns=tuple(Heading(str(units), params={"hidden": units}) for units in UNITS),
        run=run_ratings,
        scales={**SCALES, "laptop": {**SCALES["laptop"], "runs": {"ml_100k": 5}}},
        params=PARAMS,
        protocol=PROTOCOL,
        notes=(
            *NOTES[:-1],
            f"λ is found with {TUNED_AT} hidden units and kept for all numbers of them. Item "
            "vectors. 1M is run at scale paper. The paper prints no numbers; it reads 600 units as "
            "enough for 100K and 900 for 1M, from differences of about 0.001.",
        ),
        axis="hidden units",
    )
)
