"""Every example and every piece of Python in the documentation runs, as a newcomer would run it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

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


def run(code: str, folder: Path) -> str:
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", script.name],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    assert run(path.read_text(encoding="utf-8"), tmp_path).strip()


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in NOT_CODE_TO_RUN and python_of(page)],
    ids=lambda page: page.name,
)
def test_python_in_the_documentation_runs(page: Path, tmp_path: Path) -> None:
    run(python_of(page), tmp_path)


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

    _, name, *arguments = shlex.split(line)
    command = app.get_command(None, name)
    assert command is not None
    assert command.make_context(name, arguments).params


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5
