"""Features of CMU-MOSI utterances: what is said, how it sounds, how it looks."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from nanwise.data.fetch import File
from nanwise.data.sets.modalities import ModalitySpec, Parts
from nanwise.errors import DataError

_REPOSITORY = "https://github.com/declare-lab/multimodal-deep-learning"
_WIDTHS = {"text": 100, "audio": 73, "video": 100}


def _read(paths: list[Path]) -> Parts:
    train, test = (
        dict(zip(_WIDTHS, map(_features, part), strict=True)) for part in (paths[::2], paths[1::2])
    )
    return train, test


def _features(path: Path) -> np.ndarray:
    """The quoted numbers of a file but for the last of each line, the sentiment, 0 or 1."""
    with path.open(encoding="utf-8", newline="") as file:
        try:
            rows = np.array([[float(cell) for cell in row] for row in csv.reader(file)])
        except ValueError as error:
            raise DataError(f"{path} is not a table of numbers: {error}") from error
    if rows.ndim != 2 or not np.isin(rows[:, -1], (0, 1)).all():
        raise DataError(f"{path}: expected features and, in the last column, a label 0 or 1")
    return rows[:, :-1].astype(np.float32)


_PARTS = ("train", "test")

SPECS = [
    ModalitySpec(
        name="mosi",
        about="Text, audio and video features of utterances in videos, split by speaker",
        rows=(1447, 752),
        shapes={name: (width,) for name, width in _WIDTHS.items()},
        source=_REPOSITORY,
        licence="none stated; CMU-MOSI is for research",
        citation="Zadeh, Zellers, Pincus, Morency (2016), MOSI; features of Poria et al. (2017), "
        "Context-dependent sentiment analysis in user-generated videos",
        files=tuple(File(f"mosi/{name}/{name}_{part}0.csv") for name in _WIDTHS for part in _PARTS),
        read=_read,
    )
]
