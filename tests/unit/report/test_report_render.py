import copy
import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanwise.report import KINDS, render, write
from nanwise.report.story import randomness, steadiness, story_of

VOID = {"meta", "br", "img", "link", "input"}
HOSTILE = "<script>alert(1)</script>\"' onload=x | `a` [b](javascript:c) & 💥"


class Checked(HTMLParser):
    """Fails on tags that do not close in order; keeps the tags and the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def poison(tree):
    """The same facts with every name and text replaced by something hostile."""
    keep = {"kind", "task", "mechanism", "verdict", "created", "to", "baseline", "output", "tiles"}
    if isinstance(tree, dict):
        return {k: v if k in keep else poison(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [poison(v) for v in tree]
    return HOSTILE if isinstance(tree, str) else tree


def test_html_is_one_well_formed_file_without_outside_parts(any_facts):
    page = Checked(render(any_facts))
    assert not {"link", "img", "iframe", "object", "embed"} & set(page.tags)
    assert not [a for a in page.attributes if a[0] in ("src", "srcset") or a[0].startswith("on")]
    targets = [v for k, v in page.attributes if k == "href"]
    links = [v for v in targets if not v.startswith("data:image/png;base64,")]
    assert links
    assert all(v.startswith("#") for v in links)
    ids = {v for k, v in page.attributes if k == "id"}
    assert {v[1:] for v in links} <= ids
    assert page.tags.count("script") == 1


def test_ids_are_unique(any_facts):
    ids = [v for k, v in Checked(render(any_facts)).attributes if k == "id"]
    assert len(ids) == len(set(ids))


def test_hostile_names_stay_text_in_html(any_facts):
    text = render(poison(any_facts))
    page = Checked(text)
    assert page.tags.count("script") == 1
    assert not [a for a in page.attributes if a[0].startswith("on")]
    assert "<script>alert" not in text
    assert HOSTILE in "".join(page.text)


def test_hostile_names_stay_text_in_markdown(any_facts):
    text = render(poison(any_facts), "md")
    outside_code = re.sub(r"``.*?``", "", text)
    assert "<script" not in outside_code
    assert "](javascript" not in outside_code.replace("\\](", "")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)


def test_markdown_tables_have_as_many_cells_as_their_head(any_facts):
    text = render(poison(any_facts), "md")
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(cells) == 1, block


def test_json_gives_the_facts_back(any_facts):
    assert json.loads(render(any_facts, "json")) == json.loads(json.dumps(any_facts))


def test_numbers_that_are_none_become_null_and_the_report_still_stands(compare_facts):
    compare_facts["leaderboard"][0]["mean"] = float("nan")
    compare_facts["leaderboard"][1]["difference"]["low"] = np.float64("inf")
    compare_facts["stress"]["zero"]["slope"] = float("nan")
    assert json.loads(render(compare_facts, "json"))["leaderboard"][0]["mean"] is None
    for kind in KINDS:
        text = render(compare_facts, kind)
        assert not re.search(
            r"\bnan\b", re.sub(r"<style>.*?</style>|<i>|nan<i>", "", text, flags=re.S)
        )


def test_every_section_may_be_absent(any_facts):
    for key in list(any_facts):
        if key == "kind":
            continue
        less = {k: v for k, v in any_facts.items() if k != key}
        none = {**any_facts, key: None}
        for kind in ("html", "md"):
            render(less, kind)
            render(none, kind)
    for kind in KINDS:
        assert render({"kind": any_facts["kind"]}, kind)


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_any_part_of_the_data_section_may_be_absent(data):
    import runpy
    from pathlib import Path

    fake = runpy.run_path(str(Path(__file__).with_name("fake_facts.py")))
    facts = fake["compare_facts"]()
    for part in (facts["data"], facts["leaderboard"][0], facts["stress"]["zero"], facts["winner"]):
        optional = [k for k in part if k not in ("method", "columns", "rows", "outputs")]
        for key in data.draw(st.lists(st.sampled_from(optional), max_size=4, unique=True)):
            del part[key]
    for kind in KINDS:
        render(facts, kind)


def test_the_leaderboard_shows_scores_differences_and_reasons(compare_facts):
    text = "".join(Checked(render(compare_facts)).text)
    assert "0.842" in text
    assert "0.824 to 0.860" in text
    assert "+0.020 to +0.044" in text
    assert "TrainingError: the loss is not a number in epoch 3" in text
    assert "0, 1, 2, 3, 4" in text  # one line for all folds with the same reason


def test_wide_tables_are_cut_and_say_so(compare_facts):
    names = [f"column {j}" for j in range(10_000)]
    data = compare_facts["data"]
    data["column_facts"] = [
        {"name": n, "kind": "numeric", "missing": j} for j, n in enumerate(names)
    ]
    data["pattern"] = {
        "columns": names,
        "rows": [[j % 2 for j in range(10_000)]] * 5,
        "patterns": [],
    }
    text = render(compare_facts)
    assert len(text) < 600_000
    assert "9800 more columns" in text
    assert "the 60 of 10000 columns with most gaps" in text
    assert "column 9999" in text  # the one with most gaps


def test_story_of_a_comparison(compare_facts):
    best, gap, luck, drift, failed, data = story_of(compare_facts)
    assert "best of" in luck
    assert best == "sparsity_norm is best: AUROC 0.842 (95 % interval 0.824 to 0.860)."
    assert gap.startswith("That is 0.032 better than the best simple baseline, mean")
    assert gap.endswith("more than chance explains.")
    assert "stays where it was; zero drifts most, by +0.027" in drift
    assert failed == "1 of 11 methods failed at least once: batch_norm."
    assert "10.6 % of the cells are missing, 392 rows are complete" in data


def test_the_data_section_says_whether_gaps_fall_at_random(compare_facts):
    test = compare_facts["data"]["mcar_test"]
    for kind in ("html", "md"):
        told = " ".join(render(compare_facts, kind).split())
        assert "Gaps do not fall completely at random" in told
        assert "on 768 rows and 8 columns of numbers, 14 degrees of freedom, p = 0.001" in told
    test["p_value"] = 0.3
    assert "Nothing speaks against" in render(compare_facts, "md")
    test["p_value"] = 1e-9
    assert "p < 0.001" in randomness(compare_facts["data"])[0]
    test |= {"p_value": None, "reason": "more columns than rows"}
    assert "was not tested: more columns than rows." in render(compare_facts, "md")
    compare_facts["data"]["missing_share"] = 0.0
    assert randomness(compare_facts["data"]) == []
    assert randomness({"missing_share": 0.1}) == []


def test_story_does_not_call_chance_a_gain(compare_facts):
    compare_facts["leaderboard"][0]["difference"].update(low=-0.01, high=0.07)
    assert "may be just as good" in story_of(compare_facts)[1]


def test_story_knows_that_less_error_is_better(compare_facts):
    compare_facts["metric"] = {"name": "rmse", "label": "RMSE", "higher_is_better": False}
    compare_facts["leaderboard"][0]["difference"].update(mean=-0.2, low=-0.3, high=-0.1)
    assert "0.200 better" in story_of(compare_facts)[1]


def test_story_when_the_baseline_wins_or_nothing_ran(compare_facts):
    base = copy.deepcopy(compare_facts)
    base["baseline"] = "sparsity_norm"
    assert "nothing more elaborate did better" in story_of(base)[1]
    compare_facts["leaderboard"] = compare_facts["leaderboard"][-1:]
    assert "No method gave a result" in story_of(compare_facts)[1]


def test_story_names_the_saved_model_if_it_is_another(compare_facts):
    compare_facts["winner"]["method"] = "knn"
    assert "The model that was saved is knn." in story_of(compare_facts)


def test_story_of_a_stress_test(stress_facts):
    drift, bias, score = story_of(stress_facts)
    assert "moves by +0.030 per 10 % of values hidden (strong drift)" in drift
    assert "113 %" in bias
    assert "from 0.830 with 100 % of the values to 0.617 with 10 %" in score


def test_story_of_a_reproduction(reproduce_facts):
    (one,) = story_of(reproduce_facts)
    assert one.startswith("10 of 15 measured figures are within or better")
    reproduce_facts["metric"] = {"label": "RMSE", "higher_is_better": False}
    assert story_of(reproduce_facts)[0].startswith("10 of 15")
    assert "Nothing was measured" in story_of({"kind": "reproduce"})[0]
    smoke = story_of({**reproduce_facts, "scale": "smoke"})
    assert smoke == [
        "The smoke scale shows that everything runs; its figures are not to be compared."
    ]


def test_panels_of_a_reproduction_are_interval_plots(reproduce_facts):
    items = [
        {"name": "NeuMiss", "mean": -0.01, "low": -0.02, "high": 0.0, "tone": 0},
        {"name": "published", "mean": -0.03, "low": -0.04, "high": -0.02, "tone": None},
    ]
    chart = {"title": "d=10 n=20000", "x_label": "gap", "items": items}
    before = render(reproduce_facts, "html").count("<svg")
    page = render({**reproduce_facts, "panels": [chart]}, "html")
    assert page.count("<svg") == before + 1
    assert "NeuMiss: −0.010 (−0.020 to 0.000)" in page
    assert "Further right is better" in page


@pytest.mark.parametrize(
    ("bias", "word"),
    [
        (0, "steady"),
        (0.0999, "steady"),
        (0.1, "some drift"),
        (0.3, "strong drift"),
        (None, "unknown"),
    ],
)
def test_words_for_a_sparsity_bias(bias, word):
    assert steadiness(bias) == word


def test_a_mechanism_that_is_not_blind_is_pointed_out(stress_facts):
    assert "not blind" not in render(stress_facts)
    stress_facts["mechanism"] = "mnar"
    assert "not blind (MNAR" in render(stress_facts)


def test_several_outputs_get_a_table(stress_facts):
    two = {**stress_facts["outputs"][0], "name": "other"}
    stress_facts["outputs"] = [*stress_facts["outputs"], two]
    assert 'id="outputs"' in render(stress_facts)


def test_result_of_a_real_stress_test_renders():
    from nanwise.stress_test import stress

    X = np.random.default_rng(0).normal(size=(20, 4))
    result = stress(lambda X: np.nansum(X, axis=1), X, X.sum(axis=1), repeats=3)
    for kind in KINDS:
        assert "lambda" in render(result.facts, kind)


def test_write_makes_the_folder_and_names_the_files(tmp_path, any_facts):
    paths = write(any_facts, tmp_path / "a" / "b")
    assert {k: p.name for k, p in paths.items()} == {k: f"report.{k}" for k in KINDS}
    assert all(p.read_text(encoding="utf-8") == render(any_facts, k) for k, p in paths.items())
    assert sorted(p.name for p in (tmp_path / "a" / "b").iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
    ]


def test_write_respects_the_umask(tmp_path, stress_facts):
    before = os.umask(0o027)
    try:
        path = write(stress_facts, tmp_path, ["json"])["json"]
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_failed_write_leaves_the_old_report(tmp_path, stress_facts, monkeypatch):
    path = write(stress_facts, tmp_path, ["md"])["md"]
    old = path.read_text(encoding="utf-8")

    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        write({**stress_facts, "title": "new"}, tmp_path, ["md"])
    assert path.read_text(encoding="utf-8") == old
    assert [p.name for p in tmp_path.iterdir()] == ["report.md"]


def test_unknown_kinds_are_refused_before_anything_is_written(tmp_path, stress_facts):
    with pytest.raises(ValueError, match="kind must be one of"):
        write(stress_facts, tmp_path / "new", ["html", "pdf"])
    assert not (tmp_path / "new").exists()
    with pytest.raises(ValueError, match=r"facts\['kind'\] must be one of"):
        render({"kind": "poem"})


def test_the_same_facts_give_the_same_text(any_facts):
    assert render(any_facts) == render(copy.deepcopy(any_facts))


def test_learning_curves_speak_of_validation_only_where_there_was_some(compare_facts):
    assert "on validation rows" in render(compare_facts, "html")
    curves = {
        method: [{**epoch, "valid_loss": None} for epoch in epochs]
        for method, epochs in compare_facts["curves"].items()
    }
    page = render({**compare_facts, "curves": curves}, "html")
    assert "validation rows" not in page
    assert "No rows were put aside" in page
