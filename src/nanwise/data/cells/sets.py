"""Named sets of cells, prepared as AutoImpute was published with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nanwise.data.cells.counts import Counts
from nanwise.data.cells.prepare import CellPrep
from nanwise.data.cells.reading import RAW, read_cells
from nanwise.data.fetch import File, locate
from nanwise.errors import DataError

#: where the authors of AutoImpute keep Blakeley, and name the homes of the others
AUTOIMPUTE = "the repository divyanshu-talwar/AutoImpute"


@dataclass(frozen=True)
class CellSet:
    """A named set: its file below ``$NANWISE_DATA``, where it comes from, how it is read."""

    file: str
    home: str
    read: Callable[[Path], Counts]


def _from_raw(path: Path) -> Counts:
    counts = read_cells(path)
    return CellPrep().fit_transform(counts)


def _prepared(path: Path) -> Counts:
    return read_cells(path, genes_in="columns")


def _raw_part(path: Path) -> Counts:
    return read_cells(path, layer=RAW)


def _others() -> dict[str, CellSet]:
    names = ("jurkat", "kolodziejczyk", "preimplantation", "quake", "usoskin", "zeisel")
    return {
        name: CellSet(f"scrna/{name}.csv", f"{AUTOIMPUTE}, prepared, cells in rows", _prepared)
        for name in names
    }


CELL_SETS: dict[str, CellSet] = {
    "blakeley": CellSet("scrna/Blakeley_raw_data.csv", AUTOIMPUTE, _from_raw),
    "pbmc68k_reduced": CellSet(
        "scrna/10x_pbmc68k_reduced.h5ad", "scanpy's data set of that name", _raw_part
    ),
    **_others(),
}


def load_cells(name: str) -> Counts:
    """A named set, prepared: values of genes in cells, 0 where a gene was not seen.

    Parameters
    ----------
    name : str
        One of ``CELL_SETS``: ``blakeley`` is prepared from the raw counts by
        :class:`CellPrep`; ``pbmc68k_reduced`` (needs anndata) holds logarithms of normalised
        counts of 765 genes as they come; the others are prepared matrices as the authors of
        AutoImpute keep them, one ``scrna/NAME.csv`` each with cells in rows.

    Raises
    ------
    DataError
        If the file is not below ``$NANWISE_DATA``; nothing is downloaded.
    """
    if name not in CELL_SETS:
        raise DataError(f"no set of cells is called {name!r}; known: {', '.join(CELL_SETS)}")
    return CELL_SETS[name].read(where(name))


def where(name: str) -> Path:
    """The file of a named set, or a DataError that says how to get it."""
    one = CELL_SETS[name]
    return locate(File(one.file), name, one.home)
