"""Facts about ratings and recommenders as plain values: what a report tells of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.data.ratings import Ratings

#: so many levels are counted one by one
MOST_LEVELS = 20


def data_facts(ratings: Ratings) -> dict[str, Any]:
    """Size, scale and spread of the ratings, and what was done while reading."""
    matrix, facts = ratings.matrix, ratings.facts
    per_user = np.diff(matrix.indptr)
    per_item = np.bincount(matrix.indices, minlength=matrix.shape[1])
    return {
        "source": facts.get("source"),
        "ratings": len(ratings),
        "users": matrix.shape[0],
        "items": matrix.shape[1],
        "density": len(ratings) / max(1, matrix.shape[0] * matrix.shape[1]),
        "scale": str(ratings.scale),
        "mean": float(matrix.data.mean(dtype=np.float64)),
        "levels": _levels(ratings),
        **{key: facts.get(key) for key in ("rows_read", "rows_dropped", "duplicates")},
        "duplicates_rule": facts.get("duplicates_rule"),
        "per_user": _spread(per_user),
        "per_item": _spread(per_item),
        "empty_users": int((per_user == 0).sum()),
        "empty_items": int((per_item == 0).sum()),
        "notes": notes_of(ratings),
    }


def notes_of(ratings: Ratings) -> list[str]:
    """What was done to rows while reading, one sentence each."""
    facts, out = ratings.facts, []
    if facts.get("rows_dropped"):
        out.append(f"{facts['rows_dropped']:,} rows without user, item or rating were left out")
    if facts.get("duplicates"):
        out.append(
            f"{facts['duplicates']:,} rows repeat a pair of user and item; "
            f"what counts is the {facts.get('duplicates_rule')}"
        )
    return out


def _levels(ratings: Ratings) -> list[dict[str, Any]]:
    if not 0 < len(ratings.scale.levels) <= MOST_LEVELS:
        return []
    values, counts = np.unique(ratings.matrix.data, return_counts=True)
    if len(values) > MOST_LEVELS:
        return []
    # 0.1 for float32's 0.10000000149
    return [
        {"rating": float(str(value)), "count": int(count)}
        for value, count in zip(values, counts, strict=True)
    ]


def _spread(counts: np.ndarray) -> dict[str, Any]:
    return {
        "least": int(counts.min()),
        "median": float(np.median(counts)),
        "most": int(counts.max()),
    }


def settings_of(model: Any) -> dict[str, Any]:
    """Parameters as plain values; a plan as its own settings."""
    out = {}
    for name, value in model.get_params(deep=False).items():
        if hasattr(value, "get_params"):
            out |= {f"{name}.{key}": v for key, v in value.get_params(deep=False).items()}
        else:
            out[name] = value
    return {name: v if isinstance(v, (int, float, str)) else str(v) for name, v in out.items()}
