"""Named data sets: content, provenance, and what is said when a file is not there."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from nanwise.data import fetch
from nanwise.data.fetch import File, locate
from nanwise.data.schema import Schema
from nanwise.data.sets import _specs, known_datasets, load_dataset
from nanwise.data.sets.base import content_checksum
from nanwise.errors import DataError

ALWAYS = [facts["name"] for facts in known_datasets() if facts["origin"] != "file"]
FILES = [facts["name"] for facts in known_datasets() if facts["origin"] == "file"]


@pytest.mark.parametrize("name", ALWAYS)
def test_sets_that_are_always_there(name):
    found = load_dataset(name)
    facts = next(f for f in known_datasets() if f["name"] == name)
    assert found.X.shape == (facts["rows"], facts["columns"])
    assert found.y.name == found.target == facts["target"]
    assert found.target not in found.X
    assert found.X.isna().to_numpy().mean() == pytest.approx(found.about["missing_share"])
    assert all(found.about[key] for key in ("source", "licence", "citation", "about"))


@pytest.mark.parametrize("name", FILES)
def test_sets_in_files(name, tmp_path, monkeypatch):
    """With the files: the right table. Without: a message that says where to get them."""
    spec = _specs()[name]
    folder = Path(os.environ.get(fetch.FOLDER, tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if all((folder / file.path).is_file() for file in spec.files):
        found = load_dataset(name)
        assert found.X.shape == (spec.rows, spec.columns)
        assert found.y.notna().all()
        assert Schema.infer(found.X).names == list(found.X.columns)
    monkeypatch.delenv(fetch.FOLDER, raising=False)
    with pytest.raises(DataError) as caught:
        load_dataset(name)
    for part in (spec.files[0].path, "$NANWISE_DATA", spec.source):
        assert part in str(caught.value)
    assert ("download=True" in str(caught.value)) == bool(spec.files[0].url)


def test_the_bundled_sets_have_their_real_gaps():
    pima = load_dataset("pima")
    gaps = pima.X.isna().sum()
    assert gaps[gaps > 0].to_dict() == {
        "glucose": 5,
        "pressure": 35,
        "triceps": 227,
        "insulin": 374,
        "mass": 11,
    }
    assert pima.y.value_counts().to_dict() == {"neg": 500, "pos": 268}
    hepatitis = load_dataset("hepatitis")
    assert hepatitis.X.isna().sum().sum() == 167
    assert hepatitis.y.value_counts().to_dict() == {"live": 123, "die": 32}


def test_sets_of_scikit_learn_are_unchanged():
    breast, own = load_dataset("breast"), load_breast_cancer()
    np.testing.assert_array_equal(breast.X.to_numpy(), own.data)
    assert (breast.y.to_numpy() == own.target_names[own.target]).all()
    np.testing.assert_array_equal(
        load_dataset("diabetes").X.to_numpy(), load_diabetes(scaled=False).data
    )


def test_table_8_of_the_paper():
    """Rows, attributes and missing rates that SN Table 8 prints."""
    published = {
        "breast": (569, 30, 0),
        "spam": (4601, 57, 0),
        "credit": (30000, 23, 0),
        "crashes20": (540, 20, 0),
        "heart": (270, 13, 0),
        "gmmc_bands": (539, 19, 5.38),
        "gmmc_hepatitis": (155, 19, 5.67),
        "gmmc_horse": (368, 22, 23.8),
        "gmmc_mammographics": (961, 5, 3.37),
        "gmmc_pima": (768, 8, 12.2),
    }
    facts = {f["name"]: f for f in known_datasets()}
    for name, (rows, columns, missing) in published.items():
        assert (facts[name]["rows"], facts[name]["columns"]) == (rows, columns)
        assert 100 * facts[name]["missing_share"] == pytest.approx(missing, abs=0.05)


def test_unknown_name():
    with pytest.raises(DataError, match="did you mean pima"):
        load_dataset("pimma")
    with pytest.raises(DataError, match="known: pima"):
        load_dataset("zzzzzz")


def write_heart(folder, rows=270, first=70.0):
    path = folder / "uci/statlog_heart/heart.dat"
    path.parent.mkdir(parents=True)
    path.write_text(
        "\n".join(f"{first if i == 0 else 60} " + "1.0 " * 12 + "2" for i in range(rows))
    )


def test_other_versions_of_a_file_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    write_heart(tmp_path, rows=100)
    with pytest.raises(DataError, match="expected 270 rows, 13 features and 0 gaps, got 100"):
        load_dataset("heart")


def test_changed_values_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    write_heart(tmp_path)
    with pytest.raises(DataError, match="checksum differs"):
        load_dataset("heart")


def test_files_of_another_width_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    path = tmp_path / "uci/spambase/spambase.data"
    path.parent.mkdir(parents=True)
    path.write_text("1,2,3\n")
    with pytest.raises(DataError, match="expected 58 columns, got 3"):
        load_dataset("spam")


def test_content_checksum_ignores_order_of_rows_and_number_dtype():
    frame = load_dataset("pima").frame
    shuffled = frame.sample(frac=1, random_state=0)
    assert content_checksum(shuffled) == content_checksum(frame)
    assert content_checksum(frame.astype({"age": float})) == content_checksum(frame)
    changed = frame.copy()
    changed.loc[0, "age"] += 1
    assert content_checksum(changed) != content_checksum(frame)


def test_header_may_be_there_or_not(tmp_path):
    from nanwise.data.sets.text import read_rows

    rows = "1,2\n3,?\n"
    (tmp_path / "a").write_text(rows)
    (tmp_path / "b").write_text("p,q\n" + rows)
    (tmp_path / "c").write_text("other,words\n" + rows)
    frames = [read_rows(tmp_path / name, ["p", "q"]) for name in "abc"]
    assert all(frame.equals(frames[0]) for frame in frames)
    assert frames[0].isna().to_numpy().sum() == 1


def test_download_only_on_request_and_verified(tmp_path, monkeypatch):
    """A file:// address stands in for the official home."""
    home = tmp_path / "home.csv"
    home.write_text("a,b\n1,2\n")
    sha = hashlib.sha256(home.read_bytes()).hexdigest()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(fetch.FOLDER, raising=False)
    fetched = []

    class Pooch:
        @staticmethod
        def retrieve(url, known_hash, fname, path, progressbar):
            fetched.append(url)
            if known_hash not in (None, sha):
                raise ValueError("hash of downloaded file does not match")
            Path(path).mkdir(parents=True)
            (Path(path) / fname).write_bytes(home.read_bytes())
            return str(Path(path) / fname)

    monkeypatch.setattr(fetch, "need", lambda module, extra: Pooch)
    good, bad = (
        File("x/home.csv", "https://here", sha),
        File("x/home.csv", "https://here", "0" * 64),
    )
    with pytest.raises(DataError, match="download=True"):
        locate(good, "x", "somewhere")
    assert fetched == []
    with pytest.raises(DataError, match="does not match"):
        locate(bad, "x", "somewhere", download=True)
    path = locate(good, "x", "somewhere", download=True)
    assert path.read_text() == home.read_text()
    assert locate(good, "x", "somewhere") == path
    assert len(fetched) == 2


def test_bundled_files_are_small_and_their_sources_are_recorded():
    folder = Path(fetch.__file__).parent / "sets" / "files"
    sources = (folder / "SOURCES.md").read_text()
    for path in folder.glob("*.csv"):
        assert f"`{path.name}`" in sources
        assert path.stat().st_size < 100_000
