import json

import numpy as np
import pytest

from nanwise.cli import show
from nanwise.cli.leaderboard import figure, places, show_leaderboard


def row(**given):
    base = {
        "rank": 1,
        "method": "zero",
        "role": "baseline",
        "mean": 0.81234,
        "low": 0.8,
        "high": 0.825,
        "difference": None,
        "fit_seconds": 1.234,
        "predict_seconds": 0.01,
        "error": None,
    }
    return base | given


def facts(*rows):
    metric = {"name": "auroc", "label": "AUROC", "higher_is_better": True}
    return {"metric": metric, "leaderboard": list(rows), "baseline": "zero"}


def test_leaderboard_shows_figures_and_the_baseline(capsys):
    difference = {"to": "zero", "mean": 0.012, "low": -0.003, "high": 0.027}
    show_leaderboard(facts(row(method="knn", difference=difference), row(rank=2)))
    text = capsys.readouterr().out
    assert "AUROC ± 95 %" in text
    assert "0.8123 ± 0.0125" in text
    assert "vs zero" in text
    assert "+0.0120 ± 0.0150" in text
    assert "Higher is better. zero is the best" in text
    assert "note" not in text


def test_leaderboard_shows_failures_with_their_reason(capsys):
    failed = row(
        rank=None, mean=None, low=None, high=None, fit_seconds=None, error="Boom: [a] burst"
    )
    show_leaderboard(facts(row(), failed))
    text = capsys.readouterr().out
    assert "note" in text
    assert "Boom: [a] burst" in text


def test_leaderboard_without_a_baseline(capsys):
    show_leaderboard(facts(row()) | {"baseline": None})
    text = capsys.readouterr().out
    assert "vs" not in text
    assert text.strip().endswith("Higher is better.")


def test_missing_figures_are_dashes():
    assert figure(None, 2) == show.number(None) == show.number(float("nan")) == "–"
    assert figure({"mean": None, "low": None, "high": None}, 2) == "–"
    assert figure({"mean": 1.5, "low": None, "high": None}, 2) == "1.50"
    assert show.number(3) == "3"


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.83, 0.7], 4), ([53.2, 1.0], 2), ([45200.0, None], 0), ([None, 0.0], 3), ([1e-9], 6)],
)
def test_places_follow_the_size_of_the_figures(values, expected):
    assert places(values) == expected


def test_table_reads_no_markup(capsys):
    show.table(["name"], [["[bold]x[/bold]"]])
    assert "[bold]x[/bold]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "expected"), [(np.float32(0.5), 0.5), (np.arange(2), [0, 1]), (np.int64(3), 3)]
)
def test_json_takes_numpy(capsys, value, expected):
    show.as_json({"x": value})
    assert json.loads(capsys.readouterr().out) == {"x": expected}


def test_listing_leaves_out_what_is_empty(capsys):
    show.listing({"name": "a", "paper": "", "needs": ()})
    assert capsys.readouterr().out == "name   a\n"
