"""Numpy and torch values in the codec."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from nanwise.errors import ModelFileError

if TYPE_CHECKING:
    from nanwise.saving.codec import Reader, Writer

#: kinds that safetensors writes as they are
_NATIVE = {"bool", *(f"{k}{b}" for k in ("int", "uint") for b in (8, 16, 32, 64))} | {
    "float16",
    "float32",
    "float64",
}
#: what a file may ask for: numbers, times and text of a fixed size, never objects
_SAFE_DTYPE = re.compile(r"[<>|=]?([biufcSU]\d+|[mM]8(\[[\dA-Za-z]+\])?|\?)")
#: bytes of an array of text for each character that is there, at most
_PADDING = 1024
_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def write(writer: Writer, value: Any, path: tuple[str, ...]) -> Any:
    """Node of a numpy or torch value; None for anything else."""
    if type(value) is np.ndarray:
        return _write_array(writer, value, path)
    if isinstance(value, np.generic):
        return _write_scalar(writer, value, path)
    if isinstance(value, np.dtype):
        return {"$dtype": _dtype_name(value, path)}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"$dtype_class": np.dtype(value).str}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return _write_generator(writer, value, path)
    # a tensor can only be here if torch is loaded; saving a tree without one must not load it
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _write_tensor(writer, value, path)
    return None


# -- arrays --------------------------------------------------------------------------------------


def _write_array(writer: Writer, array: np.ndarray, path: tuple[str, ...]) -> Any:
    if array.dtype.kind == "O":
        items = [writer.write(item, (*path, str(i))) for i, item in enumerate(array.ravel())]
        return {"$objects": items, "shape": list(array.shape)}
    if array.dtype.kind == "U":
        items = array.ravel().tolist()
        if _is_hollow(items, array.dtype):
            raise TypeError(
                f"{'.'.join(path)} is an array of text that is nearly all padding; "
                "make it an array of objects"
            )
        return {"$strings": items, "dtype": array.dtype.str, "shape": list(array.shape)}
    # matrix products round differently for the two memory layouts: keep it, for equal predictions
    columns_first = array.flags.f_contiguous and not array.flags.c_contiguous
    stored = _as_native((array.T if columns_first else array).copy(order="C"))
    node = {"$array": writer.add(stored, path), "dtype": _dtype_name(array.dtype, path)}
    return node | {"shape": list(array.shape), "order": "F" if columns_first else "C"}


def _as_native(array: np.ndarray) -> np.ndarray:
    """Kinds that safetensors does not know (times, complex, structured, foreign byte order)."""
    if array.dtype.name in _NATIVE and array.dtype.isnative:
        return array
    return np.frombuffer(array.tobytes(), dtype=np.uint8)


def _read_array(reader: Reader, plain: dict[str, Any], depth: int) -> np.ndarray:
    stored, shape = reader.array(plain["$array"]), _shape(plain)
    dtype, columns_first = _read_dtype_name(plain["dtype"]), plain["order"] == "F"
    layout = shape[::-1] if columns_first else shape
    if stored.dtype == np.uint8 and dtype != np.uint8:
        _match(stored.shape, (_count(shape) * dtype.itemsize,), plain)
        array = np.frombuffer(stored.tobytes(), dtype=dtype).reshape(layout).copy()
    else:
        _match((stored.dtype, *stored.shape), (dtype, *layout), plain)
        array = stored.copy()  # what is read from bytes cannot be written to
    return array.T if columns_first else array


def _read_objects(reader: Reader, plain: dict[str, Any], depth: int) -> np.ndarray:
    items, shape = plain["$objects"], _shape(plain)
    _match((len(items),), (_count(shape),), plain)
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = reader.read(item, depth)
    return array.reshape(shape)


def _read_strings(reader: Reader, plain: dict[str, Any], depth: int) -> np.ndarray:
    items, shape = plain["$strings"], _shape(plain)
    _match((len(items),), (_count(shape),), plain)
    dtype = _read_dtype_name(plain["dtype"])
    if dtype.kind != "U" or not all(type(item) is str for item in items):
        raise ModelFileError("the model file holds an array of text that is not text")
    if _is_hollow(items, dtype):
        raise ModelFileError(f"the model file asks for {len(items)} texts of the kind {dtype}")
    return np.array(items, dtype=dtype).reshape(shape)


def _is_hollow(items: list[str], dtype: np.dtype) -> bool:
    """Whether an array would take far more memory than its texts: bytes must not ask for GBs."""
    return len(items) * dtype.itemsize > _PADDING * (64 + sum(map(len, items)))


def _shape(plain: dict[str, Any]) -> tuple[int, ...]:
    shape = tuple(plain["shape"])
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ModelFileError(f"the model file holds an array of the impossible shape {shape}")
    return shape


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _match(got: tuple[Any, ...], expected: tuple[Any, ...], plain: dict[str, Any]) -> None:
    if got != expected:
        name = plain.get("$array") or plain.get("$tensor") or "of values"
        raise ModelFileError(f"array {name!r} of the model file is {got}, expected {expected}")


# -- dtypes, scalars, generators -----------------------------------------------------------------


def _dtype_name(dtype: np.dtype, path: tuple[str, ...]) -> Any:
    """A string, or for structured arrays names, formats, offsets and size."""
    if dtype.fields is None:
        if dtype.str != "|O" and not _SAFE_DTYPE.fullmatch(dtype.str):
            raise TypeError(f"{'.'.join(path)} is an array of {dtype}, which cannot be saved")
        return dtype.str
    fields = [(name, *dtype.fields[name][:2]) for name in dtype.names or ()]
    return {
        "names": [name for name, _, _ in fields],
        "formats": [_dtype_name(part, (*path, name)) for name, part, _ in fields],
        "offsets": [offset for _, _, offset in fields],
        "itemsize": dtype.itemsize,
    }


def _read_dtype_name(name: Any) -> np.dtype:
    if isinstance(name, dict):
        parts: Any = {key: name[key] for key in ("names", "formats", "offsets", "itemsize")}
        parts["formats"] = [_read_dtype_name(part) for part in name["formats"]]
        return np.dtype(parts)
    if not isinstance(name, str) or not _SAFE_DTYPE.fullmatch(name):
        raise ModelFileError(f"the model file asks for values of the kind {name!r}")
    return np.dtype(name)


def _read_dtype(reader: Reader, plain: dict[str, Any], depth: int) -> np.dtype:
    return np.dtype(object) if plain["$dtype"] == "|O" else _read_dtype_name(plain["$dtype"])


def _read_dtype_class(reader: Reader, plain: dict[str, Any], depth: int) -> type:
    return _read_dtype_name(plain["$dtype_class"]).type


def _write_scalar(writer: Writer, value: np.generic, path: tuple[str, ...]) -> Any:
    if value.dtype.kind in "UOV":
        if isinstance(value, np.str_):
            return {"$scalar": str(value), "dtype": "str"}
        raise TypeError(f"{'.'.join(path)} is a numpy {type(value).__name__}, which is not saved")
    if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        return {"$scalar": writer.write(value.item(), path), "dtype": value.dtype.str}
    return {"$scalar": _write_array(writer, np.asarray(value), path), "dtype": value.dtype.str}


def _read_scalar(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    value = plain["$scalar"]
    if plain["dtype"] == "str":
        return np.str_(value)
    dtype, value = _read_dtype_name(plain["dtype"]), reader.read(value, depth)
    if isinstance(value, np.ndarray):
        return value[()]
    if type(value) not in (bool, int, float) or dtype.kind not in "biuf":
        raise ModelFileError(f"the model file holds {value!r} for a number of the kind {dtype}")
    return dtype.type(value)


def _write_generator(writer: Writer, value: Any, path: tuple[str, ...]) -> Any:
    kind = "RandomState" if isinstance(value, np.random.RandomState) else "Generator"
    state = (
        value.get_state(legacy=False) if kind == "RandomState" else dict(value.bit_generator.state)
    )
    return {"$generator": kind, "state": writer.write(state, (*path, "state"))}


def _read_generator(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    state = reader.read(plain["state"], depth)
    name = state["bit_generator"]
    if name not in _GENERATORS:
        raise ModelFileError(f"the model file holds a random generator of unknown kind {name!r}")
    bits = getattr(np.random, name)(0)
    if plain["$generator"] == "RandomState":
        made = np.random.RandomState(bits)
        made.set_state(state)
        return made
    bits.state = state
    return np.random.Generator(bits)


# -- tensors -------------------------------------------------------------------------------------


def _write_tensor(writer: Writer, value: Any, path: tuple[str, ...]) -> Any:
    import torch

    tensor = value.detach().cpu()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise TypeError(f"{'.'.join(path)} is a sparse or quantized tensor, which is not saved")
    dtype = str(tensor.dtype).removeprefix("torch.")
    # .clone() fixes views into a larger storage, .contiguous() everything transposed
    flat = tensor.contiguous().clone()
    stored = flat.numpy() if dtype in _NATIVE else flat.reshape(-1).view(torch.uint8).numpy()
    return {"$tensor": writer.add(stored, path), "dtype": dtype, "shape": list(tensor.shape)}


def _read_tensor(reader: Reader, plain: dict[str, Any], depth: int) -> Any:
    import torch

    name, shape = plain["dtype"], _shape(plain)
    dtype = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(dtype, torch.dtype):
        raise ModelFileError(f"the model file asks for a tensor of the kind {name!r}")
    stored = reader.array(plain["$tensor"])
    if name in _NATIVE:
        _match((stored.dtype.name, *stored.shape), (name, *shape), plain)
        return torch.from_numpy(stored.copy())
    _match((stored.dtype.name, *stored.shape), ("uint8", _count(shape) * dtype.itemsize), plain)
    # a view of no bytes as larger items is refused by torch
    empty = torch.empty(shape, dtype=dtype)
    return torch.from_numpy(stored.copy()).view(dtype).reshape(shape) if stored.size else empty


READERS = {
    "$array": _read_array,
    "$objects": _read_objects,
    "$strings": _read_strings,
    "$dtype": _read_dtype,
    "$dtype_class": _read_dtype_class,
    "$scalar": _read_scalar,
    "$generator": _read_generator,
    "$tensor": _read_tensor,
}
