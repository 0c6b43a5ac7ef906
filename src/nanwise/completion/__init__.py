"""What gaps may hold, given what is observed.

Loads numpy only; torch comes with :class:`MFA`, when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nanwise.completion.table import Completion, TableCompletion

if TYPE_CHECKING:
    from nanwise.completion.mfa import MFA

__all__ = ["MFA", "Completion", "TableCompletion"]


def __getattr__(name: str) -> Any:
    if name == "MFA":
        from nanwise.completion.mfa import MFA

        return MFA
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
