"""Filled pictures in files: what was there keeps its bits, whatever the format."""

import os

import numpy as np
import pytest
from PIL import Image

from nanwise.data.images import read_images, write_filled
from nanwise.errors import DataError

RNG = np.random.default_rng(1)
GREY = RNG.integers(0, 256, (6, 8), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
HOLE = np.zeros((6, 8), dtype=bool)
HOLE[1:3, 2:5] = True


def with_alpha(pixels):
    colours = pixels[..., None] if pixels.ndim == 2 else pixels
    alpha = np.where(HOLE, 0, 255).astype(np.uint8)
    alpha[0, 0] = 77
    return np.concatenate([colours, alpha[..., None]], axis=-1)


def white(folder, name):
    Image.fromarray(np.where(HOLE, 255, 0).astype(np.uint8)).save(folder / name)


def filled_of(found, value=0.2):
    return np.where(np.isnan(found.X), np.float32(value), np.float32(0.9))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def written(folder, **options):
    found = read_images(folder, **options)
    paths = write_filled(found, filled_of(found), folder.parent / "out")
    return [Image.open(path) for path in paths]


@pytest.mark.parametrize("pixels", [GREY, COLOUR], ids=["LA", "RGBA"])
@pytest.mark.parametrize("ending", ["png", "tif"])
def test_alpha(folder, pixels, ending):
    own = with_alpha(pixels)
    Image.fromarray(own).save(folder / f"a.{ending}")
    (out,) = written(folder)
    got = np.asarray(out)
    assert got.shape == own.shape
    assert np.array_equal(got[~HOLE], own[~HOLE])
    assert (got[HOLE] == [51] * (own.shape[-1] - 1) + [255]).all()


def test_webp_stays_exact(folder):
    own = with_alpha(COLOUR)
    Image.fromarray(own).save(folder / "a.webp", lossless=True, exact=True)
    (out,) = written(folder)
    assert out.format == "WEBP"
    assert np.array_equal(np.asarray(out)[~HOLE], own[~HOLE])


@pytest.mark.parametrize("ending", ["png", "tiff"])
def test_16_bits(folder, ending):
    own = RNG.integers(0, 65536, (6, 8)).astype(np.uint16)
    Image.fromarray(own).save(folder / f"a.{ending}")
    white(folder, "a.mask.png")
    (out,) = written(folder)
    got = np.asarray(out).astype(np.int64)
    assert np.array_equal(got[~HOLE], own[~HOLE])
    assert (got[HOLE] == round(np.float32(0.2) * 65535)).all()


def test_all_levels_of_16_bits_come_back(folder):
    own = np.arange(65536).reshape(256, 256).astype(np.uint16)
    Image.fromarray(own).save(folder / "a.png")
    spot = np.zeros((256, 256), dtype=np.uint8)
    spot[5, 5] = 255
    Image.fromarray(spot).save(folder / "a.mask.png")
    (out,) = written(folder)
    assert (np.asarray(out) != own).sum() == 1


def test_jpeg_becomes_png_with_the_decoded_pixels(folder):
    Image.fromarray(COLOUR).save(folder / "a.jpg", quality=80)
    white(folder, "a.jpg.mask.png")
    Image.fromarray(COLOUR).save(folder / "a.png")
    own = np.asarray(Image.open(folder / "a.jpg"))
    names = [os.path.basename(out.filename) for out in written(folder)]
    assert names == ["a.jpg.png", "a.png"]
    out = Image.open(folder.parent / "out" / "a.jpg.png")
    assert np.array_equal(np.asarray(out)[~HOLE], own[~HOLE])


def test_two_pictures_never_share_a_file(folder):
    for name in ("a.jpg", "a.png", "a.jpg.png"):
        Image.fromarray(COLOUR).save(folder / name)
    Image.fromarray(np.where(HOLE, 255, 0).astype(np.uint8)).save(folder / "a.jpg.mask.png")
    with pytest.raises(DataError, match=r"a\.jpg and a\.jpg\.png would both be written"):
        written(folder)
    assert not (folder.parent / "out").exists()


def test_files_without_a_hole_are_copied(folder):
    Image.fromarray(COLOUR).save(folder / "a.jpg")
    Image.fromarray(with_alpha(COLOUR)).save(folder / "b.png")
    written(folder)
    assert (folder.parent / "out" / "a.jpg").read_bytes() == (folder / "a.jpg").read_bytes()


def test_palette_gets_colours_and_black_and_white_stays(folder):
    image = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8) % 4, mode="P")
    image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 9, 9, 255])
    image.save(folder / "a.png")
    white(folder, "a.mask.png")
    Image.fromarray(GREY > 127).save(folder / "b.png")
    white(folder, "b.mask.png")
    colours, bits = written(folder)
    assert np.array_equal(np.asarray(colours)[~HOLE], np.asarray(image.convert("RGB"))[~HOLE])
    assert bits.mode == "1"
    assert np.array_equal(np.asarray(bits)[~HOLE], (GREY > 127)[~HOLE])
    assert not np.asarray(bits)[HOLE].any()


