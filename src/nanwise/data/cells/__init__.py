"""Count matrices of single cells: read, check, prepare, write. Zero means not seen."""

from nanwise.data.cells.counts import Counts, as_counts, like
from nanwise.data.cells.hiding import hide_seen
from nanwise.data.cells.prepare import CellPrep
from nanwise.data.cells.reading import read_cells
from nanwise.data.cells.sets import CELL_SETS, load_cells
from nanwise.data.cells.writing import write_cells

__all__ = [
    "CELL_SETS",
    "CellPrep",
    "Counts",
    "as_counts",
    "hide_seen",
    "like",
    "load_cells",
    "read_cells",
    "write_cells",
]
