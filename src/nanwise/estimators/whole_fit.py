"""What a fit that fails leaves behind: the estimator as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Decorator of ``fit``: what is learnt stays together.

    Whatever ends a fit early, bad data or the user, takes back all that was set on the estimator:
    it answers as it did before, or is still unfitted. ``fit`` must bind what it learns to names
    anew and write into nothing that an earlier fit has learnt.
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:  # a user who interrupts wants the old model back, too
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, whole)
