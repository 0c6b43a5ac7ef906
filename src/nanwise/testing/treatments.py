"""The contract of a treatment, as a class of tests for pytest.

Authors of a treatment, in this package or outside, write::

    @pytest.mark.parametrize("entry", [find("my_treatment")], ids=lambda m: m.name)
    class TestMine(TreatmentContract):
        pass

Every test makes the treatment with the smallest setting it declares (``Method.tiny``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from nanwise.missing import Observed, observe
from nanwise.registry import Method

#: agreement asked for where only the order of floating-point sums may differ
CLOSE = 1e-9


def rows_with_gaps(n: int = 60, d: int = 5, share: float = 0.3, seed: int = 0) -> Observed:
    """Correlated rows on a scale of 1 with gaps at random."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, 2)) @ draw.normal(size=(2, d)) + 0.3 * draw.normal(size=(n, d))
    x[draw.random((n, d)) < share] = np.nan
    return observe(x)


def features(treatment: Any, rows: Observed) -> np.ndarray:
    """What a fitted treatment hands to the network for some rows, in float64.

    Weights that a layer draws are always the same, as for an estimator with a ``random_state``.
    """
    import torch

    values, observed = treatment.prepare(*rows)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        layer = treatment.layer(rows.values.shape[1]).double().eval()
    with torch.no_grad():
        return layer(torch.from_numpy(values), torch.from_numpy(observed)).numpy()


