"""The contract of layers, over every layer of the package."""

import torch
from torch.nn import functional as F

from nanwise import nn as nw
from nanwise.testing.layers import LayerCase, LayerContract

D = LayerCase.width
TRIANGLE = torch.ones(4, D).tril(-1)  # the first output has no connection


def identity(layer):
    return lambda x: x


def linear(layer):
    return lambda x: F.linear(x, layer.weight, layer.bias)


def fitted(layer):
    """K of complete rows, so that a complete row is not scaled."""
    return layer.fit(torch.zeros(3, D))


class TestLayers(LayerContract):
    cases = (
        LayerCase("norm_number", lambda: nw.SparsityNorm(K=D), identity, rows=True),
        LayerCase("norm_mean", lambda: fitted(nw.SparsityNorm()), identity, rows=True),
        LayerCase("norm_half", lambda: fitted(nw.SparsityNorm(power=0.5)), identity, rows=True),
        LayerCase(
            "norm_learnt",
            lambda: fitted(nw.SparsityNorm(power=0.7, learn_power=True, n_features=D)),
            identity,
            rows=True,
        ),
        LayerCase("sn_linear", lambda: fitted(nw.SNLinear(D, 3)), linear, rows=True),
        LayerCase("sn_linear_bare", lambda: nw.SNLinear(D, 3, K=D, bias=False), linear, rows=True),
        LayerCase("sn_dropout", lambda: nw.SNDropout(0.3), identity, nan_is_gap=False),
        LayerCase(
            "masked",
            lambda: nw.Masked(D, 4, TRIANGLE),
            lambda layer: lambda x: F.linear(x, layer.weight * TRIANGLE, layer.bias),
        ),
        LayerCase("masked_normal", lambda: nw.Masked(D, 4, TRIANGLE, normalize=True)),
        LayerCase("zero", lambda: nw.Zero(D), identity, rows=True),
        LayerCase("rate", lambda: nw.Rate(0.4, D), lambda _: lambda x: x / 0.4, rows=True),
        LayerCase("constant", lambda: nw.Constant(torch.arange(D)), identity),
        LayerCase(
            "missing",
            lambda: nw.Indicator("missing", D),
            lambda _: lambda x: torch.cat([x, torch.zeros_like(x)], -1),
        ),
        LayerCase(
            "observed",
            lambda: nw.Indicator("observed", D),
            lambda _: lambda x: torch.cat([x, torch.ones_like(x)], -1),
        ),
        LayerCase("plain", lambda: nw.Plain(D), identity, minds_gaps=False),
    )
