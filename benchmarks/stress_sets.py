"""Drift of the mean prediction when values vanish: zero filling against sparsity normalisation.

The paper's preprocessing (min-max) and its network (4 x 256 ReLU, class weights); the model is
trained on the data as it comes, then ``nanwise.stress`` hides more and more of each test row.
Slopes are per 10 % of values observed, on the probability of the positive class; the mean over
seeds of the absolute slope is compared.

Run: python benchmarks/stress_sets.py [--sets pima,hepatitis,...] [--seeds 5]
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from sklearn.model_selection import train_test_split

from nanwise import NanClassifier, Plan, load_dataset, stress

PLAN = Plan(
    optimizer="adam",
    weight_decay=0.0,
    schedule=None,
    lr=1e-4,
    epochs=300,
    validation=0.2,
    patience=30,
)
SETS = "pima,hepatitis,breast_cancer,gmmc_horse,spam,heart"


def slopes(name: str, gaps: str, scale: str, seeds: int) -> tuple[list[float], list[float]]:
    data = load_dataset(name)
    X, y = data.X.to_numpy(float), np.asarray(data.y)
    found, bias = [], []
    for seed in range(seeds):
        a, b, ya, yb = train_test_split(X, y, stratify=y, test_size=0.3, random_state=seed)
        model = NanClassifier(
            gaps,
            hidden=(256,) * 4,
            scale=scale,
            dropout=0.0,
            class_weight="balanced",
            plan=PLAN,
            random_state=seed,
        ).fit(a, ya)
        result = stress(model, b, yb, repeats=20, rows=200, random_state=seed)
        found.append(result.slope)
        bias.append(result.sparsity_bias)
    return found, bias


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scales", default="minmax,standard")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| set | scale | abs slope, zero | abs slope, SN | ratio | bias, zero | bias, SN |")
    print("|---|---|---|---|---|---|---|")
    for name in args.sets.split(","):
        for scale in args.scales.split(","):
            zero, bias_zero = slopes(name, "zero", scale, args.seeds)
            ours, bias_ours = slopes(name, "sparsity_norm", scale, args.seeds)
            a, b = np.mean(np.abs(zero)), np.mean(np.abs(ours))
            print(
                f"| {name} | {scale} | {a:.4f} | {b:.4f} | {a / b:.1f} "
                f"| {np.mean(bias_zero):.2f} | {np.mean(bias_ours):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
