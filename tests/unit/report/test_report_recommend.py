"""The report of ``nanwise recommend``: what is said, what is shown, what is left out."""

import json
import runpy
from pathlib import Path

import pytest

from nanwise.report import render, write
from nanwise.report.story import story_of
from nanwise.report.view import view_of

FAKE = runpy.run_path(str(Path(__file__).with_name("fake_recommend.py")))


@pytest.fixture
def facts():
    return FAKE["recommend_facts"]()


def story(facts):
    return " ".join(story_of(facts))


def row_of(facts, name):
    return next(row for row in facts["scores"] if row["method"] == name)


def test_the_story_compares_with_the_better_baseline(facts):
    told = story(facts)
    assert "0.8908" in told
    assert "4.6 % less than the better baseline, biases (0.9339)" in told
    assert "4.4 % are among the first 10" in told
    assert "popularity finds 14.9 %" in told


def test_the_story_admits_defeat(facts):
    row_of(facts, "autorec")["rmse"] = 1.0
    assert "7.1 % more than the better baseline, biases" in story(facts)
    assert "Sparsity normalisation raises the RMSE" in story(facts)


def test_the_story_names_the_worth_of_the_normalisation(facts):
    row_of(facts, "autorec, not normalised")["rmse"] = 0.9
    assert "Sparsity normalisation lowers the RMSE here: 0.9000 without it" in story(facts)


def test_the_story_counts_cold_ratings_only_if_there_are_any(facts):
    assert "17 held-out ratings" in story(facts)
    facts["protocol"]["cold_ratings"] = 0
    assert "held-out ratings are of users" not in story(facts)


def test_a_baseline_is_not_compared_with_itself(facts):
    facts["method"] = "biases"
    assert "than the better baseline, popularity" in story(facts)


def test_the_drift_is_told_with_and_without_normalisation(facts):
    told = story(facts)
    assert "moves by −0.0010 for every 10 %" in told
    assert "(−0.021 without the normalisation)" in told


def test_the_best_of_each_column_is_marked_whichever_way_is_better(facts):
    board = view_of(facts)["board"]
    best = {
        head["name"]: [row["method"] for row in board if row["cells"][k]["best"]]
        for k, head in enumerate(view_of(facts)["heads"])
    }
    assert best["RMSE"] == ["autorec, not normalised"]
    assert best["NDCG@10"] == ["popularity"]
    assert best["coverage"] == ["autorec"]
    assert [row["own"] for row in board] == [True, False, False, False]


def test_medians_and_levels_are_written_as_they_are(facts):
    data = view_of(facts)["data"]
    assert dict(data["spread"])["ratings per user"] == ["20", "65", "737"]
    assert dict(data["spread"])["ratings per item"] == ["1", "27.5", "583"]
    assert [level["rating"] for level in data["levels"]] == ["1", "4.5", "5"]
    assert sum(level["share"] for level in data["levels"]) == pytest.approx(1)


def test_scores_that_could_not_be_computed_are_dashes(facts):
    for row in facts["scores"]:
        row.update(ndcg=None, recall=None, precision=None)
    board = view_of(facts)["board"]
    assert {row["cells"][2]["text"] for row in board} == {"–"}
    assert not any(row["cells"][2]["best"] for row in board)
    assert "among the first" not in story(facts)
    assert "popularity" in render(facts, "html")


@pytest.mark.parametrize(
    "gone", ["stress", "history", "data", "model", "top", "scores", "protocol"]
)
@pytest.mark.parametrize("kind", ["html", "md"])
def test_absent_sections_are_left_out(facts, gone, kind):
    heading = {
        "stress": "Drift with fewer ratings",
        "history": "Learning curve",
        "data": "how often",
        "model": "trained again",
        "top": "out/top.csv",
        "scores": "NDCG@10 |" if kind == "md" else 'id="board"',
        "protocol": "were held out",
    }[gone]
    if not (gone == "history" and kind == "md"):
        assert heading in render(facts, kind)
    del facts[gone]
    assert heading not in render(facts, kind)


def test_pictures_show_curves_and_single_rows_of_both_models(facts):
    figures = view_of(facts)["stress_figures"]
    assert len(figures) == 4
    assert [entry["name"] for entry in figures[0]["legend"]] == list(facts["stress"])
    page = render(facts)
    assert "share of each item" in page
    assert page.count("<svg") == 5


def test_it_is_written_in_three_kinds_and_json_keeps_all(facts, tmp_path):
    paths = write(facts, tmp_path)
    assert {path.name for path in paths.values()} == {"report.html", "report.md", "report.json"}
    assert json.loads(paths["json"].read_text(encoding="utf-8")) == facts
