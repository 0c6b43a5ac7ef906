"""One run on pictures: hide, train on incomplete pictures, score on others; or time a layer."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.table import Heading, PublishedTable
from nanwise.bench.run import Measured, fit_and_score, record
from nanwise.errors import DataError
from nanwise.train.plan import Plan

#: sizes of a scale that a run has to know
PASSED_ON = ("test", "density_epochs", "repeats", "width", "units")
SETS = ("mnist", "fashion_mnist", "cifar10", "svhn", "celeba")

Part = tuple[np.ndarray, np.ndarray]


class PictureTable(PublishedTable):
    """A published table on pictures; a scale may also have the sizes in ``PASSED_ON``."""

    def cases(self, row: Heading, column: Heading, scale: str) -> list[Case]:
        """The runs behind one cell."""
        sizes = self.sizes(scale)
        more = {name: sizes[name] for name in PASSED_ON if name in sizes}
        cases = super().cases(row, column, scale)
        return [replace(case, protocol={**case.protocol, **more}) for case in cases]

    def absent(self, row: Heading, column: Heading, scale: str) -> str | None:
        """As for every table, and whether the pictures are there."""
        dataset = row.dataset or column.dataset or ""
        return super().absent(row, column, scale) or _not_there(dataset)


def _not_there(dataset: str) -> str | None:
    """Why a set of pictures cannot be read; None if it can, or is none."""
    try:
        if dataset in SETS:
            _load(dataset, "test")
    except DataError as error:
        return str(error)
    return None


# -- classifiers -----------------------------------------------------------------------------------


def run_classifier(case: Case) -> Record:
    """Train :class:`nanwise.NanImageClassifier` on incomplete pictures and score it on others.

    ``case.method`` is the key of a treatment or imputer of pictures. ``case.hide`` names the
    ``kind`` of holes, or ``dark``: pixels that are 0; None: whole pictures. ``case.params`` are
    those of the classifier; ``gaps`` in them, those of the treatment. ``case.protocol`` holds
    ``rows`` and ``test``, the numbers of training and test pictures (None: all),
    ``density_epochs`` and, for VGG, ``batch_norm``.
    """
    return record(case, partial(_classify, case))


def _classify(case: Case) -> Measured:
    train, test = pictures_of(case)
    started = time.perf_counter()
    model = _model(case)
    waited = time.perf_counter() - started
    found = fit_and_score(model, train, test, "classification")
    found.facts = {"density_seconds": waited}
    return found


def _model(case: Case) -> Any:
    from nanwise.estimators.image.classifier import NanImageClassifier

    params = {**case.params, "plan": Plan(**case.params["plan"])}
    own = params.pop("gaps", {})
    if "width" in case.protocol:
        params["width"] = case.protocol["width"]
    if "batch_norm" in case.protocol:
        from nanwise.nets.image.vgg import VGG

        params["backbone"] = partial(VGG, batch_norm=case.protocol["batch_norm"])
    gaps = _treatment(case, own)
    return NanImageClassifier(gaps, random_state=case.seed, **params)


def _treatment(case: Case, own: dict[str, Any]) -> Any:
    from nanwise.registry import find

    entry = find(case.method)
    if entry.kind == "imputer":
        return find("image/filled").make(imputer=_fitted(_asked(case, entry.name)), **own)
    if entry.name == "misconv":
        own = {**own, "density": _fitted(_asked(case, own.get("density", "dmfa")))}
    return entry.make(**own)


def _asked(case: Case, name: str) -> Case:
    """What the density depends on, and nothing else: rows of a table share it."""
    kept = {k: case.protocol.get(k) for k in ("rows", "density_epochs")}
    return Case(case.dataset, f"image/{name}", protocol=kept, seed=case.seed, hide=case.hide)


@lru_cache(maxsize=8)
def _fitted(case: Case) -> Any:
    """An imputer fitted on the incomplete training pictures, kept for other rows of a table."""
    from nanwise.registry import find

    imputer = find(case.method).make(random_state=case.seed)
    if "plan" in imputer.get_params() and case.protocol["density_epochs"] is not None:
        imputer.set_params(plan__epochs=case.protocol["density_epochs"])
    return imputer.fit(pictures_of(case)[0][0])


def pictures_of(case: Case) -> tuple[Part, Part]:
    """Training and test pictures of a case with their holes, and their labels."""
    train = _some(_load(case.dataset, "train"), case.protocol.get("rows"), case.seed)
    test = _some(_load(case.dataset, "test"), case.protocol.get("test"), case.seed)
    return (_hidden(train[0], case), train[1]), (_hidden(test[0], case), test[1])


def _hidden(X: np.ndarray, case: Case) -> np.ndarray:
    from nanwise.data.images.masks import hide_pixels

    if case.hide is None:
        return X
    if case.hide["kind"] == "dark":
        return np.where(X == 0, np.nan, X)
    return hide_pixels(X, case.hide["kind"], case.seed)


def _some(part: Part, number: int | None, seed: int) -> Part:
    X, y = part
    if number is None or number >= len(y):
        return part
    drawn = np.sort(np.random.default_rng(seed).choice(len(y), number, replace=False))
    return X[drawn], y[drawn]


@lru_cache(maxsize=2)
def _load(name: str, split: str) -> Part:
    """Kept, because a worker meets the same set in many cells; never written to."""
    from nanwise.data.images.sets import load_images

    return load_images(name, split)


# -- time ------------------------------------------------------------------------------------------


def run_timing(case: Case) -> Record:
    """Seconds of a forward pass of a convolution with ReLU and of MisConv, which take turns.

    ``case.protocol``: ``size`` and ``channels`` of the pictures, ``batch``, ``repeats``. The hole
    is a square of half the side. Scores: means ``conv`` and ``misconv``, their ``ratio``, and
    quartiles ``conv_25`` to ``misconv_75``.
    """
    return record(case, partial(_time, case))


def _time(case: Case) -> Measured:
    sides = dict(zip(("conv", "misconv"), _sides(**_layer_sizes(case)), strict=True))
    repeats = case.protocol["repeats"]
    for _ in range(max(2, repeats // 50)):  # what is only there the first time
        for run in sides.values():
            run()
    taken = [{name: _seconds(run) for name, run in sides.items()} for _ in range(repeats)]
    scores: dict[str, float | None] = {}
    for name in sides:
        times = [one[name] for one in taken]
        scores[name] = statistics.fmean(times)
        low, middle, high = statistics.quantiles(times, n=4)
        scores |= {f"{name}_25": low, f"{name}_50": middle, f"{name}_75": high}
    scores["ratio"] = statistics.median(one["misconv"] / one["conv"] for one in taken)
    return Measured(scores=scores)


def _layer_sizes(case: Case) -> dict[str, int]:
    return {name: case.protocol[name] for name in ("size", "channels", "batch")} | {
        "seed": case.seed
    }


def _sides(
    size: int, channels: int, batch: int, seed: int, width: int = 32, factors: int = 4
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A forward pass of each side over the same pictures."""
    import torch
    from torch import nn

    from nanwise.completion import MFA
    from nanwise.nn import MisConv2d

    draw = torch.Generator().manual_seed(seed)
    shape = (channels, size, size)
    x = torch.rand(batch, *shape, generator=draw)
    hole = size // 2
    for picture in x:
        top, left = torch.randint(0, size - hole + 1, (2,), generator=draw).tolist()
        picture[:, top : top + hole, left : left + hole] = torch.nan
    density = MFA(
        torch.ones(batch, 1),
        torch.rand(batch, 1, *shape, generator=draw),
        0.1 * torch.randn(batch, 1, factors, *shape, generator=draw),
        0.1 * torch.rand(batch, 1, *shape, generator=draw),
        ~x.isnan(),
    )
    with torch.random.fork_rng(devices=[]):
        conv = nn.Conv2d(channels, width, 3, padding=1)
        ours = MisConv2d(channels, width, 3, padding=1)
    filled = x.nan_to_num()
    quiet = torch.no_grad()
    return quiet(lambda: conv(filled).relu()), quiet(lambda: ours(x, density))


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
