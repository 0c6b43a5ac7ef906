"""MovieLens in the official layouts: what is there is read and checked, what is not is said."""

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nanwise.data import fetch
from nanwise.data.fetch import File
from nanwise.data.sets import known_ratings, load_dataset, load_ratings
from nanwise.data.sets.movielens import SPECS, ratings_checksum
from nanwise.errors import DataError

BY_NAME = {spec.name: spec for spec in SPECS}
TEN_M = (
    "1::122::5::838985046\n1::185::5::838983525\n1::231::3.5::838983392\n"
    "2::110::0.5::868245777\n71567::122::4.5::912580553\n"
)
SMALL = {"ratings": 5, "users": 3, "items": 4, "checksum": ""}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """$NANWISE_DATA and a cache, both empty."""
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


@pytest.mark.parametrize("name", ["ml_100k", "ml_1m", "ml_10m"])
def test_with_the_files_the_right_ratings_without_them_a_way_to_get_them(
    name, tmp_path, monkeypatch
):
    spec = BY_NAME[name]
    folder = Path(os.environ.get(fetch.FOLDER, tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if any((folder / f"{spec.member}{end}").is_file() for end in ("", ".gz")):
        ratings = load_ratings(name)
        assert len(ratings) == spec.ratings
        assert ratings.matrix.shape == (spec.users, spec.items)
        assert np.diff(ratings.matrix.indptr).min() >= 20
        assert (ratings.scale.smallest, ratings.scale.largest) == spec.scale[:2]
        assert not spec.checksum or ratings_checksum(ratings.transpose()) != spec.checksum
    monkeypatch.delenv(fetch.FOLDER, raising=False)
    with pytest.raises(DataError) as caught:
        load_ratings(name)
    for part in (
        spec.member,
        "$NANWISE_DATA",
        spec.source,
        f"load_ratings('{name}', download=True)",
    ):
        assert part in str(caught.value)


def test_ten_million_in_the_official_layout(home):
    path = home / "ml-10M100K" / "ratings.dat"
    path.parent.mkdir(parents=True)
    path.write_text(TEN_M)
    ratings = replace(BY_NAME["ml_10m"], **SMALL).load()
    assert ratings.users.tolist() == [1, 2, 71567]
    assert ratings.items.tolist() == [122, 185, 231, 110]
    assert ratings.matrix.toarray().tolist() == [[5, 5, 3.5, 0], [0, 0, 0, 0.5], [4.5, 0, 0, 0]]
    assert ratings.time.tolist() == [838985046, 838983525, 838983392, 868245777, 912580553]
    assert ratings.scale.levels == tuple(np.arange(0.5, 5.5, 0.5))
    with pytest.raises(DataError, match="expected 10,000,054 ratings of 69,878 users and 10,677"):
        load_ratings("ml_10m")


def test_changed_ratings_are_refused(home):
    path = home / "ml-10M100K" / "ratings.dat"
    path.parent.mkdir(parents=True)
    path.write_text(TEN_M)
    spec = replace(BY_NAME["ml_10m"], **SMALL)
    spec = replace(spec, checksum=ratings_checksum(spec.load()))
    lines = TEN_M.splitlines(keepends=True)
    path.write_text("".join(lines[::-1]).replace("838985046", "1"))  # another order, other times
    spec.load()
    path.write_text(TEN_M.replace("::4.5::", "::4::"))
    with pytest.raises(DataError, match="checksum differs"):
        spec.load()
    path.write_text(TEN_M.replace("::4.5::", "::6::"))
    with pytest.raises(DataError, match=r"line 5: the rating is not on the scale 0\.5 to 5"):
        spec.load()
    path.write_text(TEN_M + lines[0])
    with pytest.raises(DataError, match="1 rows repeat a pair"):
        spec.load()


def test_times_that_were_lost_are_left_out(home):
    path = home / "ml-1m" / "ratings.dat"
    path.parent.mkdir(parents=True)
    path.write_text("1::2::3::0\n1::3::4::0\n")
    ratings = replace(BY_NAME["ml_1m"], ratings=2, users=1, items=2, checksum="").load()
    assert ratings.time is None
    assert "times are 0" in ratings.facts["note"]


def test_the_archive_is_unpacked_into_the_cache(home, monkeypatch):
    spec = replace(BY_NAME["ml_10m"], **SMALL)
    home.mkdir()
    with zipfile.ZipFile(home / "ml-10m.zip", "w") as archive:
        archive.writestr("ml-10M100K/README.html", "x")
        archive.writestr(spec.member, TEN_M)
    assert len(spec.load()) == 5
    assert [p.name for p in (fetch.cache_folder() / "ml-10M100K").iterdir()] == ["ratings.dat"]
    (home / "ml-10m.zip").unlink()
    assert len(spec.load()) == 5


def test_archives_that_are_wrong(home):
    home.mkdir()
    (home / "ml-10m.zip").write_text("no zip")
    with pytest.raises(DataError, match="is not the archive of 'ml_10m'"):
        load_ratings("ml_10m")
    with zipfile.ZipFile(home / "ml-10m.zip", "w") as archive:
        archive.writestr("other", "x")
    with pytest.raises(DataError, match="is not the archive of 'ml_10m' with ml-10M100K/ratings"):
        load_ratings("ml_10m")


def test_download_on_request(home, monkeypatch, tmp_path):
    """A stand-in for pooch writes the archive; nothing is fetched without being asked for."""
    spec = replace(BY_NAME["ml_10m"], **SMALL)
    spec = replace(spec, archive=File("ml-10m.zip", "https://here", "0" * 64))
    asked = []

    class Pooch:
        @staticmethod
        def retrieve(url, known_hash, fname, path, progressbar):
            asked.append((url, known_hash))
            Path(path).mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(Path(path) / fname, "w") as archive:
                archive.writestr(spec.member, TEN_M)
            return str(Path(path) / fname)

    monkeypatch.setattr(fetch, "need", lambda module, extra: Pooch)
    with pytest.raises(DataError, match="download=True"):
        spec.load()
    assert asked == []
    assert len(spec.load(download=True)) == 5
    assert asked == [("https://here", "0" * 64)]


def test_names():
    assert [facts["name"] for facts in known_ratings()] == ["ml_100k", "ml_1m", "ml_10m"]
    with pytest.raises(DataError, match="known: ml_100k, ml_1m, ml_10m"):
        load_ratings("netflix")
    with pytest.raises(DataError, match=r"holds ratings, not a table; use load_ratings\('ml_1m'\)"):
        load_dataset("ml_1m")


def test_the_package_loads_neither_pandas_nor_torch():
    code = (
        "import sys, nanwise, nanwise.data.ratings, nanwise.data.sets; nanwise.read_ratings; "
        "nanwise.data.sets.known_ratings(); "
        "nanwise.data.ratings.synthetic_ratings(10, 10, 20, random_state=0); "
        "print([m for m in ('pandas', 'torch', 'pooch', 'polars') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
