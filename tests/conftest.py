"""What all tests share."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

# Before torch or BLAS is loaded: pytest runs several processes, one thread each.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")

import numpy as np
import pytest
import torch
from hypothesis import settings

# The same examples in every run, so that a change is judged by what it changes. New examples are
# looked for with `pytest --hypothesis-profile=search`.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile("same")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _packages_are_looked_up_once() -> None:
    """Lightning searches all installed packages for plugins at every fit, 7 ms each time."""
    from lightning_fabric.utilities import registry

    registry.entry_points = functools.cache(registry.entry_points)


@pytest.fixture(autouse=True)
def _global_seed() -> None:
    """Tests that draw from the global generators draw the same numbers in any order of tests."""
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def global_rng_untouched() -> Iterator[None]:
    """Fail when the test leaves numpy's or torch's global generator in another state."""
    before_numpy = np.random.get_state(legacy=False)["state"]
    before_torch = torch.get_rng_state()
    yield
    after_numpy = np.random.get_state(legacy=False)["state"]
    assert after_numpy["pos"] == before_numpy["pos"]
    assert np.array_equal(after_numpy["key"], before_numpy["key"])
    assert torch.equal(torch.get_rng_state(), before_torch)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def needs_data() -> Path:
    """Folder of the data sets that are not bundled; tests that ask for it skip without one."""
    folder = os.environ.get("NANWISE_DATA")
    if not folder:
        pytest.skip("NANWISE_DATA is unset: this test needs a data set that is not bundled")
    path = Path(folder)
    if not path.is_dir():
        pytest.skip(f"NANWISE_DATA names {folder}, which is not a folder")
    return path
