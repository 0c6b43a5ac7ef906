"""RMSE and seconds of AutoRec and CF-NADE beside Surprise, on the same 90/10 splits, in one run.

Surprise (scikit-surprise, BSD-3-Clause) is no part of this project: install it in an environment of
its own and pass the path of that Python. It gets each split as two text files, with its default
settings; KNNBaseline with Pearson-baseline similarities of items. Ours: rows of items, trained
again on all training ratings once the number of epochs is known (``refit=True``), AutoRec with
penalty 100, all else by default. Predictions of all sides are clipped to the scale, and cold users
and items count. Seconds are those of fitting and of predicting the test ratings; Surprise runs on
one thread, ours on ``--threads``.

    python3 -m venv /tmp/surprise && /tmp/surprise/bin/pip install scikit-surprise "numpy<2"
    NANWISE_DATA=... python benchmarks/surprise_ratings.py --python /tmp/surprise/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _fair import fix_malloc

THEIRS = {"ml-100k": ["SVD", "SVD++", "item-kNN"], "ml-1m": ["SVD"]}  # what takes minutes at most
OURS = ["AutoRec", "CF-NADE"]
FILES = {"ml-100k": "ml-100k/u.data", "ml-1m": "ml-1m/ratings.dat.gz"}


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    if options.worker:
        print(json.dumps(worker(options.worker, options.folder, options.seed)))
        return 0
    import torch

    torch.set_num_threads(options.threads)
    print("| ratings | method | RMSE | of each split | seconds | our best - this |")
    print("|---" * 6 + "|")
    for name in options.data:
        found: dict[str, list[tuple[float, float]]] = {}
        for method, result in results(name, options):
            found.setdefault(method, []).append(result)
            print(f"{name} {method}: {result[0]:.4f} in {result[1]:.1f} s", file=sys.stderr)
        table(name, found)
    return 0


def table(name: str, found: dict[str, list[tuple[float, float]]]) -> None:
    means = {method: statistics.mean(e for e, _ in runs) for method, runs in found.items()}
    ours = min((means[method] for method in OURS if method in means), default=float("nan"))
    for method, runs in found.items():
        each = " / ".join(f"{error:.4f}" for error, _ in runs)
        seconds = statistics.mean(seconds for _, seconds in runs)
        behind = ours - means[method]
        print(f"| {name} | {method} | **{means[method]:.4f}** | {each} ", end="")
        print(f"| {seconds:.1f} | {behind:+.4f} |", flush=True)


def results(name: str, options: argparse.Namespace) -> Iterator[tuple[str, tuple[float, float]]]:
    """Method, RMSE and seconds, split after split."""
    from nanwise.data.ratings import read_ratings, split_ratings

    ratings = read_ratings(Path(os.environ["NANWISE_DATA"]) / FILES[name])
    for seed in range(options.splits):
        train, test = split_ratings(ratings, 0.1, random_state=seed)
        with tempfile.TemporaryDirectory() as folder:
            for part, rows in (("train", train), ("test", test)):
                write(rows, Path(folder) / part)
            for method in options.theirs or THEIRS[name]:
                yield method, elsewhere(options.python, method, folder, seed)
        for method in options.ours:
            yield method, here(method, train, test, seed)


def write(ratings: Any, path: Path) -> None:
    columns = (ratings.users[ratings.rows], ratings.items[ratings.matrix.indices])
    cells = zip(*columns, ratings.matrix.data, strict=True)
    path.write_text("".join(f"{user}\t{item}\t{rating:g}\n" for user, item, rating in cells))


def here(method: str, train: Any, test: Any, seed: int) -> tuple[float, float]:
    from nanwise import CFNADE, AutoRec

    start = time.perf_counter()
    if method == "AutoRec":
        model = AutoRec(by="item", penalty=100.0, refit=True, random_state=seed)
    else:
        model = CFNADE(by="item", refit=True, random_state=seed)
    error = -model.fit(train).score(test)
    return error, time.perf_counter() - start


def elsewhere(python: Path, method: str, folder: str, seed: int) -> tuple[float, float]:
    call = [str(python), __file__, "--worker", method, "--folder", folder, "--seed", str(seed)]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    error, seconds = json.loads(done.stdout.splitlines()[-1])
    return error, seconds


def worker(method: str, folder: str, seed: int) -> tuple[float, float]:
    """Runs under the other Python."""
    from surprise import SVD, Dataset, KNNBaseline, Reader, SVDpp, accuracy

    reader = Reader(line_format="user item rating", sep="\t", rating_scale=(1, 5))
    parts = [Dataset.load_from_file(str(Path(folder) / p), reader) for p in ("train", "test")]
    train, test = parts[0].build_full_trainset(), parts[1].build_full_trainset().build_testset()
    alike = {"name": "pearson_baseline", "user_based": False}
    start = time.perf_counter()
    if method == "item-kNN":
        model = KNNBaseline(sim_options=alike, verbose=False)
    else:
        model = {"SVD": SVD, "SVD++": SVDpp}[method](random_state=seed)
    error = accuracy.rmse(model.fit(train).test(test), verbose=False)
    return error, time.perf_counter() - start


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, help="Python of an environment with Surprise")
    parser.add_argument("--data", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--ours", nargs="*", default=OURS, choices=OURS)
    parser.add_argument("--theirs", nargs="+", choices=THEIRS["ml-100k"], help="on all ratings")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    asked = _parser().parse_args()
    if asked.worker is None and asked.python is None:
        _parser().error("--python is needed: the Python of an environment with Surprise")
    if asked.worker is None:
        fix_malloc(threads=asked.threads)
    sys.exit(main())
