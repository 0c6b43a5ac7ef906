import numpy as np
import pytest
import torch

from nanwise.nn import Constant, Indicator, Masked, Rate, SNDropout
from nanwise.nn.functional import normalize_connections, sn_dropout


def draws(p, n=8, rows=20_000, seed=0):
    return sn_dropout(torch.ones(rows, n), p, True, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_every_vector_keeps_its_sum(p):
    out = draws(p)
    total = out.sum(-1)
    empty = (out == 0).all(-1)
    torch.testing.assert_close(total[~empty], torch.full_like(total[~empty], 8.0))
    assert (total[empty] == 0).all()
    share = (out != 0).float().mean().item()
    assert share == pytest.approx(1 - p, abs=4 * (p * (1 - p) / out.numel()) ** 0.5)
    expected = p**8
    assert empty.float().mean().item() == pytest.approx(
        expected, abs=4 * (expected / len(out)) ** 0.5 + 1e-12
    )


def test_extremes():
    x = torch.randn(4, 6)
    assert sn_dropout(x, 0.0) is x
    assert torch.equal(SNDropout(0.5).eval()(x), x)
    for p in (-0.1, 1.0, 1.1):
        with pytest.raises(ValueError, match="at least 0 and below 1"):
            SNDropout(p)
        with pytest.raises(ValueError, match="at least 0 and below 1"):
            sn_dropout(x, p)
    with pytest.raises(TypeError, match=r"torch.int64; use x.float\(\)"):
        sn_dropout(torch.ones(3, 4, dtype=torch.int64), 0.5)


def test_module_draws_like_the_function_and_generator_is_respected():
    layer = SNDropout(0.5)
    x = torch.randn(50, 6)
    torch.manual_seed(1)
    first = layer(x)
    torch.manual_seed(1)
    assert torch.equal(first, sn_dropout(x, 0.5))
    assert torch.equal(draws(0.5, seed=3), draws(0.5, seed=3))
    assert not torch.equal(draws(0.5, seed=3), draws(0.5, seed=4))


def test_dropout_counts_observed_units_only():
    observed = torch.tensor([[True, True, True, False, False]]).expand(4000, 5)
    x = torch.ones(4000, 5).masked_fill(~observed, float("nan"))
    out = sn_dropout(x, 0.5, True, torch.Generator().manual_seed(0), observed)
    assert (out[:, 3:] == 0).all()
    assert {round(total, 4) for total in out.sum(-1).tolist()} == {0.0, 3.0}


def test_dropout_passes_nan_of_a_diverging_network_on():
    assert SNDropout(0.5).eval()(torch.tensor([float("nan")])).isnan().all()


def test_dropout_gradient_is_the_factor():
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)

    def drop(x):
        return sn_dropout(x, 0.4, True, torch.Generator().manual_seed(2))

    assert torch.autograd.gradcheck(drop, (x,))


def test_connections_are_normalised_per_output():
    joined = torch.tensor([[0.0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
    got = normalize_connections(joined)
    assert (got[0] == 0).all()
    torch.testing.assert_close(got[1:].sum(-1), torch.full((3,), 6 / 4))
    torch.testing.assert_close(got[2], torch.tensor([0.75, 0.75, 0, 0]))


def test_no_information_flows_without_connection():
    layer = Masked(4, 4, np.tril(np.ones((4, 4)), -1), normalize=True)
    jacobian = torch.autograd.functional.jacobian(layer, torch.randn(4))
    assert torch.equal(jacobian != 0, torch.ones(4, 4).tril(-1).bool())
    layer(torch.randn(9, 4)).sum().backward()
    assert (layer.weight.grad[torch.ones(4, 4).triu().bool()] == 0).all()


def test_wrong_connections_are_named():
    with pytest.raises(ValueError, match=r"\(3, 2\), expected .* \(2, 3\)"):
        Masked(3, 2, torch.ones(3, 2))


def test_constant_fills_its_column():
    x = torch.tensor([[1.0, float("nan")], [float("nan"), 4.0]])
    assert Constant([10.0, 20.0])(x).tolist() == [[1, 20], [10, 4]]


def test_bad_fills_are_refused():
    for fill in ([1.0, float("nan")], 3.0):
        with pytest.raises(ValueError, match="one finite number per feature"):
            Constant(fill)
    for rate in (0.0, 1.2, float("nan")):
        with pytest.raises(ValueError, match="rate"):
            Rate(rate)
    with pytest.raises(ValueError, match="kind"):
        Indicator("absent")
