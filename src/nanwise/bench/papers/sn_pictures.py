"""Sparsity normalisation, draft of 2019: pictures."""

from __future__ import annotations

from typing import Any

from nanwise.bench.papers.pictures_run import PictureTable, run_classifier
from nanwise.bench.papers.sn_pictures_run import run_counts, run_perceptron
from nanwise.bench.papers.table import Get, Heading, publish
from nanwise.bench.score import METRICS, Metric

DRAFT = "Sparsity normalisation, draft of 2019"
SETS = {"MNIST": "mnist", "Fashion MNIST": "fashion_mnist", "CIFAR-10": "cifar10"}
#: rows: which affine layers take normalised input
INPUT: dict[str, list[int]] = {"w/o SN": [], "w/ SN": [0]}
UNITS = (4, 8, 16, 32, 64, 128, 256, 512)
CIFAR_UNITS = 512


class DrawnTable(PictureTable):
    """A table whose runs have kept histograms, which ``CHARTS`` says how to draw."""

    def drawings(self, scale: str, wanted: set[tuple[str, str]], get: Get) -> list[dict[str, Any]]:
        """One chart of lines for each title, of what was run."""
        drawn = [self._chart(title, scale, wanted, get) for title in CHARTS[self.id]]
        return [chart for chart in drawn if chart["series"]]

    def _chart(
        self, title: str, scale: str, wanted: set[tuple[str, str]], get: Get
    ) -> dict[str, Any]:
        words = CHARTS[self.id][title]
        return {
            "title": title,
            "x_label": words["x_label"],
            "y_label": words["y_label"],
            "series": [
                {"name": name, **found}
                for name, row, column, fact in words["lines"]
                if (row, column) in wanted
                and (found := self._kept(row, column, fact, scale, get)) is not None
            ],
        }

    def _kept(
        self, row: str, column: str, fact: str, scale: str, get: Get
    ) -> dict[str, Any] | None:
        headings = {h.name: h for h in (*self.rows, *self.columns)}
        first = self.cases(headings[row], headings[column], scale)[0]
        found = get(first)
        return None if found is None else found.facts.get(fact)


COUNTED = {"MovieLens 100K, users": "ml_100k", **SETS}
COUNTS = {"mean": "mean", "sd": "standard deviation", "variation": "standard deviation : mean"}
#: before and after training
WHEN = ("before", "after")

#: table -> title -> words and lines; a line is its name, the row and column of its run, and what
#: the run calls the histogram
CHARTS: dict[str, dict[str, dict[str, Any]]] = {
    "draft/fig1": {
        name: {
            "x_label": "inputs that are not 0",
            "y_label": "instances",
            "lines": [(name, name, "mean", "histogram")],
        }
        for name in COUNTED
    },
    "draft/fig4": {
        f"{when} training": {
            "x_label": "units of the first hidden layer that are not 0",
            "y_label": "test pictures",
            "lines": [(name, name, when, when) for name in INPUT],
        }
        for when in WHEN
    },
}

_ALL: dict[str, Any] = {"rows": None, "test": None}
SCALES_1 = {
    scale: {"runs": 1, "epochs": 1, "patience": None, **sizes}
    for scale, sizes in {
        "smoke": {"rows": 200, "test": 10},
        "laptop": _ALL,
        "paper": _ALL,
    }.items()
}

FIGURE_1 = publish(
    DrawnTable(
        id="draft/fig1",
        title="How many inputs of an instance are not 0",
        source=f"{DRAFT}, Figure 1",
        metric=Metric("mean", "number of inputs that are not 0, or as named", False),
        rows=tuple(Heading(name, dataset=data, method="zero") for name, data in COUNTED.items()),
        columns=tuple(Heading(name, score=name) for name in COUNTS),
        run=run_counts,
        scales=SCALES_1,
        protocol={"kind": "counts"},
        notes=(
            "Training pictures, all channels; of MovieLens the ratings of each user. The draft "
            "prints histograms without numbers and does not say which of the MovieLens and CIFAR "
            "sets it shows.",
            f"Columns: {', '.join(f'{k}: {v}' for k, v in COUNTS.items())}.",
        ),
    )
)

# -- perceptrons -----------------------------------------------------------------------------------

PLAN = {"optimizer": "adam", "lr": 1e-2, "weight_decay": 0.0, "schedule": None, "batch": 128}
#: share of the training pictures for validation: 5 : 1 : 1 of MNIST, 4 : 1 : 1 of CIFAR
HELD = {"mnist": 1 / 6, "fashion_mnist": 1 / 6, "cifar10": 1 / 5}
SCALES_3 = {
    "smoke": {"runs": 1, "rows": 120, "test": 60, "epochs": 1, "patience": 1},
    "laptop": {"runs": 3, "rows": 12000, "test": 10000, "epochs": 30, "patience": 5},
    "paper": {"runs": 5, "rows": None, "test": None, "epochs": 200, "patience": 10},
}
NOTES_3 = (
    "After the draft: pixels between 0 and 1, those that are 0 missing; two hidden layers of equal "
    "width, ReLU, biases that start at 0, Adam with rate 1e-2; normalisation divides by the count "
    "(K = 1). Training : validation pictures 5 : 1 (MNIST, Fashion MNIST) and 4 : 1 (CIFAR-10), "
    "official test pictures. Batches, epochs, widths and the number of runs are not published; "
    "ours are in the settings.",
)


def _perceptron(name: str, data: str, layers: list[int], **facts: Any) -> Heading:
    plan = {**PLAN, "validation": HELD[data]}
    params = {"normalised": layers, "plan": plan, **facts.pop("params", {})}
    method = "sparsity_norm" if layers else "zero"
    return Heading(name, dataset=data, method=method, params=params, **facts)


