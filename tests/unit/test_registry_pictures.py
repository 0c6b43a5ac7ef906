"""Methods for rows, pictures and series: lists of their own, in which a name may be again."""

import pytest

from nanwise import registry
from nanwise.registry import Method, everything, find, known


@pytest.fixture
def listed(monkeypatch):
    registry.known()
    monkeypatch.setattr(registry, "_METHODS", {})
    registry.add(Method("zero", "treatment", dict, "For rows."))
    registry.add(Method("zero", "treatment", list, "For pictures.", inputs="image"))
    registry.add(Method("draw", "imputer", set, "For pictures.", inputs="image"))
    registry.add(Method("zero", "treatment", frozenset, "For series.", inputs="series"))
    registry.add(Method("fill", "imputer", tuple, "For tables of any kind.", inputs="mixed"))


def test_rows_are_what_is_listed_unless_pictures_are_asked_for(listed):
    assert [m.key for m in known()] == ["fill", "zero"]
    assert [m.key for m in known("imputer")] == ["fill"]
    assert [m.key for m in known(inputs="image")] == ["image/draw", "image/zero"]
    assert [m.key for m in known("imputer", inputs="image")] == ["image/draw"]
    assert [m.key for m in known(inputs="series")] == ["series/zero"]
    assert [m.key for m in everything()] == [
        "fill",
        "zero",
        "image/draw",
        "image/zero",
        "series/zero",
    ]


def test_one_name_for_rows_and_for_pictures(listed):
    assert find("zero").make is dict
    assert find("zero", inputs="image").make is list
    assert find("image/zero").make is list
    assert find("image/zero", "treatment").make is list
    assert find("series/zero").make is frozenset
    assert find("zero", inputs="series").make is frozenset
    with pytest.raises(ValueError, match="no imputer is called 'draw'; known: fill"):
        find("draw", "imputer")
    with pytest.raises(ValueError, match="did you mean 'draw'"):
        find("drew", inputs="image")


def test_two_for_the_same_inputs_are_refused(listed):
    def other():
        """Of another module than ``list``."""

    with pytest.raises(ValueError, match="two methods are called 'image/zero'"):
        registry.add(Method("zero", "treatment", other, "Again.", inputs="image"))


def test_densities_of_pictures_are_registered():
    assert {"dmfa", "mfa", "flow"} <= {m.name for m in known("imputer", inputs="image")}
    assert find("image/wae").kind == "generator"
    assert not {"dmfa", "mfa", "flow", "wae"} & {m.name for m in known()}
