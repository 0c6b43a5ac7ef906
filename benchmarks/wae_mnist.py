"""WAE on MNIST with square holes: how well reconstructions fill them, by first layer.

    NANWISE_DATA=... python wae_mnist.py --pictures 4000 --epochs 8 --gaps misconv zero

Training and test pictures lose a square of half the side each, the same for all treatments; scores
are means over 2,000 test pictures, of the pixels of their holes. Single run, seed 0.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _fair import fix_malloc

TESTED = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--gaps", nargs="+", default=["misconv", "zero"])
    options = parser.parse_args()
    fix_malloc(threads=1)
    from nanwise import WAE, Plan
    from nanwise.data.images.masks import hide_pixels
    from nanwise.data.images.sets import load_images
    from nanwise.estimators.image.quality import psnr, ssim

    train = hide_pixels(load_images("mnist", "train")[0][: options.pictures], "square", seed=0)
    truth = load_images("mnist", "test")[0][:TESTED]
    holes = hide_pixels(truth, "square", seed=0)
    plan = Plan(
        epochs=options.epochs,
        batch=128,
        lr=4e-4,
        optimizer="adam",
        weight_decay=0,
        schedule=None,
    )
    for gaps in options.gaps:
        start = time.process_time()
        found = WAE(gaps, plan=plan, random_state=0).fit(train).reconstruct(holes, keep=True)
        scores = [measure(truth, found, np.isnan(holes)).mean() for measure in (psnr, ssim)]
        spent = time.process_time() - start
        print(f"{gaps}: PSNR {scores[0]:.2f} dB, SSIM {scores[1]:.3f}, {spent:.0f} s", flush=True)


if __name__ == "__main__":
    main()
