"""How long it takes before anything happens: ``import nanwise`` and ``nanwise --help``.

Each is timed in fresh processes, alternating with a bare Python doing nothing; the difference of
the medians is what nanwise adds, the median itself what the user waits.

Run: python benchmarks/start_up.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

SIDES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import nanwise": [sys.executable, "-c", "import nanwise"],
    "nanwise --help": [sys.executable, "-m", "nanwise", "--help"],
    "nanwise compare --help": [sys.executable, "-m", "nanwise", "compare", "--help"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in SIDES}
    for _ in range(rounds):
        for name, command in SIDES.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times[name].append(time.perf_counter() - start)
    bare = statistics.median(times["python -c pass"])
    print("| command | seconds (median) | more than bare Python |")
    print("|---|---|---|")
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"| {name} | {median:.3f} | {median - bare:.3f} |")


if __name__ == "__main__":
    main()
