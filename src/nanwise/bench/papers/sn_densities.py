"""Sparsity normalisation, ICLR 2020: densities of binarized MNIST by MADE."""

from __future__ import annotations

import time
from functools import lru_cache, partial
from typing import Any

import numpy as np

from nanwise.bench.case import Case, Record
from nanwise.bench.papers.pictures_run import PictureTable
from nanwise.bench.papers.table import Heading, publish
from nanwise.bench.run import Measured, curve, load_torch, record
from nanwise.bench.score import Metric
from nanwise.data.sets.binarized import NAME, find_binarized_mnist, load_binarized_mnist
from nanwise.errors import DataError
from nanwise.train.plan import Plan

MASKS = (1, 2, 4, 8, 16, 32)
ROWS: dict[str, dict[str, Any]] = {
    "w/o SN": {},
    "w/ SN": {"normalize": "input"},
    "w/ SN(all)": {"normalize": "input", "normalize_connections": True},
    "SN of connections only": {"normalize_connections": True},
    "causal SN": {"normalize": "causal"},
    "causal SN(all)": {"normalize": "causal", "normalize_connections": True},
}

PUBLISHED = ("w/o SN", "w/ SN", "w/ SN(all)")
#: other scores of the published rows, and what is added to the names of the rows that show them
SINGLE, AVERAGED = "nll_single", "nll_log_odds"
SCORED = {SINGLE: "one mask at a time", AVERAGED: "log-odds averaged over masks"}
_AT_ONCE = 500

PARAMS: dict[str, Any] = {"hidden": [500], "order": "random", "mask_steps": 20}
PLAN = {"optimizer": "adam", "weight_decay": 0.0, "schedule": "steps", "batch": 100}

SCALES: dict[str, dict[str, Any]] = {
    "smoke": {"runs": 1, "rows": 200, "test": 50, "epochs": 1, "patience": None},
    "laptop": {"runs": 1, "rows": 10_000, "test": 2000, "epochs": 20, "patience": 5},
    "paper": {"runs": 3, "rows": None, "test": None, "epochs": 100, "patience": None},
}

NOTES = (
    "The rows w/ SN and w/ SN(all) are as published: a row is scaled by the number of all its "
    "ones, so that the probability of a pixel depends on pixels that come after it. Their figures "
    "are NOT negative log-likelihoods (probabilities of all pictures do not add up to 1) and must "
    "not be compared with the other rows, nor with other models. The rows of connections and of "
    "causal SN are ours and proper.",
    "After appendix F of the paper: one hidden layer of 500 ReLU units, Adam without weight decay, "
    "pixels that are 0 count as missing. What it does not tell is taken from the public "
    "implementation that it started from: batches of 100, a random order of the pixels for each "
    "mask, 20 steps until the next mask has its turn, at scale paper 100 epochs, a tenth of the "
    "rate after 45 and a hundredth after 90 of them. The best epoch on validation pictures counts, "
    "there the last one.",
    "A picture is scored by the mixture of the densities of all "
    "masks. The public implementation scores pictures by one mask at a time, or, if asked, by the "
    "mean of the masks' log-odds, which is no density where orders differ: a pixel is then told by "
    "pixels that come after it in other orders. Which the paper did is not said; the last rows "
    "show both, of the same networks. Training stops on single masks.",
    "Training, validation and test pictures are those of the three files. Scale laptop: 10,000 of "
    "the 50,000 training pictures and 2,000 of 10,000 for validation and for testing.",
    "The paper prints a plot without numbers.",
)


class DensityTable(PictureTable):
    """Negative log-likelihoods on binarized MNIST."""

    def absent(self, row: Heading, column: Heading, scale: str) -> str | None:
        """As for every table, and whether the pictures are there."""
        try:
            find_binarized_mnist("train")
        except DataError as error:
            return str(error)
        return super().absent(row, column, scale)


def run_density(case: Case) -> Record:
    """Fit :class:`nanwise.MADE` on binarized MNIST.

    ``case.params`` are its parameters; ``case.protocol`` holds ``rows``, the number of training
    pictures, and ``test``, that of validation and of test pictures (None: all). Scores: ``nll``,
    nats per test picture.
    """
    return record(case, partial(_measure, case))


def _measure(case: Case) -> Measured:
    from nanwise.methods.table.made import MADE

    load_torch()
    train, held, test = (_rows(case, split) for split in ("train", "validation", "test"))
    params = {**case.params, "plan": Plan(**case.params["plan"])}
    model = MADE(**params, random_state=case.seed)
    started = time.perf_counter()
    model.fit(train, validation=held)
    fitted = time.perf_counter()
    return Measured(
        scores={"nll": -model.score(test), **_other_scores(model.net_, test)},
        fit_seconds=fitted - started,
        predict_seconds=time.perf_counter() - fitted,
        history=curve(model),
    )


def _other_scores(net: Any, test: np.ndarray) -> dict[str, float]:
    """What the public implementation prints: of single masks, and of the mean of their log-odds."""
    import torch
    from torch.nn import functional as F

    single = averaged = 0.0
    with torch.inference_mode():
        for rows in torch.as_tensor(test).split(_AT_ONCE):
            sign = 2.0 * rows - 1
            odds = torch.stack([net(rows.float(), which) for which in range(net.n_masks)])
            single -= float(F.logsigmoid(odds * sign).sum()) / net.n_masks
            averaged -= float(F.logsigmoid(odds.mean(0) * sign).sum())
    return {SINGLE: single / len(test), AVERAGED: averaged / len(test)}


def _rows(case: Case, split: str) -> np.ndarray:
    """Pictures of a split: all, or so many as the case has, drawn by its seed."""
    X = _load(split)
    number = case.protocol["rows" if split == "train" else "test"]
    if number is None or number >= len(X):
        return X
    return X[np.sort(np.random.default_rng(case.seed).choice(len(X), number, replace=False))]


@lru_cache(maxsize=3)
def _load(split: str) -> np.ndarray:
    """Kept, because a worker meets the same pictures in every cell; never written to."""
    return load_binarized_mnist(split)


def _headings() -> tuple[Heading, ...]:
    own = [Heading(name, NAME, "made", params=params) for name, params in ROWS.items()]
    others = [
        Heading(f"{name}, {words}", NAME, "made", score, params=ROWS[name])
        for score, words in SCORED.items()
        for name in PUBLISHED
    ]
    return (*own, *others)


def _figure(id: str, rate: float, where: str) -> None:
    publish(
        DensityTable(
            id=id,
            title=f"Negative log-likelihood of MADE against the number of masks, rate {rate:g}",
            source=f"Sparsity normalisation, ICLR 2020, {where}",
            metric=Metric("nll", "nats per picture", False),
            rows=_headings(),
            columns=tuple(Heading(str(number), params={"n_masks": number}) for number in MASKS),
            run=run_density,
            scales=SCALES,
            params={**PARAMS, "plan": {**PLAN, "lr": rate}},
            protocol={"kind": "density"},
            notes=NOTES,
            axis="masks",
        )
    )


_figure("sn/fig5", 0.005, "Figure 5, Section 4.5")
_figure("sn/fig8", 0.001, "Figure 8, Appendix F")
