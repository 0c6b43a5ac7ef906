import errno
import warnings

import click
import pytest
from click.testing import CliRunner

from nanwise.cli.app import App
from nanwise.cli.trouble import RESUME, one_line, warn
from nanwise.errors import DataError, MissingExtra, ModelFileError, TrainingError


def group(work):
    """A group like the real one with a single command."""

    class Single(App):
        def get_command(self, ctx, cmd_name):
            return click.Command("go", callback=work)

        def resolve_command(self, ctx, args):
            return "go", self.get_command(ctx, "go"), args[1:]

    return Single("nanwise")


def run(work):
    return CliRunner().invoke(group(work), ["go"])


def raiser(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    "error",
    [
        DataError("row 3"),
        ModelFileError("tampered"),
        MissingExtra("pip install 'nanwise[dask]'"),
        TrainingError("the loss is not a number"),
        ValueError("share must be\n  between 0 and 1"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_user_can_mend_is_one_line_and_exit_code_2(error):
    result = run(raiser(error))
    assert result.exit_code == 2
    assert result.stderr == f"error: {one_line(error)}\n"


@pytest.mark.parametrize("kind", [FileNotFoundError, PermissionError, NotADirectoryError])
def test_trouble_with_files_names_the_file(kind):
    result = run(raiser(kind(2, "is not there", "data.csv")))
    assert result.exit_code == 2
    assert result.stderr == "error: data.csv: is not there\n"


def test_memory_error_says_so():
    result = run(raiser(MemoryError()))
    assert result.exit_code == 2
    assert "not enough memory" in result.stderr


def test_a_defect_is_exit_code_1_and_says_how_to_report():
    result = run(raiser(KeyError("lost")))
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0] == "error: unexpected KeyError: 'lost'"
    assert "NANWISE_DEBUG=1" in lines[1]


def test_interrupt_without_anything_to_resume():
    result = run(raiser(KeyboardInterrupt()))
    assert result.exit_code == 130
    assert result.stderr.splitlines() == ["error: interrupted", "nothing was written"]


def test_interrupt_says_how_to_go_on():
    def work():
        click.get_current_context().meta[RESUME] = "finished cells are kept in out"
        raise KeyboardInterrupt

    result = run(work)
    assert result.exit_code == 130
    assert "finished cells are kept in out" in result.stderr


def test_debug_lets_the_exception_through(monkeypatch):
    monkeypatch.setenv("NANWISE_DEBUG", "1")
    result = run(raiser(DataError("row 3")))
    assert isinstance(result.exception, DataError)


def test_debug_0_is_off(monkeypatch):
    monkeypatch.setenv("NANWISE_DEBUG", "0")
    assert run(raiser(DataError("row 3"))).exit_code == 2


def test_warnings_are_single_lines_said_once():
    def work():
        for _ in range(2):
            warn("column 'a'\nis empty")
        warnings.warn("use the other argument", FutureWarning, stacklevel=1)

    result = run(work)
    assert result.exit_code == 0
    assert result.stderr == "warning: column 'a' is empty\n"


def test_warning_filters_are_restored():
    before = warnings.showwarning
    run(lambda: warn("x"))
    assert warnings.showwarning is before


def test_one_line_cuts_talkative_libraries():
    assert len(one_line("x " * 5000)) == 600


def test_a_full_disk_says_what_is_kept():
    def work():
        click.get_current_context().meta[RESUME] = "cells are kept in out"
        raise OSError(errno.ENOSPC, "No space left on device")

    result = run(work)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "error: a file cannot be read or written: No space left on device",
        "cells are kept in out",
    ]
