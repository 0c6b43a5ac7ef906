"""Counts from files: AnnData (.h5ad), a 10x folder, or CSV."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from scipy import io, sparse

from nanwise.data.cells.counts import Counts, as_counts
from nanwise.data.frames import listed
from nanwise.errors import DataError, need

#: separators by ending; each also with .gz behind
TEXTS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
GENES_IN = ("rows", "columns")
#: names of the files of a 10x folder, older and newer
MATRIX, BARCODES, GENES = "matrix.mtx", "barcodes.tsv", ("features.tsv", "genes.tsv")
#: value of ``layer`` that asks for the raw part of an AnnData
RAW = "raw"
#: what reading a file raises that is cut short, damaged or of another encoding
_DAMAGED = (OSError, EOFError, zlib.error, UnicodeDecodeError)


def read_cells(
    path: str | os.PathLike[str], *, genes_in: str = "rows", layer: str | None = None
) -> Counts:
    """Read counts.

    Parameters
    ----------
    path : path
        An ``.h5ad`` file (needs anndata), a folder of 10x (``matrix.mtx``, ``barcodes.tsv`` and
        ``features.tsv`` or ``genes.tsv``, gzipped or not), or a CSV or TSV file (``.csv``,
        ``.tsv``, ``.txt``, gzipped or not) with names in the first row and the first column.
    genes_in : {"rows", "columns"}
        For CSV: where the genes are.
    layer : str, optional
        For ``.h5ad``: the layer with the counts, or ``"raw"``; default: ``X``.

    Returns
    -------
    Counts
        Cells are rows, genes columns.

    Raises
    ------
    DataError
        If the file is of no such kind or its content is not counts; the message says what to do.
    MissingExtra
        For ``.h5ad`` without anndata.
    """
    if genes_in not in GENES_IN:
        raise ValueError(f"genes_in must be one of {GENES_IN}, got {genes_in!r}")
    place = Path(path)
    if not place.exists():
        raise DataError(f"{place} is not there")
    kind = place.name.lower().removesuffix(".gz")
    if layer is not None and (place.is_dir() or not kind.endswith(".h5ad")):
        raise DataError(f"{place} has no layers, only .h5ad files do; leave layer={layer!r} out")
    if place.is_dir():
        return _read_10x(place)
    if kind.endswith(".h5ad"):
        return as_counts(_choose(open_anndata(place), layer, place))
    sep = next((s for ending, s in TEXTS.items() if kind.endswith(ending)), None)
    if sep is None:
        raise DataError(
            f"{place} is none of the kinds that can be read: .h5ad, a 10x folder, "
            f"{', '.join(TEXTS)}"
        )
    return _read_text(place, sep, genes_in)


def open_anndata(path: Path) -> Any:
    """The AnnData of a file."""
    anndata = need("anndata", "cells")
    try:
        return anndata.read_h5ad(path)
    except (OSError, KeyError, ValueError) as error:
        raise DataError(f"{path} cannot be read as AnnData: {error}") from error


def _choose(data: Any, layer: str | None, path: Path) -> Any:
    """The part of an AnnData that holds the counts, with its names."""
    if layer is None:
        return data
    if layer == RAW:
        if data.raw is None:
            raise DataError(f"{path} has no raw part; leave layer out, or name one of its layers")
        return data.raw.to_adata()
    if layer not in data.layers:
        raise DataError(f"{path} has no layer {layer!r}; it has {sorted(data.layers)}")
    chosen = data.copy()
    chosen.X = data.layers[layer]
    return chosen


def _read_text(path: Path, sep: str, genes_in: str) -> Counts:
    frame = _frame(path, sep)
    if not frame.shape[1]:
        raise DataError(f"{path} has one column only; its ending says that {sep!r} separates them")
    if frame.index.hasnans:
        row = int(frame.index.isna().argmax())
        raise DataError(f"{path}: row {row} (counted from 0) has no name in the first column")
    _refuse_repeated(path, sep, frame.shape[1])
    try:
        return as_counts(frame.T if genes_in == "rows" else frame)
    except DataError as error:
        raise DataError(f"{path}, genes in {genes_in}: {error}") from error


def _frame(path: Path, sep: str) -> Any:
    """The table with its names to the letter: 001 is no number and NA no gap."""
    pd = need("pandas", "cli")
    names = {"index_col": 0, "converters": {0: str}, "keep_default_na": False, "na_values": [""]}
    try:
        return pd.read_csv(path, sep=sep, **names)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, *_DAMAGED) as error:
        raise DataError(f"{path} is not a table of counts: {error}") from error


def _refuse_repeated(path: Path, sep: str, number: int) -> None:
    """Pandas renames a column that comes again; what the file says counts."""
    with _open(path) as file:
        first = file.readline().decode("utf-8-sig")
    names = next(csv.reader([first], delimiter=sep))[-number:]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"{path}: columns that are there more than once: {listed(twice)}")


def _read_10x(folder: Path) -> Counts:
    matrix = _matrix(_member(folder, (MATRIX,)))
    cells = _lines(_member(folder, (BARCODES,)))
    genes = _lines(_member(folder, GENES))
    if matrix.shape != (len(genes), len(cells)):
        raise DataError(
            f"{folder}: the matrix is {matrix.shape[0]} x {matrix.shape[1]}, but there are "
            f"{len(genes)} genes and {len(cells)} barcodes; are the files of one run?"
        )
    barcodes = [cell[0] for cell in cells]
    return as_counts(_Named(sparse.csr_array(matrix.T), barcodes, _gene_names(genes)))


class _Named:
    """A matrix with names, in the words of AnnData."""

    def __init__(self, X: Any, obs_names: list[str], var_names: list[str]) -> None:
        self.X, self.obs_names, self.var_names = X, obs_names, var_names


def _member(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        for found in (folder / name, folder / f"{name}.gz"):
            if found.is_file():
                return found
    wanted = " or ".join(f"{name}[.gz]" for name in names)
    raise DataError(f"{folder} is not a 10x folder: it has no {wanted}")


def _matrix(path: Path) -> sparse.coo_array:
    try:
        with _open(path) as file:
            return sparse.coo_array(io.mmread(file))
    except (ValueError, *_DAMAGED) as error:
        raise DataError(f"{path} is not a Matrix Market file: {error}") from error


def _lines(path: Path) -> list[list[str]]:
    try:
        with _open(path) as file:
            text = file.read().decode("utf-8")
    except _DAMAGED as error:
        raise DataError(f"{path} is not a list of names: {error}") from error
    return [line.split("\t") for line in text.splitlines() if line]


def _open(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _gene_names(genes: list[list[str]]) -> list[str]:
    """Symbols; where several genes share one, their ids."""
    symbols = [gene[1] if len(gene) > 1 else gene[0] for gene in genes]
    times = Counter(symbols)
    return [
        gene[0] if times[symbol] > 1 else symbol
        for gene, symbol in zip(genes, symbols, strict=True)
    ]
