"""Tables behind series: a path or whatever can be a data frame."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanwise.data.frames import as_frame
from nanwise.data.table import read_table

if TYPE_CHECKING:
    import pandas as pd


def frame_of(
    source: Any, otherwise: str, text: Callable[[list[str]], Collection[str]]
) -> tuple[pd.DataFrame, str]:
    """The table, and what errors call it: the name of the file, or ``otherwise``.

    Of the names of the columns ``text`` takes those that a file has to the letter: ids such as 001,
    variables such as NA.
    """
    if isinstance(source, str | os.PathLike):
        return read_table(source, text=text), Path(source).name
    return as_frame(source), otherwise
