"""What the expected ReLU over holes costs, beside a convolution + ReLU and the plain formula.

The nine settings of the paper's Table 2: pictures of 28 (one channel), 32 and 64 pixels (three) in
batches of 16, 32 and 64; 3 x 3 kernel, 32 channels out, a square hole of a quarter of the picture
at a random place, one component with 4 factors. The sides take turns; the ratios are medians over
the rounds. A turn is one step, which finds the caches full of what the side before has left, or
``--turn`` steps, after one that is not timed. Gradients go to the weights, with ``--joint`` to the
density as well. With ``--memory`` each side runs one step in a process of its own, and its peak
above the data is printed. ``--uncompiled`` shows what an installation without a compiler has.

    python benchmarks/misconv.py --rounds 20
    python benchmarks/misconv.py --rounds 20 --turn 5
    python benchmarks/misconv.py --memory --batches 64
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from _fair import fix_malloc

SIZES, BATCHES, FACTORS, CHANNELS = (28, 32, 64), (16, 32, 64), 4, 32
SIDES = ("conv + ReLU", "formula", "MisConv2d")
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
Step = Callable[[], None]
Turn = Callable[[], float]


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    if options.uncompiled or options.lanes:
        from nanwise.nn.holes import compiled

        compiled.LANES = options.lanes
        compiled._windows = None if options.uncompiled else compiled._windows
    if options.alone is not None:
        print(_peak(options.sizes[0], options.batches[0], options.alone, options.joint))
        return 0
    settings = [(size, batch) for size in options.sizes for batch in options.batches]
    if options.memory:
        _print_memory(settings, options)
    else:
        _print_times(settings, options)
    return 0


def _print_times(settings: list[tuple[int, int]], options: argparse.Namespace) -> None:
    print("| pixels | batch | pass | conv + ReLU, ms | ours, ms | formula : ours | ours : conv |")
    print("|---|---|---|---|---|---|---|")
    for size, batch in settings:
        for what in ("forward", "forward + backward"):
            steps = [step(size, batch, side, options.joint, what != "forward") for side in SIDES]
            turns = [_turn(one, options.turn, CLOCKS[options.clock]) for one in steps]
            plain, ours, gain, cost = measure(turns, options.rounds)
            print(
                f"| {size} | {batch} | {what} | {plain * 1e3:.2f} | {ours * 1e3:.2f} | "
                f"{gain:.1f} x | {cost:.1f} x |",
                flush=True,
            )


def _print_memory(settings: list[tuple[int, int]], options: argparse.Namespace) -> None:
    print("| pixels | batch | conv + ReLU, MB | formula, MB | MisConv2d, MB | formula : ours |")
    print("|---|---|---|---|---|---|")
    for size, batch in settings:
        arguments = ["--sizes", str(size), "--batches", str(batch), "--threads"]
        arguments += [str(options.threads), *(["--joint"] if options.joint else [])]
        arguments += ["--uncompiled"] if options.uncompiled else []
        peaks = []
        for side in SIDES:
            command = [sys.executable, str(Path(__file__)), *arguments, "--alone", side]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            peaks.append(float(done.stdout))
        plain, formula, ours = peaks
        print(
            f"| {size} | {batch} | {plain:.0f} | {formula:.0f} | {ours:.0f} | "
            f"{formula / ours:.1f} x |",
            flush=True,
        )


def measure(turns: list[Turn], rounds: int) -> tuple[float, float, float, float]:
    """Median seconds of the plain side and ours; median ratios formula : ours and ours : plain."""
    for one in turns * 2:
        one()
    times = [[one() for one in turns] for _ in range(rounds)]
    return (
        statistics.median(plain for plain, _, _ in times),
        statistics.median(ours for _, _, ours in times),
        statistics.median(formula / ours for _, formula, ours in times),
        statistics.median(ours / plain for plain, _, ours in times),
    )


def step(size: int, batch: int, side: str, joint: bool, backward: bool) -> Step:
    """One pass of one side over its own data, the same for every side."""
    import torch

    x, density, conv, ours = _data(size, batch, joint)
    forward = {
        "conv + ReLU": lambda: conv(x.nan_to_num(0.0)).relu(),
        "formula": lambda: formula(x, density, conv),
        "MisConv2d": lambda: ours(x, density),
    }[side]
    gradient = torch.randn(batch, CHANNELS, size, size)
    leaves = [*conv.parameters(), *ours.parameters(), *density[:4]]

    def run() -> None:
        if not backward:
            with torch.no_grad():
                forward()
            return
        for leaf in leaves:
            leaf.grad = None
        forward().backward(gradient)

    return run


def formula(x: Any, density: Any, conv: Any) -> Any:
    """The formula for whole pictures: three convolutions with components and factors as rows."""
    import torch
    from torch.nn import functional as F

    there = ~torch.isnan(x)
    missing = (~there).to(x.dtype)
    weights, means, factors, noise, _ = density
    n, k, rank = factors.shape[:3]
    filled = torch.where(there, x, 0.0)[:, None] + means * missing[:, None]
    m = conv(filled.flatten(0, 1))
    v = F.conv2d((noise * missing[:, None]).flatten(0, 1), conv.weight**2, padding=1)
    answers = F.conv2d((factors * missing[:, None, None]).flatten(0, 2), conv.weight, padding=1)
    v = v + answers.unflatten(0, (n * k, rank)).square().sum(1)
    least = 1e-20
    s = v.clamp_min(least).sqrt()
    w = m / s
    value = m * 0.5 * (1 + torch.erf(w * math.sqrt(0.5)))
    value = value + s * torch.exp(-0.5 * w * w) / math.sqrt(2 * math.pi)
    value = torch.where(v > least, value, torch.relu(m))
    return (value.unflatten(0, (n, k)) * weights[:, :, None, None, None]).sum(1)


def _data(size: int, batch: int, joint: bool) -> tuple[Any, ...]:
    import torch
    from torch import nn

    from nanwise.completion import MFA
    from nanwise.nn import MisConv2d

    torch.manual_seed(0)
    shape, hole = (1 if size == 28 else 3, size, size), size // 2
    x = torch.rand(batch, *shape)
    for picture in x:
        top, left = torch.randint(0, size - hole + 1, (2,)).tolist()
        picture[:, top : top + hole, left : left + hole] = torch.nan
    density = MFA(
        torch.ones(batch, 1),
        torch.rand(batch, 1, *shape),
        0.1 * torch.randn(batch, 1, FACTORS, *shape),
        0.1 * torch.rand(batch, 1, *shape),
        ~x.isnan(),
    )
    for part in density[:4]:
        part.requires_grad_(joint)
    conv = nn.Conv2d(shape[0], CHANNELS, 3, padding=1)
    ours = MisConv2d(shape[0], CHANNELS, 3, padding=1)
    ours.load_state_dict(conv.state_dict())
    return x, density, conv, ours


def _peak(size: int, batch: int, side: str, joint: bool) -> float:
    """Megabytes that one step, forward and backward, takes at most beyond its data."""
    step(4, 2, side, joint, True)()  # what torch loads when it is used first
    run = step(size, batch, side, joint, True)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _status("VmRSS")
    run()
    return (_status("VmHWM") - before) / 1e3


def _status(name: str) -> int:
    """A number of kilobytes that the kernel keeps for this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def _turn(run: Step, steps: int, clock: Callable[[], float]) -> Turn:
    """What a side does when it is its turn: seconds of a step, one or the median of several."""

    def seconds() -> float:
        start = clock()
        run()
        return clock() - start

    def several() -> float:
        run()
        return statistics.median(seconds() for _ in range(steps))

    return seconds if steps == 1 else several


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="times each side runs")
    parser.add_argument("--turn", type=int, default=1, help="steps of a side before the next one's")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="pixels of a side")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--joint", action="store_true", help="gradients to the density too")
    parser.add_argument("--memory", action="store_true", help="peak memory instead of time")
    parser.add_argument("--uncompiled", action="store_true", help="ours by torch alone")
    parser.add_argument("--lanes", type=int, default=0, help="8: as if there were AVX2 only")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: of all threads")
    parser.add_argument("--alone", choices=SIDES, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    fix_malloc(_parser().parse_args().threads)
    sys.exit(main())
