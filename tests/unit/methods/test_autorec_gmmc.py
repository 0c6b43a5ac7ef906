"""AutoRec with generalised neurons: the dense layer, learning, saving, warm start, settings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import nanwise
from nanwise import Plan
from nanwise.data.ratings import Ratings, split_ratings, synthetic_ratings
from nanwise.methods.rating.autorec_filled import FilledAutoRec
from nanwise.methods.rating.autorec_gmmc import GmmcAutoRec
from nanwise.nn import GaussianInput

SIDES = ["item", "user"]


def plan(**settings: object) -> Plan:
    usual = {"epochs": 15, "batch": None, "lr": 0.002, "optimizer": "adam", "schedule": None}
    return Plan(**usual | settings)


def model(**settings: object) -> GmmcAutoRec:
    usual = {"hidden": 16, "penalty": 5.0, "plan": plan(), "random_state": 0}
    return GmmcAutoRec(**usual | settings)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return synthetic_ratings(60, 40, 700, random_state=1)


def dense_layer(net: torch.nn.Module) -> GaussianInput:
    """The layer for dense rows with the weights of the sparse one."""
    width, hidden = net.encode.shape
    layer = GaussianInput(width, hidden, len(net.logits)).double()
    with torch.no_grad():
        layer.weight.copy_(net.encode.T)
        layer.bias.copy_(net.hidden_bias)
        layer.mixture.logits.copy_(net.logits)
        layer.mixture.means.copy_(net.means.T)
        layer.mixture.variances.copy_(net.variances.T)
        layer.mixture.gamma.copy_(net.gamma)
    return layer


@pytest.mark.parametrize("by", SIDES)
def test_hidden_units_are_those_of_the_dense_layer(by: str, ratings: Ratings) -> None:
    found = model(by=by).fit(ratings)
    net = found._net64
    rows = found._rows
    dense = np.full(rows.shape, np.nan)
    coo = rows.tocoo()
    dense[coo.row, coo.col] = coo.data - found.centre_[coo.col]
    with torch.no_grad():
        want = dense_layer(net)(torch.from_numpy(dense))
    np.testing.assert_allclose(found._hidden(rows), want.numpy(), rtol=1e-8, atol=1e-9)


def test_gradients_are_those_of_the_dense_layer(ratings: Ratings) -> None:
    found = model(plan=plan(precision="float64"))
    found._prepare(ratings)
    torch.manual_seed(0)
    net = found._network(60, 40).double()
    found._start(net, ratings)
    source, _ = found._sources(net, ratings, None, plan(precision="float64"), 0)
    (block,) = source.blocks
    net.squared_error(block).backward()
    layer, rows = (
        dense_layer(net),
        np.repeat(np.arange(block.pattern.shape[0]), block.pattern.offsets.diff()),
    )
    dense = torch.full(block.pattern.shape, float("nan"), dtype=torch.float64)
    columns = block.pattern.columns.long()
    dense[rows, columns] = block.inputs
    answers = layer(dense) @ net.decode.detach().T + net.bias.detach()
    (answers[rows, columns] - block.targets).square().sum().backward()
    pairs = {
        "encode": layer.weight.grad.T,
        "hidden_bias": layer.bias.grad,
        "means": layer.mixture.means.grad.T,
        "variances": layer.mixture.variances.grad.T,
        "logits": layer.mixture.logits.grad,
        "gamma": layer.mixture.gamma.grad,
    }
    for name, want in pairs.items():
        torch.testing.assert_close(net.get_parameter(name).grad, want, msg=name)


@pytest.mark.parametrize("by", SIDES)
def test_it_learns_as_much_as_filling_with_means(by: str) -> None:
    whole = synthetic_ratings(300, 120, 9000, random_state=0)
    train, test = split_ratings(whole, 0.2, random_state=0)
    settings = {"by": by, "hidden": 30, "penalty": 10.0, "random_state": 0}

    def error(recommender: FilledAutoRec) -> float:
        wrong = recommender.fit(train).predict_matrix_at(test) - test.matrix.data
        return float(np.sqrt(np.mean(wrong**2)))

    ours = error(GmmcAutoRec(**settings))
    assert ours < 0.95 * test.matrix.data.std()
    assert ours < error(FilledAutoRec(**settings)) + 0.005


def test_it_is_saved_and_goes_on_from_its_weights(tmp_path: Path, ratings: Ratings) -> None:
    found = model(warm_start=True).fit(ratings)
    nanwise.save(found, tmp_path / "model")
    back = nanwise.load(tmp_path / "model")
    cells = ratings.matrix
    np.testing.assert_array_equal(back.predict_matrix_at(cells), found.predict_matrix_at(cells))
    order = np.random.default_rng(0).permutation(60)
    turned = Ratings(ratings.users[order], ratings.items, cells[order], ratings.scale)
    before = found.net_.means.detach().numpy().copy()
    found.set_params(plan=plan(epochs=1, lr=1e-9)).fit(turned)
    places = [list(found.users_).index(user) for user in ratings.users]
    np.testing.assert_allclose(found.net_.means.detach().numpy()[places], before, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "match"),
    [({"components": 0}, "components"), ({"gamma": -1.0}, "gamma"), ({"by": "row"}, "by")],
)
def test_bad_settings_are_refused(
    settings: dict[str, object], match: str, ratings: Ratings
) -> None:
    with pytest.raises(ValueError, match=match):
        model(**settings).fit(ratings)
