"""The list of methods. A method is one file that declares itself here; everything else looks it up.

This module imports nothing of the package. The files under ``nanwise.methods`` and the entry points
of the group ``nanwise.methods`` are loaded on the first question.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, TypeVar

ENTRY_POINT_GROUP = "nanwise.methods"
KINDS = ("treatment", "predictor", "imputer", "recommender", "generator")
#: inputs whose methods have names of their own: there is a ``zero`` for rows, one for pictures and
#: one for series
APART = ("image", "series")

_METHODS: dict[str, Method] = {}
_loaded = False


@dataclass(frozen=True)
class Method:
    """One method, described by plain values.

    Attributes
    ----------
    name : str
        What the user types, for example ``"sparsity_norm"``.
    kind : str
        One of ``KINDS``. A *treatment* stands between the gaps and a network; a *predictor* is a
        whole estimator of its own.
    make : callable
        For a treatment ``make(**params) -> Treatment``; for a predictor
        ``make(task, random_state=None, **params) -> estimator``.
    summary : str
        One sentence for lists and the documentation.
    inputs : str
        ``table``, ``rating``, ``series``, ``image`` or ``mixed``.
    role : str
        ``method``, ``baseline`` (a simple thing to beat) or ``rival`` (what one would use instead).
    tasks : tuple of str
        Of ``classification`` and ``regression``.
    paper : str
        Where it was published.
    when : str
        When to choose it and when not, for the documentation.
    space : mapping
        Search space: parameter name to a list of values.
    tiny : mapping
        The smallest honest setting, used by the contract tests.
    needs : tuple of str
        Optional packages.
    sparse : bool
        Whether it takes rows whose absent cells are missing without making them dense.
    fills : bool
        For a treatment: whether ``prepare`` puts a plausible value into every gap, so that it can
        serve as an imputer.
    """

    name: str
    kind: str
    make: Callable[..., Any]
    summary: str
    inputs: str = "table"
    role: str = "method"
    tasks: tuple[str, ...] = ("classification", "regression")
    paper: str = ""
    when: str = ""
    space: Mapping[str, Any] = field(default_factory=dict)
    tiny: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    sparse: bool = False
    fills: bool = False

    @property
    def key(self) -> str:
        """Its name, unlike that of any other: ``"zero"``, ``"image/zero"``, ``"series/zero"``."""
        return f"{self.inputs}/{self.name}" if self.inputs in APART else self.name


Made = TypeVar("Made", bound=Callable[..., Any])


def method(name: str, *, kind: str, summary: str, **facts: Any) -> Callable[[Made], Made]:
    """Class or function decorator that registers what it decorates as ``Method.make``."""

    def register(make: Made) -> Made:
        add(Method(name=name, kind=kind, make=make, summary=summary, **facts))
        return make

    return register


def add(new: Method) -> None:
    """Register one method; a second one of the same name (for the same inputs) is refused."""
    if new.kind not in KINDS:
        raise ValueError(f"kind of method {new.name!r} must be one of {KINDS}, got {new.kind!r}")
    old = _METHODS.get(new.key)
    if old is not None and old.make.__module__ != new.make.__module__:
        raise ValueError(
            f"two methods are called {new.key!r}: one in {old.make.__module__}, "
            f"one in {new.make.__module__}"
        )
    _METHODS[new.key] = new


def known(
    kind: str | None = None, inputs: str | None = None, task: str | None = None
) -> list[Method]:
    """Registered methods, by name, filtered by kind, inputs and task.

    Without ``inputs`` these are all that take rows, of whatever sort; methods for pictures and for
    series are worlds of their own, to be asked for by ``inputs="image"`` and ``inputs="series"``.
    """
    return [
        m
        for m in everything()
        if kind in (None, m.kind)
        and (inputs == m.inputs or (inputs is None and m.inputs not in APART))
        and (task is None or task in m.tasks)
    ]


def everything() -> list[Method]:
    """All registered methods by name, those for pictures and for series last."""
    _load()
    place = {inputs: number for number, inputs in enumerate(APART, 1)}
    return sorted(_METHODS.values(), key=lambda m: (place.get(m.inputs, 0), m.name))


def find(name: str, kind: str | None = None, inputs: str | None = None) -> Method:
    """The method of that name, or a ValueError that suggests the nearest names.

    ``inputs`` as in :func:`known`; a full key such as ``"image/zero"`` also tells the inputs.
    """
    world, slash, plain = name.partition("/")
    if inputs is None and slash and world in APART:
        name, inputs = plain, world
    found = {m.name: m for m in known(kind, inputs)}
    if name in found:
        return found[name]
    near = difflib.get_close_matches(name, found, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(found)}"
    raise ValueError(f"no {kind or 'method'} is called {name!r}; {hint}")


def _load() -> None:
    global _loaded
    if _loaded:
        return
    _loaded = True
    root = importlib.import_module("nanwise.methods")
    for module in pkgutil.walk_packages(root.__path__, prefix=root.__name__ + "."):
        importlib.import_module(module.name)
    for point in entry_points(group=ENTRY_POINT_GROUP):
        point.load()
