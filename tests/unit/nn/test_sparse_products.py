import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.autograd import gradcheck, gradgradcheck

from nanwise.nn.sparse import Pattern, Rows, products, sampled_mm, sampled_squared_error, sparse_mm

N, WIDTH, K = 7, 9, 4


def odd_matrix():
    """Rows 2 and 6 and column 5 are empty, row 0 is full but for it, one observed value is 0."""
    rng = np.random.default_rng(0)
    observed = rng.random((N, WIDTH)) < 0.4
    observed[0] = True
    observed[[2, 6]] = False
    observed[:, 5] = False
    row, column = observed.nonzero()
    values = rng.normal(size=len(row))
    values[3] = 0
    return sp.csr_array((values, (row, column)), shape=observed.shape), observed


MATRIX, OBSERVED = odd_matrix()
SHAPES = {
    "odd": MATRIX,
    "one row": MATRIX[[0]],
    "one cell": sp.csr_array(([2.0], ([0], [0])), shape=(1, 1)),
    "nothing observed": sp.csr_array((4, 3)),
    "no rows": sp.csr_array((0, 3)),
    "one column": MATRIX[:, [1]],
}


def tensors(matrix, dtype=torch.float64):
    """Pattern, values, dense values, observed cells, left, right and bias."""
    rows = Rows.from_scipy(matrix, dtype)
    nan = rows.to_nan()
    g = torch.Generator().manual_seed(1)
    n, width = matrix.shape
    left, right, bias = (
        torch.randn(*shape, generator=g, dtype=dtype, requires_grad=True)
        for shape in ((n, K), (width, K), (width,))
    )
    return Pattern.of(rows), rows.values, nan.nan_to_num(0.0), ~nan.isnan(), left, right, bias


@pytest.fixture(params=SHAPES)
def case(request):
    return tensors(SHAPES[request.param])


def grads(out, *wanted):
    weight = torch.linspace(0.5, 2, max(out.numel(), 1), dtype=out.dtype)[: out.numel()]
    return torch.autograd.grad((out * weight.view_as(out)).sum(), wanted)


def test_sparse_mm_is_the_dense_product(case):
    pattern, values, dense, observed, _, right, _ = case
    values.requires_grad_()
    dense.requires_grad_()
    got, want = sparse_mm(pattern, values, right), dense @ right
    torch.testing.assert_close(got, want)
    got_values, got_right = grads(got, values, right)
    want_dense, want_right = grads(want, dense, right)
    torch.testing.assert_close(got_values, want_dense[observed])
    torch.testing.assert_close(got_right, want_right)


def test_sampled_mm_is_the_dense_product_at_the_cells(case):
    pattern, _, _, observed, left, right, _ = case
    got, want = sampled_mm(pattern, left, right), (left @ right.T)[observed]
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(grads(got, left, right), grads(want, left, right))


def test_squared_error_is_the_dense_one(case):
    pattern, values, dense, observed, left, right, bias = case
    got = sampled_squared_error(pattern, values, left, right, bias)
    want = ((left @ right.T + bias - dense)[observed]).square().sum()
    torch.testing.assert_close(got, want)
    factors = left, right, bias
    torch.testing.assert_close(
        torch.autograd.grad(3 * got, factors), torch.autograd.grad(3 * want, factors)
    )


def test_gradients_against_differences():
    pattern, values, _, _, left, right, bias = tensors(MATRIX)
    values.requires_grad_()
    assert gradcheck(lambda v, r: sparse_mm(pattern, v, r), (values, right))
    assert gradcheck(lambda a, b: sampled_mm(pattern, a, b), (left, right))
    fixed = values.detach()
    assert gradcheck(
        lambda a, b, c: sampled_squared_error(pattern, fixed, a, b, c), (left, right, bias)
    )


@pytest.fixture(params=["whole", "slabs"])
def slabs(request, monkeypatch):
    """Products as a whole, and one column after the other."""
    if request.param == "slabs":
        monkeypatch.setattr(products, "_SLAB", 8)
        monkeypatch.setattr(products, "_READS", 0)


@pytest.mark.usefixtures("slabs")
def test_the_sigmoid_inside_is_the_one_outside_to_the_last_bit(case):
    pattern, values, _, _, left, right, bias = case
    factors = left, right, bias
    inside = sampled_squared_error(pattern, values, left * 1, right, bias, sigmoid=True)
    outside = sampled_squared_error(pattern, values, left.sigmoid(), right, bias)
    assert inside.equal(outside)
    got, want = (torch.autograd.grad(3 * loss, factors) for loss in (inside, outside))
    assert all(one.equal(other) for one, other in zip(got, want, strict=True))


