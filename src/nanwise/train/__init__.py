"""Training: the settings (:class:`Plan`) and the one loop (:func:`train`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nanwise.train.plan import Plan

if TYPE_CHECKING:
    from nanwise.train.loop import History, Source, Trainable, train

__all__ = ["History", "Plan", "Source", "Trainable", "train"]


def __getattr__(name: str) -> Any:
    """Load the loop, and with it torch, when it is asked for: a Plan alone needs neither."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nanwise.train import loop

    return getattr(loop, name)
