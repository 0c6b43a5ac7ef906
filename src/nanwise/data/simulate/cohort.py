"""A simulated medical screening: many people, few of whom have every examination."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from nanwise.data.simulate.cohort_tables import (
    AGE_SHAPE,
    AGES,
    DRIVERS,
    MEN,
    OUTCOMES,
    PANELS,
    TOGETHER,
    TRAITS,
    Weights,
)
from nanwise.data.simulate.linear_gaussian import seed_of

#: names of the columns of :attr:`Cohort.X` and of :attr:`Cohort.y`
EXAMINATIONS = tuple(one.name for panel in PANELS for one in panel.examinations)
DISEASES = tuple(outcome.name for outcome in OUTCOMES)

#: rows are drawn so many at a time, each block with random numbers of its own
BLOCK = 8192
#: people by whom the constants of panels and outcomes are found; the same for every cohort
_REFERENCE = 40_000
_REFERENCE_SEED = 20_200_424
#: who has a panel is long certain there, and float32 can still tell the log-odds apart
_MOST_INFORMATIVE = 1e3

_COLUMNS = tuple(one for panel in PANELS for one in panel.examinations)
_PANEL_OF = np.repeat(np.arange(len(PANELS)), [len(panel.examinations) for panel in PANELS])


@dataclass(frozen=True)
class Cohort:
    """People of a simulated screening.

    Attributes
    ----------
    X : ndarray of shape (n, 34), float32
        Examinations in the order of ``EXAMINATIONS``, NaN where one was not done.
    y : ndarray of shape (n, 5), int8
        Diagnoses in the order of ``DISEASES``, 1 or 0.
    age : ndarray of shape (n,), float32
        In years. Neither age nor sex is among the examinations.
    male : ndarray of shape (n,), bool
    """

    X: np.ndarray
    y: np.ndarray
    age: np.ndarray
    male: np.ndarray

    def __len__(self) -> int:
        return len(self.X)

    def disease(self, name: str) -> np.ndarray:
        """One column of ``y``."""
        if name not in DISEASES:
            raise ValueError(f"disease must be one of {DISEASES}, got {name!r}")
        return self.y[:, DISEASES.index(name)]


def screening_cohort(
    n: int = 300_000,
    *,
    prevalence: Mapping[str, float] | None = None,
    informative: float = 1.0,
    lost: float = 0.02,
    random_state: Any = 0,
) -> Cohort:
    """A simulated cohort of the shape of the NHIS screening data of Yi et al. (ICLR 2020).

    Those data cannot be shared. Their published shape is 300,000 people, 34 examinations and five
    diagnoses that are rare; how rare, and how many examinations are missing, is not published. All
    numbers of this simulation are ours: :mod:`nanwise.data.simulate.cohort_tables` has them.

    Examinations come in 13 panels that are done together or not at all. Who has a panel depends on
    age, sex, health (a person with signs of a heart disease is sent to the echo) and on a habit of
    going to the doctor, so that the gaps say something, and the number of examinations differs much
    from person to person.

    Parameters
    ----------
    n : int, default=300_000
        People. The first rows of a larger cohort are the rows of a smaller one.
    prevalence : mapping, optional
        Disease to the share of people who have it, for those that are to differ from
        ``cohort_tables.OUTCOMES``.
    informative : float, default=1.0
        Factor of what age, sex and health have to do with who has which panel. With 0, gaps are
        completely at random; at most 1000.
    lost : float, default=0.02
        Share of the results that are lost by accident, cell by cell.
    random_state : int, Generator, RandomState or None, default=0

    Returns
    -------
    Cohort

    Examples
    --------
    >>> from nanwise.data.simulate import screening_cohort
    >>> people = screening_cohort(1000)
    >>> people.X.shape, people.y.shape, people.X.dtype.name
    ((1000, 34), (1000, 5), 'float32')
    """
    blocks = list(
        cohort_blocks(
            n,
            prevalence=prevalence,
            informative=informative,
            lost=lost,
            random_state=random_state,
        )
    )
    names = ("X", "y", "age", "male")
    return Cohort(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))


def cohort_blocks(
    n: int = 300_000,
    *,
    prevalence: Mapping[str, float] | None = None,
    informative: float = 1.0,
    lost: float = 0.02,
    random_state: Any = 0,
) -> Iterator[Cohort]:
    """The people of :func:`screening_cohort` in blocks of at most ``BLOCK``, one after another.

    Parameters are those of :func:`screening_cohort`; only one block is in memory at a time.
    """
    _check(n, informative, lost)
    levels = _levels(float(informative), _prevalence(prevalence))
    seed = seed_of(random_state)
    return (
        _block(min(BLOCK, n - start), levels, lost, np.random.default_rng([seed, place]))
        for place, start in enumerate(range(0, n, BLOCK))
    )


@dataclass(frozen=True)
class _Levels:
    """Constants of the log-odds of panels and outcomes, and the factor they were found with."""

    informative: float
    panels: np.ndarray
    outcomes: np.ndarray


@dataclass(frozen=True)
class _People:
    """Age, sex, standardised drivers (n, 8) and habit."""

    age: np.ndarray
    male: np.ndarray
    drivers: np.ndarray
    habit: np.ndarray


def _block(n: int, levels: _Levels, lost: float, rng: np.random.Generator) -> Cohort:
    # A whole block is always drawn and then cut: the last one of a small cohort is the beginning of
    # the same block of a larger one.
    people = _people(BLOCK, rng)
    X = _values(people.drivers, rng)
    done = rng.random((BLOCK, len(PANELS)), dtype=np.float32) < expit(
        _panel_odds(people, levels.informative) + levels.panels
    )
    kept = rng.random(X.shape, dtype=np.float32) >= lost
    X[~(done[:, _PANEL_OF] & kept)] = np.nan
    risk = expit(_outcome_odds(people.drivers) + levels.outcomes)
    y = (rng.random(risk.shape, dtype=np.float32) < risk).astype(np.int8)
    return Cohort(X[:n], y[:n], people.age[:n], people.male[:n])


def _people(n: int, rng: np.random.Generator) -> _People:
    low, high = AGES
    share = rng.beta(*AGE_SHAPE, size=n).astype(np.float32)
    male = rng.random(n, dtype=np.float32) < MEN
    normal = rng.standard_normal((n, len(TRAITS) + 2), dtype=np.float32)
    mean, sd = _beta_moments(*AGE_SHAPE)
    drivers = np.empty((n, len(DRIVERS)), dtype=np.float32)
    drivers[:, 0] = (share - mean) / sd
    drivers[:, 1] = (male - MEN) / math.sqrt(MEN * (1 - MEN))
    for place, weights in enumerate(TRAITS.values()):
        known = np.column_stack([drivers[:, :2], normal[:, 0]]) @ np.array(weights, np.float32)
        drivers[:, 2 + place] = known + _rest(weights) * normal[:, 1 + place]
    return _People(low + (high - low) * share, male, drivers, normal[:, -1])


def _values(drivers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    X = drivers @ _matrix([one.weights for one in _COLUMNS])
    noise = np.array([_rest(one.weights.values()) for one in _COLUMNS], np.float32)
    X += noise * rng.standard_normal(X.shape, dtype=np.float32)
    X *= np.array([one.spread for one in _COLUMNS], np.float32)
    X += np.array([one.centre for one in _COLUMNS], np.float32)
    curved = [one.log for one in _COLUMNS]
    X[:, curved] = np.exp(X[:, curved])
    return X


def _panel_odds(people: _People, informative: float) -> np.ndarray:
    """Log-odds of having each panel, up to a constant."""
    habit = np.array([panel.habit for panel in PANELS], np.float32)
    known = people.drivers @ _matrix([panel.weights for panel in PANELS])
    return np.float32(informative) * known + people.habit[:, None] * habit


def _outcome_odds(drivers: np.ndarray) -> np.ndarray:
    """Log-odds of each disease, up to a constant."""
    score = drivers @ _matrix([outcome.weights for outcome in OUTCOMES])
    for place, outcome in enumerate(OUTCOMES):
        first, second = (drivers[:, DRIVERS.index(name)] for name in outcome.together)
        score[:, place] += np.float32(TOGETHER) * first * second
    return score * np.array([outcome.strength for outcome in OUTCOMES], np.float32)


@lru_cache(maxsize=8)
def _levels(informative: float, prevalence: tuple[float, ...]) -> _Levels:
    """Constants that give the wanted shares, found once by a fixed sample of people."""
    people = _people(_REFERENCE, np.random.default_rng(_REFERENCE_SEED))
    panels = _panel_odds(people, informative)
    outcomes = _outcome_odds(people.drivers)
    shares = [panel.share for panel in PANELS]
    return _Levels(
        informative,
        np.array([_level(*pair) for pair in zip(panels.T, shares, strict=True)], np.float32),
        np.array([_level(*pair) for pair in zip(outcomes.T, prevalence, strict=True)], np.float32),
    )


def _level(odds: np.ndarray, share: float) -> float:
    """Root b of ``mean(expit(odds + b)) = share``."""
    reach = float(np.abs(odds).max()) + abs(math.log(share / (1 - share))) + 1
    return brentq(lambda b: float(expit(odds + b).mean(dtype=np.float64)) - share, -reach, reach)


def _matrix(weights: list[Weights]) -> np.ndarray:
    """Weights by driver, one column for each mapping."""
    return np.array([[w.get(name, 0.0) for w in weights] for name in DRIVERS], np.float32)


def _rest(weights: Any) -> float:
    """Standard deviation that is left when the squares of the weights are taken from 1."""
    return math.sqrt(1 - sum(weight**2 for weight in weights))


def _beta_moments(a: float, b: float) -> tuple[float, float]:
    return a / (a + b), math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))


def _prevalence(given: Mapping[str, float] | None) -> tuple[float, ...]:
    wanted = {outcome.name: outcome.prevalence for outcome in OUTCOMES}
    for name, share in (given or {}).items():
        if name not in wanted:
            raise ValueError(f"prevalence names {name!r}; diseases are {', '.join(wanted)}")
        if not 0 < share < 1:
            raise ValueError(f"prevalence of {name!r} must lie between 0 and 1, got {share}")
        wanted[name] = float(share)
    return tuple(wanted.values())


def _check(n: int, informative: float, lost: float) -> None:
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, got {n!r}")
    if not 0 <= informative <= _MOST_INFORMATIVE:
        raise ValueError(
            f"informative must be a number from 0 to {_MOST_INFORMATIVE:g}, got {informative}"
        )
    if not 0 <= lost < 1:
        raise ValueError(f"lost must lie in [0, 1), got {lost}")
