"""The forward passes equal direct transcriptions of the formulas, one row at a time."""

import numpy as np
import pytest
import torch

from nanwise.nn import NeuMiss, NeuMissBlock

NAN = float("nan")


def some_rows(n=40, d=6, seed=0):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=draw, dtype=torch.float64)
    observed = torch.rand(n, d, generator=draw) < 0.6
    observed[0], observed[1] = True, False
    return x, observed


def transcribed(net, x, observed):
    """x, mask m = 1 in gaps, row vectors; every step spelled out."""
    mu, mix, beta, b = (p.detach().numpy() for p in (net.mean, net.mix, net.coef, net.intercept))
    x = np.where(observed, x, 0.0)
    m = 1.0 - observed.numpy()
    h_res = x - (1 - m) * mu
    h = h_res
    if net.depth >= 1:
        h = (h_res @ net.start.detach().numpy()) * (1 - m)
    for step in net.steps:
        h = (h @ step.detach().numpy()) * (1 - m)
        if net.residual:
            h = h + h_res
    h = (h @ mix) * m + x + m * mu
    return h, h @ beta.T + b


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 2, 7])
def test_network(depth, residual):
    net = NeuMiss(6, depth, n_outputs=2, residual=residual).double()
    x, observed = some_rows()
    completed, answer = transcribed(net, x, observed)
    np.testing.assert_allclose(net.complete(x, observed).detach(), completed, rtol=0, atol=1e-10)
    np.testing.assert_allclose(net(x, observed).detach(), answer, rtol=0, atol=1e-10)
    single = net.float()(x.where(observed, NAN).float()).detach()
    np.testing.assert_allclose(single, answer, rtol=1e-4, atol=1e-4)


def test_completion_keeps_values():
    net = NeuMiss(6, 3)
    x, observed = some_rows()
    completed = net.double().complete(x, observed).detach()
    assert torch.equal(completed[observed], x[observed])
    torch.testing.assert_close(completed[1], net.mean.detach())


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_block(depth):
    block = NeuMissBlock(6, depth).double()
    x, observed = some_rows()
    zero = np.where(observed, x, 0.0)
    h = first = zero - observed.numpy() * block.mean.detach().numpy()
    for _ in range(depth):
        h = (h @ block.weight.detach().numpy().T) * observed.numpy() + first
    got = block(x.where(observed, NAN)).detach()
    np.testing.assert_allclose(got, h, rtol=0, atol=1e-10)
    assert (got[~observed] == 0).all()


def test_parameters_are_counted_as_published():
    for depth in (0, 1, 5):
        count = sum(p.numel() for p in NeuMiss(4, depth).parameters())
        assert count == 16 * (depth + 1) + 2 * 4 + 1
    assert NeuMiss(4, 0).start is None
    assert NeuMissBlock(4, 0).weight is None


def test_random_start_is_the_published_one():
    torch.manual_seed(0)
    net = NeuMiss(300, 2)
    for matrix in (net.start, net.steps[0], net.mix):
        assert float(matrix.detach().std()) == pytest.approx((2 / 600) ** 0.5, rel=0.02)
    assert float(net.mean.detach().std()) == pytest.approx(1.0, abs=0.15)
    weight = NeuMissBlock(300, 2).weight.detach()
    assert float(weight.abs().max()) == pytest.approx(0.5 * (6 / 600) ** 0.5, rel=0.01)


@pytest.mark.parametrize("make", [NeuMiss, NeuMissBlock])
def test_bad_arguments(make):
    with pytest.raises(ValueError, match="n_features must be at least 1, got 0"):
        make(0)
    with pytest.raises(ValueError, match="depth must be at least 0, got -1"):
        make(3, -1)
    with pytest.raises(TypeError, match="depth must be a whole number"):
        make(3, 1.5)
    with pytest.raises(ValueError, match="the 3 features"):
        make(3)(torch.zeros(2, 4))
    with pytest.raises(TypeError, match="floating"):
        make(3)(torch.zeros(2, 3, dtype=torch.int64))


def test_prop_3_2_a_relu_layer_on_values_and_mask_does_the_same():
    """Constructive: hidden units that are on exactly in gaps, equal up to constants there.

    For [x in gaps 0, missing] and bounded x: slopes W_kj; a missing j also takes away W_kj mean_j,
    which the constant of the centring owes; the bias silences unit k whatever the others do, and
    its own mark lifts it above 0 whatever they do.
    """
    d, n = 5, 2000
    draw = np.random.default_rng(0)
    weight, mean = draw.normal(size=(d, d)), draw.normal(size=d)
    x, observed = draw.uniform(0, 1, size=(n, d)), draw.random((n, d)) < 0.5
    zero, missing = np.where(observed, x, 0.0), 1.0 - observed

    on_values, on_marks = weight.copy(), weight * mean
    np.fill_diagonal(on_marks, 0.0)
    reach = np.abs(on_values).sum(axis=1) + np.abs(on_marks).sum(axis=1)
    bias = -reach
    np.fill_diagonal(on_marks, 2 * reach)
    relu = np.maximum(zero @ on_values.T + missing @ on_marks.T + bias, 0.0)

    masked = ((zero - observed * mean) @ weight.T) * missing
    assert (relu[observed] == 0).all()
    assert (relu >= 0).all()
    constant = relu - masked
    for k in range(d):
        gap = ~observed[:, k]
        np.testing.assert_allclose(constant[gap, k], constant[gap, k][0], atol=1e-12)
        assert (relu[gap, k] > 0).all()
    off_diagonal = weight * mean * (1 - np.eye(d))
    np.testing.assert_allclose(
        [constant[~observed[:, k], k][0] for k in range(d)], reach + off_diagonal.sum(axis=1)
    )
