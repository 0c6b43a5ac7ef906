from __future__ import annotations

import json

import pytest

from nanwise.bench.case import Case, Record, plain
from nanwise.bench.store import FILE, Store
from nanwise.errors import DataError


def record_of(fold: int, error: dict | None = None, **scores: float) -> Record:
    case = Case("d", "zero", fold=fold)
    return Record(plain(case.__dict__), case.key, scores, error=error)


def test_records_are_on_disk_at_once_and_found_again(tmp_path):
    store = Store(tmp_path / "new" / "folder")
    store.add(record_of(0, auroc=0.5))
    again = Store(tmp_path / "new" / "folder")
    assert again.get(Case("d", "zero", fold=0)).scores == {"auroc": 0.5}
    assert again.missing([Case("d", "zero", fold=f) for f in (0, 1)]) == [Case("d", "zero", fold=1)]


def test_a_failed_cell_is_kept_but_run_again(tmp_path):
    store = Store(tmp_path)
    store.add(record_of(0, {"type": "E", "text": "t"}))
    case = Case("d", "zero")
    assert store.get(case).failed
    assert not store.has(case)
    store.add(record_of(0, auroc=0.7))
    assert Store(tmp_path).get(case).scores == {"auroc": 0.7}


def test_other_data_and_settings_do_not_mix(tmp_path):
    store = Store(tmp_path)
    store.add(record_of(0, auroc=0.5))
    assert not store.has(Case("another table", "zero"))
    assert not store.has(Case("d", "zero", {"plan": {"lr": 0.1}}))


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_last_line_is_counted_and_the_next_record_is_whole(tmp_path, cut):
    store = Store(tmp_path)
    store.add(record_of(0, auroc=0.5))
    store.add(record_of(1, auroc=0.6))
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[: -1 - cut])

    torn = Store(tmp_path)
    assert (len(torn), torn.torn) == (1, 1)
    torn.add(record_of(2, auroc=0.7))
    again = Store(tmp_path)
    assert {r.fold for r in again} == {0, 2}
    assert again.torn == 1


def test_a_line_cut_inside_a_character_is_torn_too(tmp_path):
    Store(tmp_path).add(record_of(0))
    with (tmp_path / FILE).open("ab") as file:
        file.write('{"key": "é'.encode()[:-1])
    assert Store(tmp_path).torn == 1


def test_a_whole_last_line_without_its_line_break_is_kept(tmp_path):
    Store(tmp_path).add(record_of(0))
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-1])
    store = Store(tmp_path)
    store.add(record_of(1))
    assert (len(Store(tmp_path)), Store(tmp_path).torn) == (2, 0)


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / FILE).write_text(json.dumps({"something": "else"}) + "\n")
    with pytest.raises(DataError, match=r"line 1.*not a record"):
        Store(tmp_path)


def test_without_a_folder_records_stay_in_memory():
    store = Store()
    store.add(record_of(0))
    assert store.has(Case("d", "zero"))