def _capacity(id: str, title: str, where: str, rows: tuple[Heading, ...], *more: str) -> None:
    publish(
        PictureTable(
            id=id,
            title=title,
            source=f"{DRAFT}, {where}",
            metric=METRICS["accuracy"],
            rows=rows,
            columns=tuple(Heading(str(units), params={"units": units}) for units in UNITS),
            run=run_perceptron,
            scales=SCALES_3,
            protocol={"kind": "perceptron"},
            notes=(*NOTES_3, *more),
            axis="units of each hidden layer",
        )
    )


_capacity(
    "draft/fig3",
    "Accuracy of a perceptron against its width, with and without SN",
    "Figure 3",
    tuple(
        _perceptron(f"{name} {label}", data, layers)
        for name, data in SETS.items()
        for label, layers in INPUT.items()
    ),
    "The draft has four sets; the fourth is not named in the text and is not run.",
)
HIDDEN = (
    "In a hidden layer the count of what is not 0 is a constant for the gradient, as in appendix "
    "C.3; the draft ran this once."
)
_capacity(
    "draft/fig8",
    "SN at the input, the first or the second hidden layer of a perceptron, CIFAR-10",
    "Figure 8, Appendix C.3",
    (
        _perceptron("without SN", "cifar10", []),
        _perceptron("SN at the input", "cifar10", [0]),
        _perceptron("SN at the first hidden layer", "cifar10", [1]),
        _perceptron("SN at the second hidden layer", "cifar10", [2]),
    ),
    HIDDEN,
)
_capacity(
    "draft/fig9",
    "SN at the input, and at the first hidden layer as well, CIFAR-10",
    "Figure 9, Appendix C.3",
    (
        _perceptron("SN at the input", "cifar10", [0]),
        _perceptron("SN at input and first hidden layer", "cifar10", [0, 1]),
    ),
    HIDDEN,
)

FIGURE_4 = publish(
    DrawnTable(
        id="draft/fig4",
        title="Units of the first hidden layer that are not 0, before and after training, CIFAR-10",
        source=f"{DRAFT}, Figure 4",
        metric=Metric("after", "share of units that are not 0, or as named", True),
        rows=tuple(
            _perceptron(name, "cifar10", layers, params={"units": CIFAR_UNITS})
            for name, layers in INPUT.items()
        ),
        columns=tuple(
            Heading(name, score=name)
            for name in ("before", "before_sd", "after", "after_sd", "accuracy")
        ),
        run=run_perceptron,
        scales=SCALES_3,
        protocol={"kind": "perceptron"},
        notes=(
            *NOTES_3,
            f"{CIFAR_UNITS} units per hidden layer. Columns: mean share of the units that are not "
            "0 for a test picture, and its standard deviation over pictures. Both rows start from "
            "the same weights, so that what is not 0 before training is the same (appendix A.5).",
        ),
    )
)

# -- VGG -------------------------------------------------------------------------------------------

DARK = {"kind": "dark"}
#: for very deep networks the draft sets K to the number of inputs: 3 x 3 pixels of 3 colours
DEEP_K = 27.0

TABLE_4_ROWS = (
    Heading("w/o SN", method="image/zero"),
    Heading("w/ SN", method="image/sn_conv", params={"gaps": {"K": DEEP_K}}),
)
TABLE_4_COLUMNS = tuple(
    Heading(name, dataset="cifar10", hide=DARK, protocol={"batch_norm": batch_norm})
    for name, batch_norm in {"VGG-16": False, "VGG-16 + BN": True}.items()
)

TABLE_4 = publish(
    PictureTable(
        id="draft/table4",
        title="VGG-16 with and without batch normalisation and SN, CIFAR-10",
        source=f"{DRAFT}, Table 4",
        metric=METRICS["accuracy"],
        rows=TABLE_4_ROWS,
        columns=TABLE_4_COLUMNS,
        run=run_classifier,
        scales={
            "smoke": {"runs": 1, "rows": 48, "test": 24, "epochs": 1, "patience": 1, "width": 2},
            "laptop": {
                "runs": 3,
                "rows": 10000,
                "test": 10000,
                "epochs": 20,
                "patience": 5,
                "width": 16,
            },
            "paper": {
                "runs": 5,
                "rows": None,
                "test": None,
                "epochs": 200,
                "patience": 20,
                "width": 64,
            },
        },
        published={
            ("w/o SN", "VGG-16"): (0.8050, 0.0185),
            ("w/o SN", "VGG-16 + BN"): (0.8755, 0.0066),
            ("w/ SN", "VGG-16"): (0.8094, 0.0173),
            ("w/ SN", "VGG-16 + BN"): (0.8800, 0.0101),
        },
        params={
            "plan": {
                "batch": 128,
                "lr": 3e-4,
                "optimizer": "adam",
                "weight_decay": 0.0,
                "schedule": None,
                "validation": 1 / 11,
            }
        },
        protocol={"kind": "pictures"},
        notes=(
            "SN in the first convolution, over the values that are not 0, zero padding not "
            f"counted, K = {DEEP_K:g}. Behind the convolutions the picture is averaged and one "
            "affine layer follows; dropout, optimiser, rate, batches, augmentation and stopping "
            "are not published, ours are in the settings. A tenth as many validation as training "
            "pictures, official test pictures.",
            "Scale laptop: the first block has 16 channels instead of 64, all others in "
            "proportion, and 10,000 training pictures.",
        ),
    )
)
