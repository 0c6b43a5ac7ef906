"""A saved model: a folder with ``meta.json`` and ``arrays.safetensors``."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import json
import os
import platform
import secrets
import shutil
from pathlib import Path
from typing import Any

from nanwise.errors import ModelFileError
from nanwise.saving.codec import decode, encode

FORMAT = "nanwise model"
FORMAT_VERSION = 1
META, ARRAYS = "meta.json", "arrays.safetensors"
_PACKAGES = ("nanwise", "numpy", "scikit-learn", "torch")


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator as a folder that holds no code.

    Parameters
    ----------
    obj : object
        An estimator of nanwise, or anything else that :func:`nanwise.saving.encode` takes.
    path : path-like
        The folder. It is written under another name and then renamed, so that it is there whole or
        not at all; a model that is there already is replaced.

    Raises
    ------
    TypeError
        A part of the object cannot be saved as plain values; the message names it.
    FileExistsError
        Something else than a saved model is there.
    """
    target = Path(path)
    _refuse_other(target)
    tree, arrays = encode(obj)
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.parent / f".{target.name}.{secrets.token_hex(8)}.tmp"
    made.mkdir()
    try:
        _write(made, type(obj).__name__, tree, arrays)
        _put(made, target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def load(path: str | os.PathLike[str]) -> Any:
    """Bring back what :func:`save` wrote. Never runs code from the folder.

    Raises
    ------
    ModelFileError
        The folder is not a saved model, incomplete, changed after it was written, or of a newer
        format.
    """
    folder = Path(path)
    before = _identity(folder)
    try:
        return _load(folder)
    except ModelFileError:
        # half of it was read before another process put a new model there, half after
        if _identity(folder) == before:
            raise
    return load(folder)


def _load(folder: Path) -> Any:
    meta = _read_meta(folder)
    content = _read_bytes(folder / ARRAYS)
    tree = meta["tree"]
    for name, found in (("arrays", _digest(content)), ("tree", _digest(_canonical(tree)))):
        if meta["sha256"].get(name) != found:
            raise ModelFileError(
                f"{folder} was changed after it was saved (the checksum of its {name} differs); "
                "get the original again"
            )
    return decode(tree, _read_arrays(content, folder))


# -- writing -------------------------------------------------------------------------------------


def _write(folder: Path, name: str, tree: Any, arrays: dict[str, Any]) -> None:
    from safetensors.numpy import save as to_bytes

    content = to_bytes(arrays)
    meta = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "class": name,
        "versions": _versions(),
        "sha256": {"arrays": _digest(content), "tree": _digest(_canonical(tree))},
        "tree": tree,
    }
    write_file(folder / ARRAYS, content)
    write_file(folder / META, json.dumps(meta, indent=1, allow_nan=False).encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    return found | {name: importlib.metadata.version(name) for name in _PACKAGES}


def _canonical(tree: Any) -> bytes:
    return json.dumps(tree, separators=(",", ":"), allow_nan=False).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _refuse_other(target: Path) -> None:
    if not os.path.lexists(target):
        return
    try:
        _read_meta(target)
    except ModelFileError as error:
        if target.is_dir() and not any(target.iterdir()):
            return
        raise FileExistsError(
            f"{target} exists and is not a saved model ({error}); choose another place or remove it"
        ) from error
    if others := other_files(target):
        raise FileExistsError(
            f"{target} holds more than a model, {others[0]!r} for one; a new model takes the place "
            "of the whole folder: choose another place or move the file"
        )


def other_files(folder: Path) -> list[str]:
    """What a folder holds that is no part of a saved model."""
    return sorted({path.name for path in folder.iterdir()} - {META, ARRAYS})


def _put(made: Path, target: Path) -> None:
    """Move the new folder to its place; what was there ends under the temporary name."""
    if not target.exists():
        os.rename(made, target)
    elif not _exchange(made, target):
        old = made.with_suffix(".old")
        os.rename(target, old)
        os.rename(made, target)
        shutil.rmtree(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step, where the system can (Linux); whether it did."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


# -- reading -------------------------------------------------------------------------------------


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _read_meta(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise ModelFileError(f"{folder} {what}; a saved model is a folder")
    content = _read_bytes(folder / META)
    try:
        meta = json.loads(content, parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)
        # walks the whole tree: what is nested too deeply to be written shows here, not later
        _canonical(meta)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{folder / META} is not readable as JSON: {error}") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ModelFileError(f"{folder / META} does not describe a nanwise model")
    version = meta.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{folder / META} has the impossible format version {version!r}")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{folder} has format version {version}, this nanwise reads up to {FORMAT_VERSION}; "
            "install a newer nanwise"
        )
    if "tree" not in meta or not isinstance(meta.get("sha256"), dict):
        raise ModelFileError(f"{folder / META} is incomplete")
    return meta


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two values they take: a checksum must not be of the other one."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return made


def _read_bytes(file: Path) -> bytes:
    if not file.is_file():
        raise ModelFileError(f"{file.parent} is not a saved model: it has no {file.name}")
    try:
        return file.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{file} cannot be read: {error.strerror}") from error
    except MemoryError as error:
        raise ModelFileError(f"{file} is larger than the memory that is left") from error


def _read_arrays(content: bytes, folder: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    try:
        return from_bytes(content)
    except SafetensorError as error:
        raise ModelFileError(f"{folder / ARRAYS} is damaged: {error}") from error
