from __future__ import annotations

import numpy as np
import pytest

from nanwise.gaussian import patterns
from nanwise.gaussian.patterns import distinct, solve, stacks


@pytest.mark.parametrize("d", [1, 5, 8, 63, 64, 65, 200])
def test_distinct_finds_each_kind_once(d):
    draw = np.random.default_rng(d)
    kinds = draw.random((6, d)) < 0.5
    chosen = kinds[draw.integers(0, 6, 300)]
    first, which = distinct(chosen)
    np.testing.assert_array_equal(chosen[first][which], chosen)
    assert len(first) == len({row.tobytes() for row in chosen})


def test_no_rows_and_no_columns_have_at_most_one_kind():
    assert [len(part) for part in distinct(np.zeros((0, 3), dtype=bool))] == [0, 0]
    assert [len(part) for part in distinct(np.zeros((4, 0), dtype=bool))] == [1, 4]
    assert stacks(np.zeros((4, 3), dtype=bool)) == []
    assert stacks(np.zeros((0, 3), dtype=bool)) == []


@pytest.mark.parametrize("chunk", [1, 1 << 19])
def test_every_row_stands_in_one_stack_with_its_columns(chunk, monkeypatch):
    monkeypatch.setattr(patterns, "CHUNK", chunk)
    chosen = np.random.default_rng(0).random((200, 4)) < 0.6
    rows = []
    for group in stacks(chosen):
        for columns, members in zip(group.columns, group.rows, strict=True):
            rows += members.tolist()
            for row in members:
                np.testing.assert_array_equal(np.flatnonzero(chosen[row]), columns)
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(chosen.any(axis=1)))


@pytest.mark.parametrize("chunk", [1, 1 << 19])
def test_solve_equals_one_system_for_each_row(chunk, monkeypatch):
    monkeypatch.setattr(patterns, "CHUNK", chunk)
    draw = np.random.default_rng(1)
    root = draw.normal(size=(6, 6))
    matrix, rhs = root @ root.T + np.eye(6), draw.normal(size=(150, 6))
    chosen, weight = draw.random((150, 6)) < 0.5, draw.random(150)
    diagonal = np.where(chosen, np.arange(6.0), 0.0)
    plain = solve(stacks(chosen), matrix, rhs, weight=weight)
    noisy = solve(stacks(chosen), matrix, rhs, diagonal=diagonal)
    inverse, log_det = np.zeros((6, 6)), 0.0
    for i, c in enumerate(chosen):
        block = matrix[np.ix_(c, c)]
        expected = np.zeros((2, 6))
        expected[0, c] = np.linalg.solve(block, rhs[i, c])
        expected[1, c] = np.linalg.solve(block + np.diag(diagonal[i, c]), rhs[i, c])
        np.testing.assert_allclose([plain.solution[i], noisy.solution[i]], expected, atol=1e-12)
        inverse[np.ix_(c, c)] += weight[i] * np.linalg.inv(block)
        log_det += weight[i] * np.linalg.slogdet(block)[1]
    np.testing.assert_allclose(plain.inverse, inverse, rtol=1e-10)
    assert plain.log_det == pytest.approx(log_det, rel=1e-12)


def test_rows_can_be_grouped_by_another_pattern():
    observed = np.array([[True, False], [False, True], [True, True], [True, False]])
    everything = np.ones_like(observed)
    groups = stacks(everything, observed)
    assert sorted(len(rows) for group in groups for rows in group.rows) == [1, 1, 2]
