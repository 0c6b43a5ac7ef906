from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from nanwise.bench.case import Case, Record, digest, plain, versions

CASE = Case("d", "zero", {"hidden": (8, 8), "plan": {"lr": 0.1}}, {"folds": 5}, 2, 7)


def test_key_ignores_order_and_container_of_parameters():
    other = replace(CASE, params={"plan": {"lr": 0.1}, "hidden": [8, 8]})
    assert other.key == CASE.key
    assert hash(other) == hash(CASE)


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "e"},
        {"method": "mean"},
        {"params": {}},
        {"protocol": {"folds": 4}},
        {"fold": 3},
        {"seed": 8},
        {"hide": {"mechanism": "mcar", "share": 0.2}},
    ],
)
def test_key_depends_on_every_field(change):
    assert replace(CASE, **change).key != CASE.key


def test_key_depends_on_the_package_version(monkeypatch):
    before = CASE.key
    monkeypatch.setattr("nanwise.bench.case.__version__", "99")
    assert CASE.key != before


def test_key_is_the_same_in_another_process():
    text = (
        "from nanwise.bench.case import Case\n"
        "print(Case('d', 'zero', {'plan': {'lr': 0.1}, 'hidden': [8, 8]}, {'folds': 5}, 2, 7).key)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == CASE.key


def test_plain_unpacks_numpy_and_drops_what_is_not_finite():
    tree = {"a": np.float32(0.5), "b": [np.nan, np.inf, np.int64(3)], 1: np.array([True])}
    assert plain(tree) == {"a": 0.5, "b": [None, None, 3], "1": [True]}


def test_plain_refuses_objects():
    with pytest.raises(TypeError, match=r"plain values.*object"):
        digest({"x": object()})


def test_record_round_trip():
    record = Record(plain(CASE.__dict__), CASE.key, {"auroc": 0.5}, 1.0, 2.0, versions=versions())
    assert Record.from_dict(record.to_dict()) == record
    assert (record.method, record.fold, record.failed, record.reason) == ("zero", 2, False, "")


def test_reason_is_one_line():
    record = Record({}, "k", error={"type": "ValueError", "text": "first\nsecond"})
    assert record.reason == "ValueError: first"


def test_versions_name_what_was_computed_with():
    assert {"python", "nanwise", "torch", "numpy", "scikit-learn"} <= set(versions())
