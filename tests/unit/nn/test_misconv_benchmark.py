import importlib.util
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[3]


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    path = ROOT / "benchmarks" / "misconv.py"
    spec = importlib.util.spec_from_file_location("bench_misconv", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_sides_compute_the_same(benchmark):
    x, density, conv, ours = benchmark._data(8, 3, joint=True)
    want, got = benchmark.formula(x, density, conv), ours(x, density)
    torch.testing.assert_close(got, want)
    gradient = torch.randn_like(got)
    wanted = torch.autograd.grad(want, [conv.weight, *density[1:4]], gradient)
    found = torch.autograd.grad(got, [ours.weight, *density[1:4]], gradient)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_it_prints_its_tables(benchmark, capsys):
    small = ["--sizes", "8", "--batches", "2", "--threads", "1"]
    assert benchmark.main([*small, "--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[2] for line in lines[2:]] == ["forward", "forward + backward"]
    assert benchmark.main([*small, "--alone", "MisConv2d"]) == 0
    assert float(capsys.readouterr().out) >= 0
