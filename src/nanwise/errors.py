"""The package's own errors and warnings; each one is also a built-in kind callers already catch."""

from __future__ import annotations

import importlib
from types import ModuleType


class DataError(ValueError):
    """The user's data or file cannot be used; the message says where and what to do."""


class ModelFileError(ValueError):
    """A saved model cannot be read, is incomplete, or was changed after it was written."""


class TrainingError(RuntimeError):
    """Training cannot go on, for example because the loss is no longer a number."""


class MissingExtra(ImportError):
    """An optional dependency is not installed; the message names the extra."""


class GapWarning(UserWarning):
    """Something about the gaps that the user should know, but that does not stop the work."""


def need(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra of nanwise brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        # what is installed may itself lack something, or not fit what else is
        absent = isinstance(error, ModuleNotFoundError) and error.name == module.split(".")[0]
        state = "is not installed" if absent else f"cannot be imported ({error})"
        raise MissingExtra(
            f"{module} {state}; it comes with: pip install 'nanwise[{extra}]'"
        ) from error
