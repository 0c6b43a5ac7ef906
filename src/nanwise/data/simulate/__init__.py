"""Simulated tables whose best possible prediction is known."""

from nanwise.data.simulate.linear_gaussian import MECHANISMS, Simulation, linear_gaussian
from nanwise.data.simulate.targets import TARGETS, Target

__all__ = ["MECHANISMS", "TARGETS", "Simulation", "Target", "linear_gaussian"]
