import pytest

from nanwise.cli import wording


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50", 50),
        ("1e-3", 1e-3),
        ("none", None),
        ("True", True),
        ("adam", "adam"),
        ("128,128", (128, 128)),
        ("128,", (128,)),
        ("[1, 2]", [1, 2]),
        ("a, b", ("a", "b")),
    ],
)
def test_value_reads_what_a_person_types(text, expected):
    got = wording.value(text)
    assert got == expected
    assert type(got) is type(expected)


def test_settings_nest_at_dots():
    tree = wording.settings(["hidden=128,128", "plan.epochs=50", "plan.lr=0.01"])
    assert tree == {"hidden": (128, 128), "plan": {"epochs": 50, "lr": 0.01}}


@pytest.mark.parametrize("pair", ["epochs", "=3", "plan.=3", ".lr=1"])
def test_settings_refuse_what_is_no_pair(pair):
    with pytest.raises(ValueError, match="NAME=VALUE"):
        wording.settings([pair])


def test_settings_refuse_a_value_that_is_also_a_tree():
    with pytest.raises(ValueError, match="already set"):
        wording.settings(["plan=none", "plan.lr=1"])


def test_names_are_split_and_trimmed():
    assert wording.names(" a, b ,c") == ["a", "b", "c"]
    assert wording.names(None) is None
    with pytest.raises(ValueError, match="separated by commas"):
        wording.names(" , ")


def test_nearest_suggests_or_lists():
    assert wording.nearest("glucos", ["glucose", "age"]) == "did you mean 'glucose'?"
    assert wording.nearest("zzz", list("abcdefghijk")).endswith("and 3 more")


def test_counted_and_seconds():
    assert wording.counted(1, "row") == "1 row"
    assert wording.counted(1234, "row") == "1,234 rows"
    assert wording.seconds(3.14159) == "3.14 s"
    assert wording.seconds(125.4) == "2 min 5 s"
