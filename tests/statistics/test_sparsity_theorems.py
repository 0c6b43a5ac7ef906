"""Theorems 1 to 4 of the ICLR 2020 paper on sparsity normalisation, by Monte Carlo.

Assumption 1: values, MCAR marks, weights and biases are independent of each other, each kind with
one distribution and a mean of its own. A draw is a whole new network on a new input, and the draws
are independent, so the mean over them has an honest standard error. Closed forms are met within
four of them.
"""

from itertools import pairwise

import pytest
import torch

from nanwise.nn.functional import sparsity_norm

WIDTHS = (20, 8, 6)  # n_0, n_1, n_2 of the input and of two layers
MEAN_X, MEAN_W, MEAN_B = 1.5, 0.2, 0.3
SHARES = (0.2, 0.5, 0.8, 1.0)
DRAWS = 20_000
K = 12.0


def uniform(mean, spread, shape, generator):
    return mean + spread * (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1)


def affine(h):
    return 0.5 * h - 0.25


def outputs(share, activation, *, bias, norm=False, seed=0):
    """One output of ``DRAWS`` random networks, each on one random incomplete input."""
    generator = torch.Generator().manual_seed(seed)
    h = uniform(MEAN_X, 1.0, (DRAWS, WIDTHS[0]), generator)
    observed = torch.rand(h.shape, generator=generator) < share
    h = sparsity_norm(h, observed, K=K) if norm else h * observed
    for wide, out in pairwise(WIDTHS):
        weight = uniform(MEAN_W, 0.5, (DRAWS, out, wide), generator)
        b = uniform(MEAN_B if bias else 0.0, 0.2 if bias else 0.0, (DRAWS, out), generator)
        h = activation(torch.einsum("noi,ni->no", weight, h) + b)
    return h[:, 0]


def composed(mean, activation, *, bias):
    """f_L o ... o f_1 of the paper, with f_i(x) = activation(n_{i-1} mean_w x + mean_b)."""
    h = torch.tensor(mean, dtype=torch.float64)
    for wide in WIDTHS[:-1]:
        h = activation(wide * MEAN_W * h + (MEAN_B if bias else 0.0))
    return h.item()


def mean_and_error(sample):
    return sample.mean().item(), (sample.std() / len(sample) ** 0.5).item()


def slope_and_error(values):
    """Least-squares slope over SHARES and its standard error, from means with known errors."""
    shares = torch.tensor(SHARES, dtype=torch.float64)
    means, errors = torch.tensor(values, dtype=torch.float64).unbind(1)
    lever = (shares - shares.mean()) / (shares - shares.mean()).square().sum()
    return (lever @ means).item(), (lever.square() @ errors.square()).sqrt().item()


def identity(h):
    return h


@pytest.mark.parametrize("share", SHARES)
def test_theorem_1_identity_output_is_proportional_to_the_share(share):
    mean, error = mean_and_error(outputs(share, identity, bias=False))
    full = WIDTHS[0] * WIDTHS[1] * MEAN_W**2 * MEAN_X
    assert error < 0.05 * full
    assert abs(mean - full * share) < 4 * error


@pytest.mark.parametrize("share", SHARES)
def test_theorem_2_affine_output_follows_the_closed_form(share):
    mean, error = mean_and_error(outputs(share, affine, bias=True))
    assert abs(mean - composed(MEAN_X * share, affine, bias=True)) < 4 * error


def test_theorem_2_means_that_the_output_is_linear_in_the_share():
    points = [mean_and_error(outputs(s, affine, bias=True, seed=i)) for i, s in enumerate(SHARES)]
    slope, error = slope_and_error(points)
    low, high = (composed(MEAN_X * share, affine, bias=True) for share in (0.0, 1.0))
    assert abs(slope - (high - low)) < 4 * error
    assert slope > 20 * error


@pytest.mark.parametrize("activation", [torch.relu, torch.nn.functional.softplus])
@pytest.mark.parametrize("share", SHARES)
def test_theorem_3_convex_output_is_bounded_from_below(share, activation):
    mean, error = mean_and_error(outputs(share, activation, bias=True))
    bound = composed(MEAN_X * share, activation, bias=True)
    assert mean > bound - 4 * error
    assert bound > composed(MEAN_X * share / 2, activation, bias=True)  # and the bound moves


@pytest.mark.parametrize("share", SHARES)
def test_theorem_4_normalised_output_does_not_know_the_share(share):
    # The count is taken per input, so an input without values, of probability (1 - share)^n, is 0.
    some = 1 - (1 - share) ** WIDTHS[0]
    mean, error = mean_and_error(outputs(share, affine, bias=True, norm=True))
    want = composed(MEAN_X * K / WIDTHS[0], affine, bias=True)
    empty = composed(0.0, affine, bias=True)
    assert abs(mean - (some * want + (1 - some) * empty)) < 4 * error
    assert abs(mean - want) < 0.03 * want


def test_theorem_4_flat_where_theorem_2_rises():
    def slope(norm):
        sample = [outputs(s, affine, bias=True, norm=norm, seed=i) for i, s in enumerate(SHARES)]
        return slope_and_error([mean_and_error(values) for values in sample])

    (flat, flat_error), (steep, _) = slope(norm=True), slope(norm=False)
    want = composed(MEAN_X * K / WIDTHS[0], affine, bias=True)
    empty = composed(0.0, affine, bias=True)
    lost = [(want - (want - empty) * (1 - share) ** WIDTHS[0], 0.0) for share in SHARES]
    assert abs(flat - slope_and_error(lost)[0]) < 4 * flat_error
    assert abs(flat) < 0.05 * steep
