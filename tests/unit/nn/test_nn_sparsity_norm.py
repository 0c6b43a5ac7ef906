import copy

import pytest
import torch

from nanwise.nn import Rows, SNLinear, SparsityNorm, functional
from nanwise.nn.functional import sn_linear, sparsity_norm

NAN = float("nan")
X = torch.tensor([[1.0, NAN, 3.0, 0.0], [NAN, NAN, 5.0, NAN], [NAN] * 4])


def test_formula():
    got = sparsity_norm(X, K=6)
    want = torch.tensor([[2.0, 0, 6, 0], [0, 0, 30, 0], [0, 0, 0, 0]])
    assert torch.equal(got, want)  # the observed 0 counts: row 0 has three values
    assert torch.equal(sparsity_norm(X, K=6, power=0), X.nan_to_num(0))
    torch.testing.assert_close(sparsity_norm(X, K=6, power=0.5)[0], X[0].nan_to_num(0) * 2**0.5)


def test_fit_takes_the_mean_count():
    assert SparsityNorm().fit(X).K_.item() == pytest.approx(4 / 3)
    assert SparsityNorm().fit(X.nan_to_num(7), ~X.isnan()).K_.item() == pytest.approx(4 / 3)
    assert SparsityNorm(K=2.5).fit(X).K_.item() == 2.5


def test_weighted_rows_equal_repeated_rows():
    weight = torch.tensor([2, 0, 1])
    repeated = X.repeat_interleave(weight, 0)
    assert SparsityNorm().fit(X, weight=weight).K_ == SparsityNorm().fit(repeated).K_
    series = torch.stack([X, X.nan_to_num(0)])
    assert SparsityNorm().fit(series, weight=torch.tensor([0.0, 2.0])).K_ == 4


@pytest.mark.parametrize("weight", [[0.0, 0, 0], [-1.0, 1, 1], [1.0, 1]])
def test_bad_weight_is_refused(weight):
    with pytest.raises(ValueError, match="weight"):
        SparsityNorm().fit(X, weight=torch.tensor(weight))


def test_series_is_scaled_per_time_step():
    series = torch.stack([X[:2], X[1:]])
    got = SparsityNorm(K=2)(series)
    want = torch.stack([SparsityNorm(K=2)(step) for step in series.unbind(1)], 1)
    assert torch.equal(got, want)
    assert got[0, 1, 2] == 10


def test_unfitted_says_what_to_do():
    with pytest.raises(RuntimeError, match=r"fit\(x\)"):
        SparsityNorm()(X)
    with pytest.raises(RuntimeError, match=r"fit\(x\)"):
        SNLinear(4, 2)(X)


def test_state_dict_makes_it_fitted_and_unfitted():
    fitted = SNLinear(4, 2).fit(X)
    other = SNLinear(4, 2)
    other.load_state_dict(fitted.state_dict())
    assert torch.equal(other(X), fitted(X))
    other.load_state_dict(SNLinear(4, 2).state_dict())
    with pytest.raises(RuntimeError, match="K is not known"):
        other(X)
    assert torch.equal(copy.deepcopy(fitted)(X), fitted(X))


def test_all_missing_training_data_leaves_a_usable_layer():
    layer = SparsityNorm().fit(X[2:])
    assert layer(X).isfinite().all()
    assert layer(X)[1, 2] == 5


def test_learnt_power_moves():
    layer = SparsityNorm(K=2, power=1.0, learn_power=True)
    rows = Rows(torch.tensor([4.0]), torch.tensor([0]), torch.tensor([0, 1]), 4)
    layer(torch.tensor([[4.0, NAN, NAN, NAN]])).sum().backward()
    dense, layer.power.grad = layer.power.grad, None
    layer(rows).values.sum().backward()
    want = 4 * 2 * torch.tensor(2.0).log()  # d/dp 4 * 2**p
    torch.testing.assert_close(dense, want)
    torch.testing.assert_close(layer.power.grad, want)


@pytest.mark.parametrize("arguments", [{"K": 0}, {"K": "median"}, {"K": NAN}, {"power": NAN}])
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        SparsityNorm(**arguments)


def test_linear_is_norm_then_linear_with_bias_outside():
    layer = SNLinear(4, 3).fit(X)
    plain = torch.nn.Linear(4, 3)
    plain.load_state_dict({k: v for k, v in layer.state_dict().items() if "norm" not in k})
    want = plain(layer.norm(X))
    torch.testing.assert_close(layer(X), want)
    assert torch.equal(layer(X)[2], layer.bias)
    torch.testing.assert_close(
        sn_linear(X, layer.weight, layer.bias, K=layer.norm.K_, power=1.0), want
    )


def test_second_derivative():
    x = X.double().requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: sparsity_norm(x, K=3.0) ** 2, (x,))


def test_counts_of_every_form():
    want = [3, 1, 0]
    assert functional.observed_counts(X).tolist() == want
    assert functional.observed_counts(X.nan_to_num(1), ~X.isnan()).tolist() == want
