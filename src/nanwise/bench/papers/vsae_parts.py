"""What the tables of the VSAE supplement share: models with their settings, scales and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nanwise.bench.case import Case
from nanwise.bench.papers.sn_ratings_parts import Figures, printed
from nanwise.bench.papers.table import Get, Heading, PublishedTable
from nanwise.bench.papers.vsae_data import not_there
from nanwise.bench.papers.vsae_run import pictures_in

PAPER = "VSAE, AISTATS 2021"
PROTOCOL: dict[str, Any] = {"kind": "impute", "test": 0.2}
#: rows of the test set that are shown in a report
SHOWN = 8

HALF = {"mechanism": "mcar", "share": 0.5}

#: learning rate, epochs and latents per attribute of the supplement, by sort of data
SORTS: dict[str, dict[str, Any]] = {
    "numbers": {"lr": 1e-3, "epochs": 1000, "latent": 2},
    "levels": {"lr": 1e-2, "epochs": 2000, "latent": 2},
    "pictures": {"lr": 1e-4, "epochs": 1000, "latent": 256},
    "features": {"lr": 1e-3, "epochs": 1000, "latent": 256},
}
MODAL_SORTS = ("pictures", "features")
#: Adam, the best epoch on a fifth of the training rows; the size of batches is not published
PLAN: dict[str, Any] = {
    "optimizer": "adam",
    "weight_decay": 0.0,
    "schedule": None,
    "batch": 128,
    "validation": 0.2,
    "patience": None,
}
#: of tables and of modalities: widths of the other deep models, near those of VSAE
HIDDEN = {False: [64, 64, 64], True: [128, 128, 128]}
VSAE: dict[str, Any] = {
    "warm_up": 100,
    "draws": 100,
    "bound": 1,
    "hide": 0.0,
    "variance": 1.0,
    "activation": "printed",
    "straight": True,
    "fewest": 0,
    "reach": None,
    "effective": 0,
}
#: what a modality has more of than an attribute of a table, a label among pictures included
VSAE_MODAL: dict[str, Any] = {
    "latent": 256,
    "vector_latent": 256,
    "hidden": 128,
    "level_hidden": 128,
}
OURS = "VSAE, our defaults"
#: names of other normalisations of the error, as in :mod:`nanwise.bench.impute_score`
NORMS = {
    "rmse_rms": "RMSE / RMS",
    "rmse_column": "RMSE / sd by column",
    "rmse": "RMSE / sd",
    "rmse_range": "RMSE / range",
}
NRMSE = "rmse_rms_column"

SCALES: dict[str, dict[str, Any]] = {
    "smoke": {
        "runs": 1,
        "rows": 80,
        "modal_rows": 60,
        "epochs": dict.fromkeys(SORTS, 2),
        "caps": {
            "draws": 2,
            "bound": 2,
            "importance": 5,
            "particles": 5,
            "trees": 3,
            "rounds": 2,
            "iterations": 10,
            "sets": 2,
            "burn_in": 2,
            "latent": 4,
            "vector_latent": 4,
        },
    },
    "laptop": {
        "runs": 3,
        "rows": 3000,
        "modal_rows": 2000,
        "epochs": {"numbers": 100, "levels": 60, "pictures": 30, "features": 60},
        "lr": {"pictures": 1e-3},
        "caps": {
            "draws": 5,
            "bound": 5,
            "importance": 200,
            "particles": 200,
            "trees": 20,
            "rounds": 4,
            "iterations": 2000,
        },
        # answers for a row of pictures take a hundred times as long as for one of a table
        "modal_caps": {"importance": 100, "particles": 50},
    },
    "paper": {
        "runs": 3,
        "rows": None,
        "modal_rows": None,
        "epochs": {name: sort["epochs"] for name, sort in SORTS.items()},
        "caps": {},
    },
}

FIGURES = (
    "Published: mean ± standard deviation of 3 runs, not an interval; where the supplement prints "
    "Δ, its upper bound is shown. Ours: mean ± half of the 95 % interval."
)
SPLIT = (
    "Run k has rows, hidden cells and test rows of seed k in every row of the table. A fifth of "
    "the rows of a table is for testing (the supplement does not say how many), a fifth of the "
    "training rows for validation (as of its pictures). Models learn from incomplete training "
    "rows and fill the test rows, all of them, also those that others refit for. Rows named "
    "VSAE − … are differences run by run."
)
MODELS = (
    "VSAE has the supplement's settings; the size of batches (128), the variance of numbers (1 in "
    "standardised units: its decoders give nothing but means) and linear maps beside the hidden "
    "layers, which the other deep models have here, too, are ours. 'VSAE, our defaults' is not in "
    "the paper: a tighter bound (20 latents) without generated values, learnt variances, "
    "activations between all layers, bounded means of numbers, flattened weights of answers, of "
    "pictures 64 latents and a share of 0.3 that the encoders do not see in training. "
    "Rivals have hidden layers of the same width and as many latents in all as VSAE."
)
BASELINE = "Filling by the mean (or the commonest level) is not in the paper."
LAPTOP = (
    "Scale laptop: at most 3,000 rows of a table, 2,000 of pictures, far fewer epochs (pictures at "
    "a learning rate of 1e-3 instead of 1e-4) and draws than published: who is ahead may differ."
)
NOTES = (FIGURES, SPLIT, MODELS, BASELINE, LAPTOP)


@dataclass(frozen=True)
class ImputeTable(PublishedTable):
    """A published table of errors of imputation.

    Columns put the ``sort`` of their data into ``protocol``, a name in ``SORTS``. A row whose
    ``params`` have a ``plan`` is trained as published for that sort. In its ``protocol``
    ``own_plan`` says that it keeps the plan of its method, with the epochs of a small scale, and
    ``together`` that all attributes share the latents: it gets as many as VSAE has in all.

    A scale has the number of ``runs``, of ``rows`` of a table and ``modal_rows`` of modalities,
    ``epochs`` and sometimes ``lr`` by sort, and ``caps`` (``modal_caps``): largest values of single
    parameters.
    """

    def absent(self, row: Heading, column: Heading, scale: str) -> str | None:
        """As for every table, and whether the data are there."""
        dataset = row.dataset or column.dataset
        if dataset is None:
            return str(column.protocol["absent"])
        return super().absent(row, column, scale) or not_there(dataset)

    def cases(self, row: Heading, column: Heading, scale: str) -> list[Case]:
        """The runs behind one cell."""
        sizes = self.sizes(scale)
        asked = {**self.protocol, **column.protocol, **row.protocol}
        sort, own = asked.pop("sort"), asked.pop("own_plan", False)
        modal = sort in MODAL_SORTS
        latent = min(SORTS[sort]["latent"], sizes["caps"].get("latent", SORTS[sort]["latent"]))
        asked |= {"rows": sizes["modal_rows" if modal else "rows"]}
        if asked.pop("together", False):
            asked["latent_each"] = latent
        if not modal:
            asked.pop("pictures", None)
        return [
            Case(
                dataset=column.dataset or "",
                method=row.method or "",
                params=_params(row.params, sizes, sort, own),
                protocol=asked,
                fold=run,
                seed=run,
                hide=column.hide,
            )
            for run in range(sizes["runs"])
        ]

    def pictures(self, scale: str, wanted: set[tuple[str, str]], get: Get) -> list[dict[str, Any]]:
        """Sheets that the runs have kept, named after their cell; one of each data set."""
        sheets = []
        for row in (row for row in self.rows if row.score is None):
            there = [c for c in self.columns if (row.name, c.name) in wanted]
            # of several ratios that nearest to one half, where most rows miss just one
            there.sort(key=lambda c: -abs((c.hide or HALF)["share"] - HALF["share"]))
            for column in {c.dataset: c for c in there}.values():
                found = pictures_in(get(self.cases(row, column, scale)[0]))
                where = f"{row.name}, {column.name}"
                sheets += [{**sheet, "title": f"{where}: {sheet['title']}"} for sheet in found]
        return sheets


def _params(
    given: Mapping[str, Any], sizes: Mapping[str, Any], sort: str, own: bool
) -> dict[str, Any]:
    """Parameters at a scale; ``plan`` by the sort of data."""
    caps, epochs = dict(sizes["caps"]), sizes["epochs"][sort]
    if sort in MODAL_SORTS:
        caps |= sizes.get("modal_caps", {})
    params = {name: min(v, caps[name]) if name in caps else v for name, v in given.items()}
    if "plan" in params:
        lr = sizes.get("lr", {}).get(sort, SORTS[sort]["lr"])
        params["plan"] = {**params["plan"], "lr": lr, "epochs": epochs}
    elif own and epochs < SORTS[sort]["epochs"]:
        params["plan"] = {"epochs": epochs}
    if params.get("warm_up", 0) > 1:
        params["warm_up"] = min(params["warm_up"], max(epochs // 10, 1))
    return params


def deep(modal: bool = False) -> dict[str, Heading]:
    """The models with latent variables, by their printed names; VSAE is not among them."""
    common = {"hidden": HIDDEN[modal], "plan": PLAN}
    latent = {**common, "particles": 1000}
    same = {**latent, "variance": 1.0}
    models: dict[str, tuple[str, dict[str, Any]]] = {
        "AE": ("ae", {**common, "hide": 0.0, "variance": 1.0}),
        "VAE": ("vae", same),
        "CVAE w/ mask": ("cvae", same),
        "MVAE": ("mvae", same),
        "HI-VAE": ("hivae", {**latent, "width": 256} if modal else latent),
        "MIWAE": ("miwae", {**latent, "k": 20, "variance": "own", "numbers": "student"}),
    }
    return {
        name: Heading(name, method=method, params=params, protocol={"together": True})
        for name, (method, params) in models.items()
    }


def others() -> dict[str, Heading]:
    """Forests, chained equations and adversarial networks, as in the packages that were used."""
    models: dict[str, tuple[str, dict[str, Any]]] = {
        "MissForest": ("missforest", {"trees": 100, "rounds": 10, "leaf": 1, "max_rows": None}),
        "MICE": ("mice", {"burn_in": 10, "sets": 10}),
        "GAIN": ("gain", {"hidden": None, "hide": 0.0, "scale": "minmax", "iterations": 10000}),
        "MisGAN": ("misgan", {"gamma": 0.0, "hide": 0.0, "latent": 128, "iterations": 10000}),
    }
    return {name: Heading(name, method=m, params=p) for name, (m, p) in models.items()}


def vsae(modal: bool = False) -> tuple[Heading, ...]:
    """VSAE as published, as it is by default here, and filling by the mean."""
    wide = VSAE_MODAL if modal else {}
    ours = {"latent": 64, "vector_latent": 64, "hidden": 128, "bound": 20} if modal else {}
    answers = {"importance": 1000}
    return (
        Heading(
            "VSAE",
            method="vsae",
            params={**VSAE, **wide, **answers, "plan": PLAN},
            protocol={"pictures": SHOWN},
        ),
        Heading(
            OURS,
            method="vsae",
            params={**ours, **answers},
            protocol={"own_plan": True, "pictures": SHOWN},
        ),
        Heading("Mean filling", method="mean"),
    )


def differences(rows: tuple[Heading, ...]) -> tuple[Heading, ...]:
    """VSAE minus each of the others, run by run: what differs between runs for all is gone."""
    return tuple(
        Heading(f"{base} − {row.name}", method="vsae", minus=(base, row.name))
        for base in ("VSAE", OURS)
        for row in rows
        if row.name not in ("VSAE", base)
    )


def other_norms(rows: tuple[Heading, ...]) -> tuple[Heading, ...]:
    """The same runs scored in the other normalisations."""
    return tuple(
        Heading(
            f"{row.name}, {label}",
            method=row.method,
            score=score,
            params=row.params,
            protocol=row.protocol,
        )
        for score, label in NORMS.items()
        for row in rows
    )


def published(
    rows: tuple[str, ...], columns: tuple[Heading, ...], text: str, delta: str
) -> Figures:
    """Published cells from text; Δ stands for its upper bound."""
    return printed(list(rows), columns, text.replace("Δ", delta))
