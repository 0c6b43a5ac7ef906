"""The density against torch.distributions, and against the formulas for full matrices."""

import pytest
import torch
from torch.distributions import MultivariateNormal

from nanwise.completion import MFA
from nanwise.missing import Observed

SHAPE = (2, 3, 2)
NAN = float("nan")


def make(n=4, k=3, rank=2, shape=SHAPE, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)

    def normal(*size):
        return torch.randn(*size, generator=generator, dtype=dtype)

    return MFA(
        normal(n, k).softmax(-1),
        normal(n, k, *shape),
        normal(n, k, rank, *shape),
        normal(n, k, *shape).exp(),
        torch.zeros(n, *shape, dtype=torch.bool),
    )


def rows(n=4, seed=1, share=0.6):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, *SHAPE, generator=generator, dtype=torch.float64)
    return x, torch.rand(x.shape, generator=generator) < share


def full(mfa, row):
    """Weights, means and covariance matrices of one row, as vectors."""
    factors = mfa.factors[row].flatten(2)
    covariance = factors.mT @ factors + torch.diag_embed(mfa.noise[row].flatten(1))
    return mfa.weights[row], mfa.means[row].flatten(1), covariance


def log_density(mfa, x, cells, row):
    weights, means, covariance = full(mfa, row)
    c = cells[row].flatten()
    parts = MultivariateNormal(means[:, c], covariance[:, c][:, :, c]).log_prob(x[row].flatten()[c])
    return (weights.log() + parts).logsumexp(0)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("rank", [0, 1, 4])
def test_log_density_is_that_of_the_full_matrices(k, rank):
    mfa, (x, cells) = make(k=k, rank=rank), rows()
    got = mfa.log_prob(x, cells)
    want = torch.stack([log_density(mfa, x, cells, row) for row in range(4)])
    torch.testing.assert_close(got, want, rtol=0, atol=1e-9)


def test_single_precision_is_good_to_five_digits():
    mfa, (x, cells) = make(), rows()
    single = MFA(*(part.float() for part in mfa[:4]), mfa.observed)
    want = torch.stack([log_density(mfa, x, cells, row) for row in range(4)])
    torch.testing.assert_close(
        single.log_prob(x.float(), cells).double(), want, rtol=1e-5, atol=1e-5
    )


def test_cells_are_by_default_those_not_conditioned_on_that_have_a_value():
    mfa, (x, observed) = make(), rows()
    conditional = mfa._replace(observed=observed)
    holes = x.clone()
    holes[:, 0, 0, 0] = NAN
    cells = ~observed & ~holes.isnan()
    torch.testing.assert_close(conditional.log_prob(holes), mfa.log_prob(x, cells))
    everywhere = torch.ones_like(cells)
    torch.testing.assert_close(mfa.log_prob(holes, everywhere), mfa.log_prob(x, ~holes.isnan()))


def test_no_cell_has_the_density_of_certainty():
    mfa, (x, _) = make(), rows()
    none = mfa.log_prob(x, torch.zeros_like(x, dtype=torch.bool))
    torch.testing.assert_close(none, torch.zeros_like(none))


def test_gradients_of_the_density():
    mfa, (x, cells) = make(n=2), rows(2)
    parts = [part.clone().requires_grad_() for part in mfa[:4]]
    assert torch.autograd.gradcheck(
        lambda *p: MFA(*p, mfa.observed).log_prob(x.where(cells, NAN)), parts
    )


def test_a_component_of_weight_zero_leaves_gradients_finite():
    mfa, (x, cells) = make(), rows()
    weights = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64).expand(4, 3).clone()
    weights.requires_grad_()
    got = mfa._replace(weights=weights).log_prob(x, cells)
    got.sum().backward()
    alone = MFA(*(part[:, :1] for part in mfa[:4]), mfa.observed)
    one = alone._replace(weights=torch.ones(4, 1, dtype=torch.float64)).log_prob(x, cells)
    torch.testing.assert_close(got, one)
    assert weights.grad.isfinite().all()


@pytest.mark.parametrize("rank", [0, 2])
def test_conditioning_is_that_of_the_full_matrices(rank):
    mfa, (x, observed) = make(rank=rank), rows()
    given = mfa.condition(x.where(observed, NAN))
    assert torch.equal(given.observed, observed)
    for row in range(4):
        weights, means, covariance = full(mfa, row)
        o = observed[row].flatten()
        values = x[row].flatten()[o]
        inner, cross = covariance[:, o][:, :, o], covariance[:, ~o][:, :, o]
        gain = torch.linalg.solve(inner, cross.mT).mT
        mean = means[:, ~o] + (gain @ (values - means[:, o])[..., None])[..., 0]
        spread = covariance[:, ~o][:, :, ~o] - gain @ cross.mT
        parts = MultivariateNormal(means[:, o], inner).log_prob(values)
        p, m, c = full(given, row)
        torch.testing.assert_close(p, (weights.log() + parts).softmax(0))
        torch.testing.assert_close(m[:, ~o], mean)
        torch.testing.assert_close(c[:, ~o][:, :, ~o], spread)
        assert torch.equal(m[:, o], values.expand(3, -1))
        assert (c[:, o] == 0).all()


