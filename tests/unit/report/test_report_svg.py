import re
import xml.etree.ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from nanwise.report import svg
from nanwise.report.marks import bounds, tick_names, ticks, tone

SPACE = "{http://www.w3.org/2000/svg}"
FRAME = {"title": "T <1>", "desc": "D & d", "x_label": "x", "y_label": "y"}
FOREST = {"title": "T", "desc": "D", "x_label": "x"}

# Up to what float32 can hold: a loss that ran away is drawn, too.
odd = st.sampled_from([None, float("nan"), float("inf"), 0, -1, 3e38])
values = st.one_of(odd, st.floats(-3e38, 3e38))
points = st.lists(values, max_size=8)


def parse(text):
    return ET.fromstring(text)


def texts(root):
    return [e.text for e in root.iter(f"{SPACE}text")]


def test_a_line_goes_where_its_points_are():
    root = parse(svg.lines([{"name": "a", "x": [0, 1], "y": [0, 10], "tone": 0}], **FRAME))
    (curve,) = [e for e in root.iter(f"{SPACE}path") if "curve" in e.get("class")]
    x0, y0, x1, y1 = map(float, re.findall(r"[\d.]+", curve.get("d")))
    assert x1 > x0
    assert y1 < y0  # up on the page is down in SVG
    assert curve.get("style") == "stroke:var(--tone-1)"


def test_a_gap_breaks_the_line():
    root = parse(svg.lines([{"name": "a", "x": [0, 1, 2, 3], "y": [0, 1, None, 3]}], **FRAME))
    (curve,) = [e for e in root.iter(f"{SPACE}path") if "curve" in e.get("class")]
    assert curve.get("d").count("M") == 2
    assert curve.get("style") == "stroke:var(--muted)"


def test_title_description_and_text_are_there_and_escaped():
    root = parse(svg.lines([{"name": "<b>", "x": [1], "y": [1]}], **FRAME))
    assert root.find(f"{SPACE}title").text == "T <1>"
    assert root.find(f"{SPACE}desc").text == "D & d"
    assert root.get("role") == "img"
    ids = {e.get("id") for e in root}
    assert set(root.get("aria-labelledby").split()) <= ids


@given(x=points, y=points, low=points, high=points)
@settings(max_examples=80, deadline=None)
def test_lines_and_dots_take_any_numbers(x, y, low, high):
    series = [{"name": "a", "x": x, "y": y, "low": low, "high": high, "tone": 3}]
    for text in (svg.lines(series, **FRAME), svg.scatter(series, **FRAME, rule=0)):
        assert "nan" not in text
        assert "inf" not in text
        parse(text)


@given(st.lists(st.tuples(st.text(max_size=40), values, values, values), max_size=6))
@settings(max_examples=80, deadline=None)
def test_a_forest_takes_any_numbers_and_names(rows):
    names = "".join(name for name, *_ in rows)
    if any(ord(c) < 32 or ord(c) in (0xFFFE, 0xFFFF) or 0xD800 <= ord(c) < 0xE000 for c in names):
        return  # not text in XML; column names that hold such characters are shown by HTML only
    items = [{"name": n, "mean": m, "low": a, "high": b} for n, m, a, b in rows]
    parse(svg.forest(items, **FOREST, rule=0))


def test_a_forest_says_when_there_is_no_result():
    items = [{"name": "a", "mean": None, "low": None, "high": None}]
    assert "no result" in texts(parse(svg.forest(items, **FOREST)))


def test_the_pattern_marks_exactly_the_gaps():
    rows = [[1, 0], [1, 0], [0, 1], [1, 0]]
    root = parse(svg.pattern(["a", "b"], rows, title="T", desc="D"))
    (gaps,) = [e for e in root.iter(f"{SPACE}path") if e.get("class") == "gap"]
    heights = [float(h) for h in re.findall(r"v([\d.]+)", gaps.get("d"))]
    unit = min(heights)
    assert sorted(round(h / unit) for h in heights) == [1, 1, 2]  # a: one; b: two together and one
    assert texts(root) == ["a", "b"]


def test_frequent_patterns_show_their_counts():
    found = [{"observed": [1, 1], "count": 1500}, {"observed": [0, 1], "count": 3}]
    root = parse(svg.patterns(["a", "b"], found, title="T", desc="D"))
    kinds = [e.get("class") for e in root.iter(f"{SPACE}rect")]
    assert (kinds.count("seen"), kinds.count("gap"), kinds.count("bar")) == (3, 1, 2)
    assert {"1,500", "3"} <= set(texts(root))


def test_many_column_names_are_thinned_out():
    root = parse(svg.pattern([f"c{j}" for j in range(60)], [[1] * 60], title="T", desc="D"))
    assert 10 < len(texts(root)) < 40


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_ticks_are_round_inside_and_told_apart(low, width):
    high = low + width
    found = ticks(low, high)
    if high > low and width > 1e-6 * abs(low):
        assert 2 <= len(found) <= 12
        names = [name for _, name in tick_names(found)]
        assert len(set(names)) == len(names) or width < 1e-8
    slack = 1e-6 * max(abs(low), abs(high), width)
    assert all(low - slack <= t <= high + slack for t in found)


def test_tick_names_never_round_a_tick():
    assert [n for _, n in tick_names([-0.025, 0, 0.025])] == ["−0.025", "0.000", "0.025"]
    assert [n for _, n in tick_names([20, 40])] == ["20", "40"]


def test_large_ticks_close_together_are_told_apart():
    names = [n for _, n in tick_names(ticks(9_999_920, 10_000_020))]
    assert names[-2:] == ["10000000", "10000020"]
    assert [n for _, n in tick_names([1e9, 2e9])] == ["1e+09", "2e+09"]


def test_bounds_of_nothing_and_of_one_value_have_a_width():
    assert bounds([]) == (0, 1)
    low, high = bounds([5, 5])
    assert low < 5 < high


def test_tones_start_again_after_the_last():
    assert tone(0) == tone(8) == "var(--tone-1)"
    assert tone(None) == "var(--muted)"
