"""How MisConv computes: boxes around holes, moments of windows, one operator of torch."""

from nanwise.nn.holes.function import misconv2d

__all__ = ["misconv2d"]
