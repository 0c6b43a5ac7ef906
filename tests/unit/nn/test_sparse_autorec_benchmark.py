import importlib.util
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[3]


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    path = ROOT / "benchmarks" / "autorec.py"
    spec = importlib.util.spec_from_file_location("bench_autorec", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    threads = torch.get_num_threads()
    yield module
    torch.set_num_threads(threads)


def test_both_sides_end_with_the_same_weights(benchmark):
    ratings, case = benchmark.load("tiny-full"), benchmark.CASES["tiny-full"]
    dense = benchmark.Dense(ratings, case, benchmark.first_weights(ratings, case, hidden=8))
    before = [w.detach().clone() for w in dense.weights]
    for _ in range(5):
        dense.epoch()
    net = benchmark.fit(ratings, case, 5, hidden=8).net_
    ours = [net.encode, net.hidden_bias, net.decode, net.bias]
    torch.testing.assert_close(ours, dense.weights, rtol=1e-4, atol=1e-5)
    assert all((w - b).abs().max() > 1e-4 for w, b in zip(dense.weights, before, strict=True))


def test_it_prints_its_tables(benchmark, capsys):
    call = ["--data", "tiny", "tiny-full", "--rounds", "1", "--threads", "1", "--no-memory"]
    assert benchmark.main(call) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[-2:]] == ["| tiny", "| tiny-full"]
