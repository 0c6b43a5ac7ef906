"""Whole networks; torch only."""

from nanwise.nets.mlp import MLP

__all__ = ["MLP"]
