"""Realistic facts of ``nanwise images`` without training anything."""

import base64


def images_facts():
    rows = [
        (1, "misconv", "method", 0.9312, 0.918, 0.942, 0.231, None),
        (2, "zero", "baseline", 0.9105, 0.896, 0.923, 0.287, None),
        (None, "flow", "method", None, None, None, None, "TrainingError: the loss is no number"),
    ]
    names = ("rank", "method", "role", "accuracy", "low", "high", "log_loss", "error")
    tile = base64.b64encode(bytes(range(48))).decode()
    lines = [
        {"name": name, "shape": [4, 4, 3], "tiles": [tile, tile]}
        for name in ("picture", "hole", "mean", "draw 1", "uncertainty")
    ]
    return {
        "kind": "images",
        "title": "Pictures with holes in digits",
        "created": "2026-03-01T12:00:00+00:00",
        "data": {
            "source": "digits",
            "pictures": 400,
            "channels": 1,
            "height": 28,
            "width": 28,
            "missing_share": 0.25,
            "whole": 3,
            "empty": 0,
            "classes": {"0": 190, "1": 210},
            "hidden": None,
            "notes": ["1 picture has no pixel at all: 7/3.png"],
        },
        "protocol": {"train": 320, "test": 80},
        "leaderboard": [
            dict(
                zip(names, row, strict=True),
                summary=f"About {row[1]}.",
                balanced_accuracy=row[3],
                auroc=row[3],
                fit_seconds=12.3 if row[3] else None,
                predict_seconds=0.2 if row[3] else None,
                warnings=[],
            )
            for row in rows
        ],
        "failures": [{"method": "flow", "error": "TrainingError: the loss is no number"}],
        "curves": {
            "zero": [{"epoch": k, "train_loss": 1 / (k + 1), "valid_loss": None} for k in range(3)]
        },
        "sheets": [{"title": "Pictures", "caption": "Orange: hole.", "lines": lines}],
        "winner": {"method": "misconv", "path": "nanwise-digits/model"},
        "settings": {"seed": 0, "test": 0.2},
        "versions": {"nanwise": "0.1.0"},
        "command": "nanwise images compare digits",
        "seconds": 61.0,
    }


def inpaint_facts():
    facts = images_facts()
    for part in ("leaderboard", "failures", "curves", "winner", "protocol"):
        del facts[part]
    return facts | {"method": "DMFAImputer", "draws": 2, "files": ["out/draw-1", "out/draw-2"]}
