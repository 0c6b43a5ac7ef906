"""``nanwise ampute``: hide values of a table, reproducibly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nanwise.cli import options

if TYPE_CHECKING:
    import pandas as pd

MECHANISMS = ("mcar", "mar", "mnar", "quantile")


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
    mcar      every cell with the same probability
    mar       depending on other, visible columns
    mnar      depending on the value that is hidden
    quantile  the largest or smallest values of a column
    """
    from nanwise.cli.files import open_any, output_file
    from nanwise.cli.wording import names
    from nanwise.data.ampute import ampute
    from nanwise.data.table import write_table

    frame, path = open_any(data)
    file = output_file(out, [path])
    chosen = _columns(frame, names(columns), target)
    hidden = frame.copy()
    # Only the chosen columns are handed over: the others need not even be numbers.
    hidden[chosen] = ampute(frame[chosen], share=share, mechanism=mechanism, random_state=seed)
    write_table(hidden, file)
    _tell(frame[chosen], hidden[chosen], file)


def _columns(frame: pd.DataFrame, wanted: list[str] | None, target: str | None) -> list[str]:
    from nanwise.cli.wording import nearest

    for name in [*(wanted or ()), *([target] if target else ())]:
        if name not in frame.columns:
            raise ValueError(f"no column is called {name!r}; {nearest(name, frame.columns)}")
    chosen = [name for name in (wanted or frame.columns) if name != target]
    if not chosen:
        raise ValueError("no column is left to hide values in")
    return chosen


def _tell(before: pd.DataFrame, after: pd.DataFrame, file: object) -> None:
    gone = int(after.isna().to_numpy().sum()) - int(before.isna().to_numpy().sum())
    click.echo(
        f"{file}: hid {gone:,} of {before.size:,} cells; "
        f"{after.isna().to_numpy().mean():.1%} are missing now"
    )
