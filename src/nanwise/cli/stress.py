"""``nanwise stress``: does a model's prediction move only because fewer values arrive?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nanwise.cli import options

if TYPE_CHECKING:
    import pandas as pd


@click.command("stress", short_help="Does hiding values alone move the predictions?")
@click.argument("model")
@click.argument("data")
@click.option("--target", metavar="COLUMN", help="True answers; a saved model knows its own.")
@click.option(
    "--mechanism",
    type=click.Choice(("mcar", "mar", "mnar")),
    default="mcar",
    show_default=True,
    help="How values are hidden; see nanwise ampute --help.",
)
@click.option("--repeats", type=click.IntRange(min=1), default=50, show_default=True, help="Draws.")
@click.option("-o", "--out", metavar="DIR", help="Write stress.html, .md and .json there.")
@options.seed
def command(
    model: str,
    data: str,
    target: str | None,
    mechanism: str,
    repeats: int,
    out: str | None,
    seed: int,
) -> None:
    """Hide more and more of each row of DATA and watch what MODEL predicts.

    MODEL is a folder that nanwise saved, or MODULE:ATTRIBUTE, any Python object with predict or
    predict_proba, or a function; the module is imported, that is, its code is run.
    """
    from nanwise.cli.files import open_any, output_folder
    from nanwise.cli.models import open_model, refuse_apart
    from nanwise.report import write
    from nanwise.stress_test.run import stress

    fitted = open_model(model)
    refuse_apart(fitted, "this command takes tables, nanwise.stress in Python pictures, too")
    frame, _ = open_any(data)
    folder = output_folder(out) if out else None
    X, y = _features(fitted, frame, target)
    result = stress(fitted, X, y, mechanism=mechanism, repeats=repeats, random_state=seed)
    click.echo(repr(result))
    if folder is not None:
        written = write(result.facts, folder, name="stress")
        click.echo(f"report: {written['html']}")


def _features(model: Any, frame: pd.DataFrame, target: str | None) -> tuple[pd.DataFrame, Any]:
    """Columns the model takes, and the target if it is there."""
    from nanwise.cli.wording import nearest
    from nanwise.data.table import split_target

    own = getattr(model, "target", None)
    if target is None and own in frame.columns:
        target = own
    if target is None:
        return _checked(model, frame), None
    if target not in frame.columns:
        raise ValueError(f"no column is called {target!r}; {nearest(target, frame.columns)}")
    X, y, _ = split_target(frame, target)
    return _checked(model, X), y


def _checked(model: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Bring the columns into the model's order once; else every predict would warn again."""
    schema = getattr(model, "schema_", None)
    if schema is None:
        return frame
    from nanwise.cli.trouble import warn

    frame, notes = schema.check(frame)
    for note in notes:
        warn(str(note))
    return frame
