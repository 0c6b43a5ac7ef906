"""Tables on pictures: published figures, cases, and what one run measures."""

from dataclasses import replace

import numpy as np
import pytest

from nanwise.bench.case import Case
from nanwise.bench.papers import pictures_run, sn_pictures_run
from nanwise.bench.papers.pictures_run import pictures_of, run_classifier, run_timing
from nanwise.bench.papers.sn_pictures_run import run_counts, run_perceptron
from nanwise.bench.papers.table import find_table, tables
from nanwise.bench.reproduce import reproduce

DRAFT = ("fig1", "fig3", "fig4", "fig8", "fig9", "table4")
MISCONV = ("table1", "table2", "fig2", "cifar10")
IDS = {*(f"misconv/{name}" for name in MISCONV), *(f"draft/{name}" for name in DRAFT)}


def heading(headings, name):
    return next(found for found in headings if found.name == name)


def first_case(id, row, column, scale="smoke"):
    table = find_table(id)
    return table.cases(heading(table.rows, row), heading(table.columns, column), scale)[0]


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch):
    """Bright rows instead of digits and things: 8 x 8 pixels, a third of them 0."""

    def load(name, split):
        draw = np.random.default_rng(len(name) + len(split))
        y = np.arange(150) % 10
        X = draw.random((150, 3 if name == "cifar10" else 1, 8, 8), dtype=np.float32)
        X[draw.random(X.shape) < 1 / 3] = 0
        X[np.arange(150), :, y % 8] = 0.9
        return X, y

    pictures_run._fitted.cache_clear()
    monkeypatch.setattr(pictures_run, "_load", load)


def test_all_tables_are_there_with_their_notes():
    found = {table.id: table for table in tables()}
    assert set(found) >= IDS
    for id in IDS:
        assert found[id].notes
        assert set(found[id].scales) == {"smoke", "laptop", "paper"}


def test_published_figures():
    assert find_table("misconv/table1").published["MisConv", "noise"] == (0.966, None)
    assert find_table("misconv/table1").published["GT", "square"] == (0.992, None)
    times = find_table("misconv/table2").published
    assert times["CelebA, 64 px, batch 64", "MisConv"] == (0.00109, 0.00029)
    assert times["MNIST, 28 px, batch 32", "Classic convolution"] == (0.00017, 0.00006)
    assert len(times) == 18
    assert find_table("draft/table4").published["w/ SN", "VGG-16 + BN"] == (0.88, 0.0101)


def test_settings_of_the_supplement():
    case = first_case("misconv/table1", "MisConv", "square", "paper")
    plan = case.params["plan"]
    assert (plan["batch"], plan["lr"], plan["epochs"], plan["optimizer"]) == (24, 1e-3, 10, "adam")
    assert case.protocol["density_epochs"] == 20
    assert case.protocol["rows"] is None
    assert first_case("misconv/table1", "GT", "square").hide is None
    case = first_case("misconv/cifar10", "zero", "square", "paper")
    plan = case.params["plan"]
    assert (plan["batch"], plan["lr"], plan["epochs"], plan["optimizer"]) == (64, 1e-4, 35, "adam")
    assert case.params["backbone"] == "deep"


@pytest.mark.parametrize("row", ["zero", "k-NN", "MisConv", "MisConv + mask", "DMFA mean", "GT"])
def test_a_run_of_table_1(row):
    case = first_case("misconv/table1", row, "square")
    found = run_classifier(case)
    assert found.error is None
    assert 0 <= found.scores["accuracy"] <= 1
    assert len(found.history) == 1


def test_rows_share_pictures_and_density():
    a, b = (first_case("misconv/table1", row, "noise") for row in ("MisConv", "DMFA mean"))
    (X, _), (test, _) = pictures_of(a)
    np.testing.assert_array_equal(X, pictures_of(b)[0][0])
    assert X.shape == (96, 1, 8, 8)
    assert len(test) == 48
    assert np.isnan(X).mean() == pytest.approx(0.75, abs=0.02)
    asked = [pictures_run._asked(case, "dmfa") for case in (a, b)]
    assert pictures_run._fitted(asked[0]) is pictures_run._fitted(asked[1])
    other = pictures_run._asked(replace(a, seed=5), "dmfa")
    assert other.key != asked[0].key


def test_dark_pixels_are_missing_for_vgg():
    case = first_case("draft/table4", "w/ SN", "VGG-16")
    (X, _), _ = pictures_of(case)
    assert 0.2 < np.isnan(X).mean() < 0.4
    assert not (X == 0).any()
    for column in ("VGG-16", "VGG-16 + BN"):
        found = run_classifier(first_case("draft/table4", "w/ SN", column))
        assert found.error is None
        assert found.scores["accuracy"] is not None


def test_times():
    protocol = {"size": 8, "channels": 3, "batch": 2, "repeats": 5}
    scores = run_timing(Case("", "image/misconv", protocol=protocol)).scores
    for name in ("conv", "misconv"):
        assert 0 < scores[f"{name}_25"] <= scores[f"{name}_50"] <= scores[f"{name}_75"]
    assert scores["ratio"] > 0


def test_counts(monkeypatch):
    case = first_case("draft/fig1", "MNIST", "mean")
    found = run_counts(replace(case, protocol={**case.protocol, "rows": None}))
    X, _ = pictures_run._load("mnist", "train")
    number = (X != 0).reshape(150, -1).sum(1)
    assert found.scores["mean"] == pytest.approx(number.mean())
    assert found.scores["variation"] == pytest.approx(number.std() / number.mean())
    assert sum(found.facts["histogram"]["y"]) == 150
    assert len(found.facts["histogram"]["x"]) == sn_pictures_run.BINS


def test_a_perceptron_learns_and_keeps_what_is_drawn():
    case = first_case("draft/fig4", "w/ SN", "after")
    plan = {**case.params["plan"], "epochs": 40, "patience": None, "batch": 8}
    found = run_perceptron(replace(case, params={**case.params, "units": 16, "plan": plan}))
    assert found.error is None
    assert found.scores["accuracy"] > 0.3  # chance: 0.1
    assert sum(found.facts["before"]["y"]) == 60
    plain = first_case("draft/fig4", "w/o SN", "after")
    other = run_perceptron(replace(plain, params={**plain.params, "units": 16, "plan": plan}))
    assert other.scores["before"] == found.scores["before"]
    assert other.scores["after"] != found.scores["after"]


@pytest.mark.parametrize(
    ("id", "only"),
    [
        ("draft/fig4", None),
        ("draft/fig8", ["4"]),
        ("misconv/table1", ["zero", "PC", "square"]),
        ("misconv/cifar10", ["MisConv"]),
    ],
)
def test_smoke(id, only):
    facts = reproduce(id, "smoke", only=only)
    run = [cell for row in facts["rows"] for cell in row["cells"] if cell["ours"] is not None]
    errors = [cell["error"] for row in facts["rows"] for cell in row["cells"] if cell["error"]]
    assert run
    assert errors == []
    titles = [chart["title"] for chart in facts["curves"]]
    assert (titles == ["before training", "after training"]) == (id == "draft/fig4")
