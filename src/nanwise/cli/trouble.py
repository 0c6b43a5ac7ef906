"""How the command line fails: one or two lines on standard error and an exit code, no traceback.

Exit code 2: the user can mend it (arguments, data, files). 1: a defect of nanwise. 130: Ctrl-C.
With ``NANWISE_DEBUG=1`` every exception goes through with its traceback.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from nanwise.errors import MissingExtra, TrainingError

DEBUG = "NANWISE_DEBUG"
#: key of ``Context.meta``: what an interrupted command leaves behind and how to go on
RESUME = "nanwise.resume"
#: what the user can mend; DataError and ModelFileError are ValueErrors
MENDABLE = (ValueError, TrainingError, MissingExtra, OSError, MemoryError)
#: chatter between libraries, of no use to someone who typed a command
CHATTER = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning)


class Stop(click.ClickException):
    """Ends the program with a line or two and an exit code."""

    exit_code = 2

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.hint = hint

    def show(self, file: IO[Any] | None = None) -> None:
        """Print to standard error."""
        click.echo(f"error: {self.message}", file=file, err=True)
        if self.hint:
            click.echo(self.hint, file=file, err=True)


class Interrupted(Stop):
    """Ctrl-C."""

    exit_code = 130


class Defect(Stop):
    """An exception that nobody foresaw."""

    exit_code = 1


def one_line(text: object, limit: int = 600) -> str:
    """The text without line breaks, cut when a library was too talkative."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


@contextmanager
def plain_errors(ctx: click.Context | None = None) -> Iterator[None]:
    """Turn what goes wrong inside into a :class:`Stop`."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        stop = _stop_for(error, ctx)
        if stop is None:
            raise
        raise stop from error


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print each warning once, as one line on standard error."""
    said: set[str] = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        line = f"warning: {one_line(message)}"
        if line not in said and not issubclass(category, CHATTER):
            said.add(line)
            tell(line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def warn(text: str) -> None:
    """Tell the user something that does not stop the work."""
    warnings.warn(text, UserWarning, stacklevel=2)


def tell(line: str) -> None:
    """A line on standard error that does not tear a progress bar apart."""
    if "tqdm" in sys.modules:
        sys.modules["tqdm"].tqdm.write(line, file=sys.stderr)
    else:
        click.echo(line, err=True)


def _stop_for(error: BaseException, ctx: click.Context | None) -> Stop | None:
    """The end of the program for an exception; None: click or Python deal with it."""
    if isinstance(error, click.UsageError):
        return None if isinstance(error, click.exceptions.NoArgsIsHelpError) else _usage(error)
    if isinstance(error, (click.ClickException, click.exceptions.Exit, BrokenPipeError)):
        return None
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        return None
    if isinstance(error, KeyboardInterrupt):
        return _interrupted(ctx)
    return _mendable(error, ctx) if isinstance(error, MENDABLE) else _defect(error)


def _usage(error: click.UsageError) -> Stop:
    where = error.ctx.command_path if error.ctx else "nanwise"
    return Stop(one_line(error.format_message()), f"see: {where} --help")


def _interrupted(ctx: click.Context | None) -> Stop:
    kept = ctx.meta.get(RESUME) if ctx else None
    return Interrupted("interrupted", kept or "nothing was written")


def _mendable(error: BaseException, ctx: click.Context | None) -> Stop:
    """When the disk is full after an hour, it should be said that the hour is not lost."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return Stop(_what(error), ctx.meta.get(RESUME, "") if full and ctx else "")


def _what(error: BaseException) -> str:
    if isinstance(error, OSError) and not isinstance(error, MissingExtra) and error.strerror:
        name = f"{error.filename}: " if error.filename else "a file cannot be read or written: "
        return one_line(f"{name}{error.strerror}")
    if isinstance(error, MemoryError):
        return one_line(f"not enough memory. {error}")
    return one_line(error) or type(error).__name__


def _defect(error: BaseException) -> Stop:
    return Defect(
        f"unexpected {type(error).__name__}: {one_line(error, 300)}",
        f"This is a defect of nanwise. Run again with {DEBUG}=1 for the traceback and report it.",
    )
