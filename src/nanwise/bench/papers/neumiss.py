"""NeuMiss networks, NeurIPS 2020 (Le Morvan, Josse, Moreau, Scornet, Varoquaux): simulated data."""

from __future__ import annotations

from typing import Any

from nanwise.bench.papers import neumiss_published as logged
from nanwise.bench.papers.simulated import TRAINING, SimulatedTable, run_simulated
from nanwise.bench.papers.table import Heading, publish
from nanwise.bench.score import Metric

PAPER = "NeuMiss networks, NeurIPS 2020"
LOGS = "scores from the authors' log files"
WIDTHS = (10, 20, 50)
DEPTHS = tuple(range(10))
#: Depth or order, and width per column, on one axis.
CAPACITY_AXIS = (*range(11), 15, 20, 50, 100)

MLP = {
    "dropout": 0.0,
    "plan": {
        "optimizer": "adam",
        "weight_decay": 0.0,
        "batch": 200,
        "schedule": "plateau",
        "validation": 0.1,
        "patience": 15,
        "epochs": 300,
    },
}
#: The published learning rate of the MLP is 0.01 / d.
MLP_RATE = {"lr_times_d": 0.01}
NEUMISS: dict[str, Any] = {"plan": None}

#: For the methods: capacities to choose from. Smoke shows that it runs.
CHOICES: dict[str, dict[str, Any]] = {
    "smoke": {"runs": 2, "rows": 1000, "epochs": 2, "depth": [1, 3], "width": [1, 5]},
    "laptop": {"runs": 5, "rows": None, "epochs": None, "depth": [3, 9], "width": [20]},
    "paper": {
        "runs": 20,
        "rows": None,
        "epochs": None,
        "depth": list(DEPTHS),
        "width": [1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 100],
    },
}
#: For the figures: capacities on the axis.
SWEEP: dict[str, dict[str, Any]] = {
    "smoke": {**CHOICES["smoke"], "depth": [0, 1, 3], "layers": [1, 2], "order": [0, 5, 100]},
    "laptop": {
        **CHOICES["laptop"],
        "depth": [0, 1, 2, 3, 5, 7, 9],
        "width": [1, 5, 20],
        "layers": [1, 3, 5],
        "order": [0, 1, 2, 3, 4, 5, 10, 15, 20, 50, 100],
    },
    "paper": {
        **CHOICES["paper"],
        "layers": list(range(1, 11)),
        "order": [0, 1, 2, 3, 4, 5, 10, 15, 20, 50, 100],
    },
}

BAYES = Heading("Bayes rate R²", method="zero_linear", score="bayes")
METHODS = (
    Heading("EM", method="em_regression"),
    Heading("MICE + LR", method="mice_linear"),
    Heading("Zero + mask LR", method="zero_linear"),
    Heading(
        "MLP",
        method="missing_indicator",
        params=MLP,
        protocol={"capacity": "width", **MLP_RATE},
    ),
    Heading("NeuMiss", method="neumiss_net", params=NEUMISS, protocol={"capacity": "depth"}),
)

DATA = (
    "Data: d Gaussian columns, y = 1 + their sum + noise, signal to noise 10, half of the values "
    "missing; 10,000 rows for testing, 10,000 for validation, the others for training. Run k draws "
    "the rows that the authors' public code draws for repetition k. These are the rows of their "
    "logs where numpy factors the covariance with the same signs, which depends on its linear "
    "algebra library (here: d = 50 always, d = 10 in 9 of 20 repetitions, d = 20 in 3 of 20).",
    "Published: means over the authors' 20 repetitions with 95 % intervals (t), computed from "
    "their log files. Between repetitions R² varies by 0.05 at d = 10, 0.02 at d = 20 and 0.01 at "
    "d = 50 for all methods alike, so the differences are what to compare; fewer runs than 20 are "
    "the first ones.",
)
CHOSEN = (
    "Depth of NeuMiss and width of the MLP are chosen on the validation rows, in every run. The "
    "authors chose among depths 0 to 9 and twelve widths, as ours do at paper scale.",
    "NeuMiss is our estimator with its own way of training, not the authors' (SGD from random "
    "weights, batches of 10): it is meant to come closer to Bayes.",
    "MLP: ReLU layers on standardised values and indicators, Adam with learning rate 0.01 / d, "
    "batches of 200 and early stopping with patience 15, as the authors'. Ours stops on a tenth of "
    "the training rows instead of on the validation rows, after at most 300 epochs (2,000), and "
    "halves its learning rate on a plateau of that loss (a fifth, training loss).",
)
EM_FAILED = (
    "The authors' EM (R package norm) collapses at d = 50, R² near or below 0; they left it out, "
    "and so is no published figure there."
)


