"""The group ``nanwise``: finds its commands by name and turns trouble into plain lines."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

import click

import nanwise
from nanwise.cli.trouble import plain_errors, plain_warnings

# Name -> module. A module is imported when its command is asked for; it holds one `command`.
COMMANDS = {
    "compare": "nanwise.cli.compare",
    "fit": "nanwise.cli.fit",
    "predict": "nanwise.cli.predict",
    "stress": "nanwise.cli.stress",
    "impute": "nanwise.cli.impute",
    "compare-imputers": "nanwise.cli.compare_imputers",
    "recommend": "nanwise.cli.recommend",
    "images": "nanwise.cli.images",
    "cells": "nanwise.cli.cells",
    "report": "nanwise.cli.report",
    "ampute": "nanwise.cli.ampute",
    "methods": "nanwise.cli.methods",
    "datasets": "nanwise.cli.datasets",
    "reproduce": "nanwise.cli.reproduce",
}


class App(click.Group):
    """A click group whose commands are imported by name, and whose errors are one or two lines."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands in the order a newcomer meets them, not by letter."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        module = COMMANDS.get(cmd_name)
        return importlib.import_module(module).command if module else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command, or name the nearest ones."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command is called {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the group's own options."""
        with plain_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse and run the command."""
        with plain_errors(ctx), plain_warnings():
            return super().invoke(ctx)


@click.group(
    "nanwise",
    cls=App,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with:  nanwise compare pima   (a bundled table with real gaps)",
)
@click.version_option(nanwise.__version__, message="nanwise %(version)s")
def app() -> None:
    """Neural networks that train directly on incomplete data.

    A table with gaps goes in; a ranked comparison, a stress test, a report and a model that is
    safe to load come out.
    """
