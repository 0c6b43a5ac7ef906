"""Analytic weights: the network equals the Neumann predictor, and few Chebyshev steps beat it."""

import numpy as np
import pytest
import torch

from nanwise.gaussian.moments import Moments, SelfMasking
from nanwise.gaussian.predict import GaussianPredictor, NeumannPredictor
from nanwise.nn import NeuMiss, NeuMissBlock
from nanwise.nn.neumann import analytic_weights, default_ratio, step_sizes


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def model(d=7, seed=0, noise=0.3):
    draw = np.random.default_rng(seed)
    factors = draw.normal(size=(d, max(d // 2, 1)))
    cov = factors @ factors.T + noise * np.eye(d)
    moments = Moments(draw.normal(size=d), cov)
    return moments, draw.normal(size=d), 0.7


def rows(moments, n=200, share=0.5, seed=1):
    draw = np.random.default_rng(seed)
    x = draw.multivariate_normal(*moments, size=n)
    x[draw.random(x.shape) < share] = np.nan
    x[0] = np.nan
    return x


def answer(net, x):
    with torch.no_grad():
        return net(torch.as_tensor(x))[:, 0].numpy()


def by_hand(moments, coef, intercept, order, x):
    """The order-l predictor of one row after the other, with S of order 0 the identity."""
    largest, out = np.linalg.norm(moments.cov, 2), []
    cov = moments.cov / largest
    for row in x:
        o = ~np.isnan(row)
        s, part = np.eye(o.sum()), cov[np.ix_(o, o)]
        for _ in range(order):
            s = (np.eye(o.sum()) - part) @ s + np.eye(o.sum())
        full = row.copy()
        full[~o] = moments.mean[~o] + cov[np.ix_(~o, o)] @ s @ (row[o] - moments.mean[o])
        out.append(intercept + coef @ full)
    return np.array(out)


@pytest.mark.parametrize("depth", [1, 2, 5, 12])
def test_depth_q_is_the_neumann_predictor_of_order_q_minus_1(depth):
    moments, coef, intercept = model()
    x = rows(moments)
    got = answer(NeuMiss.from_moments(*moments, coef, intercept, depth=depth), x)
    np.testing.assert_allclose(got, by_hand(moments, coef, intercept, depth - 1, x), atol=1e-10)
    predictor = NeumannPredictor(moments, coef, intercept, depth - 1)
    np.testing.assert_allclose(got, predictor.predict(x), atol=1e-10)


def test_depth_0_is_depth_1():
    moments, coef, intercept = model()
    shallow, deeper = (NeuMiss.from_moments(*moments, coef, intercept, depth=k) for k in (0, 1))
    np.testing.assert_allclose(answer(shallow, rows(moments)), answer(deeper, rows(moments)))


@pytest.mark.parametrize("iteration", ["neumann", "chebyshev"])
def test_great_depth_is_the_bayes_predictor(iteration):
    moments, coef, intercept = model(noise=1.0)
    x = rows(moments)
    best = GaussianPredictor(moments, coef, intercept).predict(x)
    depth = 400 if iteration == "neumann" else 60
    net = NeuMiss.from_moments(*moments, coef, intercept, depth=depth, iteration=iteration)
    np.testing.assert_allclose(answer(net, x), best, atol=1e-5)


def test_chebyshev_error_is_that_of_chebyshev_polynomials():
    """The factor of the error is T_q((a + b - 2 t) / (b - a)), scaled to 1 at t = 0."""
    low, n_steps, t = 0.05, 6, np.linspace(0, 1, 50)
    left = np.prod([1 - size * t for size in step_sizes(1.0, n_steps, "chebyshev", low)], axis=0)
    inner = (1 + low - 2 * t) / (1 - low)
    polynomial = np.polynomial.Chebyshev.basis(n_steps)
    np.testing.assert_allclose(
        left, polynomial(inner) / polynomial((1 + low) / (1 - low)), atol=1e-12
    )
    np.testing.assert_allclose(step_sizes(4.0, 3, "chebyshev", 1.0), step_sizes(4.0, 3))


def test_network_runs_the_varying_steps():
    moments, coef, intercept = model()
    x, sizes = rows(moments), step_sizes(np.linalg.norm(moments.cov, 2), 5, "chebyshev")
    out = []
    for row in x:
        o = ~np.isnan(row)
        g, rest = np.zeros(o.sum()), row[o] - moments.mean[o]
        for size in sizes:
            g = g + size * (rest - moments.cov[np.ix_(o, o)] @ g)
        full = row.copy()
        full[~o] = moments.mean[~o] + moments.cov[np.ix_(~o, o)] @ g
        out.append(intercept + coef @ full)
    net = NeuMiss.from_moments(*moments, coef, intercept, depth=5, iteration="chebyshev")
    np.testing.assert_allclose(answer(net, x), out, atol=1e-9)


def test_chebyshev_comes_closer_at_the_same_depth():
    for seed in range(5):
        moments, coef, intercept = model(d=20, seed=seed, noise=0.05)
        x = rows(moments, n=1000)
        best = GaussianPredictor(moments, coef, intercept).predict(x)
        error = {
            name: np.mean((answer(net, x) - best) ** 2)
            for name in ("neumann", "chebyshev")
            for net in [NeuMiss.from_moments(*moments, coef, intercept, depth=5, iteration=name)]
        }
        assert error["chebyshev"] < 0.7 * error["neumann"]


def test_block_is_the_neumann_sum():
    moments, *_ = model()
    x = rows(moments)
    with torch.no_grad():
        got = NeuMissBlock.from_moments(*moments, depth=4)(torch.as_tensor(x)).numpy()
    cov = moments.cov / np.linalg.norm(moments.cov, 2)
    for row, made in zip(x, got, strict=True):
        o = ~np.isnan(row)
        step = np.eye(o.sum()) - cov[np.ix_(o, o)]
        inverse = sum(np.linalg.matrix_power(step, k) for k in range(5))
        np.testing.assert_allclose(made[o], inverse @ (row - moments.mean)[o], atol=1e-10)
        assert (made[~o] == 0).all()


def test_several_outputs():
    moments, coef, _ = model()
    both = np.stack([coef, -2 * coef])
    net = NeuMiss.from_moments(*moments, both, [0.0, 1.0], depth=3)
    with torch.no_grad():
        out = net(torch.as_tensor(rows(moments))).numpy()
    np.testing.assert_allclose(out[:, 1], 1 - 2 * out[:, 0])


def test_self_masking_is_exact_where_its_assumption_holds():
    """Independent features: D / cov_mis|obs is the same for every pattern, and diagonal."""
    draw = np.random.default_rng(0)
    moments = Moments(draw.normal(size=4), np.diag(draw.uniform(0.5, 2, 4)))
    masking = SelfMasking(draw.normal(size=4), draw.uniform(0.5, 2, 4))
    coef, x = draw.normal(size=4), rows(moments)
    best = GaussianPredictor(moments, coef, 1.0, masking).predict(x)
    given = masking.variance / np.diag(moments.cov)
    for ratio in (None, given, np.diag(given)):
        net = NeuMiss.from_moments(*moments, coef, 1.0, masking=masking, ratio=ratio)
        np.testing.assert_allclose(answer(net, x), best, atol=1e-10)


def test_self_masking_weights_are_the_published_ones():
    moments, *_ = model(d=4)
    draw = np.random.default_rng(2)
    masking = SelfMasking(draw.normal(size=4), draw.uniform(1, 2, 4))
    ratio = np.eye(4) + 0.1 * draw.random((4, 4))
    made = analytic_weights(moments, 3, masking=masking, ratio=ratio)
    pull = np.linalg.inv(np.eye(4) + ratio)
    np.testing.assert_allclose(made.mean, pull @ (masking.centre + ratio @ moments.mean))
    largest = np.linalg.norm(moments.cov, 2)
    np.testing.assert_allclose(made.mix.T, pull @ ratio @ moments.cov / largest, atol=1e-12)


def test_no_self_masking_is_that_of_infinite_variance():
    moments, coef, intercept = model()
    masking = SelfMasking(np.ones(7), np.full(7, np.inf))
    plain = NeuMiss.from_moments(*moments, coef, intercept)
    masked = NeuMiss.from_moments(*moments, coef, intercept, masking=masking)
    np.testing.assert_allclose(answer(masked, rows(moments)), answer(plain, rows(moments)))


def test_default_ratio_lies_between_its_bounds():
    moments, *_ = model()
    between = 1 / default_ratio(moments.cov, np.ones(7))
    assert (between < np.diag(moments.cov)).all()
    assert (between > 1 / np.diag(np.linalg.inv(moments.cov))).all()
    assert default_ratio(np.diag([1.0, 0.0]), np.ones(2)).tolist() == [1.0, np.inf]


@pytest.mark.parametrize("iteration", ["neumann", "chebyshev"])
def test_singular_and_single(iteration):
    x = np.array([[1.0, np.nan, 3.0], [np.nan] * 3])
    for cov in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 0.0, 2.0])):
        net = NeuMiss.from_moments([0, 1, 2], cov, [1, 1, 1], iteration=iteration)
        assert np.isfinite(answer(net, x)).all()
        assert answer(net, x)[1] == pytest.approx(3.0)
    one = NeuMiss.from_moments([2.0], [[4.0]], [3.0], 1.0, iteration=iteration)
    np.testing.assert_allclose(answer(one, np.array([[np.nan], [5.0]])), [7.0, 16.0])


