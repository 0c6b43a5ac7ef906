"""Runs behind the VSAE tables, on small stand-ins: what is hidden, scored, shown and kept."""

from __future__ import annotations

import base64
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nanwise.bench.case import Case
from nanwise.bench.papers import vsae_data
from nanwise.bench.papers.table import find_table
from nanwise.bench.papers.vsae_data import held_of, rows_of
from nanwise.bench.papers.vsae_run import run_impute, scores_of
from nanwise.bench.reproduce import reproduce
from nanwise.data.sets.modalities import Modalities
from nanwise.errors import DataError
from nanwise.report import render

SIDE = 5
HALF = {"mechanism": "mcar", "share": 0.5}
PROTOCOL = {"kind": "impute", "test": 0.2, "rows": None}


def pairs(name):
    """Two pictures: a column that is lit, and the column opposite; or a label that names it."""
    rng = np.random.default_rng(0)
    parts = []
    for n in (80, 40):
        column = rng.integers(0, SIDE, n)
        pictures = np.zeros((n, SIDE, SIDE), np.float32)
        pictures[np.arange(n), :, column] = 1
        flat, other = pictures.reshape(n, -1), pictures[:, :, ::-1].reshape(n, -1)
        labelled = {"image": flat, "label": column}
        parts.append(labelled if name == "mnist_label" else {"first": flat, "second": other})
    names = list(parts[0])
    shapes = {n: () if n == "label" else (SIDE, SIDE) for n in names}
    return Modalities(name, parts[0], parts[1], shapes, {})


