"""What a comparison of treatments of pictures found, as plain facts for a report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from nanwise.bench.case import Record, plain, versions
from nanwise.registry import find

_Z = 1.959964


def best_of(records: list[Record]) -> str | None:
    """The treatment with the best score; None if all failed."""
    scored = [r for r in records if not r.failed]
    return max(scored, key=_order).method if scored else None


def _order(found: Record) -> tuple[float, float]:
    """By accuracy, then by log loss."""
    loss = found.scores.get("log_loss")
    return found.scores["accuracy"] or 0.0, -np.inf if loss is None else -loss


def facts_of(
    X: np.ndarray,
    y: np.ndarray,
    records: list[Record],
    parts: tuple[np.ndarray, np.ndarray],
    best: str | None,
) -> dict[str, Any]:
    """Facts of a comparison; ``parts`` are the rows learnt from and those held out."""
    scored = sorted((r for r in records if not r.failed), key=_order, reverse=True)
    failed = [r for r in records if r.failed]
    train, held = parts
    return {
        "kind": "images",
        "title": "Pictures with holes",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": picture_facts(X, y),
        "protocol": {"train": len(train), "test": len(held)},
        "leaderboard": [_row(r, k + 1, len(held)) for k, r in enumerate(scored)]
        + [_row(r, None, len(held)) for r in failed],
        "failures": [{"method": r.method, "error": r.reason} for r in failed],
        "curves": {r.method: r.history for r in scored if r.history},
        "winner": {"method": best, "path": None} if best else None,
        "versions": versions(),
        "command": None,
    }


def picture_facts(X: np.ndarray, y: np.ndarray | None = None) -> dict[str, Any]:
    """How many pictures of which size, how much of them is missing, and their classes."""
    hidden = np.isnan(X)
    per_picture = hidden.mean(axis=(1, 2, 3))
    classes = {} if y is None else dict(zip(*np.unique(y, return_counts=True), strict=True))
    return plain(
        {
            "source": None,
            "pictures": len(X),
            "channels": X.shape[1],
            "height": X.shape[2],
            "width": X.shape[3],
            "missing_share": float(per_picture.mean()),
            "whole": int((per_picture == 0).sum()),
            "empty": int((per_picture == 1).sum()),
            "classes": classes,
            "hidden": None,
            "notes": [],
        }
    )


def _row(found: Record, rank: int | None, n: int) -> dict[str, Any]:
    accuracy = found.scores.get("accuracy")
    low, high = (None, None) if accuracy is None else wilson(accuracy, n)
    made = found.facts.get("density_seconds", 0.0)
    return {
        "rank": rank,
        "method": found.method,
        **_about(found.method),
        "accuracy": accuracy,
        "low": low,
        "high": high,
        **{name: found.scores.get(name) for name in ("log_loss", "balanced_accuracy", "auroc")},
        "fit_seconds": None if found.fit_seconds is None else found.fit_seconds + made,
        "predict_seconds": found.predict_seconds,
        "warnings": found.warnings,
        "error": found.reason or None,
    }


def _about(name: str) -> dict[str, str]:
    for kind in ("treatment", "imputer"):
        try:
            found = find(name, kind, "image")
        except ValueError:
            continue
        return {"role": found.role, "summary": found.summary}
    return {"role": "", "summary": ""}


def wilson(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share of n (Wilson)."""
    z2 = _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return float(middle - half), float(middle + half)


def settings_of(params: Any, density: Any, test: float, seed: int) -> dict[str, Any]:
    """What was chosen; empty mappings are left out."""
    told = {"classifier": dict(params or {}), "density": dict(density or {})}
    return {**{k: v for k, v in told.items() if v}, "test": test, "seed": seed}
