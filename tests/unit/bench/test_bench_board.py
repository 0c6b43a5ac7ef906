from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nanwise.bench import board
from nanwise.bench.case import Case, Record, plain
from nanwise.bench.score import METRICS
from nanwise.registry import Method

AUROC, RMSE = METRICS["auroc"], METRICS["rmse"]


def method(name: str, role: str = "method") -> Method:
    return Method(name, "treatment", dict, f"about {name}", role=role)


def record(name: str, fold: int, error: str | None = None, **scores: float | None) -> Record:
    case = Case("d", name, fold=fold)
    failure = {"type": "ValueError", "text": error} if error else None
    return Record(plain(case.__dict__), case.key, scores, 1.0 + fold, 0.5, error=failure)


def records(name: str, values: list[float], score: str = "auroc") -> list[Record]:
    return [record(name, fold, **{score: value}) for fold, value in enumerate(values)]


def made(found, methods, planned=3, metric=AUROC):
    return board.leaderboard(board.lines(found, methods, planned), metric, 1 / (planned - 1))


def test_interval_is_students():
    values = [0.7, 0.8, 0.9, 0.85]
    mean, half = board.interval(values)
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert (mean - half, mean + half) == pytest.approx((low, high))
    assert board.interval([0.5]) == (0.5, None)


def test_corrected_interval_covers_where_students_does_not():
    """Differences of scores that share a part of their luck, as folds do (Nadeau and Bengio)."""
    rng = np.random.default_rng(0)
    folds, rho, times = 5, 0.2, 4000
    common = rng.normal(size=(times, 1)) * np.sqrt(rho)
    draws = common + rng.normal(size=(times, folds)) * np.sqrt(1 - rho)
    # n_test / n_train = rho / (1 - rho) is the correction that is exact for this correlation.
    plain_hits = corrected_hits = 0
    for values in draws:
        mean, half = board.interval(values)
        plain_hits += abs(mean) <= half
        mean, half = board.interval(values, shared=rho / (1 - rho))
        corrected_hits += abs(mean) <= half
    assert plain_hits / times < 0.89
    assert corrected_hits / times == pytest.approx(0.95, abs=0.012)


def test_ranks_means_and_paired_differences():
    methods = [method("a"), method("b", "baseline"), method("c", "baseline")]
    found = records("a", [0.9, 0.8, 0.7]) + records("b", [0.8, 0.7, 0.61]) + records("c", [0.5] * 3)
    rows = made(found, methods)
    assert [(r["rank"], r["method"]) for r in rows] == [(1, "a"), (2, "b"), (3, "c")]
    first = rows[0]
    assert first["mean"] == pytest.approx(0.8)
    assert first["fit_seconds"] == pytest.approx(2.0)
    gaps = [0.1, 0.1, 0.09]
    half = stats.t.ppf(0.975, 2) * np.std(gaps, ddof=1) * np.sqrt(1 / 3 + 1 / 2)
    assert first["difference"]["to"] == "b"
    assert first["difference"]["mean"] == pytest.approx(np.mean(gaps))
    assert first["difference"]["high"] == pytest.approx(np.mean(gaps) + half)
    assert rows[1]["difference"] is None
    assert rows[2]["difference"]["mean"] < 0


def test_less_is_better_for_rmse():
    found = records("a", [2, 2, 2], "rmse") + records("b", [1, 1, 1], "rmse")
    rows = made(found, [method("a", "baseline"), method("b")], metric=RMSE)
    assert [r["method"] for r in rows] == ["b", "a"]
    assert rows[0]["difference"]["mean"] == -1


def test_failed_and_unfinished_methods_come_last_with_their_reason():
    found = (
        records("good", [0.6, 0.6, 0.6])
        + records("half", [0.9])
        + [record("bad", 0, auroc=0.99), record("bad", 1, "no luck\nat all")]
    )
    rows = made(found, [method(n) for n in ("bad", "good", "half", "never")])
    assert [r["method"] for r in rows] == ["good", "half", "never", "bad"]
    assert [r["rank"] for r in rows] == [1, None, None, None]
    assert rows[1]["error"] == "not run: budget (2 of 3 folds)"
    assert rows[2]["error"] == "not run: budget (3 of 3 folds)"
    assert (rows[2]["mean"], rows[2]["folds"]) == (None, [])
    assert (rows[3]["error"], rows[3]["failures"]) == ("ValueError: no luck", 1)


def test_winner_needs_all_folds_unless_nobody_has_them():
    whole = records("whole", [0.6, 0.6, 0.6])
    part = records("part", [0.9, 0.9])
    methods = [method("part"), method("whole"), method("single")]
    found = board.lines(whole + part + records("single", [1.0]), methods, 3)
    assert board.winner(found, AUROC).method.name == "whole"
    found = board.lines(part + records("single", [1.0]), methods, 3)
    assert board.winner(found, AUROC).method.name == "part"


def test_metric_falls_back_to_accuracy():
    fine = [record("a", 0, auroc=0.5, accuracy=0.5)]
    assert board.primary_metric(fine, "classification") is AUROC
    none = [*fine, record("a", 1, auroc=None, accuracy=0.5)]
    assert board.primary_metric(none, "classification").name == "accuracy"
    assert board.primary_metric(fine, "regression") is RMSE


def test_other_scores_are_means():
    rows = made([record("a", f, auroc=0.5, accuracy=f / 2) for f in range(3)], [method("a")])
    assert rows[0]["other_scores"] == {"accuracy": 0.5}
