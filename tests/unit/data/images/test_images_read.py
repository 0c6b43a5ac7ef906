"""Pictures from folders and .npz files: formats, holes, labels, and what is wrong with a file."""

import csv
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from nanwise.data.images import read_images
from nanwise.data.images.resize import cover, resize
from nanwise.errors import DataError, GapWarning

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (6, 8), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
HOLE = np.zeros((6, 8), dtype=bool)
HOLE[1:3, 2:5] = True


def put(pixels, path, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(path, **options)
    return path


def with_alpha(pixels, hole=HOLE):
    colours = pixels[..., None] if pixels.ndim == 2 else pixels
    alpha = np.where(hole, 0, 255).astype(np.uint8)[..., None]
    return np.concatenate([colours, alpha], axis=-1)


def expected(pixels, hole=HOLE, white=255):
    channels = pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)
    return np.where(hole, np.nan, channels / np.float32(white))


def same(got, want):
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_allclose(got, want, atol=1e-7)


@pytest.mark.parametrize("ending", ["png", "bmp", "tif", "webp"])
def test_lossless_grey_and_colour(tmp_path, ending):
    options = {"lossless": True} if ending == "webp" else {}
    put(COLOUR, tmp_path / f"a.{ending}", **options)
    found = read_images(tmp_path)
    assert found.X.dtype == np.float32
    same(found.X[0], expected(COLOUR, np.zeros_like(HOLE)))
    assert found.names == [f"a.{ending}"]
    assert found.sizes == [(6, 8)]
    assert found.labels is None
    assert found.classes == []


@pytest.mark.parametrize("pixels", [GREY, COLOUR], ids=["LA", "RGBA"])
def test_alpha_0_is_a_hole(tmp_path, pixels):
    put(with_alpha(pixels), tmp_path / "a.png")
    same(read_images(tmp_path).X[0], expected(pixels))


def test_half_transparent_is_there(tmp_path):
    pixels = with_alpha(COLOUR)
    pixels[0, 0, 3] = 1
    put(pixels, tmp_path / "a.png")
    same(read_images(tmp_path).X[0], expected(COLOUR))


def test_16_bit_grey_is_read_to_the_bit(tmp_path):
    deep = RNG.integers(0, 65536, (6, 8)).astype(np.uint16)
    put(deep, tmp_path / "a.png")
    put(deep, tmp_path / "b.tiff")
    found = read_images(tmp_path)
    assert found.X.shape == (2, 1, 6, 8)
    for picture in found.X:
        assert np.array_equal(np.rint(picture[0] * 65535.0).astype(np.uint16), deep)


def test_palette_with_a_transparent_colour(tmp_path):
    image = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8) % 4, mode="P")
    image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255])
    put(image, tmp_path / "a.png", transparency=2)
    found = read_images(tmp_path).X[0]
    index = np.asarray(image)
    assert np.array_equal(np.isnan(found[0]), index == 2)
    assert (found[0][index == 1] == 1).all()
    assert (found[2][index == 3] == 1).all()


def test_one_transparent_colour_of_plain_png(tmp_path):
    put(GREY, tmp_path / "a.png", transparency=int(GREY[0, 0]))
    same(read_images(tmp_path).X[0], expected(GREY, GREY[0, 0] == GREY))
    deep = GREY.astype(np.uint16) * 257
    put(deep, tmp_path / "b.png", transparency=int(deep[0, 0]))
    same(read_images(tmp_path).X[1], expected(GREY, GREY[0, 0] == GREY))


def test_16_bits_per_colour_are_read_as_8_with_a_warning(tmp_path):
    deep = RNG.integers(0, 65536, (6, 8, 3)).astype(">u2")

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    lines = b"".join(b"\0" + row.tobytes() for row in deep)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 8, 6, 16, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    ]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
    (tmp_path / "deep.png").write_bytes(content)
    with pytest.warns(GapWarning, match=r"16 bits per colour are read as 8 in deep\.png"):
        found = read_images(tmp_path)
    np.testing.assert_allclose(found.X[0], np.moveaxis(deep, -1, 0) / 65535, atol=1 / 255)


