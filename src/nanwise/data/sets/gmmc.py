"""The five sets with real gaps of SN Table 10, exactly as Śmieja et al. (2018) prepared them.

Labels -1 and 1 of the files are the classes 0 and 1 here. ``gmmc_pima`` marks zero pregnancies as
missing, but not a zero body mass index: use ``pima`` for anything but the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nanwise.data.fetch import File
from nanwise.data.sets.base import Spec
from nanwise.data.sets.text import read_rows

if TYPE_CHECKING:
    import pandas as pd

_REPOSITORY = "lstruski/Processing-of-missing-data-by-neural-networks"
_COMMIT = "b6888923ce62cf9d0dab5cc046f14ebb77f36699"
_RAW = f"https://raw.githubusercontent.com/{_REPOSITORY}/{_COMMIT}/data_rbfn"


def _read(paths: list[Path]) -> pd.DataFrame:
    data, labels = paths
    width = len(data.read_text(encoding="utf-8").split("\n", 1)[0].split(","))
    frame = read_rows(data, [f"x{j}" for j in range(width)]).astype("float64")
    frame["label"] = (read_rows(labels, ["label"])["label"] > 0).astype(int)
    return frame


def _spec(
    name: str, about: str, shape: tuple[int, int, int], hashes: tuple[str, str], checksum: str
) -> Spec:
    kinds = ("_data.txt", "_labels.txt")
    return Spec(
        name=f"gmmc_{name}",
        target="label",
        about=about,
        rows=shape[0],
        columns=shape[1],
        gaps=shape[2],
        source=f"https://github.com/{_REPOSITORY} (data_rbfn/{name})",
        licence="none stated; derived from UCI data",
        citation="Śmieja, Struski, Tabor, Zieliński, Spurek (2018), Processing of missing data by "
        "neural networks",
        read=_read,
        checksum=checksum,
        files=tuple(
            File(f"smieja2018/{name}/{kind}", f"{_RAW}/{name}/{kind}", sha)
            for kind, sha in zip(kinds, hashes, strict=True)
        ),
    )


SPECS = [
    _spec(
        "bands",
        "Cylinder bands: numeric columns, Śmieja's copy",
        (539, 19, 551),
        (
            "3e64a4719c78b87dbdd9755cbb7b9b77b89b948ea09b9b27c8b8c24b95595e09",
            "70dcd37ee507d05244639b1f87e6549a4e5164a79345db26aeb2ff3c355646bb",
        ),
        "c0ec6e440d49676e",
    ),
    _spec(
        "hepatitis",
        "Hepatitis, Śmieja's copy",
        (155, 19, 167),
        (
            "752708ccef793b53bb9383609dc71150dbb593c4066ba8da652a7e25d84b879c",
            "bedfe4d590c1037562eb523d329cb8662cfa556e3f27dd5c6205caed4ca68535",
        ),
        "7a58d6a31688ebce",
    ),
    _spec(
        "horse",
        "Horse colic, Śmieja's copy",
        (368, 22, 1927),
        (
            "bb5f44d827879b055ed47b1c2f40a1e679204287ab78762fb94002cc7d35d7d0",
            "76b1b9b195b0cf5ec3b4e1757f55da5c4026c331201e80d05465681987325468",
        ),
        "8cc944c570f8d133",
    ),
    _spec(
        "mammographics",
        "Mammographic masses, Śmieja's copy",
        (961, 5, 162),
        (
            "b8ba11005561d8b174878b8c50708bd9c03aeaf3e2fa7d19eef70d551bfece09",
            "5bd14b6481aa245b8a4f64476cc2f38946edb2e01e667a069518458aa5215768",
        ),
        "a1a0ca2013d3f57a",
    ),
    _spec(
        "pima",
        "Pima diabetes, Śmieja's copy (zero pregnancies marked missing)",
        (768, 8, 752),
        (
            "9e4ab8dc0e9a77188d6df50b8915bf1ba4de0100999a66e680d3fac2285bbc8b",
            "a998a1b6dfddb68b5f9bf954b3e8feb239b7bcd75534fe76bab89a7ce84549ef",
        ),
        "fc58864af8a52264",
    ),
]
