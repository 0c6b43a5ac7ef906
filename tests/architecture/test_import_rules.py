"""What importing loads, and which way imports may point."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import nanwise

ROOT = Path(__file__).resolve().parents[2]


def loaded_by(statement: str) -> set[str]:
    """Top-level modules in a fresh interpreter after one statement."""
    script = (
        f"import json, sys\n{statement}\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_nanwise_loads_nothing_heavy() -> None:
    heavy = {"torch", "numpy", "scipy", "sklearn", "pandas", "polars", "lightning_fabric", "click"}
    assert loaded_by("import nanwise") & heavy == set()


def test_import_nn_loads_torch_and_no_table_library() -> None:
    loaded = loaded_by("import nanwise.nn")
    assert "torch" in loaded
    assert loaded & {"sklearn", "pandas", "polars", "lightning_fabric", "scipy"} == set()


def test_help_loads_no_torch() -> None:
    statement = (
        "import sys\n"
        "sys.argv = ['nanwise', '--help']\n"
        "from nanwise.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as stop:\n    assert not stop.code"
    )
    assert loaded_by(statement) & {"torch", "sklearn", "pandas", "matplotlib"} == set()


def test_the_registry_alone_loads_no_torch() -> None:
    assert loaded_by("import nanwise.registry") & {"torch", "numpy", "sklearn"} == set()


def test_import_contracts_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("name", nanwise.__all__)
def test_public_names_resolve_and_are_documented(name: str) -> None:
    value = getattr(nanwise, name)
    if name == "__version__":
        assert value.count(".") == 2
    else:
        assert (value.__doc__ or "").strip()
        assert value.__module__.startswith("nanwise")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        nanwise.no_such_thing  # noqa: B018


def test_dir_lists_the_public_names() -> None:
    assert set(dir(nanwise)) == set(nanwise.__all__)
