"""Sparsity normalisation, ICLR 2020: dropout whose survivors are scaled by their number."""

from __future__ import annotations

from typing import Any

from nanwise.bench.papers.holdout import run_holdout
from nanwise.bench.papers.table import Heading, PublishedTable, publish
from nanwise.bench.score import METRICS

SETS = {"Boston": "boston", "Diabetes": "diabetes", "California": "california"}
KINDS = {"w/o SN": "plain", "w/ SN": "sn"}
RATES = tuple(tenth / 10 for tenth in range(10))

PARAMS: dict[str, Any] = {
    "hidden": [256, 256, 256, 256],
    "scale": "minmax",
    "plan": {
        "optimizer": "adam",
        "weight_decay": 0.0,
        "schedule": None,
        "lr": 1e-4,
        "batch": 128,
        "validation": 0.2,
    },
}

SCALES: dict[str, dict[str, Any]] = {
    "smoke": {"runs": 2, "rows": 100, "epochs": 3, "patience": 3},
    "laptop": {"runs": 5, "rows": 2000, "epochs": 600, "patience": 50},
    "paper": {"runs": 5, "rows": None, "epochs": 2000, "patience": 50},
}

NOTES = (
    "After appendix E of the paper: 4 hidden layers of 256 ReLU units, dropout behind each, "
    "mean squared error, Adam with rate 1e-4 and no weight decay, batches of 128, inputs scaled "
    "to [0, 1], 10 % of the rows for testing, 20 % of the rest for validation. There are no gaps.",
    "w/o SN scales what survives by 1 / (1 - rate), w/ SN by 256 / (number that survived). At "
    "rate 0 both are the same network. Run k of both rows has the same split and the same start; "
    "the rows of differences compare them run by run.",
    "Epochs, patience and the number of runs are not published; ours are in the settings. Training "
    "stops on the validation error, which is computed without dropout. Targets keep their own "
    "unit, as the paper scales inputs only. Scale laptop: 2,000 rows of California.",
)


def _rows(name: str, data: str) -> tuple[Heading, ...]:
    measured = tuple(
        Heading(f"{name} {label}", dataset=data, method="zero", params={"dropout_kind": kind})
        for label, kind in KINDS.items()
    )
    without, with_sn = (row.name for row in measured)
    # Nothing is run for a difference; what it has for a data set puts it into a chart of its own.
    apart = f"{data}, difference"
    difference = Heading(f"{name} w/ SN − w/o SN", dataset=apart, minus=(with_sn, without))
    return (*measured, difference)


FIGURE_4 = publish(
    PublishedTable(
        id="sn/fig4",
        title="RMSE against the drop rate, with plain dropout and with sparsity normalisation",
        source="Sparsity normalisation, ICLR 2020, Figure 4, Section 4.4",
        metric=METRICS["rmse"],
        rows=tuple(row for name, data in SETS.items() for row in _rows(name, data)),
        columns=tuple(Heading(f"{rate:.1f}", params={"dropout": rate}) for rate in RATES),
        run=run_holdout,
        scales=SCALES,
        params=PARAMS,
        protocol={"kind": "holdout", "test": 0.1, "raw_target": True},
        notes=NOTES,
        axis="drop rate",
    )
)