def test_16_bits_per_colour_of_tiff_too(tmp_path):
    deep = RNG.integers(0, 65536, (6, 8, 3)).astype("<u2")
    tags = [  # number, type (3: short, 4: long), count, value or place
        *((256, 3, 1, 8), (257, 3, 1, 6), (258, 3, 3, 134), (259, 3, 1, 1), (262, 3, 1, 2)),
        *((273, 4, 1, 140), (277, 3, 1, 3), (278, 3, 1, 6), (279, 4, 1, deep.nbytes)),
        *((284, 3, 1, 1),),
    ]
    head = b"II*\0" + struct.pack("<IH", 8, len(tags))
    head += b"".join(struct.pack("<HHII", *tag) for tag in tags) + struct.pack("<I", 0)
    bits = struct.pack("<3H", 16, 16, 16)
    (tmp_path / "deep.tif").write_bytes(head + bits + deep.tobytes())
    put(COLOUR, tmp_path / "flat.tif")
    with pytest.warns(GapWarning, match=r"16 bits per colour are read as 8 in deep\.tif$"):
        found = read_images(tmp_path)
    np.testing.assert_allclose(found.X[0], np.moveaxis(deep, -1, 0) / 65535, atol=1 / 255)


def test_black_and_white(tmp_path):
    put(Image.fromarray(GREY > 127), tmp_path / "a.png")
    same(read_images(tmp_path).X[0], (GREY > 127)[None].astype(np.float32))


