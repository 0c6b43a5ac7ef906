"""Every example and every piece of Python in the documentation runs, as a newcomer would run it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONSOLE = re.compile(r"^\$ (nanwise .*)$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

# The first describes interfaces rather than does something; the second is run under pytest below.
NOT_CODE_TO_RUN = {"architecture.md", "contributing_a_method.md"}


def python_of(page: Path) -> str:
    """All Python blocks of a page, in order: later ones may use names of earlier ones."""
    return "\n".join(BLOCK.findall(page.read_text(encoding="utf-8")))


# Runs scripts in copies of one process that has loaded the packages: loading them takes longer than
# most scripts. What a script forgets to import is missing all the same.
SERVER = """
import atexit, os, runpy, sys, traceback, warnings
import pandas, scipy.stats, sklearn.pipeline, torch, lightning_fabric
import nanwise, nanwise.nn, nanwise.train.loop

for folder in map(str.strip, sys.stdin):
    child = os.fork()
    if not child:
        os.chdir(folder)
        for number, name in ((1, "out.txt"), (2, "errors.txt")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv, sys.path[0], code = ["script.py"], folder, 0
        warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")
        try:
            runpy.run_path("script.py", run_name="__main__")
        except BaseException:
            traceback.print_exc()
            code = 1
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    """A process with everything loaded, which takes folders and answers with exit codes."""
    started = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    yield started
    started.stdin.close()
    started.wait(60)


def run(server: subprocess.Popen[str], code: str, folder: Path) -> str:
    (folder / "script.py").write_text(code, encoding="utf-8")
    server.stdin.write(f"{folder}\n")
    server.stdin.flush()
    answer = server.stdout.readline().strip()
    assert answer == "0", (folder / "errors.txt").read_text(encoding="utf-8")[-2000:]
    return (folder / "out.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path: Path, server: subprocess.Popen[str], tmp_path: Path) -> None:
    assert run(server, path.read_text(encoding="utf-8"), tmp_path).strip()


def test_an_example_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(EXAMPLES[0].read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", script.name],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in NOT_CODE_TO_RUN and python_of(page)],
    ids=lambda page: page.name,
)
def test_python_in_the_documentation_runs(
    page: Path, server: subprocess.Popen[str], tmp_path: Path
) -> None:
    run(server, python_of(page), tmp_path)


def test_a_script_that_fails_is_noticed(server: subprocess.Popen[str], tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="NameError"):
        run(server, "print(numpy.zeros(1))", tmp_path)


def test_the_method_in_the_documentation_keeps_its_contract(tmp_path: Path) -> None:
    page = ROOT / "docs" / "contributing_a_method.md"
    (tmp_path / "test_method.py").write_text(python_of(page), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_method.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert " passed" in done.stdout


def commands() -> list[str]:
    """Every call of the command line that the documentation shows."""
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    return sorted({line for page in pages for line in CONSOLE.findall(page)})


@pytest.mark.parametrize("line", commands())
def test_commands_in_the_documentation_parse(line: str) -> None:
    from nanwise.cli.app import app

    _, *arguments = shlex.split(line, comments=True)
    command = app
    while isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.get_command(click.Context(command), name)
    assert command is not None
    assert command.make_context(name, arguments).params


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5
