"""``nanwise predict`` with a model of series: a long table in, one prediction per id out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from nanwise.data.series import SeriesData


def predict_file(model: Any, data: str, file: Path, given: dict[str, Any]) -> None:
    """Read a long table as the model knows it, predict, write ids and answers."""
    import pandas as pd

    from nanwise.cli.predict import answer_columns
    from nanwise.cli.trouble import warn
    from nanwise.cli.wording import counted
    from nanwise.data.table import TableWriter

    _refuse_options(given)
    if model.n_statics_:
        raise ValueError(
            f"the model was fitted with {counted(model.n_statics_, 'static feature')}, which a "
            "long table does not hold; load it in Python and pass statics to predict"
        )
    series = _read(model, data, given)
    answer = answer_columns(model, series, given["proba"])
    with TableWriter(file) as writer:
        writer.write(pd.DataFrame({"id": series.ids, **answer}))
    for note in [*series.notes, *_empty(series)]:
        warn(note)
    click.echo(f"{file}: {counted(len(series), 'prediction')}")


def _refuse_options(given: dict[str, Any]) -> None:
    if given["keep"]:
        raise click.UsageError("--keep is for tables; predictions of series carry the id.")
    if given["chunk_rows"] is not None:
        raise click.UsageError("--chunk-rows is for tables; a long table is read whole.")


def _read(model: Any, data: str, given: dict[str, Any]) -> SeriesData:
    """The series, in the steps and the variables that the model was fitted on."""
    from nanwise.data.series import read_series

    known = getattr(model, "reading_", None) or {}
    names = _variables(model, given["variables"])
    step, end = (known.get(k) if given[k] is None else given[k] for k in ("step", "end"))
    if known and step != known["step"]:
        raise ValueError(
            f"--step {step:g}: the model was fitted on "
            + (f"steps of {known['step']:g}" if known["step"] else "every time as a step")
            + "; leave --step out"
        )
    series = read_series(data, step=step, end=end, variables=names)
    if len(series.variables) != model.n_features_in_:
        raise ValueError(
            f"{data} has the variables {', '.join(series.variables)}, the model was fitted on "
            f"{model.n_features_in_} without names; name them in the order of its fit: "
            "--variables A,B"
        )
    return series


def _variables(model: Any, text: str | None) -> list[str] | None:
    from nanwise.cli.wording import names

    own = getattr(model, "feature_names_in_", None)
    given = names(text)
    if own is None:
        return given
    if given is not None and given != list(own):
        raise ValueError(
            f"--variables {text}: the model was fitted on {', '.join(own)}; leave --variables out"
        )
    return list(own)


def _empty(series: SeriesData) -> list[str]:
    """Variables of the model that the file says nothing of."""
    import numpy as np

    there = np.any([~np.isnan(steps).all(axis=0) for steps in series.X], axis=0)
    absent = [name for name, seen in zip(series.variables, there, strict=True) if not seen]
    return [f"the file has no value of {', '.join(absent)}: taken as missing"] if absent else []
