"""Density of holes in MNIST: log density and squared error on test pictures.

    NANWISE_DATA=... python dmfa_mnist.py --epochs 6

Training and test pictures lose a square of half the side each, the same in every run; the network
learns from the incomplete training pictures. Scores are per picture, over what the squares of the
test pictures hid.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _fair import fix_malloc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--pictures", type=int, help="training pictures; default: all")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    fix_malloc(threads=options.threads)
    from nanwise import DMFAImputer
    from nanwise.data.images.masks import hide_pixels
    from nanwise.data.images.sets import load_images

    train, _ = load_images("mnist", "train")
    truth, _ = load_images("mnist", "test")
    train = hide_pixels(train[: options.pictures], "square", seed=0)
    holes = hide_pixels(truth, "square", seed=0)
    model = DMFAImputer(random_state=0).set_params(plan__epochs=options.epochs)
    start = time.process_time()
    model.fit(train)
    print(f"trained in {time.process_time() - start:.0f} s of a processor")
    found = -model.log_prob(holes, truth)
    off = ((model.transform(holes) - truth) ** 2).sum() / len(truth)
    print(f"negative log density {found.mean():.1f}, median {np.median(found):.1f}")
    print(f"squared error {off:.2f}")


if __name__ == "__main__":
    main()
