"""Figures 5 and 8 of the paper: the settings of their cells, and small runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

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
    proper, single, averaged = facts["curves"]
    assert [line["name"] for line in proper["series"]] == list(sn_densities.ROWS)
    assert [single["title"], averaged["title"]] == list(sn_densities.SCORED.values())
    for chart in (single, averaged):
        assert [line["name"] for line in chart["series"]] == list(sn_densities.PUBLISHED)


def test_scores_of_the_public_implementation():
    rows = (np.random.default_rng(0).random((30, 6)) < 0.4).astype(np.uint8)
    net = MADE((5,), n_masks=3, order="random", plan=sn_densities.Plan(epochs=1), random_state=0)
    net = net.fit(rows).net_
    odds = np.stack([net(torch.as_tensor(rows).float(), m).detach().double() for m in range(3)])

    def nll(odds):
        chance = 1 / (1 + np.exp(-odds))
        return -np.log(np.where(rows == 1, chance, 1 - chance)).sum(-1).mean()

    found = sn_densities._other_scores(net, rows)
    assert found["nll_single"] == pytest.approx(nll(odds), rel=1e-6)
    assert found["nll_log_odds"] == pytest.approx(nll(odds.mean(0)), rel=1e-6)


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
