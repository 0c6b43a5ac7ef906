"""Figures 5 and 8 of the paper: the settings of their cells, and small runs."""

from __future__ import annotations

import numpy as np
import pytest

from nanwise.bench.papers import sn_densities
from nanwise.bench.papers.table import find_table
from nanwise.bench.reproduce import reproduce
from nanwise.errors import DataError
from nanwise.methods.table.made import MADE


def first_case(id, row, column, scale):
    table = find_table(id)
    rows, columns = ({h.name: h for h in found} for found in (table.rows, table.columns))
    return table.cases(rows[row], columns[column], scale)[0]


@pytest.fixture
def few_pixels(monkeypatch):
    def load(split):
        return (np.random.default_rng(len(split)).random((60, 9)) < 0.3).astype(np.uint8)

    monkeypatch.setattr(sn_densities, "_load", load)
    monkeypatch.setattr(sn_densities, "find_binarized_mnist", lambda split: split)


@pytest.mark.parametrize(("id", "rate"), [("sn/fig5", 0.005), ("sn/fig8", 0.001)])
def test_settings_of_the_paper(id, rate):
    case = first_case(id, "w/ SN(all)", "32", "paper")
    plan = case.params["plan"]
    assert (plan["lr"], plan["optimizer"], plan["weight_decay"]) == (rate, "adam", 0.0)
    assert case.params["hidden"] == [500]
    assert case.params["n_masks"] == 32
    assert case.params["normalize"] == "input"
    assert case.params["normalize_connections"] is True
    assert case.protocol["rows"] is None
    assert "normalize" not in first_case(id, "w/o SN", "1", "paper").params


def test_the_rows_that_are_no_likelihood_are_flagged():
    for id in ("sn/fig5", "sn/fig8"):
        assert "NOT negative log-likelihoods" in find_table(id).notes[0]


@pytest.mark.usefixtures("few_pixels")
def test_smoke():
    facts = reproduce("sn/fig5", "smoke", only=["1", "4"])
    for row in facts["rows"]:
        for place in (0, 2):
            assert row["cells"][place]["error"] is None
            assert 0 < row["cells"][place]["ours"]["mean"] < 9  # nats of 9 pixels
            assert row["cells"][place]["published"] is None
    assert [line["name"] for line in facts["curves"][0]["series"]] == list(sn_densities.ROWS)


@pytest.mark.usefixtures("few_pixels")
def test_a_run_is_a_fit_with_the_validation_rows():
    case = first_case("sn/fig8", "causal SN", "2", "smoke")
    found = sn_densities.run_density(case)
    train, held, test = (sn_densities._rows(case, s) for s in ("train", "validation", "test"))
    assert [len(part) for part in (train, held, test)] == [60, 50, 50]
    params = {k: v for k, v in case.params.items() if k != "plan"}
    plan = sn_densities.Plan(**case.params["plan"])
    model = MADE(**params, plan=plan, random_state=case.seed).fit(train, validation=held)
    assert found.scores["nll"] == -model.score(test)
    assert found.history[0]["valid_loss"] is not None


def test_without_the_files_a_cell_says_so(monkeypatch):
    def not_there(split):
        raise DataError("no file")

    monkeypatch.setattr(sn_densities, "find_binarized_mnist", not_there)
    facts = reproduce("sn/fig5", "smoke")
    errors = {cell["error"] for row in facts["rows"] for cell in row["cells"]}
    assert errors == {"no file"}
