"""Sparsity normalisation, ICLR 2020: Figure 1, three kinds of data and three rows of charts."""

from __future__ import annotations

from typing import Any

from nanwise.bench.case import Case
from nanwise.bench.papers.sn_fig1_run import CELLS, RATINGS, STAYS, run_known
from nanwise.bench.papers.sn_ratings_figures import FIGURE_1A
from nanwise.bench.papers.sn_series import TABLE_6
from nanwise.bench.papers.table import Get, Heading, PublishedTable, publish
from nanwise.bench.score import Metric
from nanwise.data.cells.sets import where
from nanwise.data.fetch import File, locate
from nanwise.errors import DataError

MODELS = ("w/o SN", "w/ SN")
SHOWN = {"slope": "slope", "spread": "spread of predictions"}
#: model -> row of Table 6
STAY_ROWS = dict(zip(MODELS, TABLE_6.rows, strict=False))
#: data set -> words of its charts: what is counted, what is predicted
WORDS = {
    RATINGS: ("known ratings of the user", "rating"),
    STAYS: ("known values of the stay", "probability of death"),
    CELLS: ("genes seen in the cell", "log2 of the expression"),
}
#: the moderate penalty of Figure 9; the paper does not say which it has here
RATING_COLUMN = FIGURE_1A.columns[1]
#: of AutoImpute with SN; with the mean count, inputs are as large as without
CELL_K = 1.0


class KnownTable(PublishedTable):
    """Predictions against the number of known entries, by data set; charts from run 0.

    A scale has the number of ``hidden`` units and ``cell_epochs`` of AutoImpute. The column of
    ratings is that of ``sn/fig1a``, that of stays the models of ``sn/table6``, run by run.
    """

    def cases(self, row: Heading, column: Heading, scale: str) -> list[Case]:
        """The runs behind one cell."""
        sizes = self.sizes(scale)
        if column.dataset == RATINGS:
            ratings = FIGURE_1A.with_runs(scale, sizes["runs"])
            return ratings.cases(_ratings_row(row), RATING_COLUMN, scale)
        model = str(row.protocol["model"])
        if column.dataset == STAYS:
            stays = TABLE_6.with_runs(scale, sizes["runs"])
            return stays.cases(STAY_ROWS[model], TABLE_6.columns[0], scale)
        return [
            Case(
                dataset=CELLS,
                method="autoimpute_published",
                params=_cell_params(sizes, model),
                protocol={"kind": "known"},
                fold=run,
                seed=run,
            )
            for run in range(sizes["runs"])
        ]

    def absent(self, row: Heading, column: Heading, scale: str) -> str | None:
        """Why a cell cannot be run: no such method, or its data are not there."""
        if column.dataset == RATINGS:
            return FIGURE_1A.absent(_ratings_row(row), RATING_COLUMN, scale)
        try:
            if column.dataset == CELLS:
                where(CELLS)
                return None
            locate(File("physionet2012/set-a.tar.gz"), STAYS, "PhysioNet")
        except DataError as error:
            return str(error)
        return TABLE_6.absent(STAY_ROWS[str(row.protocol["model"])], TABLE_6.columns[0], scale)

    def drawings(self, scale: str, wanted: set[tuple[str, str]], get: Get) -> list[dict[str, Any]]:
        """For each data set the mean target, and one prediction with and without SN."""
        charts = []
        for column in self.columns:
            found = self._facts(column, scale, wanted, get)
            if found:
                counted, said = WORDS[column.dataset or ""]
                targets = {"rows of the data": next(iter(found.values()))["targets"]}
                points = {name: facts["point"] for name, facts in found.items()}
                charts += [
                    _chart(f"{column.name}: mean target", counted, said, targets),
                    _chart(f"{column.name}: one prediction", counted, f"predicted {said}", points),
                ]
        return charts

    def _facts(
        self, column: Heading, scale: str, wanted: set[tuple[str, str]], get: Get
    ) -> dict[str, dict[str, Any]]:
        """What run 0 has kept, by model."""
        records = {
            str(row.protocol["model"]): get(self.cases(row, column, scale)[0])
            for row in self.rows
            if (row.name, column.name) in wanted and row.score == self.metric.name
        }
        return {
            name: found.facts
            for name, found in records.items()
            if found is not None and not found.failed
        }


def _ratings_row(row: Heading) -> Heading:
    return next(one for one in FIGURE_1A.rows if one.name == row.name)


def _cell_params(sizes: Any, model: str) -> dict[str, Any]:
    own = {"normalize": True, "K": CELL_K} if model == "w/ SN" else {"normalize": False}
    return {"hidden": sizes["hidden"], "epochs": sizes["cell_epochs"], **own}


def _chart(title: str, x_label: str, y_label: str, lines: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": title,
        "x_label": x_label,
        "y_label": y_label,
        "caption": "",
        "series": [
            {"name": name, "x": line["known"], "y": line["mean"], "tone": tone}
            | {side: line[side] for side in ("low", "high")}
            for tone, (name, line) in enumerate(lines.items())
        ],
    }


FIGURE_1 = publish(
    KnownTable(
        id="sn/fig1",
        title="Predictions against the number of known entries: ratings, intensive care, cells",
        source="Sparsity normalisation, ICLR 2020, Figure 1",
        metric=Metric(
            "slope", "change of the mean prediction per 10 points more entries known", False
        ),
        rows=tuple(
            Heading(f"{model}: {label}", score=score, protocol={"model": model})
            for score, label in SHOWN.items()
            for model in MODELS
        ),
        columns=(
            Heading("Movielens 100K, AutoRec", dataset=RATINGS, method="autorec"),
            Heading("PhysioNet 2012, LSTM", dataset=STAYS, method="series/zero"),
            Heading("Blakeley, AutoImpute", dataset=CELLS, method="autoimpute_published"),
        ),
        run=run_known,
        scales={
            "smoke": {"runs": 1, "rows": None, "hidden": 8, "cell_epochs": 2},
            "laptop": {"runs": 3, "rows": None, "hidden": 100, "cell_epochs": 1000},
            "paper": {"runs": 5, "rows": None, "hidden": 2000, "cell_epochs": 7000},
        },
        notes=(
            "Slope: what is known of every row is cut to 90, 80, … 10 % at random, and the same "
            "targets are predicted anew. Units are those of the predictions: stars, probability, "
            "log2 of the expression. Spread: standard deviation of the predictions when all is "
            "known, to judge the slope by.",
            "Charts, from run 0: mean target of rows by their number of known entries (first row "
            "of the figure, 95 % intervals), and one prediction from random parts of what is known "
            "of its row, mean and middle 95 % of the draws (second and third row). The paper plots "
            "single draws for other rows; it prints no numbers.",
            "Ratings: the runs of sn/fig1a at λ = 500. Intensive care: the LSTM of sn/table6, 300 "
            "stays of set C that ended in death and 300 that did not. The loss weighs both "
            "outcomes equally, so that of a model that answers rightly the mean over such stays "
            "is 1/2 however much is hidden; over stays as they come it would fall. The stay of "
            "the chart is one of the quarter with the most values.",
            "Cells: AutoImpute as published, a tenth of the entries hidden to be predicted. The "
            "paper does not tell K; here it is 1, as in its draft of 2019, see the notes of "
            "sn/fig3. Scale laptop has 100 hidden units and 1000 steps instead of 2000 and 7000.",
        ),
    )
)
