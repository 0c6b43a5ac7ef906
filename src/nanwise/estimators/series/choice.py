"""The rule for what ``gaps=`` may be for series."""

from __future__ import annotations

from typing import Any

from nanwise import registry
from nanwise.estimators.series.treatment import SeriesTreatment


def resolve(gaps: Any) -> SeriesTreatment:
    """A fresh, unfitted treatment: from a name or a treatment of series."""
    if isinstance(gaps, str):
        return registry.find(gaps, "treatment", "series").make()
    if isinstance(gaps, SeriesTreatment):
        return type(gaps)(**gaps.get_params(deep=False))
    given = f"the class {gaps.__name__}" if isinstance(gaps, type) else type(gaps).__name__
    raise TypeError(
        f"gaps must be the name of a treatment of series or a SeriesTreatment, got {given}"
    )
