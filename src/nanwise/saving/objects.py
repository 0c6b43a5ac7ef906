"""Objects in the codec: which classes there are, and how they give and take their state."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from nanwise.errors import ModelFileError

if TYPE_CHECKING:
    from nanwise.saving.codec import Reader, Writer

#: name in the file -> "module:Class". Nothing outside this table, the registry and the table of
#: scikit-learn classes is ever made from a file. Strings: a class is imported when it is met.
ALLOWED: dict[str, str] = {
    "Plan": "nanwise.train.plan:Plan",
    "NanClassifier": "nanwise.estimators.supervised:NanClassifier",
    "NanRegressor": "nanwise.estimators.supervised:NanRegressor",
    "TableModel": "nanwise.estimators.table_model:TableModel",
    "Scaler": "nanwise.estimators.scale:Scaler",
    "Wrapped": "nanwise.estimators.wrapped:Wrapped",
    "Column": "nanwise.data.schema:Column",
    "Schema": "nanwise.data.schema:Schema",
    "Encoder": "nanwise.data.encode:Encoder",
    "EmptyColumnsToZero": "nanwise.methods.table.hist_gradient_boosting:EmptyColumnsToZero",
}


def write(writer: Writer, value: Any, path: tuple[str, ...]) -> Any:
    """Node of an object of a known class or of a registered method; None for anything else."""
    if isinstance(value, type):
        return None
    name = type(value).__name__
    if name in ALLOWED and find_class(ALLOWED[name]) is type(value):
        return {"$object": name, "state": writer.write(_get_state(value), path)}
    method = _registered_name(type(value))
    if method is not None:
        return {"$method": method, "state": writer.write(_get_state(value), path)}
    return None


def find_class(place: str) -> type:
    """The class at "module:Class"."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def class_name(value: Any) -> str:
    """Name under which a saved object is described in its folder."""
    return type(value).__name__


def fill(target: Any, state: dict[str, Any]) -> Any:
    """Set attributes; names that mean something to Python itself are refused."""
    for name in state:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            raise ModelFileError(f"the model file sets the attribute {name!r}, which is not data")
    vars(target).update(state)
    return target


def _get_state(value: Any) -> dict[str, Any]:
    own = getattr(value, "__nanwise_state__", None)
    if own is not None:
        return own()
    learnt = {k: v for k, v in vars(value).items() if k.endswith("_") and not k.startswith("__")}
    return {"params": value.get_params(deep=False), "learnt": learnt}


def _set_state(cls: Any, state: Any) -> Any:
    own = getattr(cls, "__from_nanwise_state__", None)
    try:
        if own is not None:
            return own(state)
        return fill(cls(**state["params"]), state["learnt"])
    except ModelFileError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, RuntimeError) as error:
        raise ModelFileError(
            f"the model file holds a {cls.__name__} that cannot be brought back: {error}"
        ) from error


def _registry() -> Any:
    # by name, like the classes above: the registry and this file are both leaves of the package
    return importlib.import_module("nanwise.registry")


def _registered_name(cls: type) -> str | None:
    return next((m.name for m in _registry().known() if m.make is cls), None)


def _read_object(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    name = plain["$object"]
    if not isinstance(name, str) or name not in ALLOWED:
        raise ModelFileError(
            f"the model file asks for the class {name!r}, which is not among those that nanwise "
            "brings back from a file"
        )
    return _set_state(find_class(ALLOWED[name]), reader.read(plain["state"], depth))


def _read_method(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    name = plain["$method"]
    made = next((m.make for m in _registry().known() if m.name == name), None)
    if not isinstance(made, type):
        raise ModelFileError(
            f"the model file asks for the method {name!r}, which is not registered here; "
            "install the package that brings it"
        )
    return _set_state(made, reader.read(plain["state"], depth))


READERS = {"$object": _read_object, "$method": _read_method}
