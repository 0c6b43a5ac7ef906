"""Sparsity normalisation, draft of 2019: tables on MovieLens ratings, on random splits."""

from __future__ import annotations

from typing import Any

from nanwise.bench.papers.sn_ratings_parts import (
    MILDER,
    NORMALIZE,
    NOTES,
    PARAMS,
    PROTOCOL,
    RMSE,
    SCALES,
    SHARED,
    columns_by,
    mild,
    minus,
    model,
    named,
    pair,
    printed,
)
from nanwise.bench.papers.sn_ratings_run import run_ratings
from nanwise.bench.papers.sn_ratings_table import FIND, RatingTable
from nanwise.bench.papers.table import publish

DRAFT = "Sparsity normalisation, draft of 2019"
COLUMNS = columns_by()
COMMON: dict[str, Any] = {
    "metric": RMSE,
    "run": run_ratings,
    "scales": SCALES,
    "params": PARAMS,
    "protocol": PROTOCOL,
    "columns": COLUMNS,
}

ROWS_1 = (
    *pair("AutoRec", "autorec"),
    *mild("AutoRec", "autorec"),
    *pair("CF-NADE", "cfnade"),
)
#: K' = n1 of the draft: the number of hidden units
WIDE = model("AutoRec w/ SN, K = 500", "autorec", K=500.0, **NORMALIZE["w/ SN"])

FIGURES_1 = """
0.8831±0.0187  0.9343±0.0221  0.8306±0.0018  0.8832±0.0025  0.7807±0.0017  0.8859±0.0014
0.8822±0.0170  0.9217±0.0217  0.8275±0.0026  0.8738±0.0014  0.7706±0.0023  0.8462±0.0005
0.8907±0.0201  0.9258±0.0200  0.8398±0.0016  0.8570±0.0045  -              0.8113±0.0058
0.8882±0.0183  0.9200±0.0186  0.8383±0.0020  0.8552±0.0022  -              0.7854±0.0006
0.8822±0.0170  0.9217±0.0217  0.8275±0.0026  0.8738±0.0014  0.7706±0.0023  0.8462±0.0005
"""

TABLE_1 = publish(
    RatingTable(
        id="draft/table1",
        title="Sparsity normalisation in two recommenders on MovieLens, random splits",
        source=f"{DRAFT}, Table 1, Section 5",
        rows=(*ROWS_1, WIDE),
        published=printed([*named(ROWS_1), WIDE.name], COLUMNS, FIGURES_1),
        notes=(
            *NOTES,
            MILDER,
            SHARED,
            "Runs are those of sn/table1: K is the mean number of ratings of a row. The draft says "
            "K' = n1, the number of hidden units: that is the last row.",
            "The published intervals contain the variation between splits, those of sn/table1 do "
            "not. On 10M both papers print the same figures.",
        ),
        **COMMON,
    )
)

ONLY_SECOND: dict[str, Any] = {"penalty": [0.0, FIND]}
PLAIN = model("w/o SN", "autorec", **NORMALIZE["w/o SN"])
PLAIN_SECOND = model("w/o SN", "autorec", **NORMALIZE["w/o SN"], **ONLY_SECOND)
UNIT = model("w/ SN", "autorec", K=1.0, **NORMALIZE["w/ SN"], **ONLY_SECOND)

WITH_SN = "0.8798  0.9266  0.8271  0.8581  0.7711  0.8241"
FIGURES_7 = f"0.8831  0.9343  0.8306  0.8832  0.7807  0.8859\n{WITH_SN}"
FIGURES_8 = f"0.8838  0.9171  0.8365  0.8612  0.7915  0.8564\n{WITH_SN}"
UNIT_NOTES = (
    "With SN, K' = 1 and the penalty is on the second weights only (Appendix C.6). No intervals "
    "are printed.",
)

TABLE_7 = publish(
    RatingTable(
        id="draft/table7",
        title="AutoRec with K' = 1 and the second weights penalised, beside the original",
        source=f"{DRAFT}, Table 7, Appendix C.6",
        rows=(PLAIN, UNIT, minus("w/ SN − w/o SN", UNIT, PLAIN)),
        published=printed(["w/o SN", "w/ SN"], COLUMNS, FIGURES_7),
        notes=(*NOTES, *UNIT_NOTES, "Without SN both weights are penalised."),
        **COMMON,
    )
)

TABLE_8 = publish(
    RatingTable(
        id="draft/table8",
        title="AutoRec with K' = 1, the second weights penalised with and without SN",
        source=f"{DRAFT}, Table 8, Appendix C.6",
        rows=(PLAIN_SECOND, UNIT, minus("w/ SN − w/o SN", UNIT, PLAIN_SECOND)),
        published=printed(["w/o SN", "w/ SN"], COLUMNS, FIGURES_8),
        notes=(
            *NOTES,
            *UNIT_NOTES,
            "Without SN, too, only the second weights are penalised. The draft says that SN is "
            "better except in one case; in its table that is 100K, user vectors (0.9171 against "
            "0.9266).",
        ),
        **COMMON,
    )
)
