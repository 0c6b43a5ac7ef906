"""WAE on MNIST with square holes: how well reconstructions fill them, by first layer.

    NANWISE_DATA=... python wae_mnist.py --gaps misconv zero --seeds 0 1

Training and test pictures lose a square of half the side each, the same for all treatments. Scores
are of the pixels of the holes of 2,000 test pictures: PSNR of the mean squared error over all of
them, means over the pictures of PSNR (without those that are met exactly) and of SSIM. One DMFA for
each seed serves as a filling to compare with and as the density of ``misconv`` and ``dmfa``.
``--published`` is the published loss and plan but for the number of epochs; ``--valid`` scores
training pictures 50,000 to 52,000, which settings are chosen on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from _fair import fix_malloc

if TYPE_CHECKING:
    from nanwise import Plan

TESTED = 2000
#: first of the training pictures that settings are chosen on
VALID = 50_000

Score = Callable[[str, np.ndarray], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--gaps", nargs="+", default=["misconv", "zero"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--valid", action="store_true")
    options = parser.parse_args()
    fix_malloc(threads=1)
    from nanwise.data.images.masks import hide_pixels
    from nanwise.data.images.sets import load_images

    pictures = load_images("mnist", "train")[0]
    train = hide_pixels(pictures[: min(options.pictures, VALID)], "square", seed=0)
    truth = pictures[VALID:] if options.valid else load_images("mnist", "test")[0]
    truth = truth[:TESTED]
    holes = hide_pixels(truth, "square", seed=0)
    score = _scorer(truth, np.isnan(holes))
    score("filled with 0", np.zeros_like(truth))
    score("filled with the mean picture", np.broadcast_to(np.nanmean(train, axis=0), truth.shape))
    for seed in options.seeds:
        _run(options, seed, train, holes, score)


def _run(
    options: argparse.Namespace, seed: int, train: np.ndarray, holes: np.ndarray, score: Score
) -> None:
    from nanwise import WAE, DMFAImputer
    from nanwise.methods.image.misconv import MisConv

    start = time.process_time()
    density = DMFAImputer(random_state=seed).fit(train)
    score(f"seed {seed}, filled by DMFA ({_since(start)})", density.transform(holes))
    shared = {"misconv": MisConv(density), "dmfa": density}
    own = {"hide": None} if options.published else {}
    for gaps in options.gaps:
        start = time.process_time()
        model = WAE(shared.get(gaps, gaps), plan=_plan(options), random_state=seed, **own)
        found = model.fit(train).reconstruct(holes)
        losses = ", ".join(f"{epoch['train_loss']:.4f}" for epoch in model.history_)
        print(f"  losses of the epochs: {losses}")
        score(f"seed {seed}, WAE, {gaps} ({_since(start)})", found)


def _plan(options: argparse.Namespace) -> Plan:
    from nanwise import Plan

    rest: dict[str, Any]
    if options.published:
        rest = {"batch": 128, "lr": 4e-4, "schedule": None}
    else:
        # so few steps teach more with a high rate that falls in the end
        rest = {"batch": 64, "lr": 2e-3, "schedule": "onecycle"}
    return Plan(epochs=options.epochs, optimizer="adam", weight_decay=0, **rest)


def _scorer(truth: np.ndarray, hole: np.ndarray) -> Score:
    from nanwise.estimators.image.quality import psnr, ssim

    def score(name: str, found: np.ndarray) -> None:
        found = np.where(hole, found, truth)
        whole = -10 * np.log10(np.square(found - truth)[hole].mean())
        each = psnr(truth, found, hole)
        alike = ssim(truth, found, hole).mean()
        each = each[np.isfinite(each)].mean()
        print(f"{name}: {whole:.2f} dB, by picture {each:.2f} dB, SSIM {alike:.3f}", flush=True)

    return score


def _since(start: float) -> str:
    return f"{time.process_time() - start:.0f} s"


if __name__ == "__main__":
    main()
