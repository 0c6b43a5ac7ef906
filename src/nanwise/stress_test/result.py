"""What the stress test found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nanwise.errors import need


@dataclass(frozen=True, repr=False)
class StressResult:
    """Result of :func:`nanwise.stress`.

    Attributes
    ----------
    slope : float
        Change of the mean prediction per 10 percentage points more values observed; of several
        outputs, the steepest.
    slope_interval : tuple of float
        Its 95 % interval, over rows and hidden cells.
    sparsity_bias : float
        Largest minus smallest mean prediction over the shares, divided by the standard deviation of
        the predictions over rows at full information.
    scores : dict
        Name of the score -> {share: mean over repeats}; empty without a target.
    facts : dict
        Everything, as plain values that JSON can hold; :mod:`nanwise.report` renders it.
    """

    slope: float
    slope_interval: tuple[float, float]
    sparsity_bias: float
    scores: dict[str, dict[float, float]]
    facts: dict[str, Any] = field(hash=False)

    def __repr__(self) -> str:
        facts = self.facts
        low, high = self.slope_interval
        lines = [
            f"StressResult of {facts['model']}: {facts['rows']} rows, {facts['repeats']} repeats, "
            f"{facts['mechanism'].upper()}",
            f"  slope          {self.slope:+.4g} per 10 % more values [{low:+.4g}, {high:+.4g}]"
            f"  (output {facts['output']!r})",
            f"  sparsity bias  {self.sparsity_bias:.3g}",
        ]
        for name, by_share in self.scores.items():
            most, least = max(by_share), min(by_share)
            lines.append(
                f"  {name:<14} {by_share[most]:.4f} at {most:.0%} of the values, "
                f"{by_share[least]:.4f} at {least:.0%}"
            )
        return "\n".join(lines)

    def plot(self) -> Any:
        """Draw the curves with matplotlib.

        Left, predictions of a few rows for every draw of hidden cells against the number of values
        left; middle, the mean prediction over all rows; right, the first score if there is one.

        Returns
        -------
        matplotlib.figure.Figure
            Not yet shown or saved; it belongs to no window and leaves pyplot's state alone.
        """
        need("matplotlib", "report")
        from matplotlib.figure import Figure

        panels = [_draw_samples, _draw_curves] + ([_draw_score] if self.scores else [])
        figure = Figure(figsize=(4.4 * len(panels), 3.6), layout="constrained")
        axes = figure.subplots(1, len(panels))
        for draw, axis in zip(panels, axes, strict=True):
            draw(axis, self.facts)
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
        figure.suptitle(f"{self.facts['model']}: sparsity bias {self.sparsity_bias:.3g}")
        return figure


def _draw_samples(axis: Any, facts: dict[str, Any]) -> None:
    for sample in facts["samples"]:
        dots = axis.scatter(sample["observed"], sample["prediction"], s=6, alpha=0.3, linewidths=0)
        colour = dots.get_facecolor()[0][:3]
        axis.plot(
            sample["mean_observed"],
            sample["mean_prediction"],
            color=colour,
            label=f"row {sample['row']}",
        )
    axis.set(title="Single rows", xlabel="values observed", ylabel="prediction")
    axis.legend(frameon=False, fontsize="small")


def _draw_curves(axis: Any, facts: dict[str, Any]) -> None:
    for output in facts["outputs"]:
        mean = output["full_mean"]
        axis.plot(facts["kept"], output["mean"], marker="o", ms=3, label=output["name"])
        low = [mean + v for v in output["change_low"]]
        high = [mean + v for v in output["change_high"]]
        axis.fill_between(facts["kept"], low, high, alpha=0.2, linewidth=0)
    axis.set(title="All rows", xlabel="share of values observed", ylabel="mean prediction")
    if len(facts["outputs"]) > 1:
        axis.legend(frameon=False, fontsize="small", title="output")


def _draw_score(axis: Any, facts: dict[str, Any]) -> None:
    name, score = next(iter(facts["scores"].items()))
    if None not in score["mean"]:
        axis.plot(facts["kept"], score["mean"], marker="o", ms=3)
        axis.fill_between(facts["kept"], score["low"], score["high"], alpha=0.2, linewidth=0)
    axis.set(title="Score", xlabel="share of values observed", ylabel=name)
