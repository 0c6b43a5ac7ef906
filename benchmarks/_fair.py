"""Same memory behaviour and threads for all sides of a benchmark."""

from __future__ import annotations

import os
import sys

SETTINGS = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824"}


def fix_malloc(threads: int = 1) -> None:
    """Start this script again with glibc told to keep freed memory, and a number of threads.

    By default it returns large freed blocks after each step, and clearing the pages anew then takes
    longer than a small layer itself.
    """
    wanted = SETTINGS | {"OMP_NUM_THREADS": str(threads)}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | wanted)
