"""MisConv, WACV 2022 (Przewięźlikowski, Śmieja, Struski, Tabor): tables of the supplement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nanwise.bench.case import Case
from nanwise.bench.papers.pictures_run import PictureTable, run_classifier, run_timing
from nanwise.bench.papers.table import Heading, publish
from nanwise.bench.score import METRICS, Metric

PAPER = "MisConv, WACV 2022, supplement"

ROWS_1 = (
    Heading("zero", method="image/zero"),
    Heading("mask", method="image/mask_channel"),
    Heading("k-NN", method="image/knn"),
    Heading("PC", method="image/partial_conv"),
    Heading("ACFlow", method="image/flow"),
    Heading("MisConv", method="image/misconv"),
    Heading("GT", method="image/zero", protocol={"whole": True}),
    Heading("SN convolution", method="image/sn_conv"),
    Heading("MFA mean", method="image/mfa"),
    Heading("DMFA mean", method="image/dmfa"),
    Heading("MisConv + mask", method="image/misconv", params={"gaps": {"marks": True}}),
    Heading("MisConv, joint", method="image/misconv", params={"gaps": {"joint": True}}),
)
KINDS = ("square", "trapezoid", "noise")
COLUMNS_1 = tuple(Heading(kind, dataset="mnist", hide={"kind": kind}) for kind in KINDS)

#: zero to GT; square, trapezoid, noise
FIGURES_1 = (
    (0.910, 0.891, 0.946),
    (0.926, 0.905, 0.703),
    (0.874, 0.854, 0.912),
    (0.920, 0.674, 0.804),
    (0.908, 0.799, 0.788),
    (0.931, 0.918, 0.966),
    (0.992, 0.992, 0.992),
)

NOTES_1 = (
    "After the supplement: classifier and training for MNIST (batches of 24, Adam, rate 1e-3, 10 "
    "epochs), density trained for 20 epochs on the same incomplete pictures, and fixed while the "
    "classifier learns. Training and test pictures both have holes. All rows share the network "
    "behind the first layer.",
    "The density is our DMFAImputer at its defaults, not the published network. While it learns, a "
    "square is hidden from it, as published; single pixels, where holes are scattered (noise).",
    "ACFlow is not to be had: its row is a compact conditional flow of our own, called flow, whose "
    "mean fills the holes. k-NN: our donors are the incomplete training pictures; those of the "
    "public code were complete. PC: a ReLU follows the partial convolution, as it follows every "
    "other first layer; in the public code none does.",
    "The published figures of mask and PC on trapezoid and noise are far below what a correct "
    "implementation gives. Rows below GT are not published.",
)


PLAN: dict[str, Any] = {"optimizer": "adam", "weight_decay": 0.0, "schedule": None}


def _sizes(**sizes: int | None) -> dict[str, Any]:
    return {"runs": 1, "patience": None, **sizes}


class _Holes(PictureTable):
    """Whole pictures for the rows that say so."""

    def cases(self, row: Heading, column: Heading, scale: str) -> list[Case]:
        """The runs behind one cell."""
        cases = super().cases(row, column, scale)
        return [replace(c, hide=None) if c.protocol.get("whole") else c for c in cases]


TABLE_1 = publish(
    _Holes(
        id="misconv/table1",
        title="Classification of incomplete MNIST pictures",
        source=f"{PAPER}, Table 1",
        metric=METRICS["accuracy"],
        rows=ROWS_1,
        columns=COLUMNS_1,
        run=run_classifier,
        scales={
            "smoke": _sizes(rows=96, test=48, epochs=1, density_epochs=1),
            "laptop": _sizes(rows=10000, test=10000, epochs=10, density_epochs=20),
            "paper": _sizes(rows=None, test=None, epochs=10, density_epochs=20),
        },
        published={
            (row.name, column.name): (value, None)
            for row, line in zip(ROWS_1, FIGURES_1, strict=False)
            for column, value in zip(COLUMNS_1, line, strict=True)
        },
        params={"plan": {**PLAN, "batch": 24, "lr": 1e-3}},
        protocol={"kind": "pictures"},
        notes=NOTES_1,
        panels=True,
    )
)

# -- CIFAR-10 --------------------------------------------------------------------------------------

ROWS_CIFAR = tuple(row for row in ROWS_1 if row.name not in ("ACFlow", "k-NN", "MFA mean"))

CIFAR = publish(
    _Holes(
        id="misconv/cifar10",
        title="Classification of incomplete CIFAR-10 pictures",
        source="the authors' logs of the CIFAR-10 experiments of MisConv, WACV 2022",
        metric=METRICS["accuracy"],
        rows=ROWS_CIFAR,
        columns=(Heading("square", dataset="cifar10", hide={"kind": "square"}),),
        run=run_classifier,
        scales={
            "smoke": _sizes(rows=48, test=24, epochs=1, density_epochs=1),
            "laptop": _sizes(rows=10000, test=10000, epochs=20, density_epochs=20),
            "paper": _sizes(rows=None, test=None, epochs=35, density_epochs=100),
        },
        published={
            ("zero", "square"): (0.758, None),
            ("DMFA mean", "square"): (0.758, None),
            ("MisConv", "square"): (0.750, None),
            ("GT", "square"): (0.859, None),
        },
        params={"backbone": "deep", "plan": {**PLAN, "batch": 64, "lr": 1e-4}},
        protocol={"kind": "pictures"},
        notes=(
            "Classifier and training as the supplement has them for CIFAR-10 (batches of 64, rate "
            "1e-4, 35 epochs at scale paper); the logged figures are of a deeper classifier. The "
            "logged figures of mask and PC are left out: missing pixels were coded in another way "
            "in training than in testing.",
            NOTES_1[1],
        ),
    )
)

# -- time ------------------------------------------------------------------------------------------

SECONDS = Metric("seconds", "seconds of a forward pass", False)
SETS = {"MNIST": (28, 1), "SVHN, CIFAR-10": (32, 3), "CelebA": (64, 3)}
BATCHES = (16, 32, 64)
TIMED: dict[str, Any] = {"method": "image/misconv"}
SCALES_2: dict[str, dict[str, Any]] = {
    scale: {"runs": 1, "rows": None, "epochs": 1, "patience": None, "repeats": repeats}
    for scale, repeats in {"smoke": 4, "laptop": 200, "paper": 5000}.items()
}


def _setting(name: str, batch: int) -> dict[str, int]:
    size, channels = SETS[name]
    return {"size": size, "channels": channels, "batch": batch}


ROWS_2 = tuple(
    Heading(f"{name}, {SETS[name][0]} px, batch {batch}", protocol=_setting(name, batch))
    for name in SETS
    for batch in BATCHES
)
COLUMNS_2 = (
    Heading("Classic convolution", score="conv", **TIMED),
    Heading("MisConv", score="misconv", **TIMED),
    Heading("MisConv : convolution", score="ratio", **TIMED),
)
#: means and standard deviations, batches of 16, 32, 64 for each size
FIGURES_2 = (
    ((0.00016, 0.00006), (0.00092, 0.00030)),
    ((0.00017, 0.00006), (0.00097, 0.00041)),
    ((0.00020, 0.00008), (0.00138, 0.00061)),
    ((0.00022, 0.00012), (0.00109, 0.00039)),
    ((0.00037, 0.00020), (0.00111, 0.00046)),
    ((0.00034, 0.00016), (0.00121, 0.00047)),
    ((0.00034, 0.00017), (0.00091, 0.00025)),
    ((0.00031, 0.00012), (0.00115, 0.00037)),
    ((0.00029, 0.00008), (0.00109, 0.00029)),
)
NOTES_2 = (
    "The published times are those of a GPU, with standard deviations; ours are those of the "
    "machine that ran this, with as many threads as torch has. 3 x 3 windows, 32 channels out, a "
    "square hole of half the side at a random place, one component with 4 factors. The two sides "
    "take turns. More, with gradients and memory: benchmarks/misconv.py.",
    "On Linux, set MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ to large numbers: otherwise "
    "page faults swamp short times.",
)

TABLE_2 = publish(
    PictureTable(
        id="misconv/table2",
        title="Time of a forward pass through a convolution and through MisConv",
        source=f"{PAPER}, Table 2",
        metric=SECONDS,
        rows=ROWS_2,
        columns=COLUMNS_2,
        run=run_timing,
        scales=SCALES_2,
        published={
            (row.name, column.name): cell
            for row, line in zip(ROWS_2, FIGURES_2, strict=True)
            for column, cell in zip(COLUMNS_2, line, strict=False)
        },
        protocol={"kind": "timing"},
        notes=NOTES_2,
    )
)

QUARTILES = {"lower quartile": 25, "median": 50, "upper quartile": 75}
SIDES = {"Classic convolution": "conv", "MisConv": "misconv"}

FIGURE_2 = publish(
    PictureTable(
        id="misconv/fig2",
        title="Time of a forward pass against the size of the pictures, quartiles",
        source=f"{PAPER}, Figure 2",
        metric=SECONDS,
        rows=tuple(
            Heading(f"{side}, {label}", score=f"{name}_{quartile}", **TIMED)
            for side, name in SIDES.items()
            for label, quartile in QUARTILES.items()
        ),
        columns=tuple(
            Heading(str(size), protocol=_setting(name, 64)) for name, (size, _) in SETS.items()
        ),
        run=run_timing,
        scales=SCALES_2,
        protocol={"kind": "timing"},
        notes=(*NOTES_2, "Batches of 64; the figure does not say which it shows."),
        axis="pixels of a side",
    )
)
