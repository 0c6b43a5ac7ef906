"""The draft of sparsity normalisation on pictures: perceptrons, and counts of what is not 0."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.pictures_run import Part, pictures_of
from nanwise.bench.run import Measured, load_torch, record
from nanwise.train.plan import Plan

BINS = 40


def run_counts(case: Case) -> Record:
    """How many inputs of each instance are not 0.

    ``case.dataset``: ratings of MovieLens (an instance is a user), or a set of pictures.
    Scores: ``mean``, ``sd`` and ``variation`` (sd / mean) of the count. Facts: its histogram.
    """
    return record(case, partial(_count, case))


def _count(case: Case) -> Measured:
    counts, most = _counts(case)
    mean, sd = float(counts.mean()), float(counts.std())
    return Measured(
        scores={"mean": mean, "sd": sd, "variation": sd / mean if mean else None},
        facts={"histogram": histogram(counts, most)},
    )


def _counts(case: Case) -> tuple[np.ndarray, int]:
    """Number of inputs that are not 0, of every instance, and how many there are at most."""
    if not case.dataset.startswith("ml_"):
        (X, _), _ = pictures_of(case)
        flat = X.reshape(len(X), -1)
        return np.count_nonzero(flat, axis=1), flat.shape[1]
    from nanwise.data.sets import load_ratings

    counts = np.diff(load_ratings(case.dataset).matrix.indptr)
    return counts[: case.protocol.get("rows")], int(counts.max())


def histogram(counts: np.ndarray, most: int) -> dict[str, Any]:
    """Middles of the bins from 0 to ``most``, and how many counts are in each."""
    number, edges = np.histogram(counts, bins=BINS, range=(0, max(most, 1)))
    return {"x": ((edges[1:] + edges[:-1]) / 2).tolist(), "y": number.tolist()}


# -- perceptrons -----------------------------------------------------------------------------------


def run_perceptron(case: Case) -> Record:
    """Train a perceptron of two hidden layers on pictures as rows; pixels that are 0 are missing.

    ``case.params``: ``units`` of each hidden layer, ``normalised`` (which layers take normalised
    input), ``plan``. ``case.protocol``: ``rows``, ``test``, numbers of pictures (None: all).

    Scores: ``accuracy`` on the test pictures; ``before`` and ``after``, the mean share of units of
    the first hidden layer that are not 0 for a test picture before and after training, and
    ``before_sd``, ``after_sd`` over pictures. Facts: histograms of these numbers of units.
    """
    return record(case, partial(_train, case))


def _train(case: Case) -> Measured:
    import torch

    from nanwise.nets.image.sn_mlp import SNMLP
    from nanwise.train.loop import train

    load_torch()
    (X, y), (X_test, y_test) = (_rows(part) for part in pictures_of(case))
    plan, units = Plan(**case.params["plan"]), case.params["units"]
    kept, held = _split(len(y), plan.validation or 0.0, case.seed)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(case.seed)
        net = SNMLP(X.shape[1], [units] * 2, int(y.max()) + 1, case.params["normalised"])
    found = Measured()
    _note(found, "before", net, X_test)
    history = train(
        net, _Rows(X[kept], y[kept]), plan, seed=case.seed, validation=_Rows(X[held], y[held])
    )
    _note(found, "after", net, X_test)
    found.scores["accuracy"] = float((net.predict(X_test) == y_test).double().mean())
    found.fit_seconds = sum(step["seconds"] for step in history)
    found.facts["epochs"] = len(history)
    return found


def _note(found: Measured, when: str, net: Any, X: Any) -> None:
    """How many units of the first hidden layer are not 0."""
    import torch

    with torch.inference_mode():
        active = net.active(X).numpy()
    units = net.layers[0].out_features
    found.scores |= {when: float(active.mean() / units), f"{when}_sd": float(active.std() / units)}
    found.facts[when] = histogram(active, units)


def _rows(part: Part) -> tuple[Any, Any]:
    import torch

    X, y = part
    return torch.as_tensor(X.reshape(len(X), -1)), torch.as_tensor(y)


def _split(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Numbers of the rows to learn from and of those to validate on."""
    import torch

    order = torch.as_tensor(np.random.default_rng(seed).permutation(n))
    held = round(share * n)
    return order[held:], order[:held]


class _Rows:
    """Batches ``(rows, classes)`` from tensors in memory."""

    def __init__(self, rows: Any, classes: Any) -> None:
        self.rows, self.classes = rows, classes

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        return self.rows.index_select(0, index), self.classes.index_select(0, index)