def test_the_sigmoids_are_used_up_by_one_pass_backwards():
    pattern, values, _, _, left, right, bias = tensors(MATRIX)
    loss = sampled_squared_error(pattern, values, left * 1, right, bias, sigmoid=True)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_somebody_else_needs_is_not_silently_overwritten():
    pattern, values, _, _, left, right, bias = tensors(MATRIX)
    with pytest.raises(RuntimeError, match="in-place"):
        sampled_squared_error(pattern, values, left, right, bias, sigmoid=True)
    needed = left.exp()
    loss = sampled_squared_error(pattern, values, needed, right, bias, sigmoid=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_second_derivatives_against_differences():
    pattern, values, _, _, left, right, _ = tensors(MATRIX)
    values.requires_grad_()
    assert gradgradcheck(lambda v, r: sparse_mm(pattern, v, r), (values, right))
    assert gradgradcheck(lambda a, b: sampled_mm(pattern, a, b), (left, right))


def test_only_what_is_asked_for_gets_a_gradient():
    pattern, values, _, _, left, right, bias = tensors(MATRIX)
    loss = sampled_squared_error(pattern, values, left.detach(), right.detach(), bias)
    (got,) = torch.autograd.grad(loss, bias)
    errors = sampled_mm(pattern, left, right) + bias[pattern.columns.long()] - values
    want = torch.zeros(WIDTH, dtype=bias.dtype).index_add(0, pattern.columns, 2 * errors)
    torch.testing.assert_close(got, want)


def test_the_other_direction_is_found_on_first_use_and_kept():
    pattern, values, _, _, left, right, bias = tensors(MATRIX)
    loss = sampled_squared_error(pattern, values, left, right.detach(), bias.detach())
    loss.backward()
    assert "order" not in vars(pattern)
    sampled_mm(pattern, left, right).sum().backward()
    assert {"order", "T"} <= set(vars(pattern))
    assert pattern.T is pattern.T


def test_a_stored_zero_counts_and_an_absent_cell_does_not():
    matrix = sp.csr_array(([0.0, 2.0], ([0, 0], [0, 2])), shape=(1, 3))
    pattern, values, _, _, _, _, _ = tensors(matrix)
    one = torch.ones(1, 1, dtype=torch.float64)
    loss = sampled_squared_error(pattern, values, one, one.expand(3, 1), torch.zeros(3).double())
    assert loss.item() == 1 + 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_layout_of_the_factors_does_not_matter(dtype):
    pattern, values, dense, observed, left, right, _ = tensors(MATRIX, dtype)
    turned = [t.detach().t().contiguous().t() for t in (left, right)]
    assert not turned[0].is_contiguous()
    torch.testing.assert_close(sparse_mm(pattern, values, turned[1]), dense @ right)
    torch.testing.assert_close(sampled_mm(pattern, *turned), (left @ right.T)[observed])


def autorec_gradients(rows, weights):
    """Gradients of one AutoRec step: sparse product, sigmoid, error at the observed cells."""
    first, second, bias = weights
    pattern = Pattern.of(rows)
    hidden = sparse_mm(pattern, rows.values, first).sigmoid()
    loss = sampled_squared_error(pattern, rows.values, hidden, second, bias)
    return torch.autograd.grad(loss, weights)


def test_shards_of_rows_add_up_to_the_whole():
    *_, second, bias = tensors(MATRIX)
    weights = (second.detach().sin().requires_grad_(), second, bias)
    rows = Rows.from_scipy(MATRIX, torch.float64)
    want = autorec_gradients(rows, weights)
    shards = [rows.take(torch.tensor(i).long()) for i in ([4, 0, 6], [2], [1, 5, 3], [])]
    parts = zip(*(autorec_gradients(shard, weights) for shard in shards), strict=True)
    torch.testing.assert_close(tuple(sum(part) for part in parts), want)


def test_pattern_and_its_transpose():
    pattern = Pattern.of(Rows.from_scipy(MATRIX))
    other = MATRIX.T.tocsr()
    other.sort_indices()
    assert pattern.shape == (N, WIDTH)
    assert pattern.T.shape == (WIDTH, N)
    assert pattern.nnz == pattern.T.nnz == MATRIX.nnz
    assert pattern.columns.dtype == pattern.T.columns.dtype == torch.int32
    assert pattern.T.columns.tolist() == other.indices.tolist()
    assert pattern.T.offsets.tolist() == other.indptr.tolist()
    assert pattern.across(torch.from_numpy(MATRIX.data)).tolist() == other.data.tolist()
    assert pattern.T.T.columns.tolist() == pattern.columns.tolist()
    assert pattern.to("cpu").offsets.tolist() == MATRIX.indptr.tolist()


def test_rows_in_no_order_of_columns():
    rows = Rows(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2, 0, 1]), torch.tensor([0, 2, 3]), 3)
    pattern = Pattern.of(rows)
    dense = torch.tensor([[2.0, 0, 1], [0, 3, 0]])
    left, right = torch.randn(2, K), torch.randn(3, K)
    torch.testing.assert_close(sparse_mm(pattern, rows.values, right), dense @ right)
    torch.testing.assert_close(
        sparse_mm(pattern.T, pattern.across(rows.values), left), dense.T @ left
    )
    want = (left @ right.T)[[0, 0, 1], [2, 0, 1]]
    torch.testing.assert_close(sampled_mm(pattern, left, right), want)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_uneven_rows_are_cut_into_runs_of_like_work():
    sizes = np.sort(np.random.default_rng(0).zipf(1.5, 200).clip(0, 300))[::-1]
    columns = np.concatenate([np.arange(size) for size in sizes])
    row = np.repeat(np.arange(200), sizes)
    matrix = sp.csr_array((np.ones(len(row)), (row, columns)), shape=(200, 300))
    pattern, values, dense, _, _, right, _ = tensors(matrix)
    begin, end, first, last = map(list, zip(*pattern.cuts, strict=True))
    assert len(begin) > 1
    assert begin[0] == first[0] == 0
    assert (begin[1:], first[1:]) == (end[:-1], last[:-1])
    assert (end[-1], last[-1]) == (200, pattern.nnz)
    torch.testing.assert_close(sparse_mm(pattern, values, right), dense @ right)
    mixed = Pattern.of(Rows.from_scipy(matrix).take(torch.randperm(200)))
    assert len(mixed.cuts) == 1