def test_jpeg_turned_by_its_exif_orientation(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    ramp = np.repeat(np.linspace(0, 255, 16).astype(np.uint8)[:, None], 24, axis=1)
    put(ramp, tmp_path / "a.jpg", quality=100, exif=exif)
    found = read_images(tmp_path)
    assert found.sizes == [(24, 16)]
    np.testing.assert_allclose(found.X[0, 0], np.rot90(ramp, -1) / 255, atol=0.02)


def test_grey_among_colours_becomes_colour_and_back(tmp_path):
    put(GREY, tmp_path / "a.png")
    put(COLOUR, tmp_path / "b.png")
    both = read_images(tmp_path)
    assert both.X.shape == (2, 3, 6, 8)
    assert (both.X[0, 0] == both.X[0, 2]).all()
    grey = read_images(tmp_path, channels=1)
    luminance = np.asarray(Image.fromarray(COLOUR).convert("L")) / 255
    np.testing.assert_allclose(grey.X[1, 0], luminance, atol=1 / 255)


def test_a_mask_file_beside_a_picture(tmp_path):
    white = np.where(HOLE, 255, 0).astype(np.uint8)
    put(with_alpha(COLOUR, ~HOLE & (np.arange(8) == 7)), tmp_path / "cat.png")
    put(white, tmp_path / "cat.mask.png")
    put(COLOUR, tmp_path / "dog.bmp")
    put(COLOUR, tmp_path / "dog.png")
    put(white, tmp_path / "dog.bmp.mask.png")
    found = read_images(tmp_path)
    assert found.names == ["cat.png", "dog.bmp", "dog.png"]
    same(found.X[0], expected(COLOUR, HOLE | (np.arange(8) == 7)))
    same(found.X[1], expected(COLOUR))
    assert not np.isnan(found.X[2]).any()


@pytest.mark.parametrize("name", ["cat.mask.jpg", "CAT.MASK.bmp", "cat.png.mask.tif"])
def test_masks_may_have_any_format(tmp_path, name):
    put(COLOUR, tmp_path / "cat.png")
    put(np.where(HOLE, 255, 0).astype(np.uint8), tmp_path / name)
    found = read_images(tmp_path)
    assert found.names == ["cat.png"]
    if not name.endswith("jpg"):  # which blurs the edges of so small a hole
        same(found.X[0], expected(COLOUR))
    assert np.isnan(found.X[0]).any()


def test_pictures_of_formats_that_are_not_read_are_told(tmp_path):
    put(COLOUR, tmp_path / "cat.png")
    put(COLOUR, tmp_path / "dog.gif")
    with pytest.warns(GapWarning, match="1 picture is not read, dog.gif for one"):
        found = read_images(tmp_path)
    assert found.notes == ["1 picture is not read, dog.gif for one; convert them to PNG"]


def test_a_mask_of_16_bits_is_white_from_the_middle_on(tmp_path):
    put(COLOUR, tmp_path / "cat.png")
    put(np.where(HOLE, 32768, 32767).astype(np.uint16), tmp_path / "cat.mask.png")
    same(read_images(tmp_path).X[0], expected(COLOUR))


@pytest.mark.parametrize("orientation", [3, 6])
def test_a_mask_is_turned_by_its_exif_orientation(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    turns = {3: 2, 6: -1}[orientation]
    put(COLOUR, tmp_path / "cat.png", exif=exif)
    put(HOLE, tmp_path / "cat.mask.png", exif=exif)
    same(read_images(tmp_path).X[0], expected(np.rot90(COLOUR, turns), np.rot90(HOLE, turns)))


def test_masks_that_fit_no_picture_are_named(tmp_path):
    put(COLOUR, tmp_path / "cat.png")
    put(GREY, tmp_path / "dog.mask.png")
    with pytest.raises(DataError, match=r"dog\.mask\.png.*no picture"):
        read_images(tmp_path)
    (tmp_path / "dog.mask.png").rename(tmp_path / "cat.mask.png")
    put(COLOUR, tmp_path / "cat.bmp")
    with pytest.raises(DataError, match=r"cat\.bmp and cat\.png"):
        read_images(tmp_path)
    (tmp_path / "cat.bmp").unlink()
    put(GREY[:3], tmp_path / "cat.mask.png")
    with pytest.raises(DataError, match=r"8 x 3 pixels.*8 x 6"):
        read_images(tmp_path)


def test_labels_from_folders(tmp_path):
    for name in ("b/deep/2.png", "a/1.png", "b/1.png"):
        put(GREY, tmp_path / name)
    put(GREY, tmp_path / ".hidden" / "x.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    found = read_images(tmp_path)
    assert found.names == ["a/1.png", "b/1.png", "b/deep/2.png"]
    assert found.labels.tolist() == ["a", "b", "b"]
    assert found.classes == ["a", "b"]
    assert read_images(tmp_path, labels=None).labels is None


def labels_file(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_labels_from_csv(tmp_path):
    for name in ("1.png", "2.png"):
        put(GREY, tmp_path / "p" / name)
    table = labels_file(
        tmp_path / "l.csv", [["id", "label", "file"], [7, "cat", "2.png"], [8, "dog", "./1.png"]]
    )
    assert read_images(tmp_path / "p", labels=table).labels.tolist() == ["dog", "cat"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["file", "label"], ["1.png", "a"]], "no label for 2.png"),
        ([["file", "label"], ["1.png", "a"], ["3.png", "a"]], "no such pictures in .*: 3.png"),
        ([["file", "label"], ["1.png", "a"], ["1.png", "b"]], "two labels"),
        ([["file", "label"], ["1.png", ""]], "row 2: no label"),
        ([["file"], ["1.png"]], "columns file and label"),
        ([["file", "label"]], "line per picture"),
        ([["1.png", "a"], ["2.png", "b"]], "first line must be heads"),
    ],
)
def test_labels_that_do_not_fit(tmp_path, rows, words):
    for name in ("1.png", "2.png"):
        put(GREY, tmp_path / "p" / name)
    with pytest.raises(DataError, match=words):
        read_images(tmp_path / "p", labels=labels_file(tmp_path / "l.csv", rows))
    with pytest.raises(DataError, match="no such file of labels"):
        read_images(tmp_path / "p", labels=tmp_path / "none.csv")


def test_sizes_that_differ_are_named_with_the_way_out(tmp_path):
    put(GREY, tmp_path / "a.png")
    put(GREY, tmp_path / "b.png")
    put(GREY[:4], tmp_path / "odd.png")
    with pytest.raises(DataError, match=r"odd\.png \(8 x 4\).*size="):
        read_images(tmp_path)
    assert read_images(tmp_path, size=5).X.shape == (3, 1, 5, 5)
    assert read_images(tmp_path, size=(4, 8)).X.shape == (3, 1, 4, 8)


def test_sizes_may_be_numbers_of_numpy(tmp_path):
    put(GREY, tmp_path / "a.png")
    assert read_images(tmp_path, size=np.int64(4)).X.shape == (1, 1, 4, 4)
    assert read_images(tmp_path, size=np.array([3, 5])).X.shape == (1, 1, 3, 5)
    with pytest.raises(DataError, match="number of pixels"):
        read_images(tmp_path, size=(4, 2.5))


def test_resampling_is_by_area_and_keeps_holes_right():
    values, hidden = GREY[None] / np.float32(255), HOLE
    halved, holes = resize(values, hidden, (3, 4))
    blocks = values[0].reshape(3, 2, 4, 2)
    assert np.array_equal(holes, hidden.reshape(3, 2, 4, 2).any(axis=(1, 3)))
    np.testing.assert_allclose(halved[0][~holes], blocks.mean(axis=(1, 3))[~holes], atol=1e-6)
    odd, holes = resize(values, hidden, (4, 5))
    assert not np.isnan(odd).any()
    # 6 rows on 4: new row 0 covers old 0 and half of 1; columns 8 on 5: new 1 covers 1.6 to 3.2
    assert holes[0, 1]
    assert not holes[3].any()


@pytest.mark.parametrize(("old", "new"), [(6, 4), (5, 5), (3, 7), (28, 32), (218, 64)])
def test_weights_of_resampling(old, new):
    weights = cover(old, new)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights.sum(axis=0), new / old)


