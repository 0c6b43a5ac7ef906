"""Tables behind series: a path or whatever can be a data frame."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanwise.data.frames import as_frame
from nanwise.data.table import read_table

if TYPE_CHECKING:
    import pandas as pd


def frame_of(source: Any, otherwise: str) -> tuple[pd.DataFrame, str]:
    """The table, and what errors call it: the name of the file, or ``otherwise``."""
    if isinstance(source, str | os.PathLike):
        return read_table(source), Path(source).name
    return as_frame(source), otherwise
