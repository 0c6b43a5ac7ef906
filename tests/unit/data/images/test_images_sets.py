"""Named sets of pictures, on small files in their official layouts."""

import gzip
import json
import struct

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from nanwise.data.images import load_images
from nanwise.errors import DataError

RNG = np.random.default_rng(0)


def idx(values):
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return head + values.astype(np.uint8).tobytes()


@pytest.mark.parametrize(
    ("name", "folder"), [("mnist", "mnist"), ("fashion_mnist", "fashion-mnist")]
)
def test_idx(tmp_path, name, folder):
    images, labels = RNG.integers(0, 256, (4, 28, 28)), np.array([3, 1, 0, 9])
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
    (tmp_path / folder / "t10k-labels-idx1-ubyte").write_bytes(idx(labels))
    X, y = load_images(name, "test", tmp_path)
    assert X.dtype == np.float32
    assert y.dtype == np.int64
    np.testing.assert_allclose(X[:, 0], images / 255, atol=1e-7)
    assert y.tolist() == labels.tolist()
    with pytest.raises(DataError, match="train-images-idx3-ubyte"):
        load_images(name, "train", tmp_path)


def test_cifar_in_its_binary_form(tmp_path):
    (tmp_path / "cifar10" / "cifar-10-batches-bin").mkdir(parents=True)
    images, labels = RNG.integers(0, 256, (10, 3, 32, 32), dtype=np.uint8), np.arange(10) % 7
    for k in range(5):
        part = slice(2 * k, 2 * k + 2)
        rows = np.hstack([labels[part, None].astype(np.uint8), images[part].reshape(2, -1)])
        rows.tofile(tmp_path / "cifar10" / "cifar-10-batches-bin" / f"data_batch_{k + 1}.bin")
    X, y = load_images("cifar10", "train", tmp_path)
    np.testing.assert_allclose(X, images / 255, atol=1e-7)
    assert y.tolist() == labels.tolist()
    (tmp_path / "cifar10" / "test_batch.bin").write_bytes(b"short")
    with pytest.raises(DataError, match="5 bytes"):
        load_images("cifar10", "test", tmp_path)


def test_cifar_as_rows_of_png_files(tmp_path):
    (tmp_path / "cifar10").mkdir()
    images, labels = RNG.integers(0, 256, (10, 32, 32, 3), dtype=np.uint8), np.arange(10)
    for k in range(5):
        rows = images[2 * k : 2 * k + 2].reshape(2, 1024, 3)
        Image.fromarray(rows).save(tmp_path / "cifar10" / f"data_batch_{k + 1}.png")
    (tmp_path / "cifar10" / "train_lables.json").write_text(json.dumps(labels.tolist()))
    X, y = load_images("cifar10", "train", tmp_path)
    np.testing.assert_allclose(X, np.moveaxis(images, 3, 1) / 255, atol=1e-7)
    assert X.flags.c_contiguous
    assert y.tolist() == labels.tolist()
    (tmp_path / "cifar10" / "train_lables.json").write_text("[1, 2, 3]")
    with pytest.raises(DataError, match="2 pictures, but 1 labels"):
        load_images("cifar10", "train", tmp_path)


def test_svhn(tmp_path):
    (tmp_path / "svhn").mkdir()
    images = RNG.integers(0, 256, (32, 32, 3, 3), dtype=np.uint8)
    savemat(tmp_path / "svhn" / "test_32x32.mat", {"X": images, "y": np.array([[10], [1], [9]])})
    X, y = load_images("svhn", "test", tmp_path)
    np.testing.assert_allclose(X, images.transpose(3, 2, 0, 1) / 255, atol=1e-7)
    assert y.tolist() == [0, 1, 9]


def test_celeba(tmp_path):
    home = tmp_path / "celeba"
    (home / "img_align_celeba").mkdir(parents=True)
    for k in (1, 2, 3):
        pixels = np.full((218, 178, 3), 40 * k, dtype=np.uint8)
        pixels[:20] = 255  # above the square in the middle
        Image.fromarray(pixels).save(home / "img_align_celeba" / f"00000{k}.jpg", quality=95)
    (home / "list_eval_partition.txt").write_text("000001.jpg 0\n000002.jpg 1\n000003.jpg 0\n")
    (home / "list_attr_celeba.txt").write_text(
        "3\nMale Smiling\n000001.jpg -1  1\n000002.jpg  1 -1\n000003.jpg  1 -1\n"
    )
    X, y = load_images("celeba", "train", tmp_path)
    assert X.shape == (2, 3, 64, 64)
    greys = np.array([40, 120]).reshape(2, 1, 1, 1) / 255
    np.testing.assert_allclose(X[:, :, 8:], np.broadcast_to(greys, (2, 3, 56, 64)), atol=0.02)
    assert y.tolist() == [1, 0]
    assert load_images("celeba", "train", tmp_path, attribute="Male")[1].tolist() == [0, 1]
    assert len(load_images("celeba", "validation", tmp_path)[0]) == 1
    with pytest.raises(DataError, match="no picture of 3 is in the split 'test'"):
        load_images("celeba", "test", tmp_path)
    with pytest.raises(DataError, match="Male, Smiling"):
        load_images("celeba", "train", tmp_path, attribute="Bald")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("mnist", "t10k-images-idx3-ubyte.gz"),
        ("mnist", "t10k-images-idx3-ubyte"),
        ("svhn", "test_32x32.mat"),
        ("cifar10", "test_labels.json"),
        ("cifar10", "test_batch.png"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, file):
    (tmp_path / name).mkdir()
    for other in ("t10k-labels-idx1-ubyte", "test_batch.png"):
        (tmp_path / name / other).write_bytes(idx(np.arange(3)))
    (tmp_path / name / "test_labels.json").write_text("[1]")
    (tmp_path / name / file).write_bytes(b"\0\0\x08\x03no")
    with pytest.raises(DataError, match=f"{file} cannot be read"):
        load_images(name, "test", tmp_path)


def test_numbers_of_pictures_and_labels_that_differ(tmp_path):
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "t10k-images-idx3-ubyte").write_bytes(idx(np.zeros((4, 28, 28))))
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte").write_bytes(idx(np.arange(3)))
    with pytest.raises(DataError, match="4 pictures and 3 labels"):
        load_images("mnist", "test", tmp_path)


def test_what_is_not_there(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="known: mnist"):
        load_images("imagenet", root=tmp_path)
    with pytest.raises(DataError, match="splits train, test"):
        load_images("mnist", "validation", tmp_path)
    monkeypatch.setenv("NANWISE_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"no folder svhn in .*none and .*nanwise"):
        load_images("svhn")


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    (tmp_path / "svhn").mkdir()
    savemat(
        tmp_path / "svhn" / "train_32x32.mat",
        {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": [[1], [2]]},
    )
    monkeypatch.setenv("NANWISE_DATA", str(tmp_path))
    assert load_images("svhn")[1].tolist() == [1, 2]
