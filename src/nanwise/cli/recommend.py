"""``nanwise recommend``: ratings in, lists and a model out; or the list of one user of a model."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanwise.cli import options

if TYPE_CHECKING:
    from nanwise.data.ratings import Ratings

SPLITS = ("rating", "time", "leave-k-out")
TOP, MODEL, META, CHECKPOINTS = "top.csv", "model", "meta.json", "checkpoints"
#: parameters of read_ratings that messages name, and that are options here
_PARAMETER = re.compile(
    r"""\b(columns|duplicates|encoding|missing|scale|sep)=(\{[^}]*\}|["']([\w-]+)["'])?"""
)
HEADS = ("method", "RMSE", "MAE", "NDCG", "recall", "precision", "coverage", "fit")


@click.command("recommend", short_help="Ratings in, a list for every user out.")
@click.argument("source", metavar="RATINGS|MODEL")
@click.option("--method", default="autorec", show_default=True, help="See: nanwise methods.")
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="List length."
)
@click.option("--out", metavar="DIR", help="Folder for everything; default: nanwise-RATINGS.")
@click.option(
    "--by", type=click.Choice(("item", "user")), help="Rows of the network: items or users."
)
@click.option(
    "--test",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Share of the ratings held out to score on.",
)
@click.option(
    "--split",
    type=click.Choice(SPLITS),
    default="rating",
    show_default=True,
    help="Hold out at random, the latest, or the last ones of each user.",
)
@click.option(
    "--leave",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="K",
    help="For leave-k-out: ratings held out per user.",
)
@click.option(
    "--columns", metavar="NAMES", help="user,item,rating[,time]: names or positions from 0."
)
@click.option("--sep", metavar="TEXT", help="Delimiter, where it is not found; e.g. '~'.")
@click.option("--encoding", metavar="NAME", default="", help="Of a text file; default: UTF-8.")
@click.option(
    "--duplicates",
    type=click.Choice(("last", "first", "mean", "error")),
    default="last",
    show_default=True,
    help="Which counts when a user rated an item more than once.",
)
@click.option(
    "--missing",
    type=click.Choice(("error", "drop")),
    default="error",
    show_default=True,
    help="Rows without user, item or rating.",
)
@click.option("--scale", metavar="MIN,MAX[,STEP]", help="Refuse ratings that are not on it.")
@click.option("--epochs", type=click.IntRange(min=1), metavar="N", help="At most so many.")
@options.settings
@click.option("--user", metavar="ID", help="With a MODEL: print the list of this user.")
@options.seed
@click.option("--no-stress", is_flag=True, help="Leave out the stress test.")
@click.option("--no-checkpoints", is_flag=True, help="A killed training cannot go on.")
@options.quiet
@click.pass_context
def command(ctx: click.Context, source: str, user: str | None, top: int, **given: Any) -> None:
    """Train a recommender on RATINGS and write a list for every user.

    RATINGS is a file (CSV, TSV, Parquet, lines with ::; .gz too) with user, item, rating and
    perhaps time, or the name of a set of ratings. The method is scored on held-out ratings beside
    simple baselines, then trained again on all ratings. The folder gets top.csv, report.html, .md
    and .json, and the model. While it trains, checkpoints are kept there: after a kill the same
    command goes on from the last one, to the same result.

    With the folder of a MODEL and --user, print the list of one user.
    """
    if (Path(source) / META).is_file() or user is not None:
        _show_user(source, user, top)
    else:
        _train(ctx, source, top, given)


# -- one user of a saved model --------------------------------------------------------------------


def _show_user(source: str, user: str | None, top: int) -> None:
    from nanwise.cli import show
    from nanwise.cli.models import open_saved

    if user is None:
        raise ValueError(f"{source} is a saved model; say whose list to print: --user ID")
    if Path(source).is_file():
        raise ValueError(f"{source} is a file; --user needs the folder of a saved model")
    model = open_saved(source)
    if not hasattr(model, "recommend"):
        raise ValueError(f"{source} holds a {type(model).__name__}, which is no recommender")
    found = model.recommend([known_user(model, user)], n=top)
    rows = zip(found["rank"].tolist(), found["item"].tolist(), found["score"].tolist(), strict=True)
    listed = [(rank, item, show.number(float(score))) for rank, item, score in rows]
    if not listed:
        click.echo(f"user {user} has rated every item: nothing is left to recommend")
        return
    show.table(("rank", "item", "score"), listed, right=("rank", "score"))


def known_user(model: Any, text: str) -> Any:
    """The id that is meant by what was typed: 7 may be a number or a text in the model."""
    there = set(model.users_.tolist())
    if text in there:
        return text
    number = int(text) if text.removeprefix("-").isdecimal() else None
    if number in there:
        return number
    if len(there) <= 100_000:
        from nanwise.cli.wording import nearest

        raise ValueError(f"no user has the id {text!r}; {nearest(text, model.users_.tolist(), 5)}")
    raise ValueError(f"no user has the id {text!r}; one of {len(there):,} is {next(iter(there))!r}")


# -- training -------------------------------------------------------------------------------------


def _train(ctx: click.Context, source: str, top: int, given: dict[str, Any]) -> None:
    from nanwise.bench.rating_facts import notes_of
    from nanwise.bench.recommend import check_params, recommend
    from nanwise.cli.trouble import RESUME, warn

    params = _params(given)
    check_params(given["method"], params)
    ratings = open_ratings(source, given)
    folder = _folder(given["out"], source)
    for note in notes_of(ratings):
        warn(note)
    kept = None if given["no_checkpoints"] else folder / CHECKPOINTS
    if kept is not None:
        ctx.meta[RESUME] = f"checkpoints are kept in {kept}: the same command again goes on there"
    found = recommend(
        ratings,
        given["method"],
        params,
        k=top,
        split=given["split"].replace("-", "_"),
        test=given["test"],
        leave=given["leave"],
        seed=given["seed"],
        stress=not given["no_stress"],
        checkpoint=kept,
        progress=not given["quiet"],
    )
    _write(found.facts, found.model, folder, source, top)
    _forget(folder / CHECKPOINTS)


