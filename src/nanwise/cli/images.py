"""``nanwise images``: compare treatments of holes, classify with one, learn to fill, fill."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanwise.cli import image_args, options

if TYPE_CHECKING:
    from nanwise.data.images import Pictures

MODEL = "model"
HEADS = ("#", "treatment", "accuracy", "95 % interval", "log loss", "seconds")
#: pictures in the report of nanwise images inpaint
SHOWN = 8

_size = click.option(
    "--size", metavar="N|HxW", help="Resample pictures to this size; needed where sizes differ."
)
_hide = click.option(
    "--hide",
    metavar="KIND[:SHARE]",
    help="Cut holes first: square, trapezoid, noise or strokes; as in noise:0.5.",
)
_device = click.option("--device", metavar="NAME", help="cpu, cuda, cuda:1 or auto.")


@click.group("images", short_help="Pictures with holes: compare, predict, fit, inpaint.")
def command() -> None:
    """Pictures with holes: a folder of PNG, JPEG, BMP, TIFF or WebP files, or an .npz file.

    A hole is where alpha is 0, or where the mask file beside a picture is white: cat.mask.png
    belongs to cat.jpg. In an .npz file X holds the pictures, NaN or False in observed is a hole.
    """


@command.command("compare", short_help="Which treatment of the holes classifies best.")
@click.argument("source", metavar="DIR|FILE.npz")
@click.option("--labels", metavar="CSV", help="File with the columns file,label; else folders.")
@click.option("--gaps", metavar="A,B", help="Only these treatments.  [default: see below]")
@click.option("--out", metavar="DIR", help="Folder for everything; default: nanwise-DIR.")
@_size
@_hide
@click.option(
    "--test",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the pictures held out to score on.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="Of every classifier.")
@click.option("--density-epochs", type=click.IntRange(min=1), help="Of the density of the holes.")
@click.option(
    "--draws", type=click.IntRange(min=0), default=3, show_default=True, help="In the report."
)
@_device
@options.settings
@options.seed
@options.quiet
def compare(source: str, **given: Any) -> None:
    """Train a classifier with each treatment of the holes; rank them on pictures held out.

    The class of a picture is the first folder below DIR, or stands in the CSV file. Compared are
    misconv, dmfa, zero, mask_channel, partial_conv, sn_conv and knn (also: mfa, flow), with the
    same network behind. The folder gets report.html, .md and .json and the best model. A parameter
    of the classifier is set as in --set width=16.
    """
    from nanwise.bench.images import compare_images
    from nanwise.cli.files import output_folder
    from nanwise.cli.models import model_folder
    from nanwise.cli.wording import names

    gaps, kind = names(given["gaps"]), image_args.hidden(given["hide"])
    params = image_args.classifier_params(given)
    image_args.check_gaps(gaps)
    pictures = image_args.read(source, given["size"], labels=given["labels"] or "folders")
    y = image_args.labels_of(pictures, source)
    folder = output_folder(given["out"] or f"nanwise-{Path(source).stem}", [Path(source)])
    model_folder(str(folder / MODEL))
    X, truth = image_args.cut(pictures, kind, given["seed"])
    found = compare_images(
        X,
        y,
        gaps,
        truth=truth,
        test=given["test"],
        params=params,
        density=image_args.density_params(given),
        draws=given["draws"],
        seed=given["seed"],
        progress=not given["quiet"],
    )
    _conclude(found, pictures, folder, given["hide"])


@command.command("predict", short_help="Classify pictures with a saved model.")
@click.argument("model")
@click.argument("source", metavar="DIR|FILE.npz")
@click.option("-o", "--out", required=True, help="File to write (CSV, TSV, Parquet).")
@click.option("--proba", is_flag=True, help="Add a probability for each class.")
def predict(model: str, source: str, out: str, proba: bool) -> None:
    """Classify pictures with the MODEL of nanwise images compare; one line for each picture.

    Pictures of another size than the model's are resampled for it.
    """
    import pandas as pd

    from nanwise.cli.files import output_file
    from nanwise.cli.models import open_saved
    from nanwise.cli.predict import answer_columns
    from nanwise.cli.wording import counted
    from nanwise.data.table import TableWriter
    from nanwise.estimators.image.classifier import NanImageClassifier

    file, found = output_file(out, [Path(source)]), open_saved(model)
    if not isinstance(found, NanImageClassifier):
        kind = type(found).__name__
        raise ValueError(f"{model} holds a {kind}, which does not classify pictures")
    channels, height, width = found.shape_
    pictures = image_args.read(source, (height, width), labels=None, channels=channels)
    answer = answer_columns(found, pictures.X, proba)
    with TableWriter(file) as writer:
        writer.write(pd.DataFrame({"file": pictures.names, **answer}))
    click.echo(f"{file}: {counted(len(pictures), 'prediction')}")


@command.command("fit", short_help="Learn what may be in the holes.")
@click.argument("source", metavar="DIR|FILE.npz")
@click.option("--method", default="dmfa", show_default=True, help="dmfa, mfa or flow.")
@click.option("-o", "--out", required=True, metavar="MODEL", help="Folder for the model.")
@_size
@_hide
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the pictures.")
@_device
@options.settings
@options.seed
@options.quiet
def fit(source: str, method: str, out: str, **given: Any) -> None:
    """Learn a density of holes from pictures that may all be incomplete, and save it."""
    from time import perf_counter

    from nanwise.cli.models import model_folder
    from nanwise.cli.wording import counted, seconds
    from nanwise.registry import find
    from nanwise.saving import save

    kind = image_args.hidden(given["hide"])
    imputer = find(method, "imputer", "image").make(random_state=given["seed"])
    params = image_args.params_of(given, imputer)
    if "verbose" in imputer.get_params(deep=False):
        params.setdefault("verbose", not given["quiet"])
    pictures = image_args.read(source, given["size"], labels=None)
    folder = model_folder(out)
    start = perf_counter()
    imputer.set_params(**params).fit(image_args.cut(pictures, kind, given["seed"])[0])
    if "verbose" in params:
        imputer.set_params(verbose=False)
    save(imputer, folder)
    took = seconds(perf_counter() - start)
    click.echo(f"{method}: {counted(len(pictures), 'picture')}, {took}")
    click.echo(f"model: {folder}")


@command.command("inpaint", short_help="Fill the holes of pictures with a saved model.")
@click.argument("model")
@click.argument("source", metavar="DIR|FILE.npz")
@click.option("--out", required=True, metavar="DIR", help="Folder for the filled pictures.")
@click.option(
    "--draws",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random fillings, each in a folder of its own; 0: the expectation.",
)
@options.seed
def inpaint(model: str, source: str, out: str, draws: int, seed: int) -> None:
    """Fill the holes of pictures with the MODEL of nanwise images fit or compare.

    Pictures are written in their own size and kind; pixels that are there keep their bits, so JPEG
    files with holes become PNG. Pictures of another size than the model's are resampled for it.
    """
    from nanwise.cli.files import output_folder
    from nanwise.cli.wording import counted
    from nanwise.data.images.write import planned, refuse_inside, write_filled

    imputer = image_args.open_imputer(model)
    channels, height, width = imputer.shape_
    pictures = image_args.read(source, (height, width), labels=None, channels=channels)
    refuse_inside(Path(source), Path(out))
    if Path(out).resolve().is_relative_to(Path(model).resolve()):
        raise ValueError(f"{out} is the model, or a folder in it; choose another --out")
    target = output_folder(out, [Path(source)])
    folders = [target / f"draw-{k + 1}" for k in range(draws)] if draws else [target]
    for folder in folders:
        planned(pictures, folder)
    X = pictures.X
    filled = imputer.sample(X, draws, random_state=seed) if draws else [imputer.transform(X)]
    _keep(f"pictures written so far are whole and in {target}; the same command again writes all")
    for folder, values in zip(folders, filled, strict=True):
        write_filled(pictures, values, folder)
        click.echo(f"filled: {folder}  ({counted(len(pictures), 'picture')})")
    _report_filled(imputer, pictures, target, folders, draws, seed)


# -- results --------------------------------------------------------------------------------------


def _keep(text: str) -> None:
    """What to say if the command is interrupted from here on."""
    from nanwise.cli.trouble import RESUME

    click.get_current_context().meta[RESUME] = text


def _conclude(found: Any, pictures: Pictures, folder: Path, hide: str | None) -> None:
    from nanwise.cli.trouble import warn
    from nanwise.report import write
    from nanwise.saving import save

    facts = found.facts
    if found.model is not None:
        save(found.model, folder / MODEL)
        _keep(f"the model was saved in {folder / MODEL}, the report was not finished")
        facts["winner"]["path"] = str(folder / MODEL)
    facts["title"] = f"Pictures with holes in {pictures.root.name}"
    facts["data"] |= {"source": pictures.root.name, "hidden": hide, "notes": pictures.notes}
    facts["command"] = shlex.join(["nanwise", *sys.argv[1:]])
    write(facts, folder)
    _show(facts)
    for failure in facts["failures"]:
        warn(f"{failure['method']} failed: {failure['error']}")
    if found.model is not None:
        click.echo(f"model:  {folder / MODEL}  ({facts['winner']['method']})")
    click.echo(f"report: {folder / 'report.html'}")
    if found.model is None:
        raise ValueError("no treatment gave a result; the reasons stand above and in the report")


def _show(facts: dict[str, Any]) -> None:
    from nanwise.cli import show
    from nanwise.cli.wording import counted

    rows = [
        (
            row["rank"] or "–",
            row["method"],
            show.number(row["accuracy"]),
            "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}",
            show.number(row["log_loss"]),
            show.number(row["fit_seconds"], 1),
        )
        for row in facts["leaderboard"]
    ]
    held, train = facts["protocol"]["test"], facts["protocol"]["train"]
    title = f"{counted(held, 'held-out picture')}, {train:,} learnt from"
    show.table(HEADS, rows, right=[head for head in HEADS if head != "treatment"], title=title)


def _report_filled(
    imputer: Any, pictures: Pictures, target: Path, folders: list[Path], draws: int, seed: int
) -> None:
    from datetime import UTC, datetime

    from nanwise.bench.case import versions
    from nanwise.bench.image_facts import picture_facts
    from nanwise.bench.image_sheets import sheet
    from nanwise.report import write

    torn = [k for k, own in enumerate(pictures.observed) if not own.all()]
    torn = torn[:: -(-len(torn) // SHOWN) or 1]  # from all folders, not only the first
    method = type(imputer).__name__
    facts = {
        "kind": "images",
        "title": f"Holes of {pictures.root.name}, filled by {method}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": method,
        "draws": draws,
        "data": {
            **picture_facts(pictures.X),
            "source": pictures.root.name,
            "notes": pictures.notes,
        },
        "sheets": [sheet(pictures.X[torn], imputer=imputer, draws=max(draws, 3), seed=seed)]
        if torn
        else [],
        "files": [str(folder) for folder in folders],
        "settings": {"draws": draws, "seed": seed},
        "versions": versions(),
        "command": shlex.join(["nanwise", *sys.argv[1:]]),
    }
    write(facts, target)
    click.echo(f"report: {target / 'report.html'}")
