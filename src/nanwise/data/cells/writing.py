"""Filled matrices to files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nanwise.data.cells.counts import Counts, dense
from nanwise.data.cells.reading import TEXTS
from nanwise.errors import DataError, need

#: layer of a written AnnData with what was there before
BEFORE = "before"


def check_target(path: str | os.PathLike[str]) -> Path:
    """The path, if :func:`write_cells` can write such a file; asked before any long work."""
    target = Path(path)
    if target.suffix == ".h5ad":
        need("anndata", "cells")
    elif _separator(target) is None:
        raise DataError(f"{target}: cells can be written as .h5ad, {', '.join(TEXTS)} or these .gz")
    return target


def write_cells(
    filled: Counts,
    path: str | os.PathLike[str],
    *,
    before: Counts | None = None,
    genes_in: str = "rows",
) -> Path:
    """Write a filled matrix; the file appears when it is whole, and an older one stays till then.

    Parameters
    ----------
    filled : Counts
    path : path
        ``.h5ad`` (needs anndata), or ``.csv``, ``.tsv`` or ``.txt``, also with ``.gz``.
    before : Counts, optional
        For ``.h5ad``: the same entries before gaps were filled, kept as the layer ``before``.
    genes_in : {"rows", "columns"}
        For CSV: where the genes go.
    """
    target = check_target(path)
    part = target.with_name(f".part-{target.name}")  # the same ending: pandas zips by it
    try:
        if target.suffix == ".h5ad":
            _anndata(filled, before).write_h5ad(part)
        else:
            frame = _frame(filled)
            (frame.T if genes_in == "rows" else frame).to_csv(part, sep=_separator(target))
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target


def _frame(filled: Counts) -> Any:
    pd = need("pandas", "cli")
    return pd.DataFrame(_array(filled), index=filled.cells, columns=filled.genes)


def _anndata(filled: Counts, before: Counts | None) -> Any:
    pd, anndata = need("pandas", "cli"), need("anndata", "cells")
    # Plain objects: anndata does not write the texts that pandas 3 makes of names by itself.
    obs, var = (
        pd.DataFrame(index=pd.Index(list(names), dtype=object))
        for names in (filled.cells, filled.genes)
    )
    made = anndata.AnnData(X=_array(filled), obs=obs, var=var)
    if before is not None:
        made.layers[BEFORE] = _array(before)
    return made


def _array(counts: Counts) -> Any:
    """In the precision that it has: what was seen is written as it came."""
    return dense(counts.matrix, counts.matrix.dtype)


def _separator(path: Path) -> str | None:
    kind = path.name.lower().removesuffix(".gz")
    return next((sep for ending, sep in TEXTS.items() if kind.endswith(ending)), None)
