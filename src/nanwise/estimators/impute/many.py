"""Several completed tables instead of one: multiple imputation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise import registry
from nanwise.errors import DataError
from nanwise.estimators.impute.by_treatment import make_imputer
from nanwise.estimators.impute.cells import observed_cells, take_rows
from nanwise.train.checks import one_of, whole

_TRIES = 100


def impute_many(
    imputer: Any,
    X: Any,
    m: int = 5,
    random_state: Any = None,
    refit: str | None = None,
) -> list[Any]:
    """Fill the gaps of a table m times by random draws.

    Parameters
    ----------
    imputer : str or imputer
        One that samples, by name or as an object. A fitted one is used as it is; another one is
        cloned and fitted on ``X``, with as many sets of parameters as there are tables if it keeps
        such sets.
    X : array or DataFrame of shape (n_rows, n_columns)
        The table.
    m : int, default=5
        Number of completed tables.
    random_state : int, RandomState or None
        Seed.
    refit : {None, "bootstrap", "auto"}, default=None
        None: the draws of one fitted model. Unless it draws its parameters too, as ``mice`` does,
        they are taken to be right, and intervals computed from the tables are a little too short.
        ``"bootstrap"``: a clone of the imputer is fitted for each table on rows drawn with
        replacement, so that the tables also differ by what is not known of the parameters, as
        Rubin's rules ask for. ``"auto"``: the bootstrap for imputers that need it.

    Returns
    -------
    list of m tables
        Like ``X``, without gaps; observed cells are those of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import GaussianImputer, impute_many
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> tables = impute_many(GaussianImputer(), X, m=3, random_state=0)
    >>> len(tables), bool(np.isnan(tables[0]).any())
    (3, False)
    """
    whole("m, the number of completed tables,", m)
    one_of("refit", refit, (None, "bootstrap", "auto"))
    imputer = as_sampler(imputer)
    if refit == "auto":
        refit = None if getattr(imputer, "proper", False) else "bootstrap"
    rng = check_random_state(random_state)
    if refit == "bootstrap":
        return [_one_of_own(imputer, X, rng) for _ in range(m)]
    if _is_fitted(imputer):
        refuse_repeats(imputer, m)
    else:
        imputer = _ready(seeded(imputer, rng), m).fit(X)
    return list(imputer.sample(X, m, random_state=rng.randint(2**31 - 1)))


def as_sampler(imputer: Any) -> Any:
    """The imputer of that name or the object itself, if it samples; else an error."""
    made = make_imputer(imputer) if isinstance(imputer, str) else imputer
    if not hasattr(made, "fit") or isinstance(made, type):
        raise TypeError(f"imputer must be a name or an imputer, got {imputer!r}")
    if not samples(made):
        name = repr(imputer) if isinstance(imputer, str) else type(made).__name__
        raise TypeError(
            f"{name} gives one answer and cannot draw others; those that sample: "
            f"{', '.join(samplers())}"
        )
    return made


def samples(imputer: Any) -> bool:
    """Whether gaps can be filled by random draws."""
    return bool(getattr(imputer, "samples", True)) and hasattr(imputer, "sample")


def samplers() -> list[str]:
    """Names of the imputers that sample."""
    return [found.name for found in registry.known("imputer") if samples(found.make)]


def _one_of_own(imputer: Any, X: Any, rng: np.random.RandomState) -> Any:
    fitted = seeded(imputer, rng).fit(_bootstrap(X, rng))
    return fitted.sample(X, 1, random_state=rng.randint(2**31 - 1))[0]


def _bootstrap(X: Any, rng: np.random.RandomState) -> Any:
    """Rows with replacement, such that no column loses all of its values."""
    there = observed_cells(X)
    known = np.flatnonzero(there.any(axis=0))
    for _ in range(_TRIES):
        rows = rng.randint(len(there), size=len(there))
        if there[np.ix_(rows, known)].any(axis=0).all():
            return take_rows(X, rows)
    fewest = known[there[:, known].sum(axis=0).argmin()]
    raise DataError(
        f"column {fewest} has so few values that rows drawn with "
        "replacement keep missing them all; leave it out, or use refit=None"
    )


def seeded(imputer: Any, rng: np.random.RandomState) -> Any:
    """A clone; its own seed, if it has one, is drawn from ours."""
    fresh = clone(imputer)
    if "random_state" in fresh.get_params(deep=False):
        fresh.set_params(random_state=rng.randint(2**31 - 1))
    return fresh


def refuse_repeats(imputer: Any, m: int) -> None:
    """An error if some of ``m`` draws of a fitted imputer would share their parameters."""
    most = getattr(imputer, "own_draws_", None)
    if most is not None and m > most:
        raise ValueError(
            f"{m} tables are asked for, but this {type(imputer).__name__} has learnt {most} sets "
            "of parameters: tables that share a set are not independent, and what is pooled from "
            f"them would look too certain. Fit it with sets={m}, or ask for {most}"
        )


def _ready(imputer: Any, m: int) -> Any:
    return imputer.ready_for(m) if hasattr(imputer, "ready_for") else imputer


def _is_fitted(imputer: Any) -> bool:
    try:
        check_is_fitted(imputer)
    except NotFittedError:
        return False
    return True
