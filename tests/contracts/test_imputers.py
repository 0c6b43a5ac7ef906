"""The contract of imputers, over the registry and every treatment that fills."""

from __future__ import annotations

import numpy as np
import pytest

from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.by_treatment import imputer_names
from nanwise.registry import known
from nanwise.testing.imputers import ImputerCase, ImputerContract

CASES = [ImputerCase.of(name) for name in imputer_names()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
class TestImputers(ImputerContract):
    pass


def test_treatments_that_fill_are_among_them():
    assert {"em", "iterative", "knn", "mean", "median", "softimpute"} <= set(imputer_names())


@pytest.mark.parametrize("entry", known("imputer"), ids=lambda m: m.name)
def test_all_are_registered_with_their_facts(entry):
    assert entry.inputs == "mixed"
    assert issubclass(entry.make, Imputer)
    assert entry.summary.endswith(".")
    assert entry.when
    assert entry.paper
    assert entry.tiny
    assert set(entry.space) <= set(entry.make().get_params())
    assert set(entry.tiny) <= set(entry.make().get_params())
    assert len((entry.make.__doc__ or "").splitlines()) > 5


class Leaky(Imputer):
    """Breaks the contract in every way that a test looks for."""

    samples = True

    def __init__(self, kinds=None, random_state=None):
        self.kinds = kinds
        self.random_state = random_state

    def _learn(self, codes, seed):
        self.mean_ = np.nanmean(codes, axis=0)

    def _fill(self, codes):
        return np.where(np.isnan(codes), np.nanmean(codes) + np.random.normal(), codes)

    def _draw(self, codes, n, rng):
        return np.stack([np.where(np.isnan(codes), self.mean_, codes + 1e-9)] * n)


class LeakyCase(ImputerCase):
    def make(self):
        return Leaky(random_state=0)


@pytest.mark.parametrize(
    "test",
    [
        "test_a_row_is_filled_by_itself",
        "test_same_seed_same_answer",
        "test_draws_differ_and_keep_what_is_observed",
        "test_the_mean_of_draws_approaches_the_single_answer",
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_contract_can_fail(test):
    with pytest.raises(AssertionError):
        getattr(ImputerContract(), test)(LeakyCase("leaky"))
