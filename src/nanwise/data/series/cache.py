"""Arrays that took long to parse, kept in a file that appears whole or not at all."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from nanwise.data.writing import replace


def checksum(paths: Iterable[Path]) -> str:
    """Short name for the bytes of some files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def kept(path: Path) -> dict[str, np.ndarray] | None:
    """What :func:`keep` wrote; None if it is not there or damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    file = path.with_name(f"{path.name}.safetensors")
    try:
        return load_file(file) if file.is_file() else None
    except (SafetensorError, OSError):  # it is written anew
        return None


def keep(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays under a temporary name and rename; two processes may do so at once.

    Where the folder cannot be written, a warning says so and the arrays are parsed again next time.
    """
    from safetensors.numpy import save

    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    try:
        replace(path.with_name(f"{path.name}.safetensors"), lambda file: file.write(content))
    except OSError as error:
        warnings.warn(f"what was parsed cannot be kept in {path.parent}: {error}", stacklevel=3)
