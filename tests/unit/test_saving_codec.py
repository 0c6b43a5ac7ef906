from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

from nanwise.errors import ModelFileError
from nanwise.saving import ALLOWED, decode, encode, load, save
from nanwise.saving.objects import find_class
from nanwise.saving.sklearn_state import LOSSES, PRIVATE, PUBLIC
from nanwise.train import Plan


def round_trip(tree: Any) -> Any:
    plain, arrays = encode(tree)
    return decode(json.loads(json.dumps(plain, allow_nan=False)), arrays)


def same(a: Any, b: Any) -> bool:
    """Equal in value, type, dtype and shape, with NaN equal to itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(map(same, a.ravel(), b.ravel()))
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(*keys) and same(a[keys[0]], b[keys[1]]) for keys in zip(a, b, strict=True)
        )
    if isinstance(a, (float, np.floating)):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    return a == b


# -- round trips ---------------------------------------------------------------------------------

numbers = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(sizes=(16, 32, 64)),
    hnp.complex_number_dtypes(sizes=(64, 128)),
    hnp.datetime64_dtypes(max_period="D"),
    hnp.unicode_string_dtypes(max_len=4),
    hnp.byte_string_dtypes(max_len=4),
)
arrays = numbers.flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, min_side=0)))
text = st.text(max_size=8)
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), text, arrays, arrays.map(lambda a: a.T)
)
keys = st.one_of(text, st.integers(), st.booleans(), st.none(), st.tuples(text, st.integers()))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(trees)
def test_any_tree_comes_back(tree: Any) -> None:
    assert same(tree, round_trip(tree))


@settings(deadline=None, max_examples=40)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=3)))
def test_the_memory_layout_is_kept(array: np.ndarray) -> None:
    for layout in (array, np.asfortranarray(array)):
        back = round_trip(layout)
        assert back.flags.f_contiguous == layout.flags.f_contiguous
        assert back.flags.c_contiguous == layout.flags.c_contiguous
        assert back.flags.writeable


@pytest.mark.parametrize(
    "value",
    [
        np.float32(0.1),
        np.float64("nan"),
        np.int8(-3),
        np.uint64(2**63),
        np.bool_(True),
        np.str_("a"),
        np.datetime64("2020-02-03"),
        np.complex128(1 + 2j),
        np.dtype("float32"),
        np.dtype(object),
        np.float32,
        slice(1, None, 2),
        np.array(["a", None, 1.5, math.nan, (1, "b")], dtype=object)[:4],
        np.array([["x", "yz"]]),
        {"$float": 1, "$object": "os:system"},
        {"__class__": "os"},
        {1: "a", "1": "b"},
    ],
    ids=repr,
)
def test_single_values(value: Any) -> None:
    assert same(value, round_trip(value))


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "bfloat16", "float16", "int64", "bool", "uint8", "complex64"],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)])
def test_tensors_stay_tensors(dtype: str, shape: tuple[int, ...]) -> None:
    tensor = (torch.randn(shape) * 3).to(getattr(torch, dtype))
    for value in (tensor, tensor.t() if tensor.ndim == 2 else tensor):
        assert same(value, round_trip(value))


def test_generators_go_on_where_they_were() -> None:
    for make in (np.random.RandomState, np.random.default_rng):
        generator = make(3)
        generator.normal(size=7)
        back = round_trip(generator)
        assert type(back) is type(generator)
        assert np.array_equal(back.normal(size=5), generator.normal(size=5))


def test_a_plan_comes_back_without_its_folder() -> None:
    back = round_trip(Plan(lr=0.5, schedule="cosine", checkpoint=Path("somewhere")))
    assert back.get_params() == Plan(lr=0.5, schedule="cosine").get_params()


class Foreign:
    pass


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        ({"a": [0, Foreign()]}, r"a\.1 is a .*Foreign"),
        ({"f": print}, "f is a builtins.builtin"),
        (make_pipeline(SVC()), r"steps\.0\.1 is a sklearn.svm"),
        (FunctionTransformer(np.log1p), "func is a numpy.ufunc"),
        ({"t": torch.eye(2).to_sparse()}, "t is a sparse"),
        (make_pipeline(SimpleImputer(), memory="cache"), "memory"),
        ({1, 2}, "the object is a builtins.set"),
        (Plan, "is a builtins.type|is a abc"),
    ],
    ids=["object", "function", "estimator", "ufunc", "sparse", "cache", "set", "class"],
)
def test_what_cannot_be_saved_is_named(tree: Any, place: str) -> None:
    with pytest.raises(TypeError, match=place):
        encode(tree)


def test_a_cycle_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TypeError, match="cycle"):
        encode(loop)


# -- scikit-learn --------------------------------------------------------------------------------


def table(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    x[:, 3] = rng.integers(0, 4, n)
    y = np.array(["no", "maybe", "yes"])[np.digitize(x[:, 0] + x[:, 1], [-0.5, 0.5])]
    x[rng.random(x.shape) < 0.2] = np.nan
    return x, y


TRANSFORMERS = [
    SimpleImputer(add_indicator=True),
    SimpleImputer(strategy="most_frequent"),
    KNNImputer(n_neighbors=3),
    IterativeImputer(random_state=0, max_iter=3, tol=1.0),
    IterativeImputer(random_state=0, max_iter=2, tol=1.0, sample_posterior=True),
    MissingIndicator(),
    StandardScaler(),
    MinMaxScaler(),
    RobustScaler(),
    MaxAbsScaler(),
    QuantileTransformer(n_quantiles=20),
    make_union(SimpleImputer(), MissingIndicator()),
    ColumnTransformer([("a", SimpleImputer(), [0, 2]), ("b", "passthrough", slice(3, 4))]),
    make_pipeline(SimpleImputer(), StandardScaler()),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: repr(t)[:60])
def test_fitted_transformers_answer_bit_for_bit(transformer: Any) -> None:
    x, y = table()
    back = round_trip(transformer.fit(x, y))
    assert back is not transformer
    assert back.transform(x).tobytes() == transformer.transform(x).tobytes()
    assert back.get_params().keys() == transformer.get_params().keys()


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(SimpleImputer(), LogisticRegression(max_iter=500)),
        make_pipeline(SimpleImputer(), RidgeClassifier()),
        HistGradientBoostingClassifier(max_iter=5),
        HistGradientBoostingClassifier(max_iter=5, categorical_features=[3], early_stopping=True),
    ],
    ids=lambda m: repr(m)[:70],
)
def test_fitted_classifiers_answer_bit_for_bit(model: Any) -> None:
    x, y = table()
    for target in (y, y == "yes"):
        back = round_trip(model.fit(x, target))
        name = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        assert getattr(back, name)(x).tobytes() == getattr(model, name)(x).tobytes()
        assert np.array_equal(back.predict(x), model.predict(x))


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "poisson", "gamma", "quantile"]
)
def test_fitted_boosting_regressors_answer_bit_for_bit(loss: str) -> None:
    x, _ = table()
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.3, max_iter=5)
    model.fit(x, np.exp(np.nan_to_num(x[:, 0])))
    assert round_trip(model).predict(x).tobytes() == model.predict(x).tobytes()


def test_a_ridge_by_itself() -> None:
    x, _ = table()
    x = np.nan_to_num(x)
    model = Ridge().fit(x, x[:, :2])
    assert round_trip(model).predict(x).tobytes() == model.predict(x).tobytes()


@pytest.mark.parametrize(
    ("model", "version", "accepted"),
    [
        (SimpleImputer(), "same.99", True),
        (SimpleImputer(), "0.24.1", False),
        (HistGradientBoostingRegressor(max_iter=2), "same.99", False),
    ],
)
def test_other_versions_of_scikit_learn(model: Any, version: str, accepted: bool) -> None:
    import sklearn

    x, _ = table(50)
    plain, stored = encode(model.fit(x, np.nan_to_num(x[:, 0])))
    plain["version"] = version.replace("same", ".".join(sklearn.__version__.split(".")[:2]))
    if accepted:
        decode(plain, stored)
    else:
        with pytest.raises(ModelFileError, match=r"Install scikit-learn"):
            decode(plain, stored)


def test_every_entry_of_the_tables_exists() -> None:
    for name, place in (ALLOWED | PUBLIC | PRIVATE | LOSSES).items():
        assert find_class(place).__name__ == name


# -- folders -------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save({"weights": np.arange(6.0).reshape(2, 3), "plan": Plan(lr=0.5)}, tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder: Path, seal: bool = True, **changes: Any) -> None:
    """Change ``meta.json``; with ``seal`` as an attacker would, checksum included."""
    meta = json.loads((folder / "meta.json").read_text()) | changes
    if seal and "tree" in changes:
        text = json.dumps(changes["tree"], separators=(",", ":")).encode()
        meta["sha256"]["tree"] = hashlib.sha256(text).hexdigest()
    (folder / "meta.json").write_text(json.dumps(meta))


def test_save_and_load(model: Path) -> None:
    back = load(model)
    assert back["weights"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert back["plan"].lr == 0.5
    assert sorted(p.name for p in model.iterdir()) == ["arrays.safetensors", "meta.json"]
    assert [p.name for p in model.parent.iterdir()] == ["model"]
    meta = json.loads((model / "meta.json").read_text())
    assert meta["format_version"] == 1
    assert {"python", "numpy", "torch", "scikit-learn", "nanwise"} == set(meta["versions"])


def test_a_model_is_replaced_and_nothing_else_is(model: Path) -> None:
    save([1, 2], model)
    assert load(model) == [1, 2]
    assert [p.name for p in model.parent.iterdir()] == ["model"]
    other = model.parent / "letters"
    other.mkdir()
    (other / "dear.txt").write_text("aunt")
    with pytest.raises(FileExistsError, match="not a saved model"):
        save([1], other)
    with pytest.raises(FileExistsError, match="not a saved model"):
        save([1], other / "dear.txt")
    assert (other / "dear.txt").read_text() == "aunt"


def test_replacing_works_where_folders_cannot_be_swapped(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanwise.saving.folder._exchange", lambda one, other: False)
    save([3], model)
    assert load(model) == [3]
    assert [p.name for p in model.parent.iterdir()] == ["model"]


def test_a_failed_save_leaves_the_old_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError):
        save([Foreign()], model)

    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("nanwise.saving.folder.write_file", full)
    with pytest.raises(OSError, match="no space"):
        save([1], model)
    assert load(model)["plan"].lr == 0.5
    assert [p.name for p in model.parent.iterdir()] == ["model"]


def test_an_empty_folder_may_become_a_model(tmp_path: Path) -> None:
    save([1], tmp_path)
    assert load(tmp_path) == [1]


def test_what_is_not_a_model(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ModelFileError, match="does not exist"):
        load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="is a file"):
        load(model / "meta.json")
    with pytest.raises(ModelFileError, match=r"no meta\.json"):
        load(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", '{"a": 1}', "NaN", '{"format": "nanwise model"}', "\x00\xff", "[" * 100_000],
    ids=["empty", "cut", "list", "foreign", "nan", "incomplete", "binary", "nested"],
)
def test_foreign_json(content: str, model: Path) -> None:
    (model / "meta.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelFileError, match=r"meta\.json"):
        load(model)


@pytest.mark.parametrize("version", [2, 0, "1", None, True])
def test_other_format_versions(version: Any, model: Path) -> None:
    rewrite(model, format_version=version)
    with pytest.raises(ModelFileError, match="newer nanwise" if version == 2 else "impossible"):
        load(model)


def test_changed_files_are_noticed(model: Path) -> None:
    rewrite(model, seal=False, tree=[1])
    with pytest.raises(ModelFileError, match="checksum of its tree"):
        load(model)


@pytest.mark.parametrize("cut", [1, 40, 100])
def test_cut_arrays(cut: int, model: Path) -> None:
    file = model / "arrays.safetensors"
    content = file.read_bytes()[:-cut]
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="checksum of its arrays"):
        load(model)
    meta = json.loads((model / "meta.json").read_text())
    rewrite(model, sha256=meta["sha256"] | {"arrays": hashlib.sha256(content).hexdigest()})
    with pytest.raises(ModelFileError, match="damaged"):
        load(model)


def test_a_missing_file(model: Path) -> None:
    (model / "arrays.safetensors").unlink()
    with pytest.raises(ModelFileError, match=r"no arrays\.safetensors"):
        load(model)


# -- attacks: everything below is correctly sealed -----------------------------------------------


def deep(levels: int) -> Any:
    tree: Any = 1
    for _ in range(levels):
        tree = {"$tuple": [tree]}
    return tree


def sklearn_node(name: Any, state: Any) -> dict[str, Any]:
    import sklearn

    return {"$sklearn": name, "version": sklearn.__version__, "state": state}


ARRAY = {"$array": "0:weights", "dtype": "<f8", "shape": [2, 3], "order": "C"}
ATTACKS = {
    "os": {"$object": "os:system", "state": {"command": "touch owned"}},
    "path": {"$object": "nanwise.train.plan:Plan", "state": {}},
    "unhashable": {"$object": ["Plan"], "state": {}},
    "builtin": sklearn_node("eval", {}),
    "svc": sklearn_node("SVC", {}),
    "loss": {"$sklearn_loss": "os.system"},
    "loss argument": {"$sklearn_loss": "HalfMultinomialLoss", "n_classes": "touch owned"},
    "method": {"$method": "os.system", "state": {}},
    "unknown kind": {"$reduce": ["os.system", "touch owned"]},
    "dunder": sklearn_node("SimpleImputer", {"__class__": "Pipeline"}),
    "dict": sklearn_node("SimpleImputer", {"__dict__": {}}),
    "not a name": sklearn_node("SimpleImputer", {"a b": 1}),
    "not a state": sklearn_node("SimpleImputer", [1]),
    "cache": sklearn_node("Pipeline", {"steps": [], "memory": "somewhere"}),
    "extra argument": {"$object": "Plan", "state": {"shell": "touch owned"}},
    "state of a plan": {"$object": "Plan", "state": 3},
    "missing array": ARRAY | {"$array": "../../etc/passwd"},
    "array name": ARRAY | {"$array": ["0:weights"]},
    "shape": ARRAY | {"shape": [3, 2]},
    "huge shape": ARRAY | {"shape": [10**12, 10**12]},
    "negative shape": ARRAY | {"shape": [-1, -6]},
    "text shape": ARRAY | {"shape": "23"},
    "dtype": ARRAY | {"dtype": "<i8"},
    "objects": ARRAY | {"dtype": "|O"},
    "structured objects": ARRAY
    | {"dtype": {"names": ["a"], "formats": ["O"], "offsets": [0], "itemsize": 8}},
    "dtype text": ARRAY | {"dtype": "f8,O"},
    "no dtype": {"$array": "0:weights"},
    "tensor": {"$tensor": "0:weights", "dtype": "load", "shape": [2, 3]},
    "tensor shape": {"$tensor": "0:weights", "dtype": "float64", "shape": [6]},
    "text": {"$strings": [1, 2], "dtype": "<U1", "shape": [2]},
    "long text": {"$strings": ["a"], "dtype": "<U1000000000000", "shape": [1]},
    "items": {"$objects": [1, 2], "shape": [3]},
    "scalar": {"$scalar": "touch owned", "dtype": "<f8"},
    "generator": {"$generator": "RandomState", "state": {"bit_generator": "system"}},
    "float": {"$float": "1e5"},
    "pairs": {"$dict": [[[], 1]]},
    "deep": deep(400),
    "number": {"$tuple": 3},
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_attacks_end_in_one_clear_error(
    attack: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("code from the file was run")

    monkeypatch.setattr(os, "system", never)
    rewrite(model, tree={"innocent": [attack]})
    with pytest.raises(ModelFileError):
        load(model)
