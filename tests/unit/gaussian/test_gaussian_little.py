from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import chi2

from nanwise import mcar_test
from nanwise.gaussian.em import fit_gaussian


def rows(n=300, d=3, share=0.2, seed=0):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, d)) @ draw.normal(size=(d, d)) + draw.normal(size=d)
    x[draw.random((n, d)) < share] = np.nan
    return x


def by_hand(x):
    """Little's sum over patterns, with a dictionary and inverses."""
    mean, cov = fit_gaussian(x, shrinkage=0.0, tol=1e-9, max_iter=5000).moments
    groups = {}
    for row in x:
        groups.setdefault(tuple(~np.isnan(row)), []).append(row)
    groups.pop((False,) * x.shape[1], None)
    statistic = 0.0
    for kind, members in groups.items():
        o = np.array(kind)
        apart = np.mean(members, axis=0)[o] - mean[o]
        statistic += len(members) * apart @ np.linalg.inv(cov[np.ix_(o, o)]) @ apart
    df = sum(map(sum, groups)) - x.shape[1]
    return statistic, df, chi2.sf(statistic, df), len(groups)


def test_it_is_the_sum_over_patterns():
    x = rows()
    found = mcar_test(x)
    assert found == pytest.approx(by_hand(x), rel=1e-4)
    assert isinstance(found.df, int)
    assert isinstance(found.n_patterns, int)


def test_two_groups_with_a_complete_column_give_a_t_test():
    """One column with gaps beside a complete one: the square of a z-test on the complete one."""
    x = rows(share=0.0)[:, :2]
    x[:80, 1] = np.nan
    group, rest, variance = x[:80, 0], x[80:, 0], x[:, 0].var()
    z2 = (group.mean() - rest.mean()) ** 2 / (variance * (1 / 80 + 1 / 220))
    found = mcar_test(x)
    assert (found.df, found.n_patterns) == (1, 2)
    assert found.statistic == pytest.approx(z2, rel=1e-4)


def test_units_do_not_matter():
    x = rows()
    other = mcar_test(x * [1e-7, 1.0, 1e7] + [1.0, 2.0, 3e8])
    assert other == pytest.approx(mcar_test(x), rel=1e-5)


def test_what_says_nothing_is_left_out():
    x = rows()
    more = np.column_stack([x, np.full(300, 5.0), np.full(300, np.nan)])
    more[:100, 3] = np.nan
    more = np.vstack([more, np.full((20, 5), np.nan)])
    assert mcar_test(more) == pytest.approx(mcar_test(x), rel=1e-9)


def test_one_pattern_leaves_nothing_to_compare():
    found = mcar_test(rows(share=0.0))
    assert found[:2] == (0.0, 0)
    assert np.isnan(found.p_value)
    assert found.n_patterns == 1
    assert mcar_test(np.full((5, 2), 3.0)).n_patterns == 0
    assert mcar_test(np.full((5, 2), np.nan)).n_patterns == 0


def test_frames_are_taken():
    frame = pd.DataFrame(rows(), columns=list("abc"))
    assert mcar_test(frame) == mcar_test(rows())
    assert mcar_test(frame.convert_dtypes()) == mcar_test(rows())
    with pytest.raises(ValueError, match=r"column '[ad]' is determined by the others"):
        mcar_test(frame.assign(d=2 * frame["a"]))
    with pytest.raises(ValueError, match=r"takes columns of numbers.*'red'"):
        mcar_test(frame.assign(d="red"))


@pytest.mark.parametrize(
    ("x", "says"),
    [
        (np.zeros(4), r"shape \(n, d\), got shape \(4,\)"),
        (rows(n=3, d=4), "column 0 has 2 values, the test needs more than there are columns"),
        (np.array([[1.0, np.inf], [2.0, 3.0]]), "infinity"),
    ],
)
def test_bad_input_is_refused(x, says):
    with pytest.raises(ValueError, match=says):
        mcar_test(x)


def test_a_column_with_few_values_is_refused_by_name():
    frame = pd.DataFrame(rows(), columns=list("abc"))
    rare = frame["a"].where(frame.index.isin(frame["a"].dropna().index[:4]))
    with pytest.raises(ValueError, match="column 'd' has 4 values, the test needs more than"):
        mcar_test(frame.assign(d=rare))
    assert np.isnan(mcar_test(rows(n=3, d=4, share=0.0)).p_value)


def test_infinity_is_found_by_the_name_of_its_column():
    frame = pd.DataFrame(rows(), columns=list("abc"))
    frame.loc[5, "b"] = np.inf
    with pytest.raises(ValueError, match="row 5, column 'b'"):
        mcar_test(frame)


def test_sparse_matrices_are_refused():
    with pytest.raises(TypeError, match="array or a frame, got csr_array"):
        mcar_test(sparse.csr_array(np.eye(3)))


def test_dependent_columns_are_refused_by_name():
    x = rows()
    x = np.column_stack([x, 2 * x[:, 0] + 1])
    with pytest.raises(ValueError, match=r"column [03] is determined by the others"):
        mcar_test(x)