def test_resampled_pictures_are_written_in_their_own_size(folder):
    own = with_alpha(COLOUR)
    Image.fromarray(own).save(folder / "a.png")
    Image.fromarray(GREY[:4]).save(folder / "b.png")
    out, other = written(folder, size=(3, 5))
    got = np.asarray(out)
    assert got.shape == own.shape
    assert np.array_equal(got[~HOLE], own[~HOLE])
    assert (got[HOLE, 3] == 255).all()
    assert np.array_equal(np.asarray(other), GREY[:4])


def test_nothing_of_the_known_pixels_reaches_a_resampled_hole(folder):
    Image.fromarray(with_alpha(np.full_like(GREY, 51))).save(folder / "a.png")
    found = read_images(folder, size=(4, 4))
    for elsewhere in (np.nan, 1.0):
        values = np.where(np.isnan(found.X), 0.2, elsewhere)
        (path,) = write_filled(found, values, folder.parent / "out")
        assert (np.asarray(Image.open(path))[..., 0] == 51).all()


def test_grey_file_among_colours(folder):
    Image.fromarray(with_alpha(GREY)).save(folder / "a.png")
    Image.fromarray(COLOUR).save(folder / "b.png")
    out = written(folder)[0]
    assert out.mode == "LA"
    assert (np.asarray(out)[HOLE] == [51, 255]).all()


def test_the_profile_is_kept_and_the_picture_upright(folder):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(COLOUR).save(folder / "a.png", exif=exif, icc_profile=b"profile")
    Image.fromarray(np.rot90(np.where(HOLE, 255, 0).astype(np.uint8), -1).copy()).save(
        folder / "a.mask.png"
    )
    (out,) = written(folder)
    assert out.info["icc_profile"] == b"profile"
    turned = np.rot90(HOLE, -1)
    assert np.array_equal(np.asarray(out)[~turned], np.rot90(COLOUR, -1)[~turned])
    assert not out.getexif().get(0x0112)


def test_nothing_is_written_where_pictures_are_read(folder):
    Image.fromarray(with_alpha(GREY)).save(folder / "a.png")
    found = read_images(folder)
    for place in (folder, folder / "below"):
        with pytest.raises(DataError, match="choose a folder outside"):
            write_filled(found, filled_of(found), place)


def test_a_folder_around_the_source_overwrites_nothing(folder):
    (folder / "in").mkdir()
    for place in (folder, folder / "in"):
        Image.fromarray(with_alpha(GREY)).save(place / "a.png")
    before = sorted((path, path.read_bytes()) for path in folder.parent.rglob("*.png"))
    found = read_images(folder)
    with pytest.raises(DataError, match=r"in.a\.png would be written where pictures are read"):
        write_filled(found, filled_of(found), folder.parent)
    assert sorted((path, path.read_bytes()) for path in folder.parent.rglob("*.png")) == before


def test_a_linked_source_is_not_overwritten(folder):
    Image.fromarray(with_alpha(GREY)).save(folder.parent / "a.png")
    (folder / "a.png").symlink_to(folder.parent / "a.png")
    found = read_images(folder)
    with pytest.raises(DataError, match="where pictures are read"):
        write_filled(found, filled_of(found), folder.parent)


