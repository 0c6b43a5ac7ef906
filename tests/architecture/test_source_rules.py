"""House rules that can be read off the syntax tree of every file under src/."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "nanwise"
FILES = sorted(SOURCE.rglob("*.py"))

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# "file: function or name" -> why it may break the rule. Every entry must still be needed.
LONG_FUNCTIONS: dict[str, str] = {}
LONG_FILES: dict[str, str] = {}
NAMED_MASK: dict[str, str] = {
    "data/writing.py: mask": "the process's file permission mask, os.umask",
    "missing.py: mask": "turns any array into booleans; which polarity is its caller's business",
}

BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
BANNED_CALLS = {
    "eval",
    "exec",
    "print",
    "joblib.load",
    "joblib.dump",
    "torch.load",
    "torch.save",
    "numpy.load",
    "np.load",
    "pandas.read_pickle",
    "pd.read_pickle",
}
BANNED_NAMES = {"mask", "missing_mask"}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def dotted(node: ast.expr) -> str:
    """``a.b.c`` for a chain of attributes, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and dotted(node.value):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def imported(tree: ast.Module) -> set[str]:
    """Top-level names of all modules a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def is_docstring(node: ast.AST) -> bool:
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant and isinstance(node.value.value, str)


def code_lines(source: str) -> set[int]:
    """Line numbers that hold code: no comment, no blank line, no docstring."""
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skip and token.type != tokenize.ENDMARKER:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if is_docstring(node):
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return lines


def function_sizes(source: str) -> Iterator[tuple[str, int]]:
    lines = code_lines(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, len(lines & set(range(node.lineno, node.end_lineno + 1)))


def bound_names(tree: ast.Module) -> set[str]:
    """Every name a file gives to something: parameters, variables, attributes, fields."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


def test_there_is_source() -> None:
    assert len(FILES) > 10


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_that_runs_stored_code_and_nothing_printed(path: Path) -> None:
    tree = tree_of(path)
    assert not imported(tree) & BANNED_MODULES
    calls = {dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not calls & BANNED_CALLS


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_assert(path: Path) -> None:
    if path.is_relative_to(SOURCE / "testing"):
        return  # contracts for pytest: asserting is their work
    lines = [node.lineno for node in ast.walk(tree_of(path)) if isinstance(node, ast.Assert)]
    assert lines == []


def test_names_carry_the_polarity() -> None:
    found = {
        f"{name_of(path)}: {name}"
        for path in FILES
        for name in bound_names(tree_of(path)) & BANNED_NAMES
    }
    assert found == set(NAMED_MASK)


def test_functions_are_short() -> None:
    found = {
        f"{name_of(path)}: {name}": size
        for path in FILES
        for name, size in function_sizes(path.read_text(encoding="utf-8"))
        if size > MAX_FUNCTION_LINES
    }
    assert {key: size for key, size in found.items() if key not in LONG_FUNCTIONS} == {}
    assert set(LONG_FUNCTIONS) <= set(found)


def test_files_are_short() -> None:
    sizes = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    found = {name: size for name, size in sizes.items() if size > MAX_FILE_LINES}
    assert {name: size for name, size in found.items() if name not in LONG_FILES} == {}
    assert set(LONG_FILES) <= set(found)


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout: nothing is tracked")
def test_no_path_of_one_machine_is_tracked() -> None:
    # Spelled with a class of one character, so that this line is no such path itself.
    personal = re.compile(rb"(?<![\w.~<*-])/(?:hom[e]|roo[t]|User[s]|wor[k])/[\w.-]+")
    checkout = str(ROOT).encode()
    files = [path for path in tracked_files() if path.is_file()]
    guilty = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if personal.search(content := path.read_bytes()) or checkout in content
    }
    assert len(files) > 10
    assert guilty == set()


def test_the_rules_see_what_they_look_for() -> None:
    source = (
        "import pickle\n"
        "def f(mask):\n"
        '    """Doc."""\n'
        "    # why\n"
        "    missing_mask = eval('1')\n"
        "    return torch.load(mask)\n"
    )
    tree = ast.parse(source)
    calls = {dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert imported(tree) & BANNED_MODULES == {"pickle"}
    assert calls & BANNED_CALLS == {"eval", "torch.load"}
    assert bound_names(tree) & BANNED_NAMES == {"mask", "missing_mask"}
    assert list(function_sizes(source)) == [("f", 3)]
