"""Propositions A.1 and 3.1 of the NeuMiss paper, over random covariances and patterns."""

from __future__ import annotations

import numpy as np
import pytest

from nanwise.gaussian.moments import Moments
from nanwise.gaussian.predict import GaussianPredictor, NeumannPredictor

ORDERS = (1, 2, 5, 20, 60)


def covariance(d, draw, radius):
    """Random covariance with the given spectral radius."""
    root = draw.normal(size=(d, max(d // 2, 1)))
    cov = root @ root.T + np.diag(draw.uniform(0.01, 1.0, d))
    return cov * radius / np.linalg.eigvalsh(cov)[-1]


def iterates(block, orders, start):
    """S_l = (I - block) S_(l-1) + I at the orders asked for."""
    one, current, found = np.eye(len(block)), start, {}
    for order in range(1, max(orders) + 1):
        current = (one - block) @ current + one
        if order in orders:
            found[order] = current
    return found


@pytest.mark.parametrize("d", [1, 2, 6, 15])
@pytest.mark.parametrize("seed", range(5))
def test_neumann_iterates_converge_linearly(d, seed):
    """A.1: ||I - S_obs S_l|| <= (1 - nu_obs)^l ||I - S_obs S_0||, for any start S_0."""
    draw = np.random.default_rng(100 * seed + d)
    cov = covariance(d, draw, radius=draw.uniform(0.5, 0.999))
    for _ in range(10):
        o = draw.random(d) < 0.6
        if not o.any():
            continue
        block, one = cov[np.ix_(o, o)], np.eye(o.sum())
        least = np.linalg.eigvalsh(block)[0]
        for start in (one, draw.normal(size=block.shape)):
            first = np.linalg.norm(one - block @ start, 2)
            for order, found in iterates(block, ORDERS, start).items():
                left = np.linalg.norm(one - block @ found, 2)
                assert left <= (1 - least) ** order * first * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("seed", range(5))
def test_the_rate_is_reached(seed):
    """The bound of A.1 is sharp from S_0 = I: no smaller rate would hold."""
    draw = np.random.default_rng(seed)
    block = covariance(6, draw, radius=0.95)
    least, one = np.linalg.eigvalsh(block)[0], np.eye(6)
    for order, found in iterates(block, ORDERS, one).items():
        left = np.linalg.norm(one - block @ found, 2)
        assert left == pytest.approx((1 - least) ** (order + 1), rel=1e-6)


def squared_gap(cov, coef, o, inverse):
    """E over x of (order-l predictor - Bayes predictor)^2, given the pattern; equation (48)."""
    m = ~o
    if not o.any() or not m.any():
        return 0.0
    block = cov[np.ix_(o, o)]
    pull = coef[m] @ cov[np.ix_(m, o)] @ (inverse - np.linalg.inv(block))
    return float(pull @ block @ pull)


@pytest.mark.parametrize("d", [2, 6, 12])
@pytest.mark.parametrize("seed", range(4))
def test_error_bound_of_the_order_l_predictor(d, seed):
    """3.1: E (f_l - f)^2 <= (1 - nu)^(2l) ||b||^2 / nu E ||I - S_0 S_obs||^2."""
    draw = np.random.default_rng(100 * seed + d)
    cov, coef = covariance(d, draw, radius=0.99), draw.normal(size=d)
    patterns = draw.random((40, d)) < 0.5
    blocks = [cov[np.ix_(o, o)] for o in patterns]
    away = np.mean([np.linalg.norm(np.eye(len(b)) - b, 2) ** 2 if len(b) else 0 for b in blocks])
    least = np.linalg.eigvalsh(cov)[0]
    for order in ORDERS:
        steps = [iterates(b, (order,), np.eye(len(b)))[order] for b in blocks]
        gap = np.mean([squared_gap(cov, coef, o, s) for o, s in zip(patterns, steps, strict=True)])
        assert gap <= (1 - least) ** (2 * order) * coef @ coef / least * away


@pytest.mark.parametrize("seed", range(3))
def test_the_predictor_itself_keeps_the_bound(seed):
    """The same with NeumannPredictor, which brings any covariance to spectral radius 1 itself."""
    draw = np.random.default_rng(seed)
    cov, coef, mean = covariance(8, draw, radius=7.0), draw.normal(size=8), draw.normal(size=8)
    moments, radius = Moments(mean, cov), 7.0
    x = draw.multivariate_normal(mean, cov, size=20_000)
    observed = draw.random(x.shape) < 0.5
    x[~observed] = np.nan
    bayes = GaussianPredictor(moments, coef, 1.0).predict(x)
    kinds = np.unique(observed, axis=0, return_counts=True)
    away = sum(
        n * np.linalg.norm(np.eye(o.sum()) - cov[np.ix_(o, o)] / radius, 2) ** 2
        for o, n in zip(*kinds, strict=True)
        if o.any()
    ) / len(x)
    least, last = np.linalg.eigvalsh(cov)[0] / radius, np.inf
    for order in ORDERS:
        gap = np.mean((NeumannPredictor(moments, coef, 1.0, order).predict(x) - bayes) ** 2)
        assert gap <= radius * (1 - least) ** (2 * order) * coef @ coef / least * away
        assert gap < last
        last = gap