def test_bad_moments():
    good = dict(mean=np.zeros(2), cov=np.eye(2), coef=np.ones(2))
    for change, says in (
        (dict(cov=np.diag([1.0, -1.0])), "negative variance"),
        (dict(cov=np.array([[1.0, 2.0], [2.0, 1.0]])), "positive semi-definite"),
        (dict(cov=np.array([[1.0, 0.5], [0.0, 1.0]])), "symmetric"),
        (dict(cov=np.eye(3)), r"cov must have shape \(2, 2\)"),
        (dict(mean=np.array([0.0, np.nan])), "mean must be finite"),
        (dict(mean=0.0), "mean must have shape"),
        (dict(coef=np.ones(3)), r"coef has shape \(1, 3\)"),
        (dict(coef=[1.0, np.inf]), "coef must be finite"),
        (dict(intercept=[1.0, 2.0]), r"intercept has shape \(2,\), expected \(1,\)"),
        (dict(iteration="newton"), "iteration must be one of"),
        (dict(iteration="chebyshev", lower=0.0), "lower must be above 0"),
        (dict(masking=(np.zeros(2), np.zeros(2))), "variance"),
        (dict(masking=(np.zeros(3), np.ones(3))), "shape"),
        (dict(masking=(np.zeros(2), np.ones(2)), ratio=np.ones(3)), "ratio"),
        (dict(masking=(np.zeros(2), np.ones(2)), ratio=[1.0, -1.0]), "ratio"),
    ):
        with pytest.raises(ValueError, match=says):
            NeuMiss.from_moments(**(good | change))
    with pytest.raises(ValueError, match="positive semi-definite"):
        NeuMissBlock.from_moments(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_without_residual_only_shallow_networks():
    with pytest.raises(ValueError, match="residual=True"):
        NeuMiss(2, 3).set_moments(np.zeros(2), np.eye(2), np.ones(2))
    NeuMiss(2, 1).set_moments(np.zeros(2), np.eye(2), np.ones(2))
    with pytest.raises(ValueError, match="the 3 features"):
        NeuMiss(3, 1).set_moments(np.zeros(2), np.eye(2), np.ones(2))
