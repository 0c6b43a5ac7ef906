"""Rows of several modalities, such as a picture and its label, of which whole ones may be missing.

================ ============================== ==============================================
name             modalities                     rows
================ ============================== ==============================================
mnist_pairs      first, second (28 × 28)        digits that add up to 9: (0, 9), (1, 8), …, (4, 5)
mnist_label      image (28 × 28), label         MNIST
fashion_label    image (28 × 28), label         Fashion-MNIST
mnist_svhn       mnist (28 × 28), svhn (32 × 32 the same digit in both
                 × 3)
mosi             text (100), audio (73),        utterances of CMU-MOSI
                 video (100)
================ ============================== ==============================================

None is bundled; they are looked for in ``$NANWISE_DATA`` in the files of their makers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nanwise.data.fetch import File, locate
from nanwise.errors import DataError


@dataclass(frozen=True)
class Modalities:
    """Complete rows of several modalities, in two parts.

    Attributes
    ----------
    name : str
    train, test : dict of str to ndarray
        Of every modality its numbers: (N, width) in float32, for pictures between 0 and 1; (N,)
        whole numbers of a label.
    shapes : dict of str to tuple of int
        Shape of one value of each modality: ``(28, 28)``, ``(100,)``, ``()`` for a label.
    about : dict
        ``about``, ``source``, ``licence``, ``citation``.
    """

    name: str
    train: dict[str, np.ndarray]
    test: dict[str, np.ndarray]
    shapes: dict[str, tuple[int, ...]]
    about: dict[str, Any]


Parts = tuple[dict[str, np.ndarray], dict[str, np.ndarray]]


@dataclass(frozen=True)
class ModalitySpec:
    """A set of modalities described by plain values, before anything is read.

    Attributes
    ----------
    name, about, source, licence, citation : str
    rows : pair of int
        Training and test rows.
    shapes : mapping
        Modality to the shape of one value.
    files : tuple of File
    read : callable
        ``read(paths) -> (train, test)``, as in :class:`Modalities`.
    """

    name: str
    about: str
    rows: tuple[int, int]
    shapes: Mapping[str, tuple[int, ...]]
    source: str
    licence: str
    citation: str
    files: tuple[File, ...]
    read: Callable[[list[Path]], Parts]

    def facts(self) -> dict[str, Any]:
        """Plain values for lists."""
        return {
            "name": self.name,
            "rows": list(self.rows),
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "files": [file.path for file in self.files],
            **self._about(),
        }

    def paths(self) -> list[Path]:
        """Places of the files, or a DataError that says which is not there."""
        return [locate(file, self.name, self.source) for file in self.files]

    def load(self) -> Modalities:
        """Read the set and check that it is the one described here."""
        paths = self.paths()
        train, test = self.read(paths)
        self._verify((train, test), paths)
        return Modalities(self.name, train, test, dict(self.shapes), self._about())

    def _about(self) -> dict[str, Any]:
        return {n: getattr(self, n) for n in ("about", "source", "licence", "citation")}

    def _verify(self, parts: Parts, paths: list[Path]) -> None:
        for part, n_rows, word in zip(parts, self.rows, ("training", "test"), strict=True):
            for name, shape in self.shapes.items():
                expected = (n_rows, int(np.prod(shape))) if shape else (n_rows,)
                if part[name].shape != expected:
                    raise DataError(
                        f"data set {self.name!r}: expected {word} values of {name} of shape "
                        f"{expected}, got {part[name].shape} in {', '.join(map(str, paths))}; "
                        "the files are of another version or cut off"
                    )


def pair_up(first: np.ndarray, second: np.ndarray, pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions that belong together: the k-th value of one class with the k-th of another.

    Parameters
    ----------
    first, second : ndarray of int
        Classes.
    pairs : iterable of pair of int
        Which classes go together. Each value is used once at most; those of the larger class that
        find no partner are left out.
    """
    places = []
    for one, other in pairs:
        a, b = np.flatnonzero(first == one), np.flatnonzero(second == other)
        n = min(len(a), len(b))
        places.append((a[:n], b[:n]))
    left, right = zip(*places, strict=True)
    return np.concatenate(left), np.concatenate(right)
