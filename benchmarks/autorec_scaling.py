"""Seconds that an epoch of AutoRec takes per million ratings, from 10^5 to 10^7 of them.

Synthetic ratings in the shape and skew of MovieLens 10M on 10,677 items, rows of users, batches of
1000 rows, 500 hidden units, through ``AutoRec.fit``. In the first table users come with the
ratings, 143 each, as when a site grows. In the second there are always 69,878 users: an epoch is
then 70 steps however few ratings there are, and a step begins at the price of Adam over all
weights. Sizes take turns, round by round; shown are medians.

    python benchmarks/autorec_scaling.py --threads 2
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

import torch
from _fair import fix_malloc
from autorec import CASES, fit

from nanwise.data.ratings import Ratings, synthetic_ratings

USERS, ITEMS, MOST = 69_878, 10_677, 10_000_000


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    torch.set_num_threads(options.threads)
    for title, users in (("users grow with ratings", None), (f"{USERS:,} users", USERS)):
        sets = [made(n, users) for n in options.ratings if users is None or n >= users]
        print(f"\n{title}, {ITEMS:,} items, {options.threads} threads\n")
        print("| ratings | users | s per epoch | s per epoch and million ratings |")
        print("|---" * 4 + "|")
        for ratings, seconds in zip(sets, timed(sets, options.rounds), strict=True):
            each = seconds / len(ratings) * 1e6
            print(f"| {len(ratings):,} | {len(ratings.users):,} | {seconds:.3g} | {each:.2f} |")
    return 0


def made(n: int, users: int | None) -> Ratings:
    return synthetic_ratings(users or round(n * USERS / MOST), ITEMS, n, random_state=0)


def timed(sets: list[Ratings], rounds: int) -> list[float]:
    """Median seconds of the epochs on each set; the first of a fit looks at the pattern too."""
    times: list[list[float]] = [[] for _ in sets]
    for _ in range(rounds):
        for ratings, taken in zip(sets, times, strict=True):
            epochs = fit(ratings, CASES["10m-like"], 3 if len(ratings) < MOST else 2).history_
            taken += [epoch["seconds"] for epoch in epochs[1:]]
    return [statistics.median(taken) for taken in times]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = [100_000, 300_000, 1_000_000, 3_000_000, MOST]
    parser.add_argument("--ratings", nargs="+", type=int, default=sizes)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    return parser


if __name__ == "__main__":
    fix_malloc(threads=_parser().parse_args().threads)
    sys.exit(main())
