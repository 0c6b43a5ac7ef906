"""The rule for what ``gaps=`` may be for pictures."""

from __future__ import annotations

import difflib
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from nanwise import registry
from nanwise.estimators.image.treatment import ImageTreatment

#: the treatment around an imputer
FILLED = "image/filled"


def resolve(gaps: Any, random_state: int | None = None) -> ImageTreatment:
    """A fresh, unfitted treatment: from a name, a treatment or an imputer of pictures.

    ``random_state`` seeds whatever has no seed of its own.
    """
    if isinstance(gaps, ImageTreatment):
        # not sklearn's clone: a density that was fitted before stays fitted
        found = type(gaps)(**gaps.get_params(deep=False))
    elif isinstance(gaps, str):
        found = _named(gaps)
    elif hasattr(gaps, "fit") and hasattr(gaps, "transform") and not isinstance(gaps, type):
        found = registry.find(FILLED).make(imputer=gaps)
    else:
        raise TypeError(
            "gaps must be the name of a treatment or imputer of pictures, an ImageTreatment or an "
            f"imputer of pictures, got {_called(gaps)}"
        )
    if found.get_params(deep=False).get("random_state", 0) is None:
        found.set_params(random_state=random_state)
    return found


def choices() -> list[str]:
    """Every name that ``gaps=`` takes."""
    kinds = ("treatment", "imputer")
    return sorted(m.name for kind in kinds for m in registry.known(kind, inputs="image"))


def ready(imputer: Any, X: Any, random_state: int | None) -> Any:
    """A fitted imputer of pictures: the one given if it is fitted, else a clone fitted on ``X``.

    Parameters
    ----------
    imputer : str or imputer
        A name or an object.
    X : ndarray, shape (N, C, H, W)
        Pictures to learn from.
    random_state : int or None
        For an imputer without a seed of its own.
    """
    if isinstance(imputer, str):
        imputer = registry.find(imputer, "imputer", "image").make()
    if _is_fitted(imputer):
        return imputer
    fresh = clone(imputer)
    if fresh.get_params(deep=False).get("random_state", 0) is None:
        fresh.set_params(random_state=random_state)
    return fresh.fit(X)


def _named(name: str) -> ImageTreatment:
    for entry in registry.known("treatment", inputs="image"):
        if entry.name == name:
            return entry.make()
    if name in choices():
        return registry.find(FILLED).make(imputer=name)
    near = difflib.get_close_matches(name, choices(), n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {choices()}"
    raise ValueError(f"no treatment of pictures is called {name!r}; {hint}")


def _called(gaps: Any) -> str:
    """What was given, for an error; a class is often one whose brackets were forgotten."""
    return f"the class {gaps.__name__}" if isinstance(gaps, type) else type(gaps).__name__


def _is_fitted(imputer: Any) -> bool:
    try:
        check_is_fitted(imputer)
    except NotFittedError:
        return False
    return True
