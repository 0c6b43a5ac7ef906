import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from nanwise.missing import from_sparse
from nanwise.nn import Affine, Rows, rows_linear


@pytest.fixture
def csr():
    """Eight rows; one is empty, one holds a stored 0."""
    matrix = sp.random(8, 30, 0.2, format="lil", random_state=0)
    matrix[3] = 0
    matrix = sp.csr_array(matrix)
    matrix.data[0] = 0
    return matrix


@pytest.fixture
def rows(csr):
    return Rows.from_scipy(csr, torch.float64)


def dense(rows):
    return rows.to_nan().nan_to_num(0.0)


def test_stored_is_observed(csr, rows):
    want = torch.from_numpy(from_sparse(csr))
    torch.testing.assert_close(rows.to_nan(), want, equal_nan=True)
    assert rows.counts().tolist() == (~want.isnan()).sum(1).tolist()
    assert rows.columns.dtype == rows.offsets.dtype == torch.int64


def test_odd_matrices():
    twice = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 3))
    assert Rows.from_scipy(twice).to_nan()[0, 1] == 3
    stored_twice = sp.csr_array(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, 3))
    assert Rows.from_scipy(stored_twice).counts().tolist() == [1]
    assert stored_twice.nnz == 2
    holes = sp.csr_array(([np.nan, 2.0, np.nan, 4.0], [0, 1, 1, 2], [0, 2, 3, 4]), shape=(3, 3))
    got = Rows.from_scipy(holes)
    assert got.counts().tolist() == [1, 0, 1]
    assert got.columns.tolist() == [1, 2]
    counts = sp.csr_array(np.array([[0, 3]]))
    assert Rows.from_scipy(counts).values.tolist() == [3]


def test_take(rows):
    index = torch.tensor([5, 3, 5, 0])
    torch.testing.assert_close(rows.take(index).to_nan(), rows.to_nan()[index], equal_nan=True)
    assert rows.take(index[:0]).to_nan().shape == (0, 30)


def test_to_changes_values_only(rows):
    single = rows.to(torch.float32)
    assert single.values.dtype == torch.float32
    assert single.offsets.dtype == torch.int64
    assert single.width == 30
    meta = rows.to("meta")
    assert meta.values.is_meta
    assert meta.columns.is_meta
    assert meta.offsets.is_meta


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
def test_product_and_gradients_equal_dense(rows, bias, transposed):
    weight = torch.randn(4, 30, dtype=torch.float64)
    weight = weight.t().contiguous().t() if transposed else weight
    weight.requires_grad_()
    b = torch.randn(4, dtype=torch.float64, requires_grad=True) if bias else None
    values = rows.values.clone().requires_grad_()
    gradient = torch.randn(8, 4, dtype=torch.float64)
    wanted = [values, weight] + ([b] if bias else [])
    got = rows_linear(rows._replace(values=values), weight, b)
    want = nn.functional.linear(dense(rows._replace(values=values)), weight, b)
    torch.testing.assert_close(got, want)
    for a, e in zip(
        torch.autograd.grad(got, wanted, gradient),
        torch.autograd.grad(want, wanted, gradient),
        strict=True,
    ):
        torch.testing.assert_close(a, e)


def test_gradcheck(rows):
    weight = torch.randn(3, 30, dtype=torch.float64).t().contiguous().t().requires_grad_()

    def product(values, weight):
        return rows_linear(rows._replace(values=values), weight)

    assert torch.autograd.gradcheck(product, (rows.values.clone().requires_grad_(), weight))


def test_nothing_stored():
    rows = Rows.from_scipy(sp.csr_array((3, 30)))
    layer = Affine(30, 2)
    out = layer(rows)
    assert torch.equal(out, layer.bias.expand(3, 2))
    out.sum().backward()
    assert (layer.weight.grad == 0).all()
    assert layer(Rows.from_scipy(sp.csr_array((0, 30)))).shape == (0, 2)


def test_width_must_fit(rows):
    with pytest.raises(ValueError, match="30 columns"):
        rows_linear(rows, torch.zeros(2, 29))


def test_affine_is_linear_in_everything_but_memory(rows):
    torch.manual_seed(0)
    affine = Affine(30, 4)
    torch.manual_seed(0)
    linear = nn.Linear(30, 4)
    assert affine.state_dict().keys() == linear.state_dict().keys()
    assert torch.equal(affine.weight, linear.weight)
    assert affine.weight.t().is_contiguous()
    x = torch.randn(6, 30)
    torch.testing.assert_close(affine(x), linear(x))
    torch.testing.assert_close(affine(rows.to(torch.float32)), linear(dense(rows).float()))


def test_layout_survives_training_and_loading():
    layer = Affine(30, 4)
    layer.load_state_dict(nn.Linear(30, 4).state_dict())
    optimizer = torch.optim.Adam(layer.parameters())
    rows = Rows.from_scipy(sp.random(8, 30, 0.2, format="csr", dtype=np.float32))
    layer(rows).square().sum().backward()
    assert layer.weight.grad.stride() == layer.weight.stride()
    optimizer.step()
    assert layer.double().weight.t().is_contiguous()
