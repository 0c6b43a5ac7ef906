"""Splitting into values and marks means what ``nanwise.missing.observe`` means."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nanwise.missing import Observed, observe
from nanwise.nn.gaps import counts, split

SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)
DTYPES = st.sampled_from([np.float16, np.float32, np.float64])


@st.composite
def data(draw):
    shape, dtype = draw(SHAPES), draw(DTYPES)
    x = draw(hnp.arrays(dtype, shape, elements=st.floats(width=16, allow_nan=True)))
    return torch.from_numpy(x), torch.from_numpy(draw(hnp.arrays(bool, shape)))


@given(data())
def test_same_as_observe(case):
    x, observed = case
    for arguments in ((x,), (x, observed), (x.mT if x.ndim > 1 else x,)):
        want, (values, present) = observe(*arguments), split(*arguments)
        assert torch.equal(values, want.values)
        assert present.dtype == x.dtype
        assert torch.equal(present.bool(), want.observed)
        assert torch.equal(counts(present).squeeze(-1).long(), want.observed.sum(-1))


def test_observed_is_trusted():
    x = Observed(torch.zeros(2, 3), torch.tensor([[True, False, True]] * 2))
    values, present = split(x)
    assert values is x.values
    assert present.tolist() == [[1, 0, 1]] * 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_counts_exactly(dtype):
    x = torch.zeros(1, 5001, dtype=dtype)
    x[0, 0] = float("nan")
    assert counts(split(x)[1]).item() == 5000


def test_integer_mask_is_a_mask():
    x = torch.ones(1, 3)
    assert split(x, torch.tensor([[2, 0, 1]]))[1].tolist() == [[1, 0, 1]]


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"observed has shape \(3,\), the values \(2, 3\)"):
        split(torch.zeros(2, 3), torch.ones(3, dtype=torch.bool))
    with pytest.raises(TypeError, match=r"ndarray.*as_tensor"):
        split(np.zeros(3))
    with pytest.raises(TypeError, match="int64"):
        split(torch.arange(3))
