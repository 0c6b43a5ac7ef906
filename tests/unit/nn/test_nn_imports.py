import importlib.util
import subprocess
import sys
from pathlib import Path

from nanwise import nn

ROOT = Path(__file__).parents[3]


def test_layers_load_torch_only():
    heavy = ("sklearn", "pandas", "lightning_fabric", "scipy", "pytest")
    code = f"import sys, nanwise.nn; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_everything_exported_is_there():
    assert all(hasattr(nn, name) for name in nn.__all__)
    assert all(hasattr(nn.functional, name) for name in nn.functional.__all__)


def test_benchmark_prints_its_table(capsys, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    path = ROOT / "benchmarks" / "sn_linear.py"
    spec = importlib.util.spec_from_file_location("bench_sn_linear", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(["--rounds", "1", "--shapes", "8x4->3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| nan", "| mask", "| observed"]
