"""Sparsity normalisation, draft of 2019: copied features, two groups of rows, dense and sparse."""

from __future__ import annotations

from typing import Any

from nanwise.bench.papers.holdout import run_holdout
from nanwise.bench.papers.table import Heading, PublishedTable, figures, publish
from nanwise.bench.score import METRICS, Metric

DRAFT = "Sparsity normalisation, draft of 2019"
COPIES = (1, 2, 5, 10, 20, 50, 100)

PARAMS = {
    "hidden": [100, 100, 100],
    "scale": "minmax",
    # 3 : 1 : 1 for training, validation and test: a quarter of what is left after the test rows.
    "dropout": 0.0,
    "plan": {
        "optimizer": "adam",
        "weight_decay": 0.0,
        "schedule": None,
        "lr": 1e-3,
        "batch": 128,
        "validation": 0.25,
    },
}
PROTOCOL = {"kind": "holdout", "test": 0.2, "raw_target": True}
HIDE = {"mechanism": "groups", "shares": [0.2, 0.8]}

SCALES = {
    "smoke": {"runs": 2, "rows": 100, "epochs": 3, "patience": 3},
    "laptop": {"runs": 5, "rows": 4000, "epochs": 300, "patience": 20},
    "paper": {"runs": 5, "rows": None, "epochs": 500, "patience": 50},
}

NUMBERS = {"Boston": "boston", "Diabetes": "diabetes", "California": "california"}
CLASSES = {"Iris": "iris", "Cancer": "breast", "Wine": "wine"}
SETS = {**NUMBERS, **CLASSES}
SN = {"w/o SN": "zero", "w/ SN": "sparsity_norm"}
#: Sparsity normalisation of the draft: K' = 1, but for extremely deep networks (Section 4).
OWN_PARAMS: dict[str, dict[str, Any]] = {"sparsity_norm": {"gaps__K": 1.0}}

NOTES = (
    "After the draft: features scaled to [0, 1] and copied r times, then 20 % of the cells hidden "
    "in one half of the rows and 80 % in the other; 3 hidden layers of 100 ReLU units; training : "
    "validation : test rows 3 : 1 : 1. Optimiser, learning rate, batches, epochs and the number of "
    "runs are not published; ours are in the settings.",
    "Sparsity normalisation with K' = 1, as Section 4 of the draft has it but for extremely deep "
    "networks. With K = mean count, as in the later paper, Iris stays at an error of 0.31.",
    "Targets of regressions are left in their own unit, as the draft scales inputs only. That "
    "matters: with a standardised target, as NanRegressor has it, zero imputation does not break "
    "down on Boston and Diabetes (r = 100, RMSE about 6.7 and 63, in two runs).",
)

ERROR = Metric("error", "RMSE, or 1 - accuracy", False)


def _error_of(name: str) -> str:
    return "rmse" if name in NUMBERS else "error"


def _row(name: str, method: str, **facts: Any) -> Heading:
    return Heading(name, method=method, params=OWN_PARAMS.get(method, {}), **facts)


def _error_rows(names: tuple[str, ...], mean_predictor: bool = False) -> tuple[Heading, ...]:
    rows = [
        _row(f"{name} {label}", dataset=SETS[name], method=method, score=_error_of(name))
        for name in names
        for label, method in SN.items()
    ]
    if mean_predictor:
        rows += [
            Heading(
                f"{name} mean predictor", dataset=SETS[name], method="zero", score="mean_predictor"
            )
            for name in names
        ]
    return tuple(rows)


def _output_rows() -> tuple[Heading, ...]:
    groups = {"dense": "output_0", "sparse": "output_1"}
    return tuple(
        _row(f"{name} {label}, {group} group", dataset=data, method=method, score=score)
        for name, data in SETS.items()
        for label, method in SN.items()
        for group, score in groups.items()
    )


ROWS_5 = (
    Heading("Zero imputation", method="zero"),
    Heading("Mean imputation", method="mean"),
    Heading("Observation indicator", method="observation_indicator"),
    Heading("Missing indicator", method="missing_indicator"),
    _row("Sparsity normalization", method="sparsity_norm"),
)

COMMON: dict[str, Any] = {
    "run": run_holdout,
    "scales": SCALES,
    "params": PARAMS,
    "notes": NOTES,
    "protocol": PROTOCOL,
}

COLUMNS_5 = tuple(
    Heading(name, data, score=_error_of(name), protocol={"replicate": 100}, hide=HIDE)
    for name, data in SETS.items()
)

FIGURES_5 = """
9.782 1.627   98.785 17.674   0.8772 0.0169  0.3200 0.0745  0.1140 0.0557  0.1278 0.1129
6.058 1.938   63.313 6.947    0.7439 0.0577  0.3333 0.2654  0.1351 0.2018  0.2222 0.2639
11.253 2.062  105.197 16.793  0.9109 0.0354  0.2867 0.2291  0.0772 0.0477  0.1778 0.1747
5.864 1.061   65.090 9.874    0.8249 0.0294  0.3467 0.0991  0.1140 0.0544  0.2111 0.1747
5.152 1.271   60.418 7.881    0.8014 0.0141  0.1133 0.0584  0.0491 0.0552  0.0889 0.1116
"""

TABLE_5 = publish(
    PublishedTable(
        id="draft/table5",
        title="Simple ways of handling gaps, features copied 100 times, two groups of rows",
        source=f"{DRAFT}, Table 5, Appendix C.2",
        metric=ERROR,
        rows=ROWS_5,
        columns=COLUMNS_5,
        published=figures(ROWS_5, COLUMNS_5, FIGURES_5),
        **COMMON,
    )
)


COPIES_COLUMNS = tuple(Heading(str(r), protocol={"replicate": r}, hide=HIDE) for r in COPIES)


def _figure(id: str, title: str, where: str, metric: Metric, rows: tuple[Heading, ...]) -> None:
    publish(
        PublishedTable(
            id=id,
            title=title,
            source=f"{DRAFT}, {where}",
            metric=metric,
            rows=rows,
            columns=COPIES_COLUMNS,
            axis="copies of each feature, r",
            **COMMON,
        )
    )


_figure(
    "draft/fig2",
    "Error against the number of copies, beside the mean predictor",
    "Figure 2, Section 3.2",
    METRICS["rmse"],
    _error_rows(("Boston", "Diabetes"), mean_predictor=True),
)
_figure(
    "draft/fig6",
    "Error against the number of copies, six sets",
    "Figure 6, Appendix C.1",
    ERROR,
    _error_rows(tuple(SETS)),
)
_figure(
    "draft/fig7",
    "Mean activation of the output layer in the dense and in the sparse group",
    "Figure 7, Appendix C.1",
    Metric("output", "mean output activation", False),
    _output_rows(),
)
