"""Simulated tables: those whose best possible prediction is known, and a screening cohort."""

from nanwise.data.simulate.cohort import (
    DISEASES,
    EXAMINATIONS,
    Cohort,
    cohort_blocks,
    screening_cohort,
)
from nanwise.data.simulate.linear_gaussian import MECHANISMS, Simulation, linear_gaussian
from nanwise.data.simulate.targets import TARGETS, Target

__all__ = [
    "DISEASES",
    "EXAMINATIONS",
    "MECHANISMS",
    "TARGETS",
    "Cohort",
    "Simulation",
    "Target",
    "cohort_blocks",
    "linear_gaussian",
    "screening_cohort",
]
