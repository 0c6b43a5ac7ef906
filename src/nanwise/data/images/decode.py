"""One picture file: its pixels between 0 and 1 and its hole, in whatever way they are kept."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nanwise.errors import DataError, need

#: formats that are read; what Pillow may do with others is not looked at
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
#: pictures that are not read
OTHER_ENDINGS = (".gif", ".heic", ".heif", ".avif", ".jp2", ".ppm", ".pgm", ".svg", ".dcm")
#: ``cat.mask.png`` (or ``cat.jpg.mask.png``) belongs to ``cat.jpg``: white is hole
MASK = ".mask"

_GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N")
_DEEP = ("I", "I;16", "I;16B", "I;16L", "I;16N")
#: from this grey on a pixel of a mask file is white, with 8 and with 16 bits
_WHITE, _DEEP_WHITE = 128, 32768
_EXIF_ORIENTATION = 0x0112
_TIFF_BITS = 258


class Header(NamedTuple):
    """What is known of a file before its pixels are decoded.

    Attributes
    ----------
    path : Path
    mode : str
        Pillow's name of how pixels are kept.
    height, width : int
        Of the picture held upright.
    reduced : bool
        Whether the file has 16 bits per colour, of which Pillow reads 8.
    """

    path: Path
    mode: str
    height: int
    width: int
    reduced: bool

    @property
    def grey(self) -> bool:
        """Whether one channel is enough."""
        return self.mode in _GREY


class Decoded(NamedTuple):
    """One picture.

    Attributes
    ----------
    values : array of shape (C, H, W)
        Floats in [0, 1], C = 1 or 3.
    hidden : array of shape (H, W)
        True where there is a hole.
    alpha : array of shape (H, W), optional
        The file's own alpha in bytes.
    """

    values: np.ndarray
    hidden: np.ndarray
    alpha: np.ndarray | None


def read_header(path: Path) -> Header:
    """Size and kind of a file; refuses what is no single picture."""
    try:
        with _open(path) as image:
            mode, (width, height) = image.mode, image.size
            frames = getattr(image, "n_frames", 1)
            depth = _depth(image, path)
            turned = image.getexif().get(_EXIF_ORIENTATION, 1) in (5, 6, 7, 8)
    except _broken() as error:
        raise _unreadable(path, error) from error
    if frames != 1:
        raise DataError(f"{path} has {frames} frames; one picture per file is expected")
    if mode == "F":
        raise DataError(
            f"{path} holds floating-point numbers, whose black and white are not known; "
            "write it with 8 or 16 bits"
        )
    if turned:
        height, width = width, height
    return Header(path, mode, height, width, mode not in _DEEP and depth == 16)


def decode(header: Header, beside: Path | None = None) -> Decoded:
    """Pixels of a file, upright, and its hole: alpha 0, or white in the mask file beside it."""
    ops = need("PIL.ImageOps", "images")
    try:
        with _open(header.path) as opened:
            image = ops.exif_transpose(opened)
            found = _deep(image, header.path) if image.mode in _DEEP else _bytes(image)
    except _broken() as error:
        raise _unreadable(header.path, error) from error
    if beside is None:
        return found
    return found._replace(hidden=found.hidden | read_hidden(beside, header))


def read_hidden(path: Path, header: Header) -> np.ndarray:
    """(H, W), True where a mask file, held upright, is white."""
    ops = need("PIL.ImageOps", "images")
    try:
        with _open(path) as opened:
            image = ops.exif_transpose(opened)
            if image.mode in _DEEP:  # Pillow would make all from 255 on white
                white = np.asarray(image) >= _DEEP_WHITE
            else:
                white = np.asarray(image.convert("L")) >= _WHITE
    except _broken() as error:
        raise _unreadable(path, error) from error
    if white.shape != (header.height, header.width):
        raise DataError(
            f"{path} is {white.shape[1]} x {white.shape[0]} pixels, its picture "
            f"{header.path.name} is {header.width} x {header.height}; a mask has the same size"
        )
    return white


def _bytes(image: Any) -> Decoded:
    grey = image.mode in _GREY
    has_alpha = image.has_transparency_data
    kept = {(True, True): "LA", (True, False): "L", (False, True): "RGBA", (False, False): "RGB"}
    pixels = np.asarray(image.convert(kept[grey, has_alpha]))
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    alpha = pixels[..., -1] if has_alpha else None
    colours = pixels[..., :-1] if has_alpha else pixels
    values = np.moveaxis(colours, -1, 0) / np.float32(255)
    return Decoded(values, _no_hole(image) if alpha is None else alpha == 0, alpha)


def _deep(image: Any, path: Path) -> Decoded:
    """Grey with 16 bits; a single value may stand for a hole (tRNS of PNG)."""
    levels = np.asarray(image).astype(np.int64)
    if levels.min() < 0 or levels.max() > 65535:
        raise DataError(
            f"{path} has values from {levels.min()} to {levels.max()}; grey pictures of 8 or 16 "
            "bits are read"
        )
    clear = image.info.get("transparency")
    hidden = levels == clear if isinstance(clear, int) else _no_hole(image)
    return Decoded((levels / 65535).astype(np.float32)[None], hidden, None)


def _no_hole(image: Any) -> np.ndarray:
    return np.zeros((image.height, image.width), dtype=bool)


def _depth(image: Any, path: Path) -> int:
    """Most bits per sample of a PNG or TIFF file, else 0."""
    if image.format == "TIFF":
        return max(np.atleast_1d(image.tag_v2.get(_TIFF_BITS, 1)).tolist())
    with path.open("rb") as file:
        head = file.read(26)
    return head[24] if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) == 26 else 0


def _open(path: Path) -> Any:
    return need("PIL.Image", "images").open(path)


def _broken() -> tuple[type[BaseException], ...]:
    """How Pillow tells that a file is no picture, is cut off, or is far too large."""
    bomb = need("PIL.Image", "images").DecompressionBombError
    return (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, bomb)


def _unreadable(path: Path, error: BaseException) -> DataError:
    if isinstance(error, DataError):
        return error
    if isinstance(error, OSError) and error.strerror:
        return DataError(f"{path} cannot be read: {error.strerror}")
    why = str(error) or type(error).__name__
    return DataError(f"{path} cannot be read as a picture ({why}); it is damaged or something else")
