"""Imputation error and seconds beside HyperImpute, miceforest and scikit-learn, in one run.

HyperImpute and miceforest (both MIT) are no part of this project: install them in an
environment of their own and pass the path of that Python. scikit-learn runs in ours.

    python3 -m venv /tmp/hyper
    /tmp/hyper/bin/pip install hyperimpute "pandas<3" miceforest "lightgbm==4.6.0" "torch==2.13.0"
    NANWISE_DATA=... python benchmarks/imputers.py --python /tmp/hyper/bin/python --out cells.jsonl

Five complete tables lose cells in three ways: 20 % and 50 % completely at random ("mcar20",
"mcar50"), and not at random ("mnar": every cell above the median of its column with probability
1/2). Round r has masks and seeds of its own, the same for all sides. Each side gets the incomplete
table with columns standardised by what is observed, with default settings, in a process for each
library, with one thread; it is fitted and asked on the same rows. RMSE is over all hidden cells
together, in standard deviations of the complete column. Seconds are those of fit and transform on a
processor, so that others on the machine weigh less; ours runs just before its rival in even rounds
and after it in odd ones. "apart" is how far fills are from those by the mean, in the same units.

Each cell is one line of ``--out``, written when it ends; a further call skips what is there, but
for cells that a smaller limit had ended. A side that belongs to two pairs is measured once.
``--limit`` ends a side after that many seconds on a processor, imports included, which is a result
as well, as are errors. ``--table`` prints what was found so far and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from _fair import fix_malloc

SETS = {"wdbc": "breast", "yeast": "yeast", "wine": "whitewine", "spam": "spam", "letter": None}
SETTINGS = ("mcar20", "mcar50", "mnar")
#: ours, and who does the same
PAIRS = {
    "softimpute": ("ours:softimpute", "hyperimpute:softimpute"),
    "iterative": ("ours:iterative", "sklearn:iterative"),
    "knn": ("ours:knn", "sklearn:knn"),
    "gain": ("ours:gain", "hyperimpute:gain"),
    "mice": ("ours:mice", "miceforest:expect"),
    "boosted": ("ours:boosted", "miceforest:expect"),
    "miwae": ("ours:miwae", "hyperimpute:miwae"),
    "missforest": ("ours:missforest", "hyperimpute:missforest"),
    "trees": ("ours:chained", "sklearn:trees"),
    "hyperimpute": ("ours:chained", "hyperimpute:hyperimpute"),
    "em": ("ours:em", "ours:mean"),
    "not_miwae": ("ours:not_miwae", "ours:mean"),
}
LIMIT = "limit of "
SIDE = Path(__file__).with_name("imputers_side.py")

Cell = dict[str, Any]
Key = tuple[str, str, str, int]


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    done = {key(cell): cell for cell in read(options.out) if not too_short(cell, options.limit)}
    if not options.table:
        for cell in run(options, done):
            with options.out.open("a") as file:
                file.write(json.dumps(cell) + "\n")
            print({**cell, "error": cell["error"] and cell["error"][-300:]}, flush=True)
    show([cell for cell in read(options.out) if cell["set"] in options.sets], options)
    return 0


def run(options: argparse.Namespace, done: dict[Key, Cell]) -> Iterator[Cell]:
    """The cells that are not there yet."""
    workers: dict[str, Worker] = {}
    try:
        for asked in order(options):
            if asked not in done:
                done[asked] = measure(*asked, worker(asked[2], workers, options))
                yield done[asked]
    finally:
        for started in workers.values():
            started.stop()


def order(options: argparse.Namespace) -> Iterator[Key]:
    """Cells, cheap methods and small tables first; the two sides of a pair follow each other."""
    rounds = range(options.first, options.first + options.rounds)
    for number, method, name, setting in product(
        rounds, options.methods, options.sets, options.settings
    ):
        for side in PAIRS[method] if number % 2 == 0 else PAIRS[method][::-1]:
            if side.startswith(tuple(options.sides)):
                yield name, setting, side, number


def worker(side: str, workers: dict[str, Worker], options: argparse.Namespace) -> Worker:
    """The process of a library, ours not being shared with scikit-learn."""
    library = side.partition(":")[0]
    python = sys.executable if library in ("ours", "sklearn") else str(options.python)
    return workers.setdefault(library, Worker(python, options.limit))


def measure(name: str, setting: str, side: str, number: int, worker: Worker) -> Cell:
    truth = load(name)
    held = hidden(truth, name, setting, number)
    x = np.where(held, np.nan, truth)
    shift, scale = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
    scale[scale == 0] = 1.0
    found = worker.impute(side, number, (x - shift) / scale)
    cell: Cell = {"set": name, "setting": setting, "side": side, "round": number}
    cell |= {"rmse": None, "apart": None, "wall": None, "cpu": None, "error": None}
    if "error" in found:
        return cell | {"error": str(found["error"])[-2000:]}
    answer, units = found["filled"] * scale + shift, truth.std(axis=0)
    off, apart = ((answer - other) / units for other in (truth, shift))
    cell["rmse"] = float(np.sqrt((off[held] ** 2).mean()))
    cell["apart"] = float(np.sqrt((apart[held] ** 2).mean()))
    cell["wall"], cell["cpu"] = map(float, found["seconds"])
    return cell


class Worker:
    """A process that imputes for one library, started when needed and again after a limit."""

    def __init__(self, python: str, limit: float | None) -> None:
        self.python, self.limit = python, limit
        self.process: subprocess.Popen[bytes] | None = None

    def impute(self, side: str, seed: int, x: np.ndarray) -> dict[str, Any]:
        """``filled`` and ``seconds``, or ``error``."""
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "incomplete.npz", Path(folder) / "completed.npz"
            np.savez(source, x=x)
            self._start()
            error = self._ask(f"{side} {seed} {source} {target}\n")
            if error is not None:
                return {"error": error}
            with np.load(target) as file:
                return dict(file)

    def _ask(self, line: str) -> str | None:
        """Wait for the answer; what is wrong if there is none."""
        process = self.process
        process.stdin.write(line.encode())
        process.stdin.flush()
        start = self._seconds()
        while self.limit is None or self._seconds() - start < self.limit:
            if not select.select([process.stdout], [], [], 1.0)[0]:
                continue
            answer = process.stdout.readline()
            if answer == b"done\n":
                return None
            if not answer:
                self.stop()
                return "the process ended"
        self.stop()
        return f"{LIMIT}{self.limit:g} s"

    def _seconds(self) -> float:
        """What the process had of a processor so far."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def _start(self) -> None:
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, str(SIDE)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=tempfile.gettempdir(),
            )

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def load(name: str) -> np.ndarray:
    from nanwise import load_dataset

    if name == "letter":
        file = Path(os.environ["NANWISE_DATA"]) / "gain" / "letter.csv"
        return np.loadtxt(file, delimiter=",", skiprows=1)
    return load_dataset(SETS[name]).X.to_numpy(dtype=np.float64)


