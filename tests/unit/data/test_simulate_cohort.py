"""The simulated screening cohort: shape, shares, what gaps and diagnoses depend on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from nanwise.data.simulate import DISEASES, EXAMINATIONS, cohort_blocks, screening_cohort
from nanwise.data.simulate.cohort import BLOCK
from nanwise.data.simulate.cohort_tables import AGES, DRIVERS, OUTCOMES, PANELS, TRAITS

N = 40_000


@pytest.fixture(scope="module")
def people():
    return screening_cohort(N, lost=0.0)


def column(cohort, name):
    return cohort.X[:, EXAMINATIONS.index(name)]


def both(cohort, first, second):
    """Values of two examinations of those who have both."""
    pair = np.column_stack([column(cohort, first), column(cohort, second)])
    return pair[~np.isnan(pair).any(axis=1)].T


def test_shape_and_types(people):
    assert len(people) == N
    assert people.X.shape == (N, 34)
    assert people.X.dtype == np.float32
    assert people.y.shape == (N, 5)
    assert set(np.unique(people.y)) == {0, 1}
    assert (people.age >= AGES[0]).all()
    assert (people.age <= AGES[1]).all()


def test_the_tables_are_complete():
    assert len(EXAMINATIONS) == len(set(EXAMINATIONS)) == 34
    weights = [o.weights for o in OUTCOMES] + [p.weights for p in PANELS]
    weights += [one.weights for panel in PANELS for one in panel.examinations]
    assert all(set(w) <= set(DRIVERS) for w in weights)
    assert all(set(o.together) <= set(DRIVERS) for o in OUTCOMES)
    assert all(sum(w**2 for w in trait) < 1 for trait in TRAITS.values())


def test_shares_are_those_of_the_tables(people):
    """Five standard errors of the sample, and of the reference that the constants come from."""
    wanted = np.array([o.prevalence for o in OUTCOMES])
    error = 5 * np.sqrt(wanted * (1 - wanted) * 2 / N)
    assert (abs(people.y.mean(axis=0) - wanted) < error).all()
    observed = ~np.isnan(people.X)
    start = 0
    for panel in PANELS:
        stop = start + len(panel.examinations)
        block = observed[:, start:stop]
        assert (block == block[:, :1]).all(), "a panel is done together or not at all"
        error = 5 * np.sqrt(panel.share * (1 - panel.share) * 2 / N)
        assert abs(block[:, 0].mean() - panel.share) < error
        start = stop


def test_values_have_the_moments_of_the_tables():
    """Where gaps say nothing, an examination is as its table says."""
    cohort = screening_cohort(N, informative=0.0)
    for one in (one for panel in PANELS for one in panel.examinations):
        values = column(cohort, one.name)
        values = values[~np.isnan(values)].astype(float)
        values = np.log(values) if one.log else values
        # Traits are correlated, so that the variance is not exactly that of the table.
        assert abs(values.mean() - one.centre) < 5 * 1.15 * one.spread / np.sqrt(len(values))
        assert 0.9 < values.std() / one.spread < 1.15


def test_values_are_possible(people):
    positive = [name for name in EXAMINATIONS if name != "urine ph"]
    assert all(np.nanmin(column(people, name)) > 0 for name in positive)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ("systolic", "diastolic", 0.55, 0.85),
        ("weight", "waist", 0.55, 0.9),
        ("glucose", "hba1c", 0.55, 0.9),
        ("waist", "hdl", -0.6, -0.2),
        ("alt", "ast", 0.3, 0.7),
        ("waist", "systolic", 0.1, 0.5),
        ("urine ph", "platelets", -0.1, 0.1),
    ],
)
def test_correlations_make_sense(people, first, second, low, high):
    assert low < np.corrcoef(both(people, first, second))[0, 1] < high


def test_who_is_examined_depends_on_age_sex_and_health(people):
    bones = ~np.isnan(column(people, "bone density"))
    assert bones[~people.male].mean() > 3 * bones[people.male].mean()
    echo = ~np.isnan(column(people, "ejection fraction"))
    old = people.age > np.median(people.age)
    assert echo[old].mean() > 2 * echo[~old].mean()
    failing = people.disease("heart failure") == 1
    assert echo[failing].mean() > 3 * echo[~failing].mean()


def test_gaps_say_nothing_if_told_so():
    cohort = screening_cohort(N, informative=0.0)
    counts = (~np.isnan(cohort.X)).sum(axis=1)
    areas = [roc_auc_score(cohort.disease(name), counts) for name in DISEASES]
    # Standard error of the area for the rarest: about 0.5 / sqrt(3 · 1200).
    assert np.abs(np.array(areas) - 0.5).max() < 0.03
    assert counts.std() > 3, "the habit of going to the doctor remains"


def test_a_smaller_cohort_is_the_beginning_of_a_larger_one(people):
    n = BLOCK + 100
    small = screening_cohort(n, lost=0.0)
    for name in ("X", "y", "age", "male"):
        np.testing.assert_array_equal(getattr(small, name), getattr(people, name)[:n])


def test_blocks_are_the_whole(people):
    blocks = list(cohort_blocks(2 * BLOCK + 5, lost=0.0))
    assert [len(block) for block in blocks] == [BLOCK, BLOCK, 5]
    whole = np.concatenate([block.X for block in blocks])
    np.testing.assert_array_equal(whole, people.X[: len(whole)])


def test_seeds():
    first, again, other = (screening_cohort(50, random_state=seed).X for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other, equal_nan=True)
    drawn = screening_cohort(50, random_state=np.random.default_rng(3)).X
    np.testing.assert_array_equal(
        drawn, screening_cohort(50, random_state=np.random.default_rng(3)).X
    )


def test_lost_results(people):
    some = screening_cohort(N, lost=0.3)
    observed = ~np.isnan(people.X)
    kept = ~np.isnan(some.X)
    assert not (kept & ~observed).any()
    assert kept.sum() / observed.sum() == pytest.approx(0.7, abs=0.003)
    np.testing.assert_array_equal(some.X[kept], people.X[kept])


def test_prevalence_can_be_chosen():
    cohort = screening_cohort(N, prevalence={"diabetes": 0.5})
    assert cohort.disease("diabetes").mean() == pytest.approx(0.5, abs=0.02)
    assert cohort.disease("heart failure").mean() == pytest.approx(0.03, abs=0.006)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n": 0}, "n must be a whole number"),
        ({"n": 1.5}, "n must be a whole number"),
        ({"n": 10.0}, "n must be a whole number"),
        ({"n": float("nan")}, "n must be a whole number"),
        ({"n": float("inf")}, "n must be a whole number"),
        ({"n": "10"}, "n must be a whole number"),
        ({"n": True}, "n must be a whole number"),
        ({"lost": 1.0}, "lost must lie"),
        ({"informative": -1.0}, "informative must be"),
        ({"informative": float("nan")}, "informative must be"),
        ({"informative": 1e40}, "informative must be"),
        ({"prevalence": {"gout": 0.1}}, "'gout'; diseases are cardiovascular"),
        ({"prevalence": {"diabetes": 0.0}}, "prevalence of 'diabetes'"),
    ],
)
def test_bad_settings(settings, match):
    with pytest.raises(ValueError, match=match):
        screening_cohort(**{"n": 10, **settings})


def test_an_unknown_disease(people):
    with pytest.raises(ValueError, match="disease must be one of"):
        people.disease("gout")