def _forget(folder: Path) -> None:
    """Remove checkpoints, also those of earlier runs that were killed and not taken up again."""
    for path in folder.glob("*.safetensors"):
        path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _params(given: dict[str, Any]) -> dict[str, Any]:
    """``--by``, ``--epochs`` and ``--set`` as parameters of the method."""
    from nanwise.cli.wording import settings

    params = settings(given["pairs"])
    if given["by"]:
        params["by"] = given["by"]
    if given["epochs"]:
        plan = params.get("plan", {})
        params["plan"] = {**(plan if isinstance(plan, dict) else {}), "epochs": given["epochs"]}
    return params


def _folder(out: str | None, source: str) -> Path:
    from nanwise.cli.files import output_folder
    from nanwise.cli.models import model_folder

    folder = output_folder(out or f"nanwise-{Path(source).name.split('.')[0]}", [Path(source)])
    model_folder(str(folder / MODEL))
    if (folder / TOP).exists() and Path(source).exists() and (folder / TOP).samefile(source):
        raise ValueError(f"{source} would be overwritten by the lists; choose another --out")
    return folder


def open_ratings(source: str, given: dict[str, Any]) -> Ratings:
    """Read a file, or the set of ratings of that name when there is no such file."""
    from nanwise.data.ratings import read_ratings

    if Path(source).is_dir():
        raise ValueError(f"{source} is a folder without a saved model; name a file of ratings")
    if Path(source).exists():
        with _in_options():
            return read_ratings(
                source,
                _columns(given["columns"]),
                duplicates=given["duplicates"],
                missing=given["missing"],
                scale=_scale(given["scale"]),
                sep=given["sep"],
                encoding=given["encoding"],
            )
    from nanwise.data.sets import known_ratings, load_ratings

    names = [facts["name"] for facts in known_ratings()]
    if source in names:
        return load_ratings(source)
    raise ValueError(
        f"{source}: no such file or model, and no set of ratings of that name "
        f"(there are: {', '.join(names)})"
    )


@contextmanager
def _in_options() -> Iterator[None]:
    """Where a message says what to pass in Python, say which option that is."""
    from nanwise.errors import DataError

    try:
        yield
    except DataError as error:
        raise DataError(_PARAMETER.sub(_option, str(error))) from error


def _option(found: re.Match[str]) -> str:
    value = "user,item,rating" if (found[2] or "").startswith("{") else found[3]
    return f"--{found[1]} {value}" if value else f"--{found[1]}"


def _columns(text: str | None) -> list[str | int] | None:
    from nanwise.cli.wording import names

    found = names(text)
    if found is None:
        return None
    if len(found) not in (3, 4):
        raise ValueError(f"--columns takes user,item,rating or user,item,rating,time; got {text!r}")
    return [int(name) if name.isdecimal() else name for name in found]


def _scale(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--scale takes MIN,MAX or MIN,MAX,STEP, e.g. 1,5; got {text!r}") from None


# -- results --------------------------------------------------------------------------------------


def _write(facts: dict[str, Any], model: Any, folder: Path, source: str, top: int) -> None:
    from nanwise.cli.wording import counted
    from nanwise.report import write
    from nanwise.saving import save

    rows = write_top(model, folder / TOP, top)
    save(model, folder / MODEL)
    facts["title"] = f"Recommendations from {Path(source).name}"
    facts["data"]["source"] = Path(source).name
    facts["command"] = shlex.join(["nanwise", *sys.argv[1:]])
    facts["model"]["path"] = str(folder / MODEL)
    facts["top"] = {"path": str(folder / TOP), "n": top, "users": len(model.users_), "rows": rows}
    write(facts, folder)
    _show_scores(facts)
    click.echo(f"model:  {folder / MODEL}  ({facts['model']['how']})")
    click.echo(f"lists:  {folder / TOP}  ({counted(len(model.users_), 'user')})")
    click.echo(f"report: {folder / 'report.html'}")


def write_top(model: Any, path: Path, n: int) -> int:
    """Lists of all users as CSV, some users at a time; the file is there whole or not at all."""
    import pandas as pd

    from nanwise.bench.recommend import top_lists
    from nanwise.data.writing import TableWriter

    with TableWriter(path) as writer:
        for part in top_lists(model, n):
            frame = pd.DataFrame({name: part[name] for name in ("user", "rank", "item", "score")})
            writer.write(frame.assign(score=frame["score"].astype(float).round(6)))
        return writer.rows


def _show_scores(facts: dict[str, Any]) -> None:
    from nanwise.cli import show

    protocol = facts["protocol"]
    k = protocol["k"]
    heads = [f"{h}@{k}" if h in ("NDCG", "recall", "precision") else h for h in HEADS]
    rows = [
        (
            row["method"],
            *(show.number(row[s], 4) for s in ("rmse", "mae", "ndcg", "recall", "precision")),
            show.number(row["coverage"]),
            f"{row['fit_seconds']:.1f} s",
        )
        for row in facts["scores"]
    ]
    show.table(heads, rows, right=heads[1:], title=_caption(facts))


def _caption(facts: dict[str, Any]) -> str:
    held, train = facts["protocol"]["held"], facts["protocol"]["train"]
    return f"{held:,} held-out ratings, {train:,} learnt from"
