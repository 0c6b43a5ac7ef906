"""The one interface of all recommenders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise.data.ratings import Ratings, Scale
from nanwise.estimators.recommend import axes, top
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.train.checks import whole

#: scores held at once while lists are made
CHUNK_CELLS = 1 << 22


class Recommender(BaseEstimator):
    """Base of all recommenders: one file each in ``nanwise/methods/rating``.

    It reads ratings, keeps the axes, answers for users and items without ratings, clips, makes
    lists, and gives and takes its state. A subclass stores ``random_state`` and ``cold`` among its
    parameters and fills in, all by *position* on the axes:

    ``_learn(train, validation, seed)``
        Fit. ``train`` and ``validation`` (or None) are Ratings on the axes of ``self``.
    ``_at(users, items) -> (n,)``
        Predictions for pairs of users and items that both have ratings; not clipped.
    ``_scores(users) -> (len(users), n_items)``
        What lists are ordered by, for users with ratings. At most ``CHUNK_CELLS`` at a time.
    ``_scores_for(rows) -> (n_rows, n_items)``
        The same for people who were not there in training, rows of a CSR array over the items
        (an empty row is a person of whom nothing is known).
    ``_vectors() -> (n_items, d)``
        What items are compared by; without it, their ratings are.

    Attributes
    ----------
    users_, items_ : ndarray
        Ids in the order of the axes.
    scale_ : Scale
        Predictions are clipped to its ends.
    mean_ : float
        Mean of the training ratings.
    matrix_ : scipy.sparse.csr_array of shape (n_users, n_items)
        All ratings given to ``fit``: what networks see when they predict, and what lists leave out.
    """

    random_state: Any
    cold: Any

    # -- fitting ---------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, R: Any, validation: Any = None) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        R : Ratings, SciPy sparse matrix or frame
            A matrix is users × items; **stored = observed**, and the ids are the positions. A
            frame has the columns user, item and rating.
        validation : Ratings, SciPy sparse matrix or frame, optional
            Ratings of the same users and items on which training may stop early. They are not
            learnt from, and not seen when predicting. Without them a network with
            ``plan.validation`` puts that share of ``R`` aside.

        Returns
        -------
        self
        """
        self._check_settings()
        train = axes.read(R)
        held = None if validation is None else axes.align(axes.read(validation), train)
        if held is not None:
            axes.warn_about_seen(held, train)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._learn(train, held, seed)
        self._keep(train)
        return self

    def _keep(self, train: Ratings) -> None:
        for name in self._cached():
            delattr(self, name)
        self.users_, self.items_, self.scale_ = train.users, train.items, train.scale
        self.matrix_ = train.matrix
        self.mean_ = float(train.matrix.data.mean(dtype=np.float64))

    def validate(self) -> None:
        """Raise a ValueError or TypeError that names the first parameter that cannot be used."""
        self._check_settings()

    def _check_settings(self) -> None:
        """Refuse what cannot be used before any data is looked at."""
        if self.cold != "mean" and (isinstance(self.cold, str) or not np.isfinite(self.cold)):
            raise ValueError(f'cold must be "mean" or a number, got {self.cold!r}')

    def _learn(self, train: Ratings, validation: Ratings | None, seed: int) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say how it learns")

    # -- predicting ------------------------------------------------------------------------------

    def predict(self, users: Any, items: Any) -> np.ndarray:
        """Expected ratings of pairs.

        Parameters
        ----------
        users, items : list or array of ids, of equal length
            As in training.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Within the scale. An id that was not in training, or was there without any rating, has
            nothing to predict from: the answer is ``cold``, by default the mean rating.
        """
        check_is_fitted(self)
        for axis, ids in zip(self._axes, (users, items), strict=True):
            axis.warn_of_strangers(ids)
        rows, columns = self._axes[0].places(users), self._axes[1].places(items)
        if len(rows) != len(columns):
            raise ValueError(
                f"users and items must be pairs, got {len(rows)} users and {len(columns)} items"
            )
        return self._predict_at(rows, columns)

    def predict_matrix_at(self, cells: Any) -> np.ndarray:
        """Expected ratings at the stored cells of a sparse matrix on the axes of the training.

        Parameters
        ----------
        cells : Ratings or SciPy sparse matrix of shape (n_users, n_items)
            What is stored does not matter, only where.

        Returns
        -------
        ndarray of shape (nnz,)
            In the order of ``cells.tocsr().data``.
        """
        check_is_fitted(self)
        csr = (cells.matrix if isinstance(cells, Ratings) else cells).tocsr()
        if csr.shape != self.matrix_.shape:
            raise ValueError(
                f"cells have shape {csr.shape}, the training ratings {self.matrix_.shape}; "
                "both must have the same axes"
            )
        rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
        return self._predict_at(rows, csr.indices.astype(np.int64))

    def score(self, R: Any) -> float:
        """Minus the root mean squared error over all ratings of ``R``, cold ones included."""
        check_is_fitted(self)
        ratings = axes.read(R)
        if axes.same(ratings.users, self.users_) and axes.same(ratings.items, self.items_):
            predicted = self.predict_matrix_at(ratings)
        else:
            rows, columns = ratings.rows, ratings.matrix.indices
            predicted = self.predict(ratings.users[rows], ratings.items[columns])
        return -float(np.sqrt(np.mean((predicted - ratings.matrix.data) ** 2)))

    def seeing(self, R: Any) -> Self:
        """The same model, not trained again, that sees other ratings of its users and items.

        Parameters
        ----------
        R : Ratings, SciPy sparse matrix or frame
            On the axes of the training: what networks predict from, and what lists leave out.

        Returns
        -------
        Recommender
            Who and what had ratings in training is known as before, also without ratings in ``R``.
        """
        check_is_fitted(self)
        matrix = axes.matrix_on(R, self._axes)
        other = type(self)(**self.get_params(deep=False))
        for name in [name for name in vars(self) if name.endswith("_")]:
            setattr(other, name, getattr(self, name))
        other.matrix_, other._warm = matrix, self._warm
        return other

    def _predict_at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """By position; -1 is an unknown id."""
        warm_users, warm_items = self._warm
        warm = (users >= 0) & (items >= 0) & warm_users[users] & warm_items[items]
        out = np.empty(len(users))
        out[~warm] = self._cold_at(users[~warm], items[~warm])
        if warm.any():
            out[warm] = self._at(users[warm], items[warm])
        return np.clip(out, self.scale_.smallest, self.scale_.largest)

    def _at(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} does not say how it predicts")

    def _cold_at(self, users: np.ndarray, items: np.ndarray) -> Any:
        """The answer for pairs in which the user, the item or both have no ratings."""
        return self.mean_ if self.cold == "mean" else float(self.cold)

    # -- lists -----------------------------------------------------------------------------------

    def recommend(
        self, users: Any = None, n: int = 10, exclude_seen: bool = True
    ) -> dict[str, np.ndarray]:
        """The best items for users of the training.

        Parameters
        ----------
        users : list or array of ids, optional
            All by default. One without any rating gets what a new person would get.
        n : int, default=10
            Length of each list; shorter where fewer items are left.
        exclude_seen : bool, default=True
            Leave out what the user has rated.

        Returns
        -------
        dict of ndarray
            ``user``, ``rank`` (from 1), ``item`` and ``score``, one entry per recommendation:
            ``pandas.DataFrame(result)`` is a frame. Items that nobody has rated are never listed.
        """
        check_is_fitted(self)
        places = np.arange(len(self.users_)) if users is None else self._axes[0].known(users)
        parts = [
            self._best(self._scores_of(part), self.matrix_[part] if exclude_seen else None, n)
            for part in self._chunks(places)
        ]
        return _joined("user", self.users_[places], self.items_, parts)

    def recommend_for(
        self, ratings: Mapping[Any, float] | Sequence[Mapping[Any, float]], n: int = 10
    ) -> dict[str, np.ndarray]:
        """The best items for people who were not there in training; nothing is trained again.

        Parameters
        ----------
        ratings : dict of item id to rating, or list of such dicts
            What is known of each person; an empty dict is fine.
        n : int, default=10

        Returns
        -------
        dict of ndarray
            ``person`` (number in the list), ``rank``, ``item`` and ``score``. Rated items are left
            out, as are items that nobody has rated in training.
        """
        check_is_fitted(self)
        people = [ratings] if isinstance(ratings, Mapping) else list(ratings)
        rows = axes.rows_of([dict(person) for person in people], self._axes[1])
        self._refuse_outside(rows.data)
        parts = [
            self._best(self._scores_for(rows[part]), rows[part], n)
            for part in self._chunks(np.arange(len(people)))
        ]
        return _joined("person", np.arange(len(people)), self.items_, parts)

    def similar_items(self, items: Any, n: int = 10) -> dict[str, np.ndarray]:
        """The items most like others: largest cosine of what the model knows of them.

        Returns
        -------
        dict of ndarray
            ``item``, ``rank``, ``similar`` and ``score`` (the cosine).
        """
        check_is_fitted(self)
        places = self._axes[1].known(items)
        vectors, parts = self._vectors(), []
        for part in self._chunks(places):
            scores = top.cosines(vectors, part)
            scores[np.arange(len(part)), part] = -np.inf
            parts.append(self._best(scores, None, n))
        found = _joined("item", self.items_[places], self.items_, parts, "similar")
        return found

    def scores(self, users: Any) -> np.ndarray:
        """What lists are ordered by: a row for each user, a column for each item; not clipped.

        Lists leave out rated items and items without ratings; here they have scores like others.
        """
        check_is_fitted(self)
        return self._scores_of(self._axes[0].known(users))

    def _scores_of(self, users: np.ndarray) -> np.ndarray:
        warm = self._warm[0][users]
        scores = np.empty((len(users), len(self.items_)))
        if warm.any():
            scores[warm] = self._scores(users[warm])
        if not warm.all():
            scores[~warm] = self._scores_for(sparse.csr_array((1, len(self.items_))))
        return scores

    def _scores(self, users: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} does not say how it ranks")

    def _scores_for(self, rows: sparse.csr_array) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} does not say how it ranks for new people")

    def _vectors(self) -> Any:
        """Ratings of each item less those that are usual for it."""
        by_item = self.matrix_.T.tocsr().astype(np.float64)
        counts = np.diff(by_item.indptr)
        means = by_item.sum(axis=1) / np.maximum(counts, 1)
        by_item.data -= np.repeat(means, counts)
        return by_item

    def _best(self, scores: np.ndarray, seen: sparse.csr_array | None, n: int) -> Any:
        whole("n", n)
        if seen is not None:
            top.forbid(scores, seen)
        scores[:, ~self._warm[1]] = -np.inf
        rows, columns, ranks = top.best(scores, n)
        return len(scores), rows, columns, ranks, scores[rows, columns]

    def _refuse_outside(self, ratings: np.ndarray) -> None:
        ends = Scale(self.scale_.smallest, self.scale_.largest)
        wrong = ratings[ends.outside(ratings)]
        if len(wrong):
            raise ValueError(f"a rating must lie on the scale, {ends}; got {wrong[0]:g}")

    def _chunks(self, places: np.ndarray) -> Iterator[np.ndarray]:
        size = max(1, CHUNK_CELLS // max(1, len(self.items_)))
        return (places[i : i + size] for i in range(0, len(places), size))

    # -- what follows from the ratings -----------------------------------------------------------

    @cached_property
    def _axes(self) -> tuple[axes.Axis, axes.Axis]:
        return axes.Axis(self.users_, "user"), axes.Axis(self.items_, "item")

    @cached_property
    def _warm(self) -> tuple[np.ndarray, np.ndarray]:
        """Which users and which items have ratings."""
        n_items = len(self.items_)
        items = np.bincount(self.matrix_.indices, minlength=n_items) > 0
        return np.diff(self.matrix_.indptr) > 0, items

    # -- saving ----------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        cached = self._cached()
        return {k: v for k, v in super().__getstate__().items() if k not in cached}

    def _cached(self) -> list[str]:
        """What is remembered but follows from the rest."""
        kind = type(self)
        return [k for k in vars(self) if isinstance(getattr(kind, k, None), cached_property)]

    def __nanwise_state__(self) -> dict[str, Any]:
        check_is_fitted(self)
        special = ("matrix_", "scale_")
        learnt = {k: v for k, v in vars(self).items() if k.endswith("_") and k not in special}
        matrix, scale = self.matrix_, self.scale_
        return {
            "params": self.get_params(deep=False),
            "learnt": learnt,
            "matrix": [matrix.data, matrix.indices, matrix.indptr],
            "scale": [scale.smallest, scale.largest, scale.step, list(scale.levels)],
        }

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Self:
        made = cls(**state["params"])
        for name, value in state["learnt"].items():
            setattr(made, name, value)
        shape = (len(made.users_), len(made.items_))
        made.matrix_ = sparse.csr_array(tuple(state["matrix"]), shape=shape)
        made.matrix_.check_format(full_check=True)
        smallest, largest, step, levels = state["scale"]
        made.scale_ = Scale(smallest, largest, step, tuple(levels))
        return made


def _joined(
    head: str, heads: np.ndarray, items: np.ndarray, parts: list[Any], column: str = "item"
) -> dict[str, np.ndarray]:
    """Lists of several chunks as columns of a table."""
    before = np.cumsum([0, *(size for size, *_ in parts)])
    rows = [part[1] + start for part, start in zip(parts, before, strict=False)]
    numbers = [np.concatenate([*(part[i] for part in parts), []]) for i in (2, 3, 4)]
    chosen = np.concatenate([*rows, []]).astype(np.int64)
    columns, ranks, scores = numbers
    return {
        head: heads[chosen],
        "rank": ranks.astype(np.int64),
        column: items[columns.astype(np.int64)],
        "score": scores,
    }
