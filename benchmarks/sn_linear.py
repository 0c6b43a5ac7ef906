"""What sparsity normalisation costs on top of zero filling and ``nn.Linear``.

Times one training step (forward and backward) of each version, alternating between them, and
reports the median of the ratios. Three inputs are measured: a tensor with NaN, values with a mask,
and ``Observed``, whose values are already 0 in gaps.

glibc hands large freed blocks back to the kernel, so every step would pay for page faults that
depend on the order of the sides. The script therefore starts itself again with thresholds that keep
freed memory, the same for all sides.

    python benchmarks/sn_linear.py --rounds 40
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from _fair import fix_malloc

SHAPES = ("1024x256->256", "4096x50->256", "512x1000->512", "128x50->256", "1024x256->1")
FORMS = ("nan", "mask", "observed")
Step = Callable[[], None]


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    print("| input | shape | zero fill + Linear, ms | obvious SN | SNLinear |")
    print("|---|---|---|---|---|")
    for form in options.forms:
        for shape in options.shapes:
            base, obvious, ours = measure(form, _sizes(shape), options.share, options.rounds)
            print(f"| {form} | {shape} | {base * 1e3:.2f} | {obvious:.2f}x | {ours:.2f}x |")
    return 0


def measure(
    form: str, sizes: tuple[int, int, int], share: float, rounds: int
) -> tuple[float, float, float]:
    """Median seconds of the plain step, and median ratios of the obvious version and of ours."""
    sides = _sides(form, sizes, share)
    for step in sides * 3:
        step()
    times = [[_seconds(step) for step in sides] for _ in range(rounds)]
    return (
        statistics.median(base for base, _, _ in times),
        statistics.median(obvious / base for base, obvious, _ in times),
        statistics.median(ours / base for base, _, ours in times),
    )


def _sides(form: str, sizes: tuple[int, int, int], share: float) -> list[Step]:
    import torch
    from torch import nn

    from nanwise.missing import Observed
    from nanwise.nn import SNLinear

    torch.manual_seed(0)
    rows, width, out = sizes
    observed = torch.rand(rows, width) >= share
    x = torch.randn(rows, width)
    holes = x.masked_fill(~observed, float("nan"))
    zeros = holes.nan_to_num(0.0)
    K = float(observed.sum(-1).float().mean())
    plain, ours = nn.Linear(width, out), SNLinear(width, out, K=K)
    gradient = torch.randn(rows, out)

    def scale() -> torch.Tensor:
        return K / observed.sum(-1, keepdim=True).clamp(min=1)

    def obvious_nan() -> torch.Tensor:
        there = ~torch.isnan(holes)
        values = torch.where(there, holes, torch.zeros_like(holes))
        return values * K / there.sum(-1, keepdim=True).clamp(min=1)

    # The plain side fills in the cheapest way torch has.
    inputs = {
        "nan": (lambda: holes.nan_to_num(0.0), obvious_nan, (holes,)),
        "mask": (
            lambda: x * observed.view(torch.uint8),
            lambda: torch.where(observed, x, torch.zeros_like(x)) * scale(),
            (x, observed),
        ),
        "observed": (lambda: zeros, lambda: zeros * scale(), (Observed(zeros, observed),)),
    }
    fill, obvious, arguments = inputs[form]

    def training_step(layer: nn.Module, forward: Callable[[], torch.Tensor]) -> Step:
        def step() -> None:
            layer.zero_grad()
            forward().backward(gradient)

        return step

    return [
        training_step(plain, lambda: plain(fill())),
        training_step(plain, lambda: plain(obvious())),
        training_step(ours, lambda: ours(*arguments)),
    ]


def _seconds(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def _sizes(shape: str) -> tuple[int, int, int]:
    rows, rest = shape.split("x")
    width, out = rest.split("->")
    return int(rows), int(width), int(out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40, help="times each side runs")
    parser.add_argument("--share", type=float, default=0.3, help="share of missing cells")
    parser.add_argument("--shapes", nargs="+", default=SHAPES, metavar="ROWSxWIDTH->OUT")
    parser.add_argument("--forms", nargs="+", default=FORMS, choices=FORMS)
    return parser


if __name__ == "__main__":
    fix_malloc()
    sys.exit(main())
