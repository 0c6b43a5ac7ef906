"""scikit-learn objects in the codec: the attributes of known classes, as plain values.

They come back through ``cls.__new__`` and attribute setting; no constructor and no ``__setstate__``
runs. The one exception are the losses of gradient boosting, whose inner part is compiled: these few
classes are constructed, with at most one number.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from nanwise.errors import ModelFileError
from nanwise.saving.objects import fill, find_class

if TYPE_CHECKING:
    from nanwise.saving.codec import Reader, Writer

#: attributes of these are stable within one minor version
PUBLIC = {
    "SimpleImputer": "sklearn.impute:SimpleImputer",
    "KNNImputer": "sklearn.impute:KNNImputer",
    "MissingIndicator": "sklearn.impute:MissingIndicator",
    "StandardScaler": "sklearn.preprocessing:StandardScaler",
    "MinMaxScaler": "sklearn.preprocessing:MinMaxScaler",
    "RobustScaler": "sklearn.preprocessing:RobustScaler",
    "MaxAbsScaler": "sklearn.preprocessing:MaxAbsScaler",
    "QuantileTransformer": "sklearn.preprocessing:QuantileTransformer",
    "OrdinalEncoder": "sklearn.preprocessing:OrdinalEncoder",
    "OneHotEncoder": "sklearn.preprocessing:OneHotEncoder",
    "FunctionTransformer": "sklearn.preprocessing:FunctionTransformer",
    "LabelEncoder": "sklearn.preprocessing:LabelEncoder",
    "LabelBinarizer": "sklearn.preprocessing:LabelBinarizer",
    "LogisticRegression": "sklearn.linear_model:LogisticRegression",
    "LinearRegression": "sklearn.linear_model:LinearRegression",
    "Ridge": "sklearn.linear_model:Ridge",
    "RidgeClassifier": "sklearn.linear_model:RidgeClassifier",
    "BayesianRidge": "sklearn.linear_model:BayesianRidge",
    "Pipeline": "sklearn.pipeline:Pipeline",
    "FeatureUnion": "sklearn.pipeline:FeatureUnion",
    "ColumnTransformer": "sklearn.compose:ColumnTransformer",
    "DummyClassifier": "sklearn.dummy:DummyClassifier",
    "DummyRegressor": "sklearn.dummy:DummyRegressor",
}
_BOOSTING = "sklearn.ensemble._hist_gradient_boosting"
#: these consist of scikit-learn's private parts: only the very same version may read them
PRIVATE = {
    "IterativeImputer": "sklearn.impute._iterative:IterativeImputer",
    "HistGradientBoostingClassifier": "sklearn.ensemble:HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor": "sklearn.ensemble:HistGradientBoostingRegressor",
    "TreePredictor": f"{_BOOSTING}.predictor:TreePredictor",
    "_BinMapper": f"{_BOOSTING}.binning:_BinMapper",
}
LOSSES = {
    name: f"sklearn._loss.loss:{name}"
    for name in (
        "HalfSquaredError",
        "AbsoluteError",
        "PinballLoss",
        "HalfPoissonLoss",
        "HalfGammaLoss",
        "HalfBinomialLoss",
        "HalfMultinomialLoss",
    )
}
_CHECK_KEYWORDS = {"dtype", "ensure_all_finite"}
_TRIPLET = "sklearn.impute._iterative:_ImputerTriplet"


def write(writer: Writer, value: Any, path: tuple[str, ...]) -> Any:
    """Node of a known scikit-learn object; None for anything else."""
    cls = type(value)
    if cls is functools.partial:
        return _write_check(writer, value, path)
    if not cls.__module__.startswith("sklearn."):
        return None
    if _is_known(cls, PUBLIC | PRIVATE):
        import sklearn

        _refuse_cache(vars(value))

        node = {"$sklearn": cls.__name__, "version": sklearn.__version__}
        return node | {"state": writer.write(dict(vars(value)), path)}
    if _is_known(cls, LOSSES):
        return {"$sklearn_loss": cls.__name__, **_loss_argument(value)}
    if cls.__name__ == "_ImputerTriplet" and cls is find_class(_TRIPLET):
        return {"$sklearn_triplet": writer.write(list(value), path)}
    return None


def _is_known(cls: type, table: dict[str, str]) -> bool:
    return cls.__name__ in table and find_class(table[cls.__name__]) is cls


def _loss_argument(loss: Any) -> dict[str, Any]:
    name = type(loss).__name__
    if name == "HalfMultinomialLoss":
        return {"n_classes": int(loss.n_classes)}
    return {"quantile": float(loss.closs.quantile)} if name == "PinballLoss" else {}


def _read_estimator(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    name = plain["$sklearn"]
    place = (PUBLIC | PRIVATE).get(name) if isinstance(name, str) else None
    if place is None:
        raise ModelFileError(
            f"the model file asks for the scikit-learn class {name!r}, not allowed"
        )
    _check_version(name, plain["version"])
    cls: Any = find_class(place)
    state = reader.read(plain["state"], depth)
    _refuse_cache(state)
    return fill(cls.__new__(cls), state)


def _refuse_cache(state: dict[str, Any]) -> None:
    """A pipeline's cache folder holds pickles: a model file must not lead to one."""
    if state.get("memory") is not None:
        raise TypeError("a Pipeline with memory= cannot be saved or loaded; set memory=None")


def _check_version(name: str, written: Any) -> None:
    import sklearn

    here = sklearn.__version__
    same = here == written
    if name in PUBLIC and isinstance(written, str):
        same = here.split(".")[:2] == written.split(".")[:2]
    if not same:
        raise ModelFileError(
            f"the model holds a {name} of scikit-learn {written}, but {here} is installed; its "
            f"parts differ between versions. Install scikit-learn {written}, or fit it again."
        )


def _read_loss(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    name = plain["$sklearn_loss"]
    if not isinstance(name, str) or name not in LOSSES:
        raise ModelFileError(f"the model file asks for the loss {name!r}, which is not known")
    arguments: dict[str, Any] = {}
    if "n_classes" in plain:
        arguments["n_classes"] = int(plain["n_classes"])
    if "quantile" in plain:
        arguments["quantile"] = float(plain["quantile"])
    cls: Any = find_class(LOSSES[name])
    return cls(**arguments)


def _write_check(writer: Writer, value: Any, path: tuple[str, ...]) -> Any:
    """The one function in a boosting model: it checks the columns that are not categories."""
    from sklearn.utils.validation import check_array

    if value.func is not check_array or value.args or set(value.keywords) != _CHECK_KEYWORDS:
        return None
    return {"$sklearn_check": writer.write(value.keywords, path)}


def _read_check(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    from sklearn.utils.validation import check_array

    keywords = reader.read(plain["$sklearn_check"], depth)
    if not isinstance(keywords, dict) or set(keywords) != _CHECK_KEYWORDS:
        raise ModelFileError("the model file holds a check with unknown arguments")
    return functools.partial(check_array, **keywords)


def _read_triplet(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    cls: Any = find_class(_TRIPLET)
    return cls(*reader.read(plain["$sklearn_triplet"], depth))


READERS = {
    "$sklearn": _read_estimator,
    "$sklearn_loss": _read_loss,
    "$sklearn_triplet": _read_triplet,
    "$sklearn_check": _read_check,
}
