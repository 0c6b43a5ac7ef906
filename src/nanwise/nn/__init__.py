"""Layers for data with gaps; their functions are in :mod:`nanwise.nn.functional`.

Loads torch and numpy only.
"""

from nanwise.nn import functional
from nanwise.nn.fill import Constant, Indicator, Plain, Rate, Zero
from nanwise.nn.gaussian_input import GaussianInput, GaussianRBF
from nanwise.nn.input_mixture import InputMixture
from nanwise.nn.masked import Masked
from nanwise.nn.misconv import MisConv2d
from nanwise.nn.neumiss import NeuMiss
from nanwise.nn.neumiss_block import NeuMissBlock
from nanwise.nn.partial_conv import PartialConv2d
from nanwise.nn.sn_conv import SNConv2d
from nanwise.nn.sn_dropout import SNDropout
from nanwise.nn.sn_linear import SNLinear
from nanwise.nn.sparse import Affine, Rows, rows_linear
from nanwise.nn.sparsity_norm import SparsityNorm

__all__ = [
    "Affine",
    "Constant",
    "GaussianInput",
    "GaussianRBF",
    "Indicator",
    "InputMixture",
    "Masked",
    "MisConv2d",
    "NeuMiss",
    "NeuMissBlock",
    "PartialConv2d",
    "Plain",
    "Rate",
    "Rows",
    "SNConv2d",
    "SNDropout",
    "SNLinear",
    "SparsityNorm",
    "Zero",
    "functional",
    "rows_linear",
]