def test_result_does_not_depend_on_threads(two_threads):
    rng = np.random.default_rng(0)
    matrix = sp.random_array((300, 200), density=0.2, rng=rng, format="csr")

    def step():
        pattern, values, _, _, left, right, bias = tensors(matrix, torch.float32)
        loss = sampled_squared_error(pattern, values, left, right, bias)
        return torch.autograd.grad(loss, (left, right, bias))

    both = step()
    torch.set_num_threads(1)
    for got, want in zip(step(), both, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, v, a, b, c: sparse_mm(p, v[1:], b), r"values has shape \(\d+,\)"),
        (lambda p, v, a, b, c: sparse_mm(p, v, a), r"dense .* needs \(9, any\)"),
        (lambda p, v, a, b, c: sampled_mm(p, b, a), r"left .* needs \(7, any\)"),
        (lambda p, v, a, b, c: sampled_mm(p, a, b[:, 1:]), r"right .* needs \(9, 4\)"),
        (lambda p, v, a, b, c: sampled_squared_error(p, v, a, b, c[:, None]), r"bias has shape"),
    ],
)
def test_wrong_shapes_are_named(call, message):
    pattern, values, _, _, left, right, bias = tensors(MATRIX)
    with pytest.raises(ValueError, match=message):
        call(pattern, values, left, right, bias)


def test_no_warning_reaches_the_user():
    code = (
        "import torch; from nanwise.nn.sparse import *;"
        "rows = Rows(torch.ones(2), torch.tensor([0, 1]), torch.tensor([0, 1, 2]), 2);"
        "w = torch.ones(2, 3, requires_grad=True);"
        "sampled_mm(Pattern.of(rows), w, w).sum().backward()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)


def test_places_undo_across(case):
    pattern, values, *_ = case
    assert torch.equal(pattern.across(values)[pattern.places.long()], values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_long_products_in_slabs_are_the_dense_ones(dtype):
    matrix = sp.random_array((90, 90), density=0.9, rng=np.random.default_rng(0), format="csr")
    pattern, values, dense, *_ = tensors(matrix, dtype)
    assert pattern.nnz >= products._READS * sum(pattern.shape)
    wide = torch.randn(90, 150, dtype=dtype)
    once = products._bags(pattern, values, wide)
    torch.testing.assert_close(once, dense @ wide)
    assert torch.equal(products._multiply(pattern, values, wide), once)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
def test_both_ways_to_sample_agree(shape):
    matrix = sp.random_array(shape, density=0.3, rng=np.random.default_rng(1), format="csr")
    pattern, _, _, observed, left, right, _ = tensors(matrix)
    with torch.no_grad():
        want = (left @ right.T)[observed]
        for both in (True, False):
            torch.testing.assert_close(products._sample(pattern, left, right, both), want)
    assert ("T" in vars(pattern)) == (shape[0] < shape[1])


def test_a_pattern_told_its_transpose_does_not_look_for_it():
    pattern = Pattern.of(Rows.from_scipy(MATRIX))
    told = pattern.paired(pattern.order, pattern.T)
    assert told.T is pattern.T
    assert told.order is pattern.order
    assert torch.equal(told.places, pattern.places)