def learnt(treatment: Any) -> dict[str, Any]:
    """What ``fit`` has learnt, by attribute."""
    return {k: v for k, v in vars(treatment).items() if k.endswith("_") and not k.startswith("_")}


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a string, an array of numbers, or a list or dict of these."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    if isinstance(value, dict):
        return all(isinstance(k, str) and is_plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


class TreatmentContract:
    """What every treatment promises; ``entry`` is its :class:`~nanwise.registry.Method`."""

    def make(self, entry: Method) -> Any:
        """A new treatment with the smallest setting."""
        return entry.make(**entry.tiny)

    def fitted(self, entry: Method, rows: Observed | None = None, **fit: Any) -> Any:
        """A treatment fitted on some rows."""
        return self.make(entry).fit(*(rows or rows_with_gaps()), **fit)

    def test_parameters_are_stored_and_clone(self, entry: Method) -> None:
        """The constructor stores, and clone makes an unfitted equal."""
        treatment = self.fitted(entry)
        copy = clone(treatment)
        expect(copy.get_params() == treatment.get_params(), "clone has other parameters")
        expect(not learnt(copy), "clone has learnt something")
        expect(set(entry.space) <= set(treatment.get_params()), "space names unknown parameters")

    def test_no_gap_is_left_and_the_width_is_declared(self, entry: Method) -> None:
        """Finite features of the declared width."""
        treatment, rows = self.fitted(entry), rows_with_gaps(seed=1)
        made = features(treatment, rows)
        np.testing.assert_equal(made.shape, (60, treatment.layer(5).out_features))
        expect(np.isfinite(made).all(), "features are not finite")

    def test_observed_cells_are_kept_and_input_is_not_modified(self, entry: Method) -> None:
        """``prepare`` leaves observed cells bit for bit, in either precision."""
        treatment = self.fitted(entry)
        for dtype in (np.float32, np.float64):
            rows = Observed(rows_with_gaps(seed=1).values.astype(dtype), rows_with_gaps(seed=1)[1])
            before = [part.copy() for part in rows]
            values, observed = treatment.prepare(*rows)
            np.testing.assert_array_equal(values[rows.observed], before[0][rows.observed])
            expect(values.dtype == dtype, f"dtype {dtype} became {values.dtype}")
            expect(observed[rows.observed].all(), "observed cells became gaps")
            np.testing.assert_array_equal(rows.values, before[0])
            np.testing.assert_array_equal(rows.observed, before[1])

    def test_fit_does_not_modify_its_input(self, entry: Method) -> None:
        """Training rows stay as they are."""
        rows = rows_with_gaps()
        before = [part.copy() for part in rows]
        self.fitted(entry, rows, weight=np.ones(60))
        np.testing.assert_array_equal(rows.values, before[0])
        np.testing.assert_array_equal(rows.observed, before[1])

    def test_a_row_is_treated_by_itself(self, entry: Method) -> None:
        """Alone, in a subset or reversed, a row gets the same answer."""
        treatment, rows = self.fitted(entry), rows_with_gaps(seed=1)
        whole = features(treatment, rows)
        for subset in (slice(3, 4), slice(10, 17), slice(None, None, -1)):
            part = Observed(*(np.ascontiguousarray(x[subset]) for x in rows))
            np.testing.assert_allclose(
                features(treatment, part), whole[subset], rtol=CLOSE, atol=CLOSE
            )

    def test_what_stands_behind_a_gap_is_ignored(self, entry: Method) -> None:
        """Rubbish behind a gap changes neither fit nor answer."""
        rows = rows_with_gaps()
        rubbish = Observed(np.where(rows.observed, rows.values, 1e3), rows.observed)
        clean = features(self.fitted(entry, rows), rows)
        treatment = self.fitted(entry, rubbish)
        np.testing.assert_allclose(features(treatment, rows), clean, rtol=CLOSE, atol=CLOSE)

    def test_same_rows_same_answer(self, entry: Method) -> None:
        """Fitting twice gives the same; the global random state is not touched."""
        rows = rows_with_gaps()
        np.random.seed(3)
        state = np.random.get_state(legacy=False)["state"]["key"].copy()
        first, second = self.fitted(entry), self.fitted(entry)
        np.testing.assert_array_equal(features(first, rows), features(second, rows))
        after = np.random.get_state(legacy=False)["state"]["key"]
        np.testing.assert_array_equal(after, state)

    def test_empty_row_empty_column_constant_column(self, entry: Method) -> None:
        """All are allowed, in training and afterwards; shapes never change."""
        x = rows_with_gaps().values.copy()
        observed = rows_with_gaps().observed.copy()
        x[:, 1], observed[:, 1] = 0.0, False
        x[:, 2] = np.where(observed[:, 2], 1.5, 0.0)
        x[4], observed[4] = 0.0, False
        treatment = self.fitted(entry, Observed(x, observed))
        for rows in (Observed(x, observed), rows_with_gaps(seed=2)):
            made = features(treatment, rows)
            expect(np.isfinite(made).all(), "features are not finite")
            expect(made.shape[0] == 60, "rows were lost")
        filled, _ = treatment.prepare(x, observed)
        np.testing.assert_allclose(filled[:, 1], 0.0, atol=1e-12)

    def test_one_row_and_nothing_at_all(self, entry: Method) -> None:
        """One training row, even an empty one, is enough; no rows to treat give no rows."""
        for observed in ([True, False, True], [False] * 3, [True] * 3):
            rows = Observed(np.array([[1.0, 0.0, -2.0]]) * observed, np.array([observed]))
            treatment = self.fitted(entry, rows)
            expect(np.isfinite(features(treatment, rows)).all(), "features are not finite")
        none = Observed(np.zeros((0, 3)), np.zeros((0, 3), dtype=bool))
        expect(features(treatment, none).shape[0] == 0, "rows came out of nothing")

    def test_a_weight_counts_a_row_several_times(self, entry: Method) -> None:
        """Whole weights equal repeated rows; weight 0 means that the row is not there."""
        rows, new = rows_with_gaps(n=40), rows_with_gaps(seed=1)
        weight = np.random.default_rng(0).integers(0, 4, 40)
        repeated = Observed(*(np.repeat(part, weight, axis=0) for part in rows))
        weighted = self.fitted(entry, rows, weight=weight.astype(float))
        plain = self.fitted(entry, repeated)
        np.testing.assert_allclose(
            features(weighted, new), features(plain, new), rtol=1e-7, atol=1e-7
        )

    def test_what_is_learnt_is_plain(self, entry: Method) -> None:
        """Numbers, strings, arrays; a treatment rebuilt from them gives the same features."""
        treatment, rows = self.fitted(entry), rows_with_gaps(seed=1)
        for name, value in learnt(treatment).items():
            expect(is_plain(value), f"{name} is a {type(value).__name__}, not a plain value")
        hidden = [k for k in vars(treatment) if k not in treatment.get_params()]
        expect(set(hidden) == set(learnt(treatment)), f"state outside names in _: {hidden}")
        rebuilt = clone(treatment)
        for name, value in learnt(treatment).items():
            setattr(rebuilt, name, value)
        np.testing.assert_array_equal(features(rebuilt, rows), features(treatment, rows))

    def test_sparse_is_declared_once_and_counts_are_enough(self, entry: Method) -> None:
        """A sparse treatment learns the same from the counts as from the rows."""
        treatment, rows = self.fitted(entry), rows_with_gaps()
        expect(treatment.sparse == entry.sparse, "class and registry disagree about sparse")
        if treatment.sparse:
            weight = np.arange(60.0)
            dense = self.fitted(entry, rows, weight=weight)
            counted = self.make(entry).fit_counts(rows.observed.sum(axis=1), 5, weight)
            np.testing.assert_equal(learnt(counted), learnt(dense))

    def test_the_norm_keeps_the_width(self, entry: Method) -> None:
        """A module after the first affine layer maps (N, width) to (N, width)."""
        import torch

        norm = self.fitted(entry).norm(7)
        if norm is not None:
            expect(norm(torch.randn(4, 7)).shape == (4, 7), "norm changes the width")


def expect(truth: bool, message: str) -> None:
    """Fail with the message unless true; works without pytest's rewriting of ``assert``."""
    if not truth:
        raise AssertionError(message)
