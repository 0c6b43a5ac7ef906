"""The reports of ``nanwise images``: what is said, shown and left out."""

import builtins
import runpy
from pathlib import Path

import pytest

from nanwise.report import render
from nanwise.report.story import story_of
from nanwise.report.view import view_of

FAKE = runpy.run_path(str(Path(__file__).with_name("fake_images.py")))


@pytest.fixture
def facts():
    return FAKE["images_facts"]()


@pytest.fixture
def filled():
    return FAKE["inpaint_facts"]()


def story(facts):
    return " ".join(story_of(facts))


def test_the_story_names_the_best_and_the_next(facts):
    told = story(facts)
    assert "misconv is right on 93.1 % of 80 held-out pictures" in told
    assert "(95 % interval 91.8 % to 94.2 %)" in told
    assert "The next is zero with 91.0 %." in told or "The next is zero with 91.1 %." in told
    assert "flow failed" in told
    assert "have the holes they came with" in told


def test_the_story_admits_that_the_order_may_be_chance(facts):
    facts["leaderboard"][1]["accuracy"] = 0.92
    assert "zero lies within that interval" in story(facts)
    assert "may be chance" in story(facts)
    more = [facts["leaderboard"][1] | {"method": name} for name in ("knn", "dmfa")]
    facts["leaderboard"] += more
    assert "zero, knn and dmfa lie within that interval" in story(facts)


def test_holes_cut_on_purpose_are_told(facts):
    facts["data"]["hidden"] = "noise:0.5"
    assert "cut on purpose (noise:0.5)" in story(facts)


def test_no_result_at_all(facts):
    facts["leaderboard"] = facts["leaderboard"][2:]
    assert story_of(facts) == ["No treatment gave a result; the reasons stand below."]
    assert "the loss is no number" in render(facts)


def test_the_table_marks_the_best_and_keeps_failures(facts):
    page = view_of(facts)
    assert [row["method"] for row in page["board"]] == ["misconv", "zero", "flow"]
    assert page["score_names"] == ["log loss", "balanced accuracy", "AUROC"]
    assert [cell["best"] for cell in page["board"][0]["scores"]] == [True, True, True]
    assert not any(cell["best"] for cell in page["board"][2]["scores"])
    assert page["board"][0]["interval"] == "91.8 to 94.2"
    html = render(facts)
    assert "failed" in html
    assert html.count("data:image/png;base64,") == 10
    assert "| 1 | misconv | 93.1 % | 91.8 to 94.2 | 0.231 |" in render(facts, "md")


def test_filled_pictures(filled):
    told = story(filled)
    assert "DMFAImputer filled the holes of 397 pictures, 2 times over" in told
    assert "no pixel outside of a hole was changed" in told
    html = render(filled)
    assert "Leaderboard" not in html
    assert "out/draw-2" in html
    assert "`out/draw-1`" in render(filled, "md")


def test_reports_need_no_pillow(facts, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "data:image/png" in render(facts)
