"""Models that fit their checksums and yet were made by someone else."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nanwise import NanClassifier, Plan, TableModel
from nanwise.data.encode import Encoder
from nanwise.data.schema import Schema
from nanwise.errors import ModelFileError
from nanwise.saving import decode, encode, load, save


def text_array(dtype: str, *items: str) -> dict[str, Any]:
    return {"$strings": list(items), "dtype": dtype, "shape": [len(items)]}


ATTACKS = [
    text_array("<U100000000", "a"),
    text_array("<U300000", *["a"] * 1000),
    {"$scalar": 10**40, "dtype": "<i8"},
    {"$scalar": 10**400, "dtype": "<f8"},
    {
        "$generator": "Generator",
        "state": {"bit_generator": "PCG64", "state": {"state": 10**60, "inc": -1}},
    },
    {"$object": "TableModel", "state": {"params": {}, "learnt": {"predict": 1}}},
    {"$object": "TableModel", "state": {"params": {}, "learnt": {"__class__": 1}}},
    {"$object": "TableModel", "state": {"params": {}, "learnt": {"classes_": 5}}},
    {"$object": "TableModel", "state": {"params": {}, "learnt": {"estimator_": 5}}},
    {"$object": "TableModel", "state": []},
    {"$object": "NanClassifier", "state": {"params": {}, "learnt": {"fit": 1}, "weights": {}}},
    {"$object": "Scaler", "state": {"kind": "standard", "n_quantiles": 9, "transform": 1}},
    {"$object": "Encoder", "state": {"schema": 5, "onehot": True}},
]


@pytest.mark.parametrize("node", ATTACKS, ids=lambda node: json.dumps(node)[:50])
def test_what_nanwise_would_not_write_is_refused(node: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError):
        decode({"a": [node]}, {})


def test_padded_texts_that_people_have_come_back() -> None:
    array = np.array(["yes", "no"], dtype="<U256")
    assert decode(*encode(array)).dtype == array.dtype
    with pytest.raises(TypeError, match="padding"):
        encode({"x": np.array(["a"], dtype="<U100000")})


def test_a_name_that_occurs_twice(tmp_path: Path) -> None:
    save({"x": 1}, tmp_path / "model")
    meta = tmp_path / "model" / "meta.json"
    meta.write_text(meta.read_text().replace('"tree":', '"tree": 5, "tree":'))
    with pytest.raises(ModelFileError, match="twice"):
        load(tmp_path / "model")


def test_what_is_no_ordinary_file(tmp_path: Path) -> None:
    save({"x": 1}, tmp_path / "model")
    arrays = tmp_path / "model" / "arrays.safetensors"
    arrays.unlink()
    os.mkfifo(arrays)  # opening it would wait for ever
    with pytest.raises(ModelFileError, match="no arrays"):
        load(tmp_path / "model")
    arrays.unlink()
    arrays.symlink_to("/dev/zero")
    with pytest.raises(ModelFileError, match="no arrays"):
        load(tmp_path / "model")


def test_the_layout_of_an_encoder_follows_from_its_schema() -> None:
    frame = pd.DataFrame({"a": ["x", "y", None], "b": [1.0, None, 3.0]})
    encoder = Encoder(Schema.infer(frame)).fit(frame)
    plain, arrays = encode(encoder)
    assert set(plain["state"]) == {"schema", "onehot"}
    back = decode(plain, arrays)
    np.testing.assert_array_equal(back.transform(frame), encoder.transform(frame))
    assert (back.groups_, back.feature_names_) == (encoder.groups_, encoder.feature_names_)


def _save_often(path: str, value: int) -> None:
    for _ in range(30):
        save({"x": np.full(2000, value)}, path)


def test_writers_at_the_same_time_leave_one_whole_model(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save({"x": np.full(2000, 0)}, path)
    workers = [
        multiprocessing.get_context("fork").Process(target=_save_often, args=(str(path), k))
        for k in (1, 2)
    ]
    for worker in workers:
        worker.start()
    seen = [np.unique(load(path)["x"]) for _ in range(30)]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert all(len(values) == 1 for values in seen)
    assert load(path)["x"][0] in (1, 2)
    assert os.listdir(tmp_path) == ["model"]


def test_a_model_of_a_table_comes_back(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "y", None] * 10, "b": np.arange(30.0)})
    made = TableModel("linear").fit(frame, ["no", "yes"] * 15)
    save(made, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict_proba(frame), made.predict_proba(frame)
    )


def test_a_folder_that_holds_more_than_a_model_stays(tmp_path: Path) -> None:
    model = NanClassifier(hidden=(2,), plan=Plan(epochs=1), random_state=0)
    model.fit(np.arange(8.0)[:, None], np.arange(8) % 2)
    save(model, tmp_path / "model")
    save(model, tmp_path / "model")  # a model takes the place of a model
    (tmp_path / "model" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"more than a model, 'notes.txt'"):
        save(model, tmp_path / "model")
    assert (tmp_path / "model" / "notes.txt").read_text() == "mine"