def hidden(truth: np.ndarray, name: str, setting: str, number: int) -> np.ndarray:
    """Which cells are hidden, in this round."""
    rng = np.random.default_rng([number, zlib.crc32(f"{name} {setting}".encode())])
    chance = rng.random(truth.shape)
    if setting == "mnar":
        return (truth > np.median(truth, axis=0)) & (chance < 0.5)
    return chance < {"mcar20": 0.2, "mcar50": 0.5}[setting]


# -- what was found ----------------------------------------------------------------------------


def key(cell: Cell) -> Key:
    return cell["set"], cell["setting"], cell["side"], cell["round"]


def read(path: Path) -> list[Cell]:
    """The cells of a file; of one that was run again, the last."""
    lines = path.read_text().splitlines() if path.exists() else []
    return list({key(cell): cell for cell in map(json.loads, lines)}.values())


def too_short(cell: Cell, limit: float | None) -> bool:
    """Whether a cell was ended by a limit below this one."""
    error = cell["error"] or ""
    if not error.startswith(LIMIT):
        return False
    return limit is None or float(error.removeprefix(LIMIT).split()[0]) < limit


def show(cells: list[Cell], options: argparse.Namespace) -> None:
    print(f"\n| method | set |{''.join(f' {s}: RMSE | s | x |' for s in options.settings)}")
    print("|---" * (2 + 3 * len(options.settings)) + "|")
    for method in options.methods:
        for name in options.sets:
            row = [pair(cells, name, setting, method) for setting in options.settings]
            print(f"| {method} | {name} | {' | '.join(row)} |")
    print(f"\n| set |{''.join(f' {s}: our best | best rival |' for s in options.settings)}")
    print("|---" * (1 + 2 * len(options.settings)) + "|")
    for name in options.sets:
        print(f"| {name} | {' | '.join(best(cells, name, s) for s in options.settings)} |")


def pair(cells: list[Cell], name: str, setting: str, method: str) -> str:
    """``ours / theirs`` of error and seconds, and the median ratio of the rounds both have."""
    found = [
        {c["round"]: c for c in cells if (c["set"], c["setting"], c["side"]) == (name, setting, s)}
        for s in PAIRS[method]
    ]
    rmse = " / ".join(average(side.values(), "rmse", 3) for side in found)
    seconds = " / ".join(average(side.values(), "cpu", 2) for side in found)
    both = [(found[0][r], found[1][r]) for r in found[0] if r in found[1]]
    ratios = [theirs["cpu"] / ours["cpu"] for ours, theirs in both if ours["cpu"] and theirs["cpu"]]
    return f"{rmse} | {seconds} | {f'{median(ratios):.1f}' if ratios else '-'}"


def average(cells: Any, what: str, digits: int) -> str:
    cells = list(cells)
    values = [cell[what] for cell in cells if cell["error"] is None]
    if values:
        return f"{mean(values):.{digits}f}"
    ended = [cell["error"].removeprefix(LIMIT) for cell in cells if cell["error"].startswith(LIMIT)]
    if ended:
        return f"> {ended[-1]}"
    return "fails" if cells else "-"


def best(cells: list[Cell], name: str, setting: str) -> str:
    errors: dict[str, list[float]] = {}
    for cell in cells:
        if (cell["set"], cell["setting"]) == (name, setting) and cell["error"] is None:
            errors.setdefault(cell["side"], []).append(cell["rmse"])
    means = {side: mean(found) for side, found in errors.items()}
    ends = []
    for mine in (True, False):
        some = {s: e for s, e in means.items() if s.startswith("ours:") == mine}
        side = min(some, key=lambda s: some[s], default=None)
        ends.append("-" if side is None else f"{some[side]:.3f} ({side.removeprefix('ours:')})")
    return " | ".join(ends)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, help="Python of an environment with HyperImpute")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, one for each cell")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--methods", nargs="+", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--sides", nargs="+", default=[""], help="how the names of sides begin")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--limit", type=float, help="processor seconds for one side")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="print what is there, run nothing")
    return parser


if __name__ == "__main__":
    asked = _parser().parse_args()
    if not (asked.python or asked.table):
        _parser().error("--python is needed: the Python of an environment with HyperImpute")
    fix_malloc(threads=asked.threads)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that workers are stopped as well
    sys.exit(main())