def test_a_failure_leaves_the_old_file(folder, monkeypatch):
    Image.fromarray(with_alpha(GREY)).save(folder / "a.png")
    target = folder.parent / "out"
    target.mkdir()
    (target / "a.png").write_text("old")
    found = read_images(folder)

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", fail)
    with pytest.raises(OSError, match="No space"):
        write_filled(found, filled_of(found), target)
    assert [path.name for path in target.iterdir()] == ["a.png"]
    assert (target / "a.png").read_text() == "old"


def test_lists_are_taken(folder):
    Image.fromarray(with_alpha(GREY)).save(folder / "a.png")
    found = read_images(folder)
    (path,) = write_filled(found, filled_of(found).tolist(), folder.parent / "out")
    assert (np.asarray(Image.open(path))[HOLE] == [51, 255]).all()


def test_holes_must_be_filled(folder):
    Image.fromarray(with_alpha(GREY)).save(folder / "a.png")
    found = read_images(folder)
    with pytest.raises(DataError, match="without NaN"):
        write_filled(found, found.X, folder.parent / "out")


@pytest.mark.parametrize("shape", [(3, 6, 8), (3, 6, 8, 3), (3, 3, 6, 8)])
@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_npz_comes_back_in_its_layout(tmp_path, shape, kind):
    X = RNG.integers(0, 256, shape, dtype=np.uint8)
    X = X if kind is np.uint8 else X / 255
    observed = RNG.random(shape) < 0.6
    np.savez(tmp_path / "p.npz", X=X, y=np.arange(3), observed=observed)
    found = read_images(tmp_path / "p.npz")
    (path,) = write_filled(found, filled_of(found), tmp_path / "out")
    with np.load(path) as out:
        assert sorted(out) == ["X", "y"]
        assert out["X"].dtype == kind
        assert np.array_equal(out["X"][observed], X[observed])
        assert np.allclose(out["X"][~observed], 51 if kind is np.uint8 else 0.2)
    with pytest.raises(DataError, match="overwritten"):
        write_filled(found, filled_of(found), tmp_path)


@pytest.mark.parametrize("shape", [(3, 6, 8), (3, 6, 8, 3)])
@pytest.mark.parametrize("kind", [np.uint8, np.float16])
def test_npz_of_another_size_than_the_model(tmp_path, shape, kind):
    X = RNG.integers(0, 256, shape, dtype=np.uint8)
    X = X if kind is np.uint8 else (X / 255).astype(kind)
    observed = np.broadcast_to(~HOLE.reshape(1, 6, 8, *[1] * (len(shape) - 3)), shape)
    np.savez(tmp_path / "p.npz", X=X, observed=observed)
    found = read_images(tmp_path / "p.npz", size=(3, 5), channels=3 if len(shape) == 3 else 1)
    values = np.where(np.isnan(found.X), 1.2, np.nan)
    (path,) = write_filled(found, values, tmp_path / "out")
    with np.load(path) as out:
        got = out["X"]
    assert got.shape == shape
    assert got.dtype == kind
    assert np.array_equal(got[observed], X[observed])
    assert np.isfinite(got).all()
    assert got.max() <= (255 if kind is np.uint8 else 1)


def test_npz_is_clipped_and_keeps_all_other_arrays(tmp_path):
    X = np.full((2, 4, 4), 7, dtype=np.uint8)
    others = {"id": np.array(["a", "b"]), "ids": np.arange(3), "who": np.array([None, "x"])}
    observed = RNG.random(X.shape) < 0.5
    np.savez(tmp_path / "p.npz", X=X, observed=observed, **others)
    found = read_images(tmp_path / "p.npz")
    (path,) = write_filled(found, filled_of(found, 1.2), tmp_path / "out")
    with np.load(path, allow_pickle=True) as out:
        assert sorted(out) == ["X", "id", "ids", "who"]
        assert np.array_equal(out["X"], np.where(observed, 7, 255))
        assert all(np.array_equal(out[name], others[name]) for name in others)
