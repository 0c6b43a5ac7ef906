"""Sheets of small pictures, such as imputed digits, as SVG around PNG data."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from nanwise.report.figures import Figure, figure
from nanwise.report.marks import picture, shorten, text

TILE = 44  # width and height of a picture on the page
GAP = 3
NAMES = 130  # width of the names of lines
_LETTERS = 20
_GREY, _COLOUR = 0, 2


def sheets(found: list[dict[str, Any]]) -> list[Figure]:
    """One figure per sheet.

    A sheet has ``title``, ``caption`` and ``lines``; each line has a ``name`` and either ``tiles``
    (pictures as bytes in base64, all of ``shape`` (height, width) or (height, width, 3)) or
    ``texts``.
    """
    return [figure(str(s["title"]), _svg(s), str(s.get("caption") or "")) for s in found]


def png(pixels: bytes, shape: list[int]) -> bytes:
    """A PNG file of bytes, row by row: grey for (height, width), colour for (height, width, 3)."""
    height, width, *depth = shape
    line = width * (depth[0] if depth else 1)
    if len(pixels) != height * line:
        raise ValueError(f"a picture of shape {shape} has {height * line} bytes, got {len(pixels)}")
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR if depth else _GREY, 0, 0, 0)
    # Every line begins with a 0: its bytes are stored as they are.
    lines = b"".join(b"\0" + pixels[k * line : (k + 1) * line] for k in range(height))
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _svg(sheet: dict[str, Any]) -> str:
    lines = sheet.get("lines") or []
    parts: list[str] = []
    y = 0.0
    for line in lines:
        tall = TILE if line.get("tiles") else TILE / 2
        parts.append(text(NAMES - 8, y + tall / 2 + 4, shorten(line["name"], _LETTERS), "end"))
        parts += _cells(line, y, tall)
        y += tall + GAP
    most = max((len(line.get("tiles") or line.get("texts") or []) for line in lines), default=0)
    names = ", ".join(line["name"] for line in lines)
    desc = f"Lines from top to bottom: {names}."
    return picture(NAMES + most * (TILE + GAP), y, str(sheet["title"]), desc, parts)


def _cells(line: dict[str, Any], y: float, tall: float) -> list[str]:
    def x(k: int) -> int:
        return NAMES + k * (TILE + GAP)

    if line.get("tiles"):
        return [_image(tile, line["shape"], x(k), y) for k, tile in enumerate(line["tiles"])]
    words = line.get("texts") or []
    return [
        text(x(k) + TILE / 2, y + tall / 2 + 4, str(word), "middle") for k, word in enumerate(words)
    ]


def _image(tile: str, shape: list[int], x: float, y: float) -> str:
    data = base64.b64encode(png(base64.b64decode(tile), shape)).decode("ascii")
    return (
        f'<image x="{x:.0f}" y="{y:.0f}" width="{TILE}" height="{TILE}" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )
