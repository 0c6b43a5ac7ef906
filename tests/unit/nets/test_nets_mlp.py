from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from nanwise.nets import MLP
from nanwise.nets.mlp import ACTIVATIONS
from nanwise.nn.sparse import Rows


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_one_member_is_the_plain_network(activation: str) -> None:
    net = MLP(5, (7, 6), 2, activation=activation)
    x = torch.randn(9, 5)
    act = ACTIVATIONS[activation]()
    (w1, b1), (w2, b2), (w3, b3) = (
        (m.weight, m.bias) for m in net.modules() if isinstance(m, nn.Linear)
    )
    expected = act(act(x @ w1.T + b1) @ w2.T + b2) @ w3.T + b3
    torch.testing.assert_close(net(x), expected)


@pytest.mark.parametrize("hidden", [(), (8,), (8, 4)])
@pytest.mark.parametrize("members", [1, 3])
def test_shapes(hidden: tuple[int, ...], members: int) -> None:
    out = MLP(5, hidden, 2, members=members)(torch.randn(9, 5))
    assert out.shape == ((9, 2) if members == 1 else (3, 9, 2))


def test_no_hidden_layer_is_linear() -> None:
    net = MLP(4, (), 2, dropout=0.5)
    a, b = torch.randn(2, 3, 4).unbind()
    torch.testing.assert_close(net(a) + net(b), net(a + b) + net(torch.zeros(3, 4)))


def test_members_are_independent_networks() -> None:
    net = MLP(5, (7,), 2, members=3)
    x = torch.randn(9, 5)
    first, last = net.layers[0], net.layers[2]
    for m in range(3):
        alone = (x @ first.weight[m] + first.bias[m]).relu() @ last.weight[m] + last.bias[m]
        torch.testing.assert_close(net(x)[m], alone)
    net(x)[1].sum().backward()
    for layer in (first, last):
        assert layer.weight.grad[[0, 2]].abs().max() == 0 < layer.weight.grad[1].abs().max()
    assert not torch.equal(first.weight[0], first.weight[1])


def test_members_start_as_one_member_does() -> None:
    torch.manual_seed(0)
    for parameters in zip(
        MLP(50, (400,), 1).parameters(),
        MLP(50, (400,), 1, members=20).parameters(),
        strict=True,
    ):
        one, many = (p.detach().abs().max().item() for p in parameters)
        assert one <= (bound := 1 / math.sqrt(50)) or one <= 1 / math.sqrt(400)
        assert many <= bound
    many_first = next(MLP(50, (400,), 1, members=20).parameters())
    assert many_first.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)


@pytest.mark.parametrize("members", [1, 3])
def test_sparse_rows_give_the_dense_answer_and_gradient(members: int) -> None:
    matrix = sp.random(9, 6, density=0.4, format="csr", random_state=0)
    dense = torch.tensor(matrix.toarray(), dtype=torch.float32)
    rows = Rows.from_scipy(matrix, dtype=torch.float32)
    net = MLP(6, (5,), 2, members=members)
    gradients = []
    for x in (dense, rows):
        net.zero_grad()
        out = net(x)
        out.square().sum().backward()
        gradients.append([out, *(p.grad.clone() for p in net.parameters())])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_the_norm_stands_after_the_first_affine_layer_only() -> None:
    norm = nn.BatchNorm1d(8)
    net = MLP(5, (8, 8), 2, norm=norm)
    assert [type(m) for m in net.layers].index(nn.BatchNorm1d) == 1
    assert sum(m is norm for m in net.modules()) == 1


def test_dropout_acts_in_training_only() -> None:
    net = MLP(5, (64,), 2, dropout=0.5)
    x = torch.randn(3, 5)
    assert not torch.equal(net(x), net(x))
    net.eval()
    assert torch.equal(net(x), net(x))


@pytest.mark.parametrize("members", [1, 3])
def test_sn_dropout_keeps_the_size_of_every_row_of_every_member(members: int) -> None:
    net = MLP(1, (40,), 1, dropout=0.8, dropout_kind="sn", members=members)
    first, last = net.layers[0], net.layers[-1]
    with torch.no_grad():
        for layer in (first, last):
            layer.weight.fill_(0.0)
        first.bias.fill_(1.0)  # every hidden unit is 1 before dropout,
        last.weight.fill_(1.0)  # and the output is the sum of what is left
        last.bias.fill_(0.0)
    out = net(torch.zeros(200, 1))
    torch.testing.assert_close(out, torch.full_like(out, 40.0))
    plain = MLP(1, (40,), 1, dropout=0.8, members=members)
    plain.load_state_dict(net.state_dict())
    assert plain(torch.zeros(200, 1)).std() > 4  # of 40 units 8 are left, give or take 2.5
    net.eval()
    torch.testing.assert_close(net(torch.zeros(3, 1)), torch.full_like(out[..., :3, :], 40.0))


def test_float64_copy_and_state_dict() -> None:
    for members in (1, 2):
        net = MLP(5, (4,), 2, members=members)
        other = MLP(5, (4,), 2, members=members).double()
        other.load_state_dict(net.state_dict())
        x = torch.randn(3, 5)
        np.testing.assert_allclose(
            net(x).detach().numpy(), other(x.double()).detach().numpy(), atol=1e-6
        )


@pytest.mark.parametrize(
    "arguments",
    [
        {"activation": "sine"},
        {"hidden": (0,)},
        {"dropout": 1.0},
        {"dropout": -0.1},
        {"dropout_kind": "inverted"},
        {"members": 0},
        {"n_out": 0},
        {"n_in": -1},
    ],
)
def test_bad_arguments_are_named(arguments: dict) -> None:
    (name, _), *_ = arguments.items()
    with pytest.raises(ValueError, match=name):
        MLP(**{"n_in": 3, "hidden": (4,), "n_out": 2} | arguments)
