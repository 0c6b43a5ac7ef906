"""Sheets of small pictures: valid PNG files, names, labels, and what is refused."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from nanwise.report import render
from nanwise.report.pictures import png, sheets

GREY = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
COLOUR = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10


def tile(pixels):
    return base64.b64encode(pixels.tobytes()).decode()


def sheet(name="truth", title="a is missing"):
    return {
        "title": title,
        "caption": "One row in each column.",
        "lines": [
            {"name": name, "shape": [3, 4], "tiles": [tile(GREY), tile(255 - GREY)]},
            {"name": "label", "texts": ["7", "9"]},
        ],
    }


@pytest.mark.parametrize("pixels", [GREY, COLOUR], ids=["grey", "colour"])
def test_png_files_hold_the_pixels(pixels):
    file = Image.open(io.BytesIO(png(pixels.tobytes(), list(pixels.shape))))
    file.verify()
    file = Image.open(io.BytesIO(png(pixels.tobytes(), list(pixels.shape))))
    np.testing.assert_array_equal(np.asarray(file), pixels)


def test_too_few_bytes_are_refused():
    with pytest.raises(ValueError, match=r"shape \[3, 4\] has 12 bytes, got 11"):
        png(GREY.tobytes()[:-1], [3, 4])


def test_a_sheet_has_its_pictures_in_order_and_its_labels():
    (found,) = sheets([sheet()])
    files = re.findall(r'href="data:image/png;base64,([^"]+)"', found["svg"])
    shown = [np.asarray(Image.open(io.BytesIO(base64.b64decode(file)))) for file in files]
    np.testing.assert_array_equal(shown, [GREY, 255 - GREY])
    assert re.findall(r">(truth|label|7|9)</text>", found["svg"]) == ["truth", "label", "7", "9"]
    assert found["caption"] == "One row in each column."


def test_the_report_shows_them_and_its_policy_allows_data_only(reproduce_facts):
    page = render(reproduce_facts | {"pictures": [sheet()]})
    assert page.count("data:image/png") == 2
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert "default-src 'none'" in policy
    assert "img-src data:;" in policy
    assert "data:image" not in render(reproduce_facts)


def test_names_are_escaped():
    page = sheets([sheet(name="<b>", title="<i>")])[0]["svg"]
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;" in page