def test_a_row_without_values_keeps_the_density():
    mfa, (x, observed) = make(), rows()
    given = mfa.condition(x, torch.zeros_like(observed))
    for got, want in zip(given, mfa, strict=True):
        torch.testing.assert_close(got, want)


def test_chain_rule_of_densities():
    """p(values) p(gaps | values) = p(all)."""
    mfa, (x, observed) = make(), rows()
    given = mfa.condition(x.where(observed, NAN))
    together = mfa.log_prob(x)
    torch.testing.assert_close(mfa.log_prob(x, observed) + given.log_prob(x), together)


def test_pinned_values_stay_in_mean_and_draws():
    mfa, (x, observed) = make(), rows()
    for pinned in (mfa.pin(x, observed), mfa.pin(Observed(x.where(observed, 0.0), observed))):
        draws = pinned.sample(3, torch.Generator().manual_seed(0))
        assert torch.equal(draws[:, observed], x[observed].expand(3, -1))
        torch.testing.assert_close(pinned.mean()[observed], x[observed])
        torch.testing.assert_close(pinned.mean()[~observed], mfa.mean()[~observed])
        assert (pinned.variance()[observed] < 1e-28).all()


def test_moments_of_draws():
    mfa = make(n=2, k=3, shape=(2, 2))
    draws = mfa.sample(40_000, torch.Generator().manual_seed(0))
    assert draws.shape == (40_000, 2, 2, 2)
    error = (mfa.variance() / len(draws)).sqrt()
    assert ((draws.mean(0) - mfa.mean()).abs() < 4.5 * error).all()
    torch.testing.assert_close(draws.var(0), mfa.variance(), rtol=0.05, atol=0)
    weights, means, covariance = full(mfa, 0)
    apart = means - mfa.mean()[0].flatten()
    want = (weights[:, None, None] * (covariance + apart[:, :, None] * apart[:, None])).sum(0)
    got = torch.cov(draws[:, 0].flatten(1).T)
    torch.testing.assert_close(got, want, rtol=0, atol=0.05 * float(want.diagonal().max()))


def test_draws_come_from_the_generator_alone():
    mfa, state = make(), torch.get_rng_state()
    one, two = (mfa.sample(2, torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(one, two)
    assert torch.equal(torch.get_rng_state(), state)


def test_one_row_stands_for_many():
    mfa, (x, observed) = make(n=1), rows()
    many = MFA(*(part.repeat(4, *[1] * (part.ndim - 1)) for part in mfa))
    torch.testing.assert_close(mfa.log_prob(x, observed), many.log_prob(x, observed))
    for got, want in zip(mfa.condition(x, observed), many.condition(x, observed), strict=True):
        torch.testing.assert_close(got, want)


def test_shapes_that_do_not_fit_are_named():
    mfa, (x, _) = make(), rows()
    with pytest.raises(ValueError, match=r"noise of this MFA has shape \(4, 3, 2, 3\), expected"):
        mfa._replace(noise=mfa.noise[..., 0]).check()
    with pytest.raises(ValueError, match=r"4 rows of shape \(2, 3, 2\).*\(3, 2, 3, 2\)"):
        mfa.log_prob(x[:3])
    with pytest.raises(ValueError, match="rows must have that shape"):
        mfa.condition(x[..., :1])


def test_completion_loads_torch_only_when_asked(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys, nanwise.completion as c\n"
        "assert 'torch' not in sys.modules\n"
        "assert c.MFA.__name__ == 'MFA' and 'torch' in sys.modules\n"
        "try:\n    c.nothing\nexcept AttributeError as e:\n    assert 'nothing' in str(e)\n"
        "else:\n    raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_more_values_may_follow():
    """Conditioned on some values and then on others as well: as on all of them at once."""
    mfa, (x, observed) = make(), rows()
    first = observed.clone()
    first[:, ..., 0] = False
    at_once = mfa.condition(x, observed)
    for later in (observed, observed & ~first):
        for got, want in zip(mfa.condition(x, first).condition(x, later), at_once, strict=True):
            torch.testing.assert_close(got, want)