def test_nothing_observed_is_allowed_and_warned_about(tmp_path):
    put(with_alpha(GREY, np.ones_like(HOLE)), tmp_path / "bare.png")
    put(GREY, tmp_path / "whole.png")
    with pytest.warns(GapWarning, match=r"1 picture has no pixel at all: bare\.png"):
        found = read_images(tmp_path)
    assert np.isnan(found.X[0]).all()
    assert found.observed[1].all()


@pytest.mark.parametrize("name", ["cut.png", "cut.jpg"])
def test_a_damaged_file_is_named(tmp_path, name):
    whole = put(RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8), tmp_path / name)
    whole.write_bytes(whole.read_bytes()[: len(whole.read_bytes()) // 2])
    with pytest.raises(DataError, match=f"{name} cannot be read as a picture"):
        read_images(tmp_path)


def test_text_in_a_picture_file_is_named(tmp_path):
    (tmp_path / "a.png").write_text("hello")
    with pytest.raises(DataError, match=r"a\.png cannot be read as a picture"):
        read_images(tmp_path)
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"a\.png cannot be read as a picture"):
        read_images(tmp_path)


def test_what_is_no_single_picture_is_refused(tmp_path):
    frames = [Image.fromarray(GREY), Image.fromarray(GREY[::-1])]
    frames[0].save(tmp_path / "a.tiff", save_all=True, append_images=frames[1:])
    with pytest.raises(DataError, match="2 frames"):
        read_images(tmp_path)
    put(GREY.astype(np.float32), tmp_path / "a.tiff")
    with pytest.raises(DataError, match="floating-point"):
        read_images(tmp_path)


def test_folders_without_pictures(tmp_path):
    with pytest.raises(DataError, match="has no pictures"):
        read_images(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        read_images(tmp_path / "nowhere")
    with pytest.raises(DataError, match="channels"):
        read_images(tmp_path, channels=2)
    with pytest.raises(DataError, match="size"):
        read_images(tmp_path, size=(0, 3))


# -- .npz -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 6, 8), (5, 1, 6, 8), (5, 6, 8, 3), (5, 3, 6, 8)])
def test_npz_layouts(tmp_path, shape):
    X = RNG.integers(0, 256, shape, dtype=np.uint8)
    observed = RNG.random((5, 6, 8)) < 0.7
    np.savez(tmp_path / "p.npz", X=X, y=np.arange(5), observed=observed)
    found = read_images(tmp_path / "p.npz")
    first = X.transpose(0, 3, 1, 2) if shape[-1] == 3 else X.reshape(5, -1, 6, 8)
    same(found.X, np.where(observed[:, None], first / np.float32(255), np.nan))
    assert found.labels.tolist() == list(range(5))


def test_npz_of_floats_resized(tmp_path):
    X = RNG.random((2, 1, 6, 8))
    X[:, :, HOLE] = np.nan
    np.savez(tmp_path / "p.npz", X=X)
    found = read_images(tmp_path / "p.npz", size=(3, 4), channels=3)
    assert found.X.shape == (2, 3, 3, 4)
    assert np.isnan(found.X).any()
    assert found.labels is None


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"Z": np.zeros(3)}, "called X, got Z"),
        ({"X": np.zeros((0, 4, 4)), "y": np.zeros(0)}, "no pictures"),
        ({"X": np.zeros((2, 0, 4))}, "without pixels"),
        ({"X": np.zeros((2, 4, 4)), "y": np.array([0, np.nan])}, "got nan for picture 1"),
        ({"X": np.zeros((2, 4, 4)), "y": np.array([0.5, 1])}, "got 0.5 for picture 0"),
        ({"X": np.zeros((2, 4, 4)), "y": np.array([1j, 1])}, "got complex128"),
        ({"X": np.full((2, 4, 4), 7.0)}, r"\[0, 1\]"),
        ({"X": np.zeros((2, 4, 4), dtype=int)}, "bytes or floats"),
        ({"X": np.zeros((2, 4))}, r"got \(2, 4\)"),
        ({"X": np.zeros((2, 4, 4)), "y": np.zeros(3)}, "y must have shape"),
        ({"X": np.zeros((2, 4, 4)), "observed": np.ones((2, 3, 4), bool)}, "observed has shape"),
        ({"X": np.zeros((2, 4, 4)), "observed": np.ones((2, 4, 4))}, "booleans"),
        ({"X": np.array([{}])}, "cannot be read"),
    ],
)
def test_npz_that_cannot_be_used(tmp_path, arrays, words):
    np.savez(tmp_path / "p.npz", **arrays)
    with pytest.raises(DataError, match=words):
        read_images(tmp_path / "p.npz")
    (tmp_path / "bad.npz").write_text("no zip")
    with pytest.raises(DataError, match=r"bad\.npz cannot be read"):
        read_images(tmp_path / "bad.npz")


def test_npz_with_rounding_and_bytes_as_labels(tmp_path):
    X = np.full((2, 4, 4), 1 + 1e-6)
    np.savez(tmp_path / "p.npz", X=X, y=[b"a", "é".encode()])
    (tmp_path / "p.npz").rename(tmp_path / "P.NPZ")
    found = read_images(tmp_path / "P.NPZ")
    assert found.X.max() == 1
    assert found.classes == ["a", "é"]


def test_npz_whose_stream_is_damaged_is_named(tmp_path):
    path = tmp_path / "p.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).random((40, 8, 8)))
    whole = bytearray(path.read_bytes())
    whole[300:400] = b"\xff" * 100
    path.write_bytes(bytes(whole))
    with pytest.raises(DataError, match=r"p\.npz cannot be read"):
        read_images(path)


def test_a_letter_spelt_in_two_ways_is_one_name(tmp_path):
    put(GREY, tmp_path / "p" / "e\u0301.png")
    table = labels_file(tmp_path / "l.csv", [["file", "label"], ["\u00e9.png", "a"]])
    assert read_images(tmp_path / "p", labels=table).labels.tolist() == ["a"]
