"""One cell of a grid and what came out of it, both made of plain values."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any, Self

from nanwise import __version__

_PACKAGES = ("torch", "numpy", "scikit-learn", "scipy", "pandas")


@dataclass(frozen=True)
class Case:
    """One cell of a grid: everything its result depends on.

    Attributes
    ----------
    dataset : str
        Fingerprint of a user's table, or the name of a known data set.
    method : str
        Name of a registered method.
    params : mapping
        Parameters of the method; plain values only.
    protocol : mapping
        How rows are chosen, split and scored, for example ``{"kind": "folds", "folds": 5}``.
    fold : int
        Which of the splits of the protocol.
    seed : int
        Seed of the splits and of the fit.
    hide : mapping, optional
        Which cells are hidden before the split, for example
        ``{"mechanism": "mcar", "share": 0.2}``.
    """

    dataset: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    fold: int = 0
    seed: int = 0
    hide: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """Stable hash of all fields and of the package version, equal on every machine."""
        # Another release may compute something else, so its cells are computed anew.
        return digest({"nanwise": __version__, **asdict(self)})

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True)
class Record:
    """What came out of one :class:`Case`: scores, or the reason why there are none.

    Attributes
    ----------
    case : dict
        The case as plain values.
    key : str
        ``Case.key``.
    scores : dict
        Score name to number; None where it cannot be computed (one class among the test rows).
    fit_seconds, predict_seconds : float or None
        Wall-clock time.
    history : list of dict
        Learning curve of a network, empty for others.
    facts : dict
        What else was measured, for example a stress test.
    warnings : list of str
        Each warning raised on the way, once.
    error : dict or None
        ``{"type", "text"}`` of the exception that ended the cell.
    versions : dict
        Python and package versions.
    """

    case: dict[str, Any]
    key: str
    scores: dict[str, float | None] = field(default_factory=dict)
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: dict[str, str] | None = None
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the cell ended in an exception."""
        return self.error is not None

    @property
    def method(self) -> str:
        """Name of the method that was run."""
        return self.case["method"]

    @property
    def fold(self) -> int:
        """Which split it was."""
        return self.case["fold"]

    @property
    def reason(self) -> str:
        """The error in one line, empty without one."""
        if self.error is None:
            return ""
        return f"{self.error['type']}: {self.error['text'].splitlines()[0]}"

    def to_dict(self) -> dict[str, Any]:
        """All fields as values that JSON can hold; numbers that are not finite become None."""
        return plain(asdict(self))

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_dict`."""
        return cls(**facts)


def digest(value: Any) -> str:
    """Hexadecimal SHA-256 of a tree of plain values."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def plain(value: Any) -> Any:
    """The same tree in JSON's own types; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in (sorted(value) if isinstance(value, set) else value)]
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    raise TypeError(
        f"a case holds plain values (numbers, strings, lists, dicts), got {type(value).__name__}"
    )


def versions() -> dict[str, str]:
    """Versions of Python, of this package and of what it computes with."""
    found = {"python": python_version(), "nanwise": __version__}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # pandas is optional
            continue
    return found
