"""Any imputer on a mixed table: the object that ``nanwise impute`` fits, uses and saves."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nanwise.estimators.impute.base import Imputer
from nanwise.estimators.impute.by_treatment import FillImputer, make_imputer
from nanwise.estimators.whole_fit import all_or_nothing

if TYPE_CHECKING:
    import pandas as pd

    from nanwise.data.schema import Note

#: numbers with more decimals than this are written with as many digits as it takes
MOST_DECIMALS = 9


def imputer_of(method: str, params: Any = None, random_state: Any = None) -> Imputer:
    """The unfitted imputer of a name.

    Parameters
    ----------
    method : str
        One of :func:`~nanwise.estimators.impute.by_treatment.imputer_names`.
    params : mapping, optional
        Its parameters. ``plan`` may be a mapping of single settings of the training; the others
        keep the method's own defaults.
    random_state : int, RandomState or None

    Raises
    ------
    ValueError
        For names and settings that there are not.
    """
    given = dict(params or {})
    plan = given.pop("plan", {})
    known = imputer_settings(method)
    _refuse_unknown(given, known, method)
    if plan and "plan" not in known:
        raise ValueError(f"{method} is not trained in epochs: there is no plan to set")
    try:
        imputer = make_imputer(method, random_state=random_state, **given)
        if plan:
            imputer.set_params(**{f"plan__{name}": value for name, value in plan.items()})
        imputer._check_settings()
    except TypeError as error:
        raise ValueError(f"{method}: {error}") from error
    return imputer


def imputer_settings(method: str) -> dict[str, Any]:
    """Names and defaults of what can be set for an imputer; the seed is not among them."""
    made = make_imputer(method)
    settings = made.get_params(deep=False)
    if isinstance(made, FillImputer):
        settings = {**settings.pop("treatment").get_params(deep=False), **settings}
    return {name: value for name, value in settings.items() if name != "random_state"}


def _refuse_unknown(given: Iterable[str], known: Iterable[str], method: str) -> None:
    there = list(known)
    for name in given:
        if name not in there:
            near = difflib.get_close_matches(name, there, n=2) or there
            raise ValueError(f"{method} has no parameter {name!r}; near or known: {near}")


class TableImputer(TransformerMixin, BaseEstimator):
    """One imputer, with everything between a table of any columns and its completion.

    Parameters
    ----------
    method : str, default="iterative"
        Name of an imputer.
    params : dict, optional
        Parameters of the method, see :func:`imputer_of`.
    schema : Schema, mapping or path, optional
        Kinds of the columns; what it does not say is inferred. Columns that it drops are neither
        learnt from nor filled.
    random_state : int, RandomState or None
        Seed.
    draws : int, default=1
        Number of draws that will be asked for at once; see
        :meth:`nanwise.estimators.impute.base.Imputer.ready_for`.

    Attributes
    ----------
    imputer_ : Imputer
        Fitted.
    schema_ : Schema
    decimals_ : dict
        Of every column of numbers, how many decimals its values have; None: more than 9.
    empty_ : list of str
        Columns in which nothing was observed; they stay as they are.

    Notes
    -----
    A number is filled with as many decimals as its column has, so that whole numbers stay whole.
    Cells for which the answer is a level that stands for all rare ones stay gaps.
    """

    def __init__(
        self,
        method: str = "iterative",
        *,
        params: Any = None,
        schema: Any = None,
        random_state: Any = None,
        draws: int = 1,
    ) -> None:
        self.method = method
        self.params = params
        self.schema = schema
        self.random_state = random_state
        self.draws = draws

    @property
    def samples(self) -> bool:
        """Whether gaps can be filled by random draws."""
        return imputer_of(self.method, self.params).samples

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a frame with gaps."""
        from nanwise.data.schema import Schema

        self.schema_ = Schema.infer(X, overrides=self.schema)
        return self.fit_checked(self.schema_.check(X)[0])

    @all_or_nothing
    def fit_checked(self, checked: pd.DataFrame) -> Self:
        """As :meth:`fit`, for a frame that the ``check`` of a complete schema has given back."""
        if not hasattr(self, "schema_"):
            self.schema_ = self.schema
        imputer = imputer_of(self.method, self.params, self.random_state)
        self.imputer_ = imputer.ready_for(self.draws).fit(checked)
        self.decimals_ = {
            column.name: decimals_of(checked[column.name].to_numpy())
            for column in self.schema_.columns
            if column.kind == "numeric"
        }
        seen = checked.notna().any().to_numpy()
        self.empty_ = [str(name) for name in checked.columns[~seen]]
        return self

    def check(self, X: Any) -> tuple[pd.DataFrame, list[Note]]:
        """New rows in the form of the schema, and what is to be said about them."""
        check_is_fitted(self)
        return self.schema_.check(X)

    def transform(self, X: Any) -> pd.DataFrame:
        """The columns of the schema with gaps filled by the best single value.

        Numbers, truth values, dates and categories come as :meth:`nanwise.data.schema.Schema.check`
        gives them.
        """
        checked = self.check(X)[0]
        return self._tidy(checked, self.imputer_.transform(checked))

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> list[pd.DataFrame]:
        """The same with gaps filled by draws: ``n`` frames."""
        checked = self.check(X)[0]
        draws = self.imputer_.sample(checked, n, random_state)
        return [self._tidy(checked, draw) for draw in draws]

    def _tidy(self, before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
        """Round what was filled; gaps again where there is no answer."""
        from nanwise.data.schema import OTHER

        after = after.copy()
        for column in self.schema_.columns:
            name, decimals = column.name, self.decimals_.get(column.name)
            gap = before[name].isna().to_numpy()
            if not gap.any():
                continue
            if name in self.empty_:
                after[name] = before[name]
            elif decimals is not None:
                values = after[name].to_numpy(dtype=np.float64, copy=True)
                values[gap] = np.round(values[gap], decimals) + 0.0  # no -0
                after[name] = values
            elif OTHER in column.levels:
                after[name] = after[name].where(~gap | (after[name] != OTHER))
        return after


def decimals_of(values: np.ndarray) -> int | None:
    """The fewest decimals that hold all numbers; None if 9 do not; 0 if there is none."""
    there = np.unique(values[~np.isnan(values)])
    slack = 1e-12 * np.maximum(1.0, np.abs(there))
    for decimals in range(MOST_DECIMALS + 1):
        if (np.abs(np.round(there, decimals) - there) <= slack).all():
            return decimals
    return None
