"""Objects in the codec: which classes there are, and how they give and take their state."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.errors import ModelFileError

if TYPE_CHECKING:
    from nanwise.saving.codec import Reader, Writer

#: name in the file -> "module:Class". Nothing outside this table, the registry and the table of
#: scikit-learn classes is ever made from a file. Strings: a class is imported when it is met.
ALLOWED: dict[str, str] = {
    "Plan": "nanwise.train.plan:Plan",
    "NanClassifier": "nanwise.estimators.supervised:NanClassifier",
    "NanRegressor": "nanwise.estimators.supervised:NanRegressor",
    "NanImageClassifier": "nanwise.estimators.image.classifier:NanImageClassifier",
    "NanSeriesClassifier": "nanwise.estimators.series.supervised:NanSeriesClassifier",
    "NanSeriesRegressor": "nanwise.estimators.series.supervised:NanSeriesRegressor",
    "NeuMissClassifier": "nanwise.estimators.neumiss:NeuMissClassifier",
    "NeuMissRegressor": "nanwise.estimators.neumiss:NeuMissRegressor",
    "EMRegressor": "nanwise.estimators.gaussian:EMRegressor",
    "GaussianImputer": "nanwise.estimators.gaussian:GaussianImputer",
    "AutoImpute": "nanwise.estimators.cells.autoimpute:AutoImpute",
    "CellPrep": "nanwise.data.cells.prepare:CellPrep",
    "TableModel": "nanwise.estimators.table_model:TableModel",
    "TableImputer": "nanwise.estimators.table_imputer:TableImputer",
    "Scaler": "nanwise.estimators.scale:Scaler",
    "FillImputer": "nanwise.estimators.impute.by_treatment:FillImputer",
    "Features": "nanwise.estimators.impute.features:Features",
    "Layout": "nanwise.data.attributes:Layout",
    "Wrapped": "nanwise.estimators.wrapped:Wrapped",
    "Column": "nanwise.data.schema:Column",
    "Schema": "nanwise.data.schema:Schema",
    "Encoder": "nanwise.data.encode:Encoder",
    "EmptyColumnsToZero": "nanwise.methods.table.hist_gradient_boosting:EmptyColumnsToZero",
}


#: how a value that was not written by nanwise shows itself, whichever part of the codec meets it
BROKEN = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    OverflowError,
    MemoryError,
    RecursionError,
)


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
    """Set attributes; names that mean something to Python or to the class are refused."""
    refuse_names(type(target), state)
    vars(target).update(state)
    return target


def refuse_names(cls: type, state: Any) -> None:
    """ModelFileError for a name that is not data: no identifier, Python's own, or a method."""
    for name in state:
        data = isinstance(name, str) and name.isidentifier() and not name.startswith("__")
        if not data or callable(getattr(cls, name, None)):
            raise ModelFileError(f"the model file sets the attribute {name!r}, which is not data")


def _get_state(value: Any) -> dict[str, Any]:
    own = getattr(value, "__nanwise_state__", None)
    if own is not None:
        return own()
    learnt = {k: v for k, v in vars(value).items() if k.endswith("_") and not k.startswith("__")}
    return {"params": value.get_params(deep=False), "learnt": learnt}


def _set_state(cls: Any, state: Any) -> Any:
    own = getattr(cls, "__from_nanwise_state__", None)
    try:
        refuse_names(cls, state)
        refuse_names(cls, state.get("learnt", ()))
        made = fill(cls(**state["params"]), state["learnt"]) if own is None else own(state)
    except ModelFileError:
        raise
    except (*BROKEN, RuntimeError) as error:
        raise ModelFileError(
            f"the model file holds a {cls.__name__} that cannot be brought back: {error}"
        ) from error
    _refuse_misfits(made)
    return made


def _refuse_misfits(made: Any) -> None:
    """What every model is asked for; else a changed file would end in an odd error much later."""
    learnt, name = vars(made), type(made).__name__
    classes = learnt.get("classes_", np.empty(0))
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        raise ModelFileError(f"the model file holds a {name} whose classes are not a list of them")
    if "estimator_" in learnt and not hasattr(learnt["estimator_"], "predict"):
        kind = type(learnt["estimator_"]).__name__
        raise ModelFileError(f"the model file holds a {name} around a {kind}, which cannot predict")


def _registry() -> Any:
    # by name, like the classes above: the registry and this file are both leaves of the package
    return importlib.import_module("nanwise.registry")


def _registered_name(cls: type) -> str | None:
    return next((m.key for m in _registry().everything() if m.make is cls), None)


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
    made = next((m.make for m in _registry().everything() if m.key == name), None)
    if not isinstance(made, type):
        raise ModelFileError(
            f"the model file asks for the method {name!r}, which is not registered here; "
            "install the package that brings it"
        )
    return _set_state(made, reader.read(plain["state"], depth))


READERS = {"$object": _read_object, "$method": _read_method}
