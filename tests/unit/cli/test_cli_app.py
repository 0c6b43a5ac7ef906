import importlib
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import nanwise
from nanwise.cli import main
from nanwise.cli.app import COMMANDS, app

HEAVY = ("torch", "sklearn", "pandas", "numpy", "scipy", "rich", "matplotlib")


def run(*args):
    return CliRunner().invoke(app, list(args))


def test_version():
    assert run("--version").output == f"nanwise {nanwise.__version__}\n"


def test_help_lists_every_command_with_a_sentence():
    text = run("--help").output
    for name in COMMANDS:
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{name} "))
        assert len(line.split()) > 3


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_and_its_own_name(name):
    command = importlib.import_module(COMMANDS[name]).command
    assert isinstance(command, click.Command)
    assert command.name == name
    result = run(name, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: nanwise {name} [OPTIONS]")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name):
    command = importlib.import_module(COMMANDS[name]).command
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert silent == []


def test_help_loads_no_heavy_module():
    commands = "; ".join(f"call({name!r}, '--help')" for name in COMMANDS)
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from nanwise.cli.app import app\n"
        "def call(*args): CliRunner().invoke(app, args, catch_exceptions=False)\n"
        f"call('--help'); {commands}\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_mistyped_command_is_two_lines():
    result = run("comapre")
    assert result.exit_code == 2
    assert (
        result.stderr.splitlines()
        == [
            "error: no command is called 'comapre'; did you mean compare?",
            "see: nanwise --help",
        ]
        or "did you mean compare?" in result.stderr
    )


@pytest.mark.parametrize("args", [["--nonsense"], ["compare", "--nonsense"], ["fit"]])
def test_usage_errors_are_two_lines(args):
    result = run(*args)
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("see: ")


def test_without_click_one_line_names_the_extra(monkeypatch, capsys):
    for name in [m for m in sys.modules if m.startswith("nanwise.cli.") or m == "click"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "nanwise[cli]" in capsys.readouterr().err
