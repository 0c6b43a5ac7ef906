import re

import pytest

from nanwise.cli.settings import imputer_params, method_settings, network_settings
from nanwise.estimators.table_imputer import imputer_settings


def test_settings_of_a_network():
    assert method_settings(["hidden=8", "plan.epochs=3"], "zero") == {
        "hidden": (8,),
        "plan": {"epochs": 3},
    }


def test_settings_of_a_treatment_are_spelt_like_scikit_learn():
    assert method_settings(["gaps.power=0.5"], "sparsity_norm") == {"gaps__power": 0.5}


def test_settings_of_a_rival():
    assert method_settings(["strength=0.1"], "linear") == {"strength": 0.1}
    with pytest.raises(ValueError, match="linear does not take this"):
        method_settings(["hidden=8"], "linear")


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("hiden=8", "--set hiden: no such parameter; did you mean 'hidden'"),
        ("plan.epoch=8", "--set plan.epoch: no such parameter; did you mean 'epochs'"),
        ("gaps.pwer=1", "--set gaps.pwer: no such parameter; did you mean 'power'"),
        ("plan.epochs=0", "plan.epochs must be at least 1"),
        ("plan.epochs=few", "plan.epochs must be a whole number"),
    ],
)
def test_what_does_not_exist_is_named(pair, words):
    with pytest.raises(ValueError, match=words):
        method_settings([pair], "sparsity_norm")


def test_a_treatment_without_parameters():
    with pytest.raises(ValueError, match="there are none"):
        method_settings(["gaps.x=1"], "zero")


def test_settings_for_all_networks():
    assert network_settings([]) == {}
    assert network_settings(["plan.lr=0.1"]) == {"plan": {"lr": 0.1}}
    with pytest.raises(ValueError, match="once for each treatment"):
        network_settings(["gaps.power=1"])


def test_settings_of_an_imputer_before_a_network():
    assert method_settings(["gaps.hidden=8", "gaps.plan.epochs=2", "hidden=4"], "vae") == {
        "hidden": (4,),
        "gaps__hidden": (8,),
        "gaps__plan": {"epochs": 2},
    }


@pytest.mark.parametrize(
    ("method", "pair", "words"),
    [
        ("mice", "gaps.donor=3", "--set gaps.donor: no such parameter; did you mean 'donors'?"),
        (
            "vae",
            "gaps.x=3",
            "--set gaps.x: no such parameter; there are: activation, device, hidden",
        ),
        ("vae", "gaps.plan.epoch=3", "--set gaps.plan.epoch: no such parameter; did you mean"),
        ("vae", "gaps.plan=3", "--set gaps.plan: set its parts, for example gaps.plan.epochs=50"),
        ("vae", "gaps.latent=0", "latent must be at least 1"),
        ("mice", "gaps.plan.epochs=3", "--set gaps.plan: no such parameter; there are:"),
    ],
)
def test_what_an_imputer_before_a_network_does_not_have_is_named(method, pair, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        method_settings([pair], method)


@pytest.mark.parametrize("method", ["mice", "vae"])
def test_all_valid_names_are_told(method):
    known = set(imputer_settings(method))
    for pairs, ask in ((["gaps.hiden=3"], method_settings), (["hiden=3"], imputer_params)):
        with pytest.raises(ValueError, match="there are: ") as told:
            ask(pairs, method)
        assert set(str(told.value).split("there are: ")[1].split(", ")) == known
