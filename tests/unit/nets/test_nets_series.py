"""Recurrent networks over series, against plain loops."""

import numpy as np
import pytest
import torch
from torch import nn

from nanwise.nets.series.decay import Decaying, carried
from nanwise.nets.series.recurrent import Recurrent
from nanwise.nn.fill import Zero


def series(n=4, steps=7, width=3, share=0.6, seed=0):
    draw = torch.Generator().manual_seed(seed)
    observed = torch.rand(n, steps, width, generator=draw) > share
    return torch.randn(n, steps, width, generator=draw) * observed, observed


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("decaying", [False, True])
def test_the_state_at_the_true_end_is_that_of_the_sequence_alone(cell, decaying):
    torch.manual_seed(0)
    net = Decaying(np.zeros(3), 5, cell) if decaying else Recurrent(Zero(3), 5, cell)
    values, observed = series()
    lengths = torch.tensor([7, 1, 4, 2])
    together = net(values, observed, lengths)
    for i, length in enumerate(lengths.tolist()):
        alone = net(values[i : i + 1, :length], observed[i : i + 1, :length])
        torch.testing.assert_close(together[i], alone[0], atol=1e-6, rtol=1e-5)


def test_equal_lengths_need_not_be_told():
    net = Recurrent(Zero(3), 5)
    values, observed = series()
    told = net(values, observed, torch.full((4,), 7))
    torch.testing.assert_close(net(values, observed), told, atol=1e-6, rtol=1e-5)


def test_it_is_the_lstm_of_torch_on_zero_filled_steps():
    net = Recurrent(Zero(3), 5)
    values, observed = series()
    lstm = nn.LSTM(3, 5, batch_first=True)
    lstm.load_state_dict(net.rnn.state_dict())
    torch.testing.assert_close(net(values, observed), lstm(values)[1][0][0])


def test_last_values_and_how_long_ago():
    nan = float("nan")
    x = torch.tensor([[[nan], [3.0], [nan], [nan], [5.0], [nan]]])
    last, since = carried(x.nan_to_num(), ~x.isnan(), torch.tensor([9.0]))
    assert last.flatten().tolist() == [9, 3, 3, 3, 5, 5]
    # since the first step, then since the step of the value before
    assert since.flatten().tolist() == [0, 1, 1, 2, 3, 1]


def reference(net, values, observed):
    """The equations of GRU-D, one sequence and one step at a time, in numpy."""
    p = {k: v.detach().double().numpy() for k, v in net.state_dict().items()}
    sigmoid = lambda a: 1 / (1 + np.exp(-a))  # noqa: E731
    units, width = net.units, len(p["centre"])
    out = []
    for x, m in zip(values.double().numpy(), observed.numpy(), strict=True):
        h, c = np.zeros(units), np.zeros(units)
        last, delta = p["centre"].copy(), np.zeros(width)
        for t in range(len(x)):
            if t:
                delta = np.where(m[t - 1], 1.0, delta + 1)
            gamma = np.exp(-np.maximum(0, p["rate"] * delta + p["rate_bias"]))
            fade = np.exp(-np.maximum(0, p["fade.weight"] @ delta + p["fade.bias"]))
            filled = np.where(m[t], x[t], gamma * last + (1 - gamma) * p["centre"])
            last = np.where(m[t], x[t], last)
            h, c = h * fade, c * fade
            push = p["inward.weight"] @ np.concatenate([filled, m[t]]) + p["inward.bias"]
            u = p["across"]
            if net.cell == "gru":
                z = sigmoid(push[:units] + u[:units] @ h)
                r = sigmoid(push[units : 2 * units] + u[units : 2 * units] @ h)
                new = np.tanh(push[2 * units :] + u[2 * units :] @ (r * h))
                h = (1 - z) * h + z * new
            else:
                i, f, o, g = np.split(push + u @ h, 4)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_decay_follows_the_published_equations(cell):
    torch.manual_seed(1)
    net = Decaying([0.3, -0.2, 0.0], 4, cell).double()
    with torch.no_grad():  # rates that differ, some of them below 0
        for parameter in (net.rate, net.rate_bias, net.fade.weight, net.fade.bias):
            parameter.normal_(std=0.5)
    values, observed = series(n=5, steps=9)
    found = net(values.double(), observed).detach().numpy()
    np.testing.assert_allclose(found, reference(net, values, observed), atol=1e-6)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_every_weight_of_decay_learns_from_the_start(cell):
    torch.manual_seed(0)
    net = Decaying(np.zeros(3), 4, cell)
    net(*series()).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad.abs().sum() > 0, name
