"""Any scheduler is a ``map``: cases in, records out, in the order in which they finish."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from nanwise.errors import need

BACKENDS = ("loky", "dask")

Result = TypeVar("Result")


def spread(
    work: Callable[..., Result],
    items: Iterable[Any],
    jobs: int = 1,
    backend: str = "loky",
    data: tuple[Any, ...] = (),
) -> Iterator[Result]:
    """Run ``work`` on every item and yield the results as they finish.

    Items are drawn from the iterable only when a worker is free, so an iterator that ends early
    stops the work: that is how a time budget is kept.

    Parameters
    ----------
    work : callable
        ``work(item, *data)``: picklable, without side effects; it should return its errors rather
        than raise them.
    items : iterable
    jobs : int
        Number of processes. 1 runs in this process (loky only), -1 uses every core.
    backend : str
        ``"loky"`` (processes of this machine) or ``"dask"`` (the active dask client, or a local
        one with ``jobs`` workers).
    data : tuple
        What all items share; dask sends it to every worker once.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {BACKENDS}, got {backend!r}")
    if jobs == 0:
        raise ValueError("jobs must be a number of processes or -1 for all cores, got 0")
    if backend == "loky" and jobs == 1:
        yield from (work(item, *data) for item in items)
        return
    with _backend(backend, jobs, data):
        # One item at a time: batches would run on after the budget is spent.
        pool = Parallel(
            return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1, verbose=0
        )
        yield from pool(delayed(_alone)(work, item, *data) for item in items)


@contextmanager
def _backend(name: str, jobs: int, data: tuple[Any, ...]) -> Iterator[None]:
    if name == "loky":
        with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
            yield
        return
    with (
        _dask_client(jobs) as client,
        parallel_config("dask", client=client, scatter=list(data)),
    ):
        yield


@contextmanager
def _dask_client(jobs: int) -> Iterator[Any]:
    distributed = need("dask.distributed", "dask")
    try:
        client = distributed.get_client()
    except ValueError:  # dask's way of saying that there is none
        workers = (os.cpu_count() or 1) if jobs < 0 else jobs
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    yield client


def _alone(work: Callable[..., Result], item: Any, *data: Any) -> Result:
    """One item in a worker, on one thread: several workers with all cores each are far slower."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):  # BLAS and OpenMP, which dask does not limit
            return work(item, *data)
    finally:  # joblib may run a single worker's share in the caller's own process
        torch.set_num_threads(before)
