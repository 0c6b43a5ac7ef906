"""The reports of ``nanwise impute`` and ``compare-imputers``: what is said, shown and left out."""

import json
import runpy
from pathlib import Path

import pytest

from nanwise.report import render
from nanwise.report.bars import bars
from nanwise.report.story import story_of
from nanwise.report.view import view_of

FAKE = runpy.run_path(str(Path(__file__).with_name("fake_impute.py")))


@pytest.fixture
def facts():
    return FAKE["impute_facts"]()


@pytest.fixture
def grid():
    return FAKE["compare_imputers_facts"]()


def story(facts):
    return " ".join(story_of(facts))


def test_the_story_says_what_was_filled_and_compares_with_means(facts):
    told = story(facts)
    assert "300 of the cells are missing (10.0 %); chained filled 290 of them" in told
    assert "0.60, 25.0 % less than with columns' means" in told
    assert "no better than that: colour" in told
    assert "take several draws (-m 5)" in told
    assert "Learning took 1.2 s, filling 300 ms, the check 1.6 s." in told


def test_the_story_of_several_draws_speaks_of_pooling(facts):
    facts["draws"] = 5
    told = story(facts)
    assert "5 times over with different draws" in told
    assert "pool" in told
    assert "-m 5" not in told


def test_the_story_admits_that_means_are_better(facts):
    facts["check"]["scores"]["error"] = 1.0
    assert "25.0 % more than with columns' means" in story(facts)


def test_columns_without_gaps_and_without_scores_are_not_listed(facts):
    page = view_of(facts)
    assert [row["name"] for row in page["columns"]] == ["age", "colour"]
    assert [row["name"] for row in page["check_rows"]] == ["age", "colour"]
    assert [row["mood"] for row in page["check_rows"]] == ["good", "bad"]


def test_numbers_get_curves_and_levels_get_bars(facts):
    curves, shares = view_of(facts)["figures"]
    assert curves["svg"].count('class="curve') == 2
    assert shares["svg"].count("<rect") == 4
    assert [entry["name"] for entry in curves["legend"]] == ["observed (800)", "imputed (200)"]


def test_the_score_of_draws_is_a_column_only_where_there_is_one(facts):
    assert '<th class="num" data-sort>CRPS</th>' not in render(facts)
    facts["check"]["columns"][0]["crps"] = 0.3
    assert '<th class="num" data-sort>CRPS</th>' in render(facts)


@pytest.mark.parametrize(
    "gone", ["check", "densities", "columns", "history", "model", "files", "data", "seconds"]
)
@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_what_is_not_there_is_left_out(facts, gone, kind):
    facts[gone] = None
    assert render(facts, kind)


def test_bars_are_as_long_as_the_shares():
    series = [{"name": "observed", "y": [0.8, 0.4], "tone": 0}]
    picture = bars(["a", "b & c"], series, title="t", desc="d", x_label="share")
    widths = [float(part.split('"')[0]) for part in picture.split('width="')[1:]]
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.01)
    assert "b &amp; c" in picture


def test_the_comparison_names_the_best_and_where_it_is_not(grid):
    told = story(grid)
    assert "chained is best over all settings: mean error 0.600, 70 % of that" in told
    assert "Elsewhere: MNAR 20 % knn." in told
    assert "Worse than filling with means on average: median." in told
    assert "2 of 5 imputers have no result somewhere: knn, gain." in told


def test_the_best_of_each_setting_is_marked_also_if_it_failed_elsewhere(grid):
    board = view_of(grid)["board"]
    best = [[cell["best"] for cell in row["settings"]] for row in board]
    assert best[0] == [True, True, False, True]
    assert best[3] == [False, False, True, False]
    assert board[4]["mean_text"] == "–"


def test_curves_over_rates_need_two_rates(grid):
    assert [f["title"] for f in view_of(grid)["figures"]] == ["MCAR", "MNAR"]
    for row in grid["leaderboard"]:
        row["settings"] = row["settings"][::2]
    grid["settings_facts"] = grid["settings_facts"][::2]
    assert view_of(grid)["figures"] == []


def test_failures_and_all_scores_stand_in_every_format(grid):
    for kind in ("html", "md", "json"):
        text = render(grid, kind)
        assert "MemoryError: too large" in text
        assert "chained" in text
    assert "RMSE / range" in render(grid, "md")
    assert json.loads(render(grid, "json"))["leaderboard"][4]["mean"] is None


def test_nothing_done_is_said(grid):
    for row in grid["leaderboard"]:
        row["mean"] = None
    assert "No imputer gave a result" in story(grid)


def test_markdown_draws_densities_with_letters(facts):
    section = render(facts, "md").split("## Observed against imputed")[1].split("##")[0]
    _, _, age, colour = [line for line in section.splitlines() if line.startswith("|")]
    # heights 0.1 0.8 0.7 0.1 and 0.0 1.2 0.4 0.0 of a largest one of 1.2
    assert "| ▂▆▅▂ | ▁█▃▁ |" in age
    assert "red 60 %, blue 40 % | red 90 %, blue 10 %" in colour


@pytest.mark.parametrize("made", ["impute_facts", "compare_imputers_facts"])
def test_markdown_says_where_the_pictures_are(made):
    facts = FAKE[made]()
    last = render(facts, "md").splitlines()[-1]
    assert last.startswith("Pictures are in the HTML report")
    for figure in view_of(facts)["figures"]:
        assert figure["title"] in last
    bare = {**facts, "densities": None, "history": None, "settings_facts": None, "leaderboard": []}
    assert "Pictures" not in render(bare, "md")


def test_curves_of_the_comparison_are_numbers_in_markdown(grid):
    text = render(grid, "md")
    for row in view_of(grid)["board"]:
        for cell in row["settings"]:
            assert cell["text"] in text