def mixed(name):
    """Heart's columns with other values; a table of numbers otherwise."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({column: rng.normal(size=120) for column in vsae_data.HEART_NUMBERS})
    if name == "heart":
        frame["sex"] = rng.integers(0, 2, 120)
        frame["thal"] = rng.choice([3, 6, 7], 120)
        frame.loc[:4, "thal"] = np.nan
    return SimpleNamespace(X=frame)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    monkeypatch.setattr(vsae_data, "load_modalities", pairs)
    monkeypatch.setattr(vsae_data, "load_dataset", mixed)
    monkeypatch.setattr(vsae_data, "find_modalities", lambda name: SimpleNamespace(paths=list))
    vsae_data._table.cache_clear()
    vsae_data._modal_rows.cache_clear()
    yield
    vsae_data._table.cache_clear()
    vsae_data._modal_rows.cache_clear()


def case(dataset="heart", method="mean", hide=HALF, seed=0, fold=0, **protocol):
    params = protocol.pop("params", {})
    return Case(dataset, method, params, {**PROTOCOL, **protocol}, fold, seed, hide)


def test_a_table_with_its_kinds_and_test_rows():
    rows = rows_of(case())
    kinds = [attribute.kind for attribute in rows.attributes]
    assert kinds == ["real"] * 6 + ["binary", "categorical"]
    assert rows.kinds == {**dict.fromkeys(range(6), "real"), 6: "binary", 7: "categorical"}
    assert (rows.test.sum(), len(rows.test)) == (24, 120)
    assert set(rows.values[~np.isnan(rows.values[:, 7]), 7]) == {0, 1, 2}
    few = rows_of(case(rows=50))
    assert (few.test.sum(), len(few.test)) == (10, 50)


def test_modalities_keep_their_own_test_rows():
    rows = rows_of(case("mnist_pairs"))
    assert rows.values.shape == (120, 2 * SIDE * SIDE)
    assert rows.test.tolist() == [False] * 80 + [True] * 40
    assert rows.kinds == {"first": list(range(25)), "second": list(range(25, 50))}
    few = rows_of(case("mnist_pairs", rows=20))
    assert (len(few.test), few.test.sum()) == (25, 5)
    labelled = rows_of(case("mnist_label"))
    assert labelled.kinds == {"image": list(range(25)), 25: "categorical"}


def test_features_are_in_units_of_their_training_range(monkeypatch):
    train = {"text": np.array([[1.0, 5.0], [3.0, 5.0]])}
    data = Modalities("mosi", train, {"text": np.array([[5.0, 6.0]])}, {"text": (2,)}, {})
    monkeypatch.setattr(vsae_data, "load_modalities", lambda name: data)
    np.testing.assert_array_equal(rows_of(case("mosi")).values, [[0, 0], [1, 0], [2, 1]])


@pytest.mark.parametrize("dataset", ["heart", "mnist_pairs", "mnist_label"])
def test_what_is_hidden_depends_on_the_seed_alone(dataset):
    rows = rows_of(case(dataset))
    one, again, other = (held_of(rows, HALF, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    np.testing.assert_array_equal(rows_of(case(dataset)).values, rows.values)
    share = one[~np.isnan(rows.values)].mean()
    assert share == pytest.approx(0.5, abs=0.12)


def test_a_modality_is_hidden_as_a_whole():
    rows = rows_of(case("mnist_pairs"))
    held = held_of(rows, {"mechanism": "mcar", "share": 0.3}, 0)
    for attribute in rows.attributes:
        assert (np.ptp(held[:, attribute.columns].astype(int), axis=1) == 0).all()
    with pytest.raises(ValueError, match="modalities are hidden at random"):
        held_of(rows, {"mechanism": "mnar", "share": 0.3}, 0)


def test_scores_of_pictures_by_hand():
    rows = rows_of(case("mnist_label"))
    truth = rows.values[rows.test]
    held = np.zeros(truth.shape, bool)
    held[0, :25] = held[1, :25] = held[:4, 25] = True
    filled = truth.copy()
    filled[0, :25] += 0.1
    filled[1, :25] -= 0.3
    filled[2, 25] += 1
    scores = scores_of(rows, filled, held)
    assert scores["mse_image"] == pytest.approx((0.01 + 0.09) / 2)
    assert scores["sum"] == scores["mse_image"]
    assert scores["pfc"] == 0.25
    nothing = scores_of(rows, truth, np.zeros_like(held))
    assert nothing == {"mse_image": None, "pfc": None, "sum": None}


def test_the_sum_is_that_of_both_pictures():
    rows = rows_of(case("mnist_pairs"))
    truth = rows.values[rows.test]
    filled = truth + np.repeat([0.1, 0.2], 25)
    scores = scores_of(rows, filled, np.ones(truth.shape, bool))
    assert scores["mse_first"] == pytest.approx(0.01)
    assert scores["sum"] == pytest.approx(0.01 + 0.04)


def test_scores_of_a_table_by_hand():
    found = run_impute(case())
    rows = rows_of(case())
    held = held_of(rows, HALF, 0)
    truth, gap = rows.values[rows.test], held[rows.test]
    mean = np.nanmean(np.where(held, np.nan, rows.values)[~rows.test], axis=0)
    low, width = rows.values.min(axis=0), np.ptp(rows.values, axis=0)
    shares = [
        np.sqrt(
            ((truth - mean)[gap[:, j], j] ** 2).sum() / ((truth - low)[gap[:, j], j] ** 2).sum()
        )
        for j in range(6)
    ]
    assert found.scores["rmse_rms_column"] == pytest.approx(np.mean(shares))
    off = ((truth - mean) / width)[:, :6][gap[:, :6]]
    assert found.scores["rmse_range"] == pytest.approx(np.sqrt(np.mean(off**2)))
    assert 0 < found.scores["pfc"] < 1


def test_the_number_of_latents_goes_with_the_attributes(monkeypatch):
    from nanwise.bench.papers import vsae_run

    asked = {}
    monkeypatch.setattr(
        vsae_run, "imputer_of", lambda name, params, seed: asked.update({name: params})
    )
    rows = rows_of(case())
    for method in ("vae", "missforest"):
        vsae_run._imputer(case(method=method, latent_each=2), rows)
    assert asked["vae"]["latent"] == 16
    assert "latent" not in asked["missforest"]
    assert asked["vae"]["kinds"] == rows.kinds


@pytest.fixture
def small(monkeypatch):
    """Table 7 or 10 with two of its rows."""
    from nanwise.bench.papers import table as papers

    def make(id):
        table = find_table(id)
        rows = tuple(row for row in table.rows if row.name in ("VSAE", "Mean filling"))
        monkeypatch.setitem(papers._TABLES, id, replace(table, rows=rows))

    return make


def test_pairs_end_in_a_report_with_pictures(small, tmp_path):
    small("vsae/table7")
    facts = reproduce("vsae/table7", "smoke", out=tmp_path)
    cells = [cell for row in facts["rows"] for cell in row["cells"]]
    assert [cell["error"] for cell in cells] == [None] * 6
    assert all(0 < cell["ours"]["mean"] < 1 for cell in cells)
    titles = [sheet["title"] for sheet in facts["pictures"]]
    assert titles == [
        "VSAE, 0.5: first is missing",
        "VSAE, 0.5: second is missing",
        "VSAE, 0.5: Generated rows",
    ]
    lines = [line["name"] for line in facts["pictures"][0]["lines"]]
    assert lines[:3] == ["observed: second", "truth: first", "imputation"]
    assert lines[3:] == ["draw 1", "draw 2", "draw 3", "draw 4"]
    assert render(facts).count("data:image/png") == sum(
        len(line["tiles"]) for sheet in facts["pictures"] for line in sheet["lines"]
    )


def test_observed_and_true_pictures_are_those_of_the_test_rows(small):
    small("vsae/table7")
    sheet = reproduce("vsae/table7", "smoke", only=["0.5"])["pictures"][0]
    observed, truth = (
        [
            np.frombuffer(base64.b64decode(tile), np.uint8).reshape(SIDE, SIDE)
            for tile in line["tiles"]
        ]
        for line in sheet["lines"][:2]
    )
    np.testing.assert_array_equal(np.array(observed)[:, :, ::-1], truth)
    assert {0, 255} == set(np.unique(truth))


def test_labels_are_written_out(small):
    small("vsae/table10")
    facts = reproduce("vsae/table10", "smoke", only=["MNIST label (PFC)"])
    image, label = facts["pictures"][:2]
    assert [("texts" in line) for line in image["lines"][:3]] == [True, False, False]
    assert [("texts" in line) for line in label["lines"]] == [False] + [True] * 6
    assert set(label["lines"][1]["texts"]) <= set("01234")
    lit = [
        np.frombuffer(base64.b64decode(t), np.uint8)[:SIDE].argmax()
        for t in image["lines"][1]["tiles"]
    ]
    assert [str(k) for k in lit] == image["lines"][0]["texts"]


def test_vsae_learns_what_belongs_together():
    params = {"vector_latent": 4, "importance": 20, "draws": 2, "plan": {"epochs": 60, "lr": 5e-3}}
    made = case("mnist_pairs", "vsae", params=params)
    found = run_impute(made)
    mean = run_impute(case("mnist_pairs"))
    assert found.error is None
    assert found.scores["sum"] < mean.scores["sum"]
    assert "pictures" not in found.facts


def test_a_table_without_files_is_not_run(monkeypatch):
    def nowhere(name):
        raise DataError("no such file")

    monkeypatch.setattr(vsae_data, "load_dataset", nowhere)
    vsae_data._table.cache_clear()
    facts = reproduce("vsae/table6", "smoke", only=["Yeast"])
    measured = [row for row in facts["rows"] if " − " not in row["name"]]
    assert {row["cells"][2]["error"] for row in measured} == {"no such file"}