def _cells(
    rows: tuple[Heading, ...], columns: tuple[Heading, ...], text: tuple[str, str]
) -> dict[tuple[str, str], tuple[float, float]]:
    """Published cells from two blocks of text: means, half widths; ``-`` stands for none."""
    means, halves = ([line.split() for line in block.strip().splitlines()] for block in text)
    return {
        (row.name, column.name): (float(mean), float(half))
        for row, *lines in zip(rows, means, halves, strict=True)
        for column, mean, half in zip(columns, *lines, strict=True)
        if mean != "-"
    }


def _with_levels(rows: tuple[Heading, ...]) -> tuple[Heading, ...]:
    """The rows, and for every method its R² itself, from the same runs."""
    levels = (
        Heading(
            f"{row.name} R²",
            method=row.method,
            score="r2",
            params=row.params,
            protocol=row.protocol,
        )
        for row in METHODS
    )
    return (*rows, *levels)


def _panel(id: str, mechanism: str, title: str, source: str, text: tuple[str, str]) -> None:
    """One table of methods by (d, n)."""
    columns = tuple(
        Heading(f"d={d} n={n}", dataset=mechanism, protocol={"d": d, "n": n, "parts": True})
        for d in WIDTHS
        for n in TRAINING[1:]
    )
    closed = mechanism != "probit_self_masking"
    if closed:
        rows = _with_levels((BAYES, *METHODS))
        metric = Metric("gap", "R² minus the Bayes rate; in rows named R², R² itself", True)
        notes = ()
    else:
        rows = _with_levels(tuple(row for row in METHODS if row.method != "zero_linear"))
        metric = Metric("gain", "R² minus Zero + mask LR; in rows named R², R² itself", True)
        notes = (
            "Probit self-masking has no Bayes predictor in closed form. The paper plots R² minus "
            "the best R² of all methods and capacities in a repetition; here it is R² minus that "
            "of least squares on zero-filled values and indicators, on the same rows.",
        )
    publish(
        SimulatedTable(
            id=id,
            title=title,
            source=f"{PAPER}, {source}; {LOGS}",
            metric=metric,
            rows=rows,
            columns=columns,
            run=run_simulated,
            scales=CHOICES,
            published=_cells(rows, columns, text),
            notes=(*DATA, *CHOSEN, EM_FAILED, *notes),
            panels=True,
        )
    )


_panel(
    "neumiss/mcar",
    "mcar",
    "Methods on data missing completely at random",
    "main text, box plots of the predictive performance",
    logged.MCAR,
)
_panel(
    "neumiss/fig6",
    "mar",
    "Methods on data missing at random (logistic in columns without gaps)",
    "supplement, Figure 6",
    logged.MAR,
)
_panel(
    "neumiss/gaussian_sm",
    "gaussian_self_masking",
    "Methods under Gaussian self-masking",
    "main text, box plots of the predictive performance",
    logged.GAUSSIAN,
)
_panel(
    "neumiss/probit_sm",
    "probit_self_masking",
    "Methods under probit self-masking",
    "main text, box plots of the predictive performance",
    logged.PROBIT,
)


