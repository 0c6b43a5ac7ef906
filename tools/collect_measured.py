"""Take measured figures out of the ``--out`` folders of ``nanwise reproduce`` into the package.

    python tools/collect_measured.py [--scale laptop] [--only sn/table9] [--runs 5] FOLDER …

The pages of the site and ``nanwise reproduce sn`` show what was collected. Cells that the folders
do not have stay as they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nanwise.bench.measured import FOLDER, collect


def main() -> None:
    """Collect, and say how many cells of which table were taken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--scale", choices=("laptop", "paper"), default="laptop")
    parser.add_argument("--only", action="append", default=[], metavar="ID")
    parser.add_argument("--runs", type=int, help="runs of a cell, if not as many as the scale has")
    given = parser.parse_args()
    taken = collect(given.folders, given.scale, FOLDER, given.only, given.runs)
    for id, count in taken.items():
        print(f"{id}: {count} cells")  # noqa: T201
    for id in given.only:
        if id not in taken:
            print(f"{id}: no cell has all its runs, or its data are not in $NANWISE_DATA")  # noqa: T201


if __name__ == "__main__":
    main()
