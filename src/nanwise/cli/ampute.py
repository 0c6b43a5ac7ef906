"""``nanwise ampute``: hide values of a table, reproducibly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nanwise.cli import options

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pandas as pd

# Those of data/ampute.py, spelt out so that ``--help`` need not load numpy.
MECHANISMS = (
    "mcar",
    "mar",
    "mnar",
    "quantile",
    "gaussian_self_masking",
    "probit_self_masking",
)


@click.command("ampute")
@click.argument("data")
@click.option("-o", "--out", required=True, help="File to write (CSV, TSV, Parquet).")
@click.option("--share", type=float, default=0.3, show_default=True, help="Share of cells to hide.")
@click.option(
    "--mechanism", type=click.Choice(MECHANISMS), default="mcar", show_default=True, help="Which."
)
@click.option("--columns", metavar="A,B", help="Hide in these columns only.")
@click.option("--target", metavar="COLUMN", help="Column that is kept whole.")
@options.seed
def command(
    data: str,
    out: str,
    share: float,
    mechanism: str,
    columns: str | None,
    target: str | None,
    seed: int,
) -> None:
    """Write DATA with more of its values hidden.

    \b
    mcar                   every cell with the same probability
    mar                    depending on other, visible columns
    mnar                   large values more, logistic in the value that is hidden
    quantile               the largest or smallest values of a column
    gaussian_self_masking  values near two standard deviations above the mean
    probit_self_masking    large values more, by the normal distribution function
    """
    import numpy as np

    from nanwise.cli.files import open_any, output_file
    from nanwise.cli.wording import names
    from nanwise.data.ampute import held_cells, hide_cells
    from nanwise.data.table import write_table

    frame, path = open_any(data)
    file = output_file(out, [path])
    wanted = _columns(frame, names(columns), target)
    held = np.zeros(frame.shape, dtype=bool)
    features = [name != target for name in frame.columns]
    held[:, features] = held_cells(frame.loc[:, features], share, mechanism, wanted, seed)
    write_table(hide_cells(_as_written(frame, path), held), file)
    _tell(frame, held, file)


def _columns(frame: pd.DataFrame, wanted: list[str] | None, target: str | None) -> list[str] | None:
    """The columns asked for, without the target; None: all."""
    from nanwise.cli.wording import nearest

    for name in [*(wanted or ()), *([target] if target else ())]:
        if name not in frame.columns:
            raise ValueError(f"no column is called {name!r}; {nearest(name, frame.columns)}")
    if wanted == [target]:
        raise ValueError("--columns names the target only, which is kept whole")
    return wanted and [name for name in wanted if name != target]


def _as_written(frame: pd.DataFrame, path: Path | None) -> pd.DataFrame:
    """The cells as they stand in the file: 6 stays 6 and does not become 6.0."""
    if path is None:
        return frame
    import pandas as pd

    from nanwise.data.table import read_chunks

    return pd.concat(list(read_chunks(path)))


def _tell(frame: pd.DataFrame, held: np.ndarray, file: Path) -> None:
    missing = (frame.isna().to_numpy() | held).mean()
    click.echo(f"{file}: hid {held.sum():,} of {held.size:,} cells; {missing:.1%} are missing now")