def _depth_rows(name: str, mechanism: str, together: bool) -> tuple[Heading, ...]:
    return tuple(
        Heading(
            f"{name} d={d} n={n}",
            dataset=mechanism,
            method="neumiss_net",
            params=NEUMISS,
            protocol={"d": d, "n": n, "parts": True, "capacity": "depth", "together": together},
        )
        for d in WIDTHS
        for n in TRAINING
    )


ROWS_5 = (
    _depth_rows("Gaussian self-masking", "gaussian_self_masking", together=False),
    _depth_rows("probit self-masking", "probit_self_masking", together=True),
)
COLUMNS_5 = tuple(Heading(str(q), score=f"gap {q}", protocol={"at": q}) for q in DEPTHS)

FIGURE_5 = publish(
    SimulatedTable(
        id="neumiss/fig5",
        title="Required capacity: depth of NeuMiss under self-masking",
        source=f"{PAPER}, supplement, Figure 5; {LOGS}",
        metric=Metric("gap", "R² minus Bayes rate (probit: minus best)", True),
        rows=(*ROWS_5[0], *ROWS_5[1]),
        columns=COLUMNS_5,
        run=run_simulated,
        scales=SWEEP,
        published={
            **_cells(ROWS_5[0], COLUMNS_5, logged.DEPTHS_GAUSSIAN),
            **_cells(ROWS_5[1], COLUMNS_5, logged.DEPTHS_PROBIT),
        },
        notes=(
            *DATA,
            CHOSEN[1],
            "The paper plots the same against the number of parameters, d²(depth + 1) + 2d + 1, "
            "over n. For probit self-masking the reference is the best depth on the test rows of a "
            "run, so all depths of a row are trained in one run.",
            "Of the authors' networks with d = 50 and n = 20,000 or less, and of a few others, up "
            "to five of twenty diverged; the published means leave those out.",
        ),
        axis="depth of NeuMiss",
    )
)

COLUMNS_DEPTH = tuple(
    Heading(
        str(q),
        dataset="mcar",
        score=f"gap {q}",
        protocol={"at": q, "d": 20, "n": TRAINING[-1]},
    )
    for q in CAPACITY_AXIS
)
ROWS_DEPTH = (
    Heading("NeuMiss, depth", method="neumiss_net", params=NEUMISS, protocol={"capacity": "depth"}),
    Heading("Analytic NeuMiss, order", method="zero_linear", protocol={"capacity": "order"}),
    Heading(
        "MLP, width / d",
        method="missing_indicator",
        params=MLP,
        protocol={"capacity": "width", **MLP_RATE},
    ),
    Heading(
        "Deep MLP, layers",
        method="missing_indicator",
        params=MLP,
        protocol={"capacity": "layers", **MLP_RATE},
    ),
)

DEPTH_STUDY = publish(
    SimulatedTable(
        id="neumiss/depth",
        title="Depth of NeuMiss against width and depth of an MLP, MCAR, d = 20, n = 100,000",
        source=f"{PAPER}, main text, depth against width; {LOGS}",
        metric=Metric("gap", "R² minus the Bayes rate", True),
        rows=ROWS_DEPTH,
        columns=COLUMNS_DEPTH,
        run=run_simulated,
        scales=SWEEP,
        published=_cells(ROWS_DEPTH, COLUMNS_DEPTH, logged.CAPACITY),
        notes=(
            *DATA,
            *CHOSEN[1:],
            "Columns count the depth of NeuMiss, the order of the Neumann series with the true "
            "parameters, the width of the MLP over d, and the hidden layers (of d units) of the "
            "deep MLP. A NeuMiss network of depth q can hold the series of order q - 1. "
            "As in the authors' code each pattern of gaps is scaled by its own spectral radius.",
            "The authors' architecture script stores the analytic network of order 100 as "
            "Bayes_rate; the Bayes rate here is that of their depth experiment on the same rows, "
            f"R² {logged.CAPACITY_BAYES[0]} ± {logged.CAPACITY_BAYES[1]}.",
        ),
        axis="depth, order, width / d or layers",
    )
)
