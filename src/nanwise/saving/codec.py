"""The codec for plain state: a tree of values <-> (JSON values, named arrays).

JSON holds what JSON can hold as it is. Everything else is an object with one key that starts with
``$`` and says what it is; see ``_READERS`` for the list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nanwise.errors import ModelFileError
from nanwise.saving import arrays as array_nodes
from nanwise.saving import objects, sklearn_state

#: trees deeper than this are refused, in writing (a cycle) and in reading (an attack)
MAX_DEPTH = 64

_SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(tree: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Turn a tree of values into JSON values and arrays.

    Parameters
    ----------
    tree : object
        None, bool, int, float, str, list, tuple, dict, slice, numpy scalars, dtypes, arrays and
        generators, torch tensors, and objects of the known classes, nested in any way.

    Returns
    -------
    plain : object
        What ``json`` can write with ``allow_nan=False``.
    arrays : dict of str to ndarray
        Contiguous arrays of kinds that safetensors can write.

    Raises
    ------
    TypeError
        Something in the tree is of no known kind; the message names its place.
    """
    writer = Writer()
    return writer.write(tree, ()), writer.arrays


def decode(plain: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Bring back what :func:`encode` gave.

    Raises
    ------
    ModelFileError
        The tree is not one that :func:`encode` writes, an array is missing or does not fit, or a
        class is not known.
    """
    return Reader(arrays).read(plain, 0)


class Writer:
    """One run of :func:`encode`: collects arrays on the way."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def write(self, value: Any, path: tuple[str, ...]) -> Any:
        """JSON value for ``value``, which stands at ``path``."""
        if len(path) > MAX_DEPTH:
            raise TypeError(
                f"{_show(path[:6])}... is nested more than {MAX_DEPTH} deep, or a cycle"
            )
        if value is None or type(value) in (bool, int, str):
            return value
        write = _WRITERS.get(type(value), _write_other)
        return write(self, value, path)

    def add(self, array: np.ndarray, path: tuple[str, ...]) -> str:
        """Keep an array; its name tells a reader of the file where it belongs."""
        name = f"{len(self.arrays)}:{'.'.join(path)}"
        self.arrays[name] = array
        return name


class Reader:
    """One run of :func:`decode`."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays

    def read(self, plain: Any, depth: int) -> Any:
        """The value behind a JSON value."""
        if depth > MAX_DEPTH * 2:
            raise ModelFileError(
                "the model file is nested too deeply; it was not written by nanwise"
            )
        if isinstance(plain, list):
            return [self.read(item, depth + 1) for item in plain]
        if not isinstance(plain, dict):
            return plain
        kind = next((key for key in plain if key.startswith("$")), None)
        if kind is None:
            return {key: self.read(item, depth + 1) for key, item in plain.items()}
        if kind not in _READERS:
            raise ModelFileError(f"the model file holds a value of unknown kind {kind!r}")
        try:
            return _READERS[kind](self, plain, depth + 1)
        except objects.BROKEN as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(
                f"the model file holds a broken {kind!r} value: {error}"
            ) from error

    def array(self, name: Any) -> np.ndarray:
        """The array of that name."""
        if name not in self.arrays:
            raise ModelFileError(f"the model file lacks the array {name!r}")
        return self.arrays[name]


# -- writing -------------------------------------------------------------------------------------


def _show(path: tuple[str, ...]) -> str:
    return ".".join(path) or "the object"


def _write_float(writer: Writer, value: float, path: tuple[str, ...]) -> Any:
    return value if math.isfinite(value) else {"$float": str(value)}


def _write_list(writer: Writer, value: list[Any], path: tuple[str, ...]) -> Any:
    return [writer.write(item, (*path, str(i))) for i, item in enumerate(value)]


def _write_tuple(writer: Writer, value: tuple[Any, ...], path: tuple[str, ...]) -> Any:
    return {"$tuple": _write_list(writer, list(value), path)}


def _write_dict(writer: Writer, value: dict[Any, Any], path: tuple[str, ...]) -> Any:
    if all(type(key) is str and not key.startswith("$") for key in value):
        return {key: writer.write(item, (*path, key)) for key, item in value.items()}
    pairs = [
        [writer.write(key, (*path, "key")), writer.write(item, (*path, str(key)))]
        for key, item in value.items()
    ]
    return {"$dict": pairs}


def _write_slice(writer: Writer, value: slice, path: tuple[str, ...]) -> Any:
    return {"$slice": _write_list(writer, [value.start, value.stop, value.step], path)}


def _write_other(writer: Writer, value: Any, path: tuple[str, ...]) -> Any:
    """Numpy, torch, then objects of known classes."""
    for write in (array_nodes.write, sklearn_state.write, objects.write):
        plain = write(writer, value, path)
        if plain is not None:
            return plain
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise TypeError(
        f"{_show(path)} is a {kind}, which cannot be saved as plain values. Saved are numbers, "
        "strings, arrays, tensors, registered methods, the classes in nanwise.saving.ALLOWED and "
        "the scikit-learn classes in nanwise.saving.sklearn_state; use one of these instead."
    )


_WRITERS: dict[type, Callable[[Writer, Any, tuple[str, ...]], Any]] = {
    float: _write_float,
    list: _write_list,
    tuple: _write_tuple,
    dict: _write_dict,
    slice: _write_slice,
}

# -- reading -------------------------------------------------------------------------------------


def _read_float(reader: Reader, plain: dict[str, Any], depth: int) -> float:
    return _SPECIAL_FLOATS[plain["$float"]]


def _read_tuple(reader: Reader, plain: dict[str, Any], depth: int) -> tuple[Any, ...]:
    return tuple(reader.read(item, depth) for item in plain["$tuple"])


def _read_dict(reader: Reader, plain: dict[str, Any], depth: int) -> dict[Any, Any]:
    return {reader.read(key, depth): reader.read(item, depth) for key, item in plain["$dict"]}


def _read_slice(reader: Reader, plain: dict[str, Any], depth: int) -> slice:
    start, stop, step = (reader.read(item, depth) for item in plain["$slice"])
    return slice(start, stop, step)


_READERS: dict[str, Callable[[Reader, dict[str, Any], int], Any]] = {
    "$float": _read_float,
    "$tuple": _read_tuple,
    "$dict": _read_dict,
    "$slice": _read_slice,
    **array_nodes.READERS,
    **sklearn_state.READERS,
    **objects.READERS,
}
