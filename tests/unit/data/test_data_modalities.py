"""Sets of several modalities: small files of the official layouts, real ones where there are."""

from __future__ import annotations

import gzip
import os
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from nanwise.data import fetch
from nanwise.data.sets import find_modalities, known_modalities, load_modalities
from nanwise.data.sets.modalities import pair_up
from nanwise.data.sets.pictures import PAIRS, read_idx, read_svhn
from nanwise.errors import DataError


def write_idx(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    content = head + values.astype(np.uint8).tobytes()
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wb") as file:
        file.write(content)


def write_mnist(folder, digits, seed=0):
    """Pictures whose first pixel is the digit; training and test files alike."""
    pictures = np.random.default_rng(seed).integers(0, 256, (len(digits), 28, 28))
    pictures[:, 0, 0] = digits
    for part in ("train", "t10k"):
        write_idx(folder / f"mnist/{part}-images-idx3-ubyte.gz", pictures)
        write_idx(folder / f"mnist/{part}-labels-idx1-ubyte.gz", np.asarray(digits))
    return pictures


def write_svhn(folder, digits):
    (folder / "svhn").mkdir()
    pictures = np.zeros((32, 32, 3, len(digits)), np.uint8)
    pictures[0, 0, 0] = digits
    names = np.where(np.asarray(digits) == 0, 10, digits).reshape(-1, 1)
    for part in ("train", "test"):
        savemat(folder / f"svhn/{part}_32x32.mat", {"X": pictures, "y": names})


def load_small(name, rows):
    """A set whose files are smaller than the official ones."""
    return replace(find_modalities(name), rows=(rows, rows)).load()


def test_idx_files(tmp_path):
    values = np.arange(24).reshape(2, 3, 4)
    for name in ("a.gz", "a"):
        write_idx(tmp_path / name, values)
        np.testing.assert_array_equal(read_idx(tmp_path / name), values)
    (tmp_path / "cut").write_bytes((tmp_path / "a").read_bytes()[:-1])
    with pytest.raises(DataError, match="got 23; the file is cut off"):
        read_idx(tmp_path / "cut")
    (tmp_path / "other").write_bytes(b"PK\3\4 and so on")
    with pytest.raises(DataError, match="not an idx file of bytes"):
        read_idx(tmp_path / "other")


def test_pairs_use_every_value_once():
    digits = np.array([0, 9, 9, 4, 5, 0, 9, 1])
    first, second = pair_up(digits, digits, PAIRS)
    assert first.tolist() == [0, 5, 3]
    assert second.tolist() == [1, 2, 4]


def test_pairs_of_digits(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    pictures = write_mnist(tmp_path, [0, 9, 1, 8, 8, 2, 3, 6, 7, 5, 4])
    found = load_small("mnist_pairs", 5)
    digits = [(found.train[name][:, 0] * 255).round().astype(int) for name in ("first", "second")]
    assert sorted(zip(*digits, strict=True)) == sorted(PAIRS)
    np.testing.assert_allclose(found.test["first"][0], pictures[0].ravel() / 255, rtol=1e-6)
    assert found.shapes == {"first": (28, 28), "second": (28, 28)}


def test_pictures_with_labels(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    write_mnist(tmp_path, [3, 1, 4])
    found = load_small("mnist_label", 3)
    assert found.train["label"].tolist() == [3, 1, 4]
    assert found.train["image"].shape == (3, 784)


def test_digits_with_house_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    write_mnist(tmp_path, [0, 1, 1, 2])
    write_svhn(tmp_path, [2, 0, 1, 5])
    pictures, digits = read_svhn(tmp_path / "svhn/train_32x32.mat")
    assert pictures.shape == (4, 32, 32, 3)
    assert digits.tolist() == [2, 0, 1, 5]
    found = load_small("mnist_svhn", 3)
    for name in ("mnist", "svhn"):
        assert (found.train[name][:, 0] * 255).round().tolist() == [0, 1, 2]
    savemat(tmp_path / "svhn/train_32x32.mat", {"images": [1]})
    with pytest.raises(DataError, match="expected the arrays X and y"):
        load_small("mnist_svhn", 3)


def write_mosi(folder, label="1"):
    for name, width in {"text": 100, "audio": 73, "video": 100}.items():
        (folder / f"mosi/{name}").mkdir(parents=True)
        for part in ("train", "test"):
            line = ",".join([f'"{k}.5"' for k in range(width)] + [f'"{label}"'])
            (folder / f"mosi/{name}/{name}_{part}0.csv").write_text(f"{line}\n{line}\n")


def test_features_of_utterances(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    write_mosi(tmp_path)
    found = load_small("mosi", 2)
    assert {name: values.shape for name, values in found.test.items()} == {
        "text": (2, 100),
        "audio": (2, 73),
        "video": (2, 100),
    }
    np.testing.assert_array_equal(found.train["audio"][1], np.arange(73) + 0.5)


def test_files_that_are_not_those_of_the_set(tmp_path, monkeypatch):
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    write_mosi(tmp_path, label="7")
    with pytest.raises(DataError, match="a label 0 or 1"):
        load_small("mosi", 2)
    (tmp_path / "mosi/text/text_train0.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="not a table of numbers"):
        load_small("mosi", 2)
    write_mnist(tmp_path, [1, 2])
    with pytest.raises(DataError, match=r"expected training values of image of shape \(60000, 784"):
        load_modalities("mnist_label")


@pytest.mark.parametrize("name", [facts["name"] for facts in known_modalities()])
def test_sets_where_their_files_are(name, tmp_path, monkeypatch):
    """With the files: the right rows. Without: a message that says where to get them."""
    spec = find_modalities(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = Path(os.environ.get(fetch.FOLDER, tmp_path))
    if all((folder / file.path).is_file() for file in spec.files):
        found = load_modalities(name)
        assert len(next(iter(found.train.values()))) == spec.rows[0]
        assert found.about["citation"] == spec.citation
    monkeypatch.delenv(fetch.FOLDER, raising=False)
    with pytest.raises(DataError, match=spec.files[0].path):
        load_modalities(name)


def test_as_many_pairs_as_published():
    assert find_modalities("mnist_pairs").rows == (23257 + 5814, 4832)
    assert find_modalities("mnist_svhn").rows == (44854 + 11214, 10000)


def test_unknown_name():
    with pytest.raises(DataError, match="known: mnist_pairs"):
        load_modalities("mnist")
