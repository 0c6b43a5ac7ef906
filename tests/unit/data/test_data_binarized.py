"""Binarized MNIST from small files of its layout."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from nanwise.data import fetch
from nanwise.data.sets import binarized
from nanwise.data.sets.binarized import load_binarized_mnist
from nanwise.errors import DataError

PIXELS = (np.random.default_rng(0).random((7, 784)) < 0.13).astype(np.uint8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for the files, which are said to have 7 rows each."""
    monkeypatch.setenv(fetch.FOLDER, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small = {split: (word, 7) for split, (word, _) in binarized._SPLITS.items()}
    monkeypatch.setattr(binarized, "_SPLITS", small)
    (tmp_path / "binarized_mnist").mkdir()
    return tmp_path / "binarized_mnist"


@pytest.mark.parametrize(
    ("split", "word"), [("train", "train"), ("validation", "valid"), ("test", "test")]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_every_split_is_read(folder, split, word, dtype):
    savemat(folder / f"binarized_mnist_{word}.mat", {"X": PIXELS.astype(dtype)})
    found = load_binarized_mnist(split)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, PIXELS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"Y": PIXELS}, "array of numbers called X"),
        ({"X": "seven"}, "array of numbers called X"),
        ({"X": PIXELS[:5]}, r"shape \(7, 784\), got \(5, 784\)"),
        ({"X": PIXELS + 0.5}, "0 and 1 only"),
        ({"X": np.where(PIXELS, np.nan, 0.0)}, "0 and 1 only"),
    ],
)
def test_another_file_is_named(folder, content, said):
    savemat(folder / "binarized_mnist_test.mat", content)
    with pytest.raises(DataError, match=said) as error:
        load_binarized_mnist("test")
    assert "binarized_mnist_test.mat" in str(error.value)


def test_damaged_files_and_files_that_are_not_there(folder):
    with pytest.raises(DataError, match=r"needs the file .*binarized_mnist_train\.mat"):
        load_binarized_mnist("train")
    path = folder / "binarized_mnist_train.mat"
    savemat(path, {"X": PIXELS}, do_compression=True)
    whole = path.read_bytes()
    for cut in (0, 100, 200, len(whole) // 2):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"binarized_mnist_train\.mat"):
            load_binarized_mnist("train")
    with pytest.raises(DataError, match="train, validation, test; got 'valid'"):
        load_binarized_mnist("valid")
