"""The tables of the VSAE supplement: figures as printed, settings that exist, sizes by scale."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from nanwise.bench.papers import vsae_data
from nanwise.bench.papers.table import find_table
from nanwise.bench.papers.vsae_parts import OURS, SCALES, SORTS
from nanwise.bench.reproduce import known_tables
from nanwise.estimators.impute.by_treatment import imputer_names
from nanwise.estimators.table_imputer import imputer_of

IDS = [f"vsae/table{number}" for number in range(5, 12)]

#: spot checks, read in the supplement
PRINTED = {
    "vsae/table5": {
        ("VAE", "Yeast MAR"): (0.485, 0.004),
        ("CVAE w/ mask", "Yeast NMAR"): (0.443, 0.0005),
        ("MIWAE", "Yeast NMAR"): (0.456, 0.036),
        ("HI-VAE", "Whitewine MAR"): (0.3840, 0.0005),
        ("VSAE", "Whitewine NMAR"): (0.3717, 0.0005),
    },
    "vsae/table6": {
        ("MissForest", "Phishing"): (0.478, 0.0005),
        ("MICE", "Heart numerical"): (0.749, 0.005),
        ("GAIN", "Heart categorical"): (0.708, 0.021),
        ("GAIN", "Yeast"): (0.583, 0.008),
        ("MisGAN", "Whitewine"): (0.3725, 0.0005),
        ("VSAE", "Mushroom"): (0.416, 0.009),
        ("VSAE", "Phishing"): (0.237, 0.0005),
    },
    "vsae/table7": {
        ("AE", "0.3"): (0.2124, 0.0012),
        ("MVAE", "0.7"): (0.1579, 0.0006),
        ("VSAE", "0.5"): (0.1376, 0.0002),
    },
    "vsae/table8": {
        ("AE", "SVHN-MSE/3072"): (0.1475, 0.0006),
        ("HI-VAE", "MNIST-MSE/784"): (0.0733, 0.0013),
        ("VSAE", "Sum error"): (0.1198, 0.0001),
    },
    "vsae/table9": {
        ("AE", "0.7"): (0.2678, 0.0012),
        ("MVAE", "0.3"): (0.1227, 0.0019),
        ("VSAE", "0.7"): (0.1202, 0.0002),
    },
    "vsae/table10": {
        ("AE", "FashionMNIST image (MSE)"): (0.1104, 0.001),
        ("MVAE", "FashionMNIST label (PFC)"): (0.374, 0.07),
        ("MVAE", "MNIST image (MSE)"): (0.2276, 0.002),
        ("VSAE", "MNIST label (PFC)"): (0.397, 0.01),
    },
    "vsae/table11": {
        ("AE", "ICT-MMMO acoustic"): (0.1211, 0.0013),
        ("HI-VAE", "ICT-MMMO visual"): (0.00571, 0.0001),
        ("VSAE", "ICT-MMMO textual"): (0.243, 0.0001),
    },
}
COUNTS = dict(zip(IDS, (20, 30, 18, 18, 18, 24, 18), strict=True))


@pytest.mark.parametrize("id", IDS)
def test_published_figures(id):
    table = find_table(id)
    assert len(table.published) == COUNTS[id]
    for place, figure in PRINTED[id].items():
        assert table.published[place] == figure
    names = {row.name for row in table.rows}, {column.name for column in table.columns}
    assert all(row in names[0] and column in names[1] for row, column in table.published)


@pytest.mark.parametrize("id", IDS[:6])
def test_vsae_is_printed_best_or_tied_in_every_column(id):
    table = find_table(id)
    for column in table.columns:
        printed = {r: m for (r, c), (m, _) in table.published.items() if c == column.name}
        assert min(printed.values()) == printed["VSAE"]


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("scale", SCALES)
def test_every_setting_is_one_of_its_method(id, scale):
    table = find_table(id)
    for row in table.rows:
        assert row.method in imputer_names()
        for column in table.columns:
            cases = table.cases(row, column, scale)
            assert len(cases) == SCALES[scale]["runs"]
            assert [case.seed for case in cases] == list(range(len(cases)))
            imputer_of(cases[0].method, cases[0].params)


def case_of(id, row, column, scale="paper"):
    table = find_table(id)
    heads = {head.name: head for head in (*table.rows, *table.columns)}
    return table.cases(heads[row], heads[column], scale)[0]


def test_the_settings_of_the_supplement_at_paper_scale():
    numbers = case_of("vsae/table5", "VSAE", "Yeast MAR")
    levels = case_of("vsae/table6", "VSAE", "Mushroom")
    pictures = case_of("vsae/table7", "VSAE", "0.5")
    plans = [case.params["plan"] for case in (numbers, levels, pictures)]
    assert [(p["lr"], p["epochs"]) for p in plans] == [(1e-3, 1000), (1e-2, 2000), (1e-4, 1000)]
    assert numbers.params["warm_up"] == numbers.params["draws"] == 100
    assert numbers.params["importance"] == 1000
    assert (pictures.params["latent"], pictures.params["vector_latent"]) == (256, 256)
    assert "latent" not in numbers.params  # 2 of each attribute is its default
    assert imputer_of("vsae", numbers.params).latent == 2
    assert (numbers.protocol["rows"], pictures.protocol["rows"]) == (None, None)
    assert case_of("vsae/table5", "MIWAE", "Yeast MAR").params["particles"] == 1000


def test_small_scales_change_sizes_and_nothing_else():
    large, small = (case_of("vsae/table7", "VSAE", "0.5", scale) for scale in ("paper", "smoke"))
    changed = {name for name in large.params if large.params[name] != small.params[name]}
    assert changed == {"warm_up", "draws", "importance", "latent", "vector_latent", "plan"}
    assert small.params["plan"] == large.params["plan"] | {"epochs": 2}
    assert (small.hide, small.protocol["test"]) == (large.hide, large.protocol["test"])


def test_rivals_have_as_many_latents_as_vsae():
    assert case_of("vsae/table5", "VAE", "Yeast MAR").protocol["latent_each"] == 2
    assert (
        case_of("vsae/table7", "MVAE", "0.5").protocol["latent_each"] == SORTS["pictures"]["latent"]
    )
    assert "latent_each" not in case_of("vsae/table7", "VSAE", "0.5").protocol


def test_other_normalisations_are_the_same_runs():
    table = find_table("vsae/table5")
    heads = {row.name: row for row in table.rows}
    for name in ("VSAE", "Mean filling", "HI-VAE"):
        runs = {
            case.key
            for row in heads.values()
            if row.name == name or row.name.startswith(f"{name}, RMSE")
            for case in table.cases(row, table.columns[0], "laptop")
        }
        assert len(runs) == SCALES["laptop"]["runs"]
    scores = {table.score(row, table.columns[0]) for row in table.rows}
    assert scores == {"rmse_rms_column", "rmse_rms", "rmse_column", "rmse", "rmse_range"}


def test_differences_are_of_rows_that_are_there():
    for id in ("vsae/table5", "vsae/table6", "vsae/table10"):
        table = find_table(id)
        names = {row.name for row in table.rows if row.minus is None}
        pairs = [row.minus for row in table.rows if row.minus]
        assert all(first in ("VSAE", OURS) and other in names for first, other in pairs)
        assert {other for _, other in pairs} >= {row for row, _ in table.published} - {"VSAE"}


def test_single_pictures_are_the_same_runs_and_are_shown_once():
    table = find_table("vsae/table7")
    rows = [
        row
        for row in table.rows
        if row.name in ("VSAE", "VSAE, first picture", "VSAE, second picture")
    ]
    column = table.columns[1]
    assert [table.score(row, column) for row in rows] == ["sum", "mse_first", "mse_second"]
    assert len({table.cases(row, column, "smoke")[0].key for row in rows}) == 1
    sheet = {"title": "a", "lines": []}
    found = SimpleNamespace(facts={"pictures": [sheet]})
    wanted = {(row.name, c.name) for row in rows for c in table.columns}
    shown = table.pictures("smoke", wanted, lambda case: found)
    assert [s["title"] for s in shown] == ["VSAE, 0.5: a"]


def test_heart_is_one_run_with_two_scores():
    table = find_table("vsae/table6")
    kinds = [c for c in table.columns if c.dataset == "heart"]
    row = table.rows[0]
    assert [table.score(row, c) for c in kinds] == ["pfc", "rmse_rms_column"]
    first, second = (table.cases(row, column, "laptop") for column in kinds)
    assert first == second


def test_what_cannot_be_had_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("NANWISE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    vsae_data._table.cache_clear()
    features = find_table("vsae/table11")
    row = features.rows[0]
    said = [features.absent(row, column, "smoke") for column in features.columns]
    assert said[:3] == ["ICT-MMMO could not be had"] * 3
    assert all("mosi/text/text_train0.csv" in reason for reason in said[3:])
    houses = find_table("vsae/table8")
    assert "mnist/train-images" in houses.absent(houses.rows[0], houses.columns[0], "smoke")
    table = find_table("vsae/table6")
    assert "uci/phishing" in table.absent(table.rows[0], table.columns[0], "smoke")


def test_they_are_listed_as_plain_facts():
    found = {facts["id"]: facts for facts in known_tables()}
    assert set(IDS) <= set(found)
    assert json.loads(json.dumps(found["vsae/table7"]))["columns"] == ["0.3", "0.5", "0.7"]
