"""Why the default plan has no validation split: small tables, two ways to train.

``early``: Adam, no dropout, up to 200 epochs, 10 % of the rows for validation, patience 20.
``default``: ``Plan()`` and the estimator's default dropout: all rows, 40 epochs, AdamW, cosine.
Five stratified 80/20 splits; mean AUROC and log loss on the test part. The defaults were chosen
after runs like this one on the same tables (splits of another seed), so this is no blind test.

Run: NANWISE_DATA=... python benchmarks/training_defaults.py [--gaps sparsity_norm]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import torch
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from tables import SETS, load

from nanwise import NanClassifier, Plan

EARLY = Plan(
    epochs=200, optimizer="adam", weight_decay=0.0, schedule=None, validation=0.1, patience=20
)
WAYS = {"early": {"dropout": 0.0, "plan": EARLY}, "default": {}}
SMALL = [name for name in SETS if name not in ("spam", "credit")]


def scores(name: str, gaps: str, settings: dict) -> tuple[float, float]:
    X, y = load(name, SETS[name])
    area, loss = [], []
    for train, test in StratifiedShuffleSplit(5, test_size=0.2, random_state=2).split(X, y):
        model = NanClassifier(gaps, random_state=0, **settings).fit(X[train], y[train])
        p = model.predict_proba(X[test])[:, 1]
        area.append(roc_auc_score(y[test], p))
        loss.append(log_loss(y[test], p))
    return float(np.mean(area)), float(np.mean(loss))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gaps", default="sparsity_norm")
    gaps = parser.parse_args().gaps
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    print("| set | AUROC, early | AUROC, default | log loss, early | log loss, default |")
    print("|---|---|---|---|---|")
    rows = []
    for name in SMALL:
        (a, x), (b, y) = (scores(name, gaps, WAYS[way]) for way in ("early", "default"))
        rows.append((a, b, x, y))
        print(f"| {name} | {a:.3f} | {b:.3f} | {x:.3f} | {y:.3f} |", flush=True)
    a, b, x, y = np.mean(rows, axis=0)
    print(f"| mean | {a:.3f} | {b:.3f} | {x:.3f} | {y:.3f} |")


if __name__ == "__main__":
    main()
