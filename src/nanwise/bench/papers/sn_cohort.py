"""Sparsity normalisation, ICLR 2020: the tables on NHIS data, on a simulated cohort instead."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.sn import ROWS
from nanwise.bench.papers.table import Heading, PublishedTable, figures, publish
from nanwise.bench.run import Measured, fit_and_score, record
from nanwise.bench.score import METRICS
from nanwise.data.simulate import DISEASES, Cohort, screening_cohort
from nanwise.data.split import holdout

PAPER = "Sparsity normalisation, ICLR 2020"
STAND_IN = "simulated cohort instead of NHIS"
#: people of the published data
PEOPLE = 300_000
TASK = "classification"


def run_cohort(case: Case) -> Record:
    """One run on a simulated cohort.

    ``case.dataset`` is a disease. ``case.protocol`` holds ``rows``, the number of people (None: as
    many as published), and ``test``, the share of them to score on. The seed draws both the cohort
    and the split.
    """
    return record(case, partial(_measure, case))


def _measure(case: Case) -> Measured:
    from nanwise.estimators.table_model import make_estimator

    people = _people(case.protocol["rows"] or PEOPLE, case.seed)
    y = people.disease(case.dataset)
    train, test = holdout(y, TASK, case.protocol["test"], seed=case.seed)
    model = make_estimator(case.method, TASK, case.params, case.seed)
    return fit_and_score(model, (people.X[train], y[train]), (people.X[test], y[test]), TASK)


@lru_cache(maxsize=2)
def _people(n: int, seed: int) -> Cohort:
    """Kept, because a worker meets the same people in many cells; never written to."""
    return screening_cohort(n, random_state=seed)


COLUMNS = tuple(Heading(name.title(), dataset=name) for name in DISEASES)
WITHOUT, WITH = ROWS[:2]
DIFFERENCE = Heading("w/ SN − w/o SN", method=WITH.method, minus=(WITH.name, WITHOUT.name))

PARAMS: dict[str, Any] = {
    "hidden": [50, 30],
    "class_weight": "balanced",
    "dropout": 0.0,
    "scale": "minmax",
    "plan": {
        "optimizer": "adam",
        "weight_decay": 0.0,
        "schedule": None,
        "lr": 1e-2,
        "batch": None,
        "validation": 0.2,
    },
}
DROPOUT = 0.8

SCALES: dict[str, dict[str, Any]] = {
    "smoke": {"runs": 2, "rows": 400, "epochs": 2, "patience": 2},
    "laptop": {"runs": 3, "rows": 16_000, "epochs": 100, "patience": 10},
    "paper": {"runs": 5, "rows": None, "epochs": 1000, "patience": 50},
}

NOTES = (
    "SIMULATED: the NHIS data may not be shared. Ours is a simulated cohort of the same shape "
    "(300,000 people, 34 examinations, five rare diseases), of which nothing was estimated from "
    "medical records. The published figures stand beside ours for orientation only: they are of "
    "other people, and no verdict is given. How rare the diseases are and how many examinations "
    "are missing is not published; ours are in nanwise.data.simulate.cohort_tables. The strengths "
    "of the diseases there were chosen to come near the published AUROC, so that levels that agree "
    "prove nothing; only differences between rows can be read.",
    "After the paper: hidden layers of 50 and 30 ReLU units, values scaled to [0, 1], loss with "
    "class weights, Adam with rate 1e-2, full batches, 3 : 1 for training and testing. When "
    "training stops is not published: ours takes the best epoch on a fifth of the training rows.",
    "Run k draws a cohort and a split of its own, the same for all rows, so rows may be compared "
    "run by run, as the row of differences does. Imputers learn from the training rows only.",
)

FIGURES_3 = """
0.7057 0.0027  0.6750 0.0050  0.7977 0.0027  0.7834 0.0036  0.9121 0.0097
0.7106 0.0005  0.6911 0.0022  0.8096 0.0010  0.7914 0.0012  0.9283 0.0011
0.7033 0.0035  0.6691 0.0081  0.7828 0.0136  0.7749 0.0083  0.9026 0.0105
0.7049 0.0035  0.6811 0.0062  0.7944 0.0015  0.7820 0.0007  0.9127 0.0056
0.7047 0.0021  0.6747 0.0069  0.7926 0.0038  0.7802 0.0049  0.9101 0.0054
0.7054 0.0025  0.6766 0.0067  0.7913 0.0019  0.7839 0.0021  0.9117 0.0075
0.7056 0.0012  0.6713 0.0058  0.7865 0.0034  0.7818 0.0014  0.8975 0.0060
0.7052 0.0010  0.6874 0.0045  0.8000 0.0050  0.7843 0.0024  0.9107 0.0075
0.7075 0.0022  0.6902 0.0058  0.7957 0.0037  0.7875 0.0032  0.9224 0.0021
0.7014 0.0030  0.6868 0.0040  0.7990 0.0050  0.7828 0.0042  0.9224 0.0019
0.7072 0.0016  0.6816 0.0067  0.7984 0.0062  0.7884 0.0029  0.9109 0.0045
0.7065 0.0015  0.6765 0.0060  0.7956 0.0020  0.7847 0.0031  0.9091 0.0067
"""

FIGURES_5 = """
0.7084 0.0005  0.6858 0.0065  0.8023 0.0054  0.7876 0.0012  0.9263 0.0026
0.7105 0.0009  0.6941 0.0011  0.8086 0.0016  0.7922 0.0015  0.9303 0.0029
"""


def _cohort_table(
    number: int, title: str, rows: tuple[Heading, ...], text: str, **facts: Any
) -> None:
    publish(
        PublishedTable(
            id=f"sn/table{number}",
            title=f"{title}, simulated cohort",
            metric=METRICS["auroc"],
            rows=(*rows, DIFFERENCE),
            columns=COLUMNS,
            run=run_cohort,
            scales=SCALES,
            published=figures(rows, COLUMNS, text),
            protocol={"kind": "cohort", "test": 0.25},
            stand_in=STAND_IN,
            **facts,
        )
    )


_cohort_table(
    3,
    "Ways of handling gaps, five diseases",
    ROWS,
    FIGURES_3,
    source=f"{PAPER}, Table 3, Section 4.2",
    params=PARAMS,
    notes=NOTES,
)
_cohort_table(
    5,
    "Zeros with and without SN under dropout, five diseases",
    (WITHOUT, WITH),
    FIGURES_5,
    source=f"{PAPER}, Table 5, Appendix C.1",
    params={**PARAMS, "dropout": DROPOUT},
    notes=(
        *NOTES,
        f"Dropout {DROPOUT} as printed, taken as the share of hidden units that are dropped; the "
        "paper may have meant the share that is kept.",
    ),
)
