"""Simulated data: the very rows of the authors' code, and what the parameters promise."""

import numpy as np
import pytest

from nanwise.data.simulate import MECHANISMS, linear_gaussian

# Sums over the rows that the authors' public code draws (d = 4, rows 600 then 1000, seed 3):
# features, target, number of gaps, positions of the gaps, first and last target.
ROWS_2020 = {
    "mcar": (1216.7581170208696, 3180.320452946802, 2027, 4040306, 4.788373103804462),
    "mar": (890.7349897899385, 3189.7223054917754, 1489, 2979842, 4.788373103804462),
    "gaussian_self_masking": (
        -208.88063449483815,
        3180.4179382037673,
        2026,
        4059926,
        4.783456522900648,
    ),
    "probit_self_masking": (
        -63.96971547545506,
        3180.4179382037673,
        2044,
        4053982,
        4.783456522900648,
    ),
}

# The same of the follow-up's code (d = 10, latent 0.3, rows 600 then 1000, seed 3).
ROWS_2021 = {
    ("bowl", "mcar"): (-3581.2770603498248, 10486.88269528665, 4967, 27.56858975869275),
    ("wave", "mcar"): (-3581.2770603498248, -3121.7012786332816, 4967, -4.973228914554215),
    ("break", "mcar"): (-3581.2770603498248, -2120.423190488343, 4967, -3.968673696254072),
    ("break", "gaussian_self_masking"): (
        -7928.659293813293,
        -2120.423190488343,
        5035,
        -3.968673696254072,
    ),
}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_rows_of_the_authors(mechanism):
    data = linear_gaussian(1000, 4, mechanism, n_sizes=(600, 1000), random_state=3)
    total, target, gaps, places, first = ROWS_2020[mechanism]
    missing = np.isnan(data.X)
    assert np.nansum(data.X) == pytest.approx(total, rel=1e-10)
    assert data.y.sum() == pytest.approx(target, rel=1e-10)
    assert data.y[0] == pytest.approx(first, rel=1e-12)
    assert missing.sum() == gaps
    assert (np.arange(4000).reshape(1000, 4) * missing).sum() == places


@pytest.mark.parametrize(("target", "mechanism"), ROWS_2021)
def test_rows_of_the_follow_up(target, mechanism):
    data = linear_gaussian(
        1000, 10, mechanism, target=target, latent=0.3, n_sizes=(600, 1000), random_state=3
    )
    total, level, gaps, last = ROWS_2021[target, mechanism]
    assert np.nansum(data.X) == pytest.approx(total, rel=1e-10)
    assert data.y.sum() == pytest.approx(level, rel=1e-10)
    assert data.y[-1] == pytest.approx(last, rel=1e-12)
    assert np.isnan(data.X).sum() == gaps
    assert data.coef @ data.moments.cov @ data.coef == pytest.approx(1)


def test_parts_begin_alike_and_go_on_differently():
    whole = linear_gaussian(900, 5, "mar")
    parts = linear_gaussian(900, 5, "mar", n_sizes=[400, 900])
    short = linear_gaussian(400, 5, "mar")
    np.testing.assert_array_equal(parts.X[:400], short.X)
    np.testing.assert_array_equal(parts.y[:400], short.y)
    assert not np.array_equal(parts.X[400:], whole.X[400:], equal_nan=True)
    drivers = [np.flatnonzero(~np.isnan(part).any(axis=0)) for part in (parts.X[:400], short.X)]
    np.testing.assert_array_equal(*drivers)
    assert len(drivers[0]) == 1


def test_the_mar_mechanism_is_drawn_anew_for_every_part():
    seen = set()
    for seed in range(5):
        X = linear_gaussian(600, 5, "mar", n_sizes=[300, 600], random_state=seed).X
        first, second = (tuple(~np.isnan(part).any(axis=0)) for part in (X[:300], X[300:]))
        seen.add(first == second)
    assert False in seen


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_returned_fits_together(mechanism):
    data = linear_gaussian(20_000, 3, mechanism, n_sizes=[5_000, 20_000], random_state=1)
    there = ~np.isnan(data.X)
    np.testing.assert_array_equal(data.X[there], data.complete[there])
    assert not np.isnan(data.complete).any()
    assert len(data.noise_variance) == 2
    noise = data.y - data.intercept - data.complete @ data.coef
    parts = np.split(noise, [5_000])
    for part, variance in zip(parts, data.noise_variance, strict=True):
        # variance of a sample variance of a normal sample: 2 v² / n
        assert part.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / len(part)))
    spread = np.sqrt(np.diag(data.moments.cov) / 20_000)
    assert (abs(data.complete.mean(axis=0) - data.moments.mean) < 5 * spread).all()
    assert (data.masking is None) == (mechanism != "gaussian_self_masking")


def test_noise_variance_is_the_true_one_or_that_of_the_rows():
    data = linear_gaussian(2_000, 6, "mcar")
    assert data.noise_variance[0] == pytest.approx(data.moments.cov.sum() / 10)
    data = linear_gaussian(2_000, 6, "probit_self_masking")
    signal = data.intercept + data.complete @ data.coef
    assert data.noise_variance[0] == pytest.approx(signal.var() / 10)
    data = linear_gaussian(2_000, 6, "mcar", target="bowl", snr=4)
    score = data.intercept + data.complete @ data.coef
    assert data.noise_variance[0] == pytest.approx(data.target.value(score).var() / 4)


def test_random_states():
    def draw(state):
        return linear_gaussian(50, 3, random_state=state).X

    assert np.array_equal(draw(5), draw(np.int64(5)), equal_nan=True)
    for make in (np.random.default_rng, np.random.RandomState):
        assert np.array_equal(draw(make(1)), draw(make(1)), equal_nan=True)
        assert not np.array_equal(draw(make(1)), draw(make(2)), equal_nan=True)
    assert not np.array_equal(draw(None), draw(None), equal_nan=True)


def test_one_column():
    for mechanism in set(MECHANISMS) - {"mar"}:
        assert linear_gaussian(30, 1, mechanism).X.shape == (30, 1)
    with pytest.raises(ValueError, match="mar needs a column that is hidden"):
        linear_gaussian(30, 1, "mar")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 0}, "n must be a whole number of at least 1, got 0"),
        ({"d": 2.5}, "d must be a whole number of at least 1, got 2.5"),
        ({"mechanism": "mnar"}, "mechanism must be one of"),
        ({"target": "sine"}, "target must be one of"),
        ({"share": 1.0}, "share must lie between 0 and 1"),
        ({"latent": 1.5}, "latent must lie in"),
        ({"snr": 0}, "snr must be positive, got 0"),
        ({"slope": -1}, "slope must be positive, got -1"),
        ({"k": np.nan}, "k must be finite, got nan"),
        ({"drivers": np.inf}, "drivers must be finite, got inf"),
        ({"n_sizes": [10, 20]}, "n_sizes must rise from at least 1 to n = 40"),
        ({"n_sizes": [40, 40]}, "n_sizes must rise"),
        ({"n_sizes": []}, "n_sizes must rise"),
    ],
)
def test_bad_arguments(given, message):
    with pytest.raises(ValueError, match=message):
        linear_gaussian(**{"n": 40, "d": 3, **given})
