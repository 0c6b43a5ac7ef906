"""The contract of treatments, over the registry, and over random shapes and gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nanwise.missing import observe
from nanwise.registry import find, known
from nanwise.testing.treatments import TreatmentContract, features, learnt

TABLE = known("treatment", inputs="table")
NAMES = {
    "batch_norm",
    "gmmc",
    "gmmc_rbf",
    "iterative",
    "knn",
    "layer_norm",
    "mean",
    "median",
    "missing_indicator",
    "neumiss",
    "observation_indicator",
    "rate",
    "softimpute",
    "sparsity_norm",
    "zero",
}


@pytest.mark.parametrize("entry", TABLE, ids=lambda m: m.name)
class TestTreatments(TreatmentContract):
    pass


def test_all_are_registered_with_their_facts():
    assert {m.name for m in TABLE} >= NAMES
    for entry in TABLE:
        assert entry.summary.endswith(".")
        assert entry.when
        assert entry.paper
        for name, choices in entry.space.items():
            for choice in choices:
                entry.make(**{name: choice}).fit(*observe(np.eye(3)))
    roles = {m.name: m.role for m in TABLE}
    assert {n for n, role in roles.items() if role == "baseline"} == {"zero", "mean", "median"}


@st.composite
def tables(draw):
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8))
    cells = st.one_of(
        st.just(np.nan), st.floats(-1e3, 1e3, width=32), st.sampled_from([0.0, 1.0, -1.0])
    )
    return draw(hnp.arrays(np.float64, shape, elements=cells))


@pytest.mark.parametrize("entry", TABLE, ids=lambda m: m.name)
@settings(max_examples=40, deadline=None)
@given(x=tables(), data=st.data())
def test_any_shape_and_gaps(entry, x, data):
    rows = observe(x)
    new = observe(
        data.draw(
            hnp.arrays(
                np.float64, (3, x.shape[1]), elements=st.sampled_from([np.nan, 0.0, 1.0, -50.0])
            )
        )
    )
    treatment = entry.make(**entry.tiny).fit(*rows)
    for some in (rows, new):
        values, _ = treatment.prepare(*some)
        np.testing.assert_array_equal(values[some.observed], some.values[some.observed])
        assert np.isfinite(features(treatment, some)).all()


def test_the_contract_can_fail():
    class Leaky(find("mean").make):
        def prepare(self, values, observed):
            return values - values.mean(axis=0), observed

    entry = find("mean")
    leaky = type(entry)(**{**vars(entry), "make": Leaky})
    contract = TreatmentContract()
    with pytest.raises(AssertionError):
        contract.test_a_row_is_treated_by_itself(leaky)
    with pytest.raises(AssertionError):
        contract.test_observed_cells_are_kept_and_input_is_not_modified(leaky)


def test_learnt_names_only_what_fit_learns():
    assert set(learnt(find("sparsity_norm").make().fit(*observe(np.eye(2))))) == {"K_"}
