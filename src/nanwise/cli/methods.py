"""``nanwise methods``: what can be compared and fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from nanwise.registry import Method


@click.command("methods", short_help="List the methods, or describe one.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(name: str | None, as_json: bool) -> None:
    """List the methods, or tell all about the one called NAME.

    A name that stands for several methods, for rows, pictures and series, tells of all;
    image/NAME is the one for pictures, series/NAME the one for series.
    """
    from nanwise.cli import show
    from nanwise.registry import everything, find

    found = everything()
    if name:
        # one name may stand for several methods: for rows, for pictures and for series
        found = [m for m in found if name in (m.name, m.key)] or [find(name)]
    if as_json:
        told = [facts(m) for m in found]
        show.as_json(told[0] if name and len(told) == 1 else told)
    elif name:
        for one in found:
            _describe(one)
    else:
        heads = ("name", "role", "kind", "inputs", "summary")
        show.table(heads, ((m.name, m.role, m.kind, m.inputs, m.summary) for m in found))
        click.echo("More about one of them: nanwise methods NAME")


def facts(method: Method) -> dict[str, Any]:
    """A method as plain values, without the function that makes it."""
    return {
        "name": method.name,
        "key": method.key,
        "kind": method.kind,
        "role": method.role,
        "inputs": method.inputs,
        "tasks": list(method.tasks),
        "summary": method.summary,
        "when": method.when,
        "paper": method.paper,
        "space": {name: list(values) for name, values in method.space.items()},
        "needs": list(method.needs),
        "sparse": method.sparse,
    }


def _describe(method: Method) -> None:
    from nanwise.cli import show

    told = facts(method)
    told["tasks"] = ", ".join(method.tasks)
    told["needs"] = ", ".join(method.needs)
    told["sparse"] = "takes sparse rows whose absent cells are missing" if method.sparse else ""
    space = told.pop("space").items()
    told["search"] = "; ".join(f"{name}: {', '.join(map(str, v))}" for name, v in space)
    show.listing(told)
