"""Models on the command line: a saved folder, or ``module:attribute``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nanwise.cli.files import output_folder


def model_folder(path: str, inputs: Iterable[Path | None] = ()) -> Path:
    """Where a model may be saved: a new or empty folder, or an older model. Makes the parent."""
    folder = Path(path)
    if not folder.exists():
        output_folder(str(folder.parent))
        return folder
    output_folder(path, inputs)
    from nanwise.saving.folder import other_files

    if others := other_files(folder):
        raise ValueError(
            f"{path} holds other files than a model, {others[0]!r} for one; choose a new folder"
        )
    return folder


def open_saved(path: str) -> Any:
    """Load a model folder; never runs code from it."""
    if not Path(path).exists():
        raise ValueError(f"{path}: no such model folder; nanwise fit and nanwise compare write one")
    from nanwise.saving import load

    return load(path)


def refuse_apart(model: Any, instead: str) -> None:
    """ValueError for a model of pictures or series, where rows of a table are to be predicted."""
    where = type(model).__module__.split(".")
    for world, what in (("image", "pictures"), ("series", "series")):
        if where[0] == "nanwise" and world in where:
            raise ValueError(f"a {type(model).__name__} takes {what}, not a table; {instead}")


def open_model(name: str) -> Any:
    """Load a model folder, or import ``module:attribute`` with the current folder on the path."""
    module, colon, attribute = name.partition(":")
    if Path(name).exists() or not colon:
        return open_saved(name)
    return _attribute(_import(module), attribute, name)


def _import(module: str) -> Any:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"cannot import {module!r}: {error}") from error
    finally:
        sys.path.remove("")


def _attribute(found: Any, path: str, name: str) -> Any:
    for part in path.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{name}: the module has no attribute {path!r}")
        found = getattr(found, part)
    return found
