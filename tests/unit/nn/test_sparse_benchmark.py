import importlib.util
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[3]


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    path = ROOT / "benchmarks" / "sparse_kernels.py"
    spec = importlib.util.spec_from_file_location("bench_sparse_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    threads = torch.get_num_threads()
    yield module
    torch.set_num_threads(threads)


def test_all_sides_train_the_same_model(benchmark):
    rows, batch = benchmark.load("tiny")
    sides = [benchmark.Trainer(rows, batch, side) for side in benchmark.SIDES]
    for side in sides:
        for _ in range(4):
            side.step()
    dense, *others = sides
    for other in others:
        torch.testing.assert_close(other.weights, dense.weights, rtol=1e-4, atol=1e-5)


def test_it_prints_its_tables(benchmark, capsys):
    assert benchmark.main(["--data", "tiny", "--rounds", "1", "--threads", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("|---") for line in lines) == 2
    assert [line.split(" | ")[0] for line in lines[-3:]] == ["| dense", "| unfused", "| ours"]
