"""The contract of layers, for NeuMiss and its block."""

from nanwise import nn as nw
from nanwise.testing.layers import LayerCase, LayerContract

D = LayerCase.width


def linear(layer):
    return lambda x: x @ layer.coef.T + layer.intercept


class TestNeuMiss(LayerContract):
    cases = (
        LayerCase("depth_0", lambda: nw.NeuMiss(D, 0), linear),
        LayerCase("depth_1", lambda: nw.NeuMiss(D, 1, n_outputs=2), linear),
        LayerCase("published", lambda: nw.NeuMiss(D, 3), linear),
        LayerCase("residual", lambda: nw.NeuMiss(D, 3, n_outputs=2, residual=True), linear),
        LayerCase("block_0", lambda: nw.NeuMissBlock(D, 0), lambda layer: lambda x: x - layer.mean),
        LayerCase("block", lambda: nw.NeuMissBlock(D, 4)),
    )
