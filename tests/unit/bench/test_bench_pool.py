from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nanwise.bench.grid import until
from nanwise.bench.pool import spread


def square(x: int) -> int:
    return x * x


def wait_for_another(x: int, folder: Path) -> int:
    """The first item ends only after another one has."""
    deadline = time.monotonic() + 60
    while x == 0 and not any(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    if x:
        (folder / str(x)).touch()
    time.sleep(0.5 if x == 0 else 0)
    return x


def threads(_: int) -> tuple[int, int]:
    import torch
    from threadpoolctl import threadpool_info

    return torch.get_num_threads(), max(pool["num_threads"] for pool in threadpool_info())


def where(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def total(item: int, data: np.ndarray) -> tuple[int, float]:
    return item, float(data.sum())


def raise_at_two(x: int) -> int:
    if x == 2:
        raise KeyboardInterrupt
    return x


def test_one_job_runs_here_and_in_order():
    assert list(spread(square, range(4))) == [0, 1, 4, 9]
    assert set(spread(where, range(2))) == {os.getpid()}


def test_several_jobs_give_results_as_they_finish(tmp_path):
    found = list(spread(partial(wait_for_another, folder=tmp_path), range(4), jobs=2))
    assert sorted(found) == [0, 1, 2, 3]
    assert found[0] != 0


def test_workers_have_one_thread():
    assert set(spread(threads, range(2), jobs=2)) == {(1, 1)}


@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_shared_data_reaches_every_worker(backend):
    data = np.arange(300_000.0)  # large enough for a memory map or a scattered copy
    found = dict(spread(total, range(4), jobs=2, backend=backend, data=(data,)))
    assert set(found) == {0, 1, 2, 3}
    assert set(found.values()) == {data.sum()}


def test_dask_makes_a_client_when_there_is_none():
    pytest.importorskip("distributed")
    found = list(spread(where, range(4), jobs=2, backend="dask"))
    assert len(found) == 4
    assert os.getpid() not in found


def test_dask_uses_the_client_that_is_there():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = set(client.run(os.getpid).values())
        assert set(spread(where, range(4), jobs=1, backend="dask")) <= pids


def test_an_iterator_that_ends_stops_the_work():
    deadline = time.monotonic() + 0.4
    started = list(spread(where, until(deadline, range(1000))))
    assert 1 <= len(started) <= 20


@pytest.mark.filterwarnings("ignore:.*have been cancelled:UserWarning")
def test_items_are_drawn_only_when_a_worker_is_free():
    drawn = []

    def items():
        for item in range(50):
            drawn.append(item)
            yield item

    results = spread(square, items(), jobs=2)
    next(results)
    # Two at work, one per finished result; never the whole list at once.
    assert len(drawn) < 50
    results.close()


def test_interrupt_reaches_the_caller_after_what_was_done():
    results = spread(raise_at_two, range(5))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(KeyboardInterrupt):
        next(results)


BAD = [(1, "slurm", "backend"), (0, "loky", "jobs")]


@pytest.mark.parametrize(("jobs", "backend", "text"), BAD)
def test_bad_arguments(jobs, backend, text):
    with pytest.raises(ValueError, match=text):
        list(spread(square, [1], jobs=jobs, backend=backend))
