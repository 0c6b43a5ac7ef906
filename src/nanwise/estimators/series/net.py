"""From sequences with gaps to a trained recurrent network and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nanwise.errors import DataError
from nanwise.estimators.base import NetEstimator
from nanwise.estimators.inputs import warn_about_gaps
from nanwise.estimators.planned import refuse_misfit
from nanwise.estimators.scale import SCALES, Scaler
from nanwise.estimators.series.choice import resolve
from nanwise.estimators.series.inputs import Sequences, read_sequences
from nanwise.estimators.series.treatment import SeriesTreatment
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.train.checks import one_of, whole
from nanwise.train.plan import Plan


class SeriesEstimator(NetEstimator):
    """Base of the estimators over series; not used by itself."""

    #: ``quantile`` needs all cells of a column side by side, which is not how series are kept
    _scales = tuple(kind for kind in SCALES if kind != "quantile")

    gaps: Any
    units: int
    cell: str

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        statics: Any = None,
        validation: Any = None,
    ) -> Any:
        """Train on sequences with gaps.

        Parameters
        ----------
        X : array of shape (N, T, D), list of N arrays or data frames (T_i, D), or SeriesData
            NaN is a gap. The steps of a sequence are in the order of time; an empty step is a step.
            Names of variables, where there are any, are remembered.
        y : array of shape (N,) or, for regression, (N, n_outputs)
            The target.
        sample_weight : array of shape (N,), optional
            How much each sequence counts in the loss.
        statics : array of shape (N, P), optional
            Numbers that belong to a whole sequence, such as an age; NaN is a gap.
        validation : tuple (X, y) or (X, y, statics), optional
            Sequences to stop early on. None: as many of the training sequences as
            ``plan.validation`` says.

        Returns
        -------
        self
        """
        self._check_settings()
        data = read_sequences(X, statics)
        target = self._read_target(data, y)
        data, target, weight = self._weigh(data, target, sample_weight)
        warn_about_gaps(data.steps, data.variables)
        self.n_features_in_ = data.shape[1]
        self._remember(data)
        self.n_statics_ = 0 if data.statics is None else data.statics.shape[1]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.treatment_ = resolve(self.gaps)
        if validation is None:
            self._train(data, target, weight, seed)
            return self
        held, held_target = self._read_validation(validation, target.shape[1:])
        source = self._learn(data, target, weight)
        part = self._held_weight(held_target, target)
        self._run(source, self._series_source(self._prepared(held), held_target, part), seed)
        return self

    def _remember(self, data: Sequences) -> None:
        """Names of the variables and how they were read, as far as the source knows."""
        self.__dict__.pop("feature_names_in_", None)
        if data.variables is not None:
            self.feature_names_in_ = np.array(data.variables, dtype=object)
        self.reading_ = data.reading

    def _check_settings(self) -> None:
        from nanwise.nets.series.recurrent import CELLS

        super()._check_settings()
        one_of("cell", self.cell, CELLS)
        whole("units", self.units)

    def _default_plan(self) -> Plan:
        return Plan(epochs=30, batch=64, optimizer="adam", weight_decay=0.0, clip=1.0)

    def _read_validation(
        self, validation: Any, outputs: tuple[int, ...]
    ) -> tuple[Sequences, np.ndarray]:
        """Validation sequences and their targets; ``outputs`` is the shape of one target."""
        if not isinstance(validation, tuple) or len(validation) not in (2, 3):
            raise TypeError(
                "validation must be a tuple (X, y) or (X, y, statics), got "
                f"{type(validation).__name__}"
            )
        statics = validation[2] if len(validation) == 3 else None
        data = read_sequences(validation[0], statics, name="validation X")
        self._refuse_others(data)
        target = self._codes(validation[1])
        check_consistent_length(data, target)
        if target.shape[1:] != outputs:
            raise ValueError(
                f"the validation target has {target.shape[1]} outputs per sequence, that of the "
                f"training sequences {outputs[0]}"
            )
        return data, target

    def _codes(self, y: Any) -> np.ndarray:
        """Targets of validation sequences in the form of those of the training sequences."""
        raise NotImplementedError(f"{type(self).__name__} has no targets")

    def _refuse_others(self, data: Sequences) -> None:
        """DataError for sequences of other variables than those of ``fit``."""
        n_statics = 0 if data.statics is None else data.statics.shape[1]
        if data.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {data.shape[1]} variables per step, but {type(self).__name__} was fitted "
                f"on {self.n_features_in_}"
            )
        if n_statics != self.n_statics_:
            raise DataError(
                f"statics have {n_statics} columns, but {type(self).__name__} was fitted on "
                f"{self.n_statics_}; pass the same statics to fit and predict"
            )
        self._refuse_other_reading(data)

    def _refuse_other_reading(self, data: Sequences) -> None:
        """DataError for other names, or steps of another width, than those of ``fit``."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None and data.variables is not None and list(names) != [*data.variables]:
            raise DataError(
                f"X has the variables {', '.join(data.variables)}, but {type(self).__name__} was "
                f"fitted on {', '.join(names)}, in this order; read_series takes variables="
            )
        reading = getattr(self, "reading_", None)
        if reading is not None and data.reading is not None:
            width, own = reading["step"], data.reading["step"]
            if width != own:
                raise DataError(
                    f"X was read with step={own}, but {type(self).__name__} was fitted on series "
                    f"read with step={width}; read both alike"
                )

    # -- between sequences and the network -------------------------------------------------------

    def _sources(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, rows: Any, valid: Any
    ) -> tuple[Any, Any]:
        if valid is None:
            return self._learn(X, y, weight), None
        part = None if weight is None else weight[rows]
        source = self._learn(X[rows], y[rows], part)
        part = None if weight is None else weight[valid]
        return source, self._series_source(self._prepared(X[valid]), y[valid], part)

    def _learn(self, X: Sequences, y: np.ndarray, weight: np.ndarray | None) -> Any:
        """Learn scaling, treatment and target from training sequences; their source."""
        stored = _stored(X.steps)
        self.scaler_ = Scaler(self.scale).fit_sparse(stored)
        if X.statics is not None:
            self.static_scaler_ = Scaler("standard").fit(X.statics)
        scaled = self._scaled(X.steps, stored)
        self.treatment_.fit(*scaled, X.lengths)
        self._learn_target(y, weight)
        return self._series_source(self._treated(X, *scaled), y, weight)

    def _series_source(self, data: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        from nanwise.estimators.series.sources import SeriesSource

        return SeriesSource(data, self._target_tensor(y), weight, self._plan().precision)

    def _prepared(self, X: Sequences) -> Any:
        """Sequences as the network takes them."""
        return self._treated(X, *self._scaled(X.steps, _stored(X.steps)))

    def _treated(self, X: Sequences, values: np.ndarray, observed: np.ndarray) -> Any:
        from nanwise.estimators.series.sources import Prepared

        values, observed = self.treatment_.prepare(values, observed, X.lengths)
        return Prepared(values, observed, X.lengths, self._static_features(X.statics))

    def _scaled(self, steps: np.ndarray, stored: Any) -> tuple[np.ndarray, np.ndarray]:
        """Scaled values in the precision of training, 0 in gaps, and where they are."""
        observed = ~np.isnan(steps)
        values = np.zeros(steps.shape, dtype=self._plan().precision)
        values[observed] = self.scaler_.transform_sparse(stored).data
        return values, observed

    def _static_features(self, statics: np.ndarray | None) -> np.ndarray | None:
        """Scaled statics, 0 in gaps, and beside them 1 where there is a value."""
        if statics is None:
            return None
        observed = ~np.isnan(statics)
        scaled = np.where(observed, self.static_scaler_.transform(statics), 0.0)
        return np.hstack([scaled, observed])

    def _network(self) -> Any:
        from nanwise.nets.series.net import SeriesNet

        encoder = self.treatment_.encoder(self.n_features_in_, self.units, self.cell)
        return SeriesNet(encoder, self.units, 2 * self.n_statics_, self._n_out(), self._loss())

    def _names(self) -> list[str] | None:
        return None

    # -- answering -------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> np.ndarray:
        """Raw outputs (N, K) in float64, computed in the precision of training."""
        import torch

        from nanwise.estimators.series.sources import BLOCK, SeriesInputs

        check_is_fitted(self)
        data = read_sequences(X)
        self._refuse_others(data)
        net = self.net_.eval()
        parts = []
        for start in range(0, len(data), BLOCK):
            block = SeriesInputs(
                self._prepared(data[start : start + BLOCK]), self._plan().precision
            )
            with torch.inference_mode():
                parts.append(net(*block[torch.arange(len(block))]).numpy())
        return np.concatenate(parts).astype(np.float64)

    def set_params(self, **params: Any) -> Any:
        """As in scikit-learn.

        ``plan__lr=...`` also works while ``plan`` is None, ``gaps__power=...`` while ``gaps`` is
        a name.
        """
        given = params.get("gaps", self.gaps)
        if isinstance(given, str) and any(key.startswith("gaps__") for key in params):
            params["gaps"] = resolve(given)
        return super().set_params(**params)

    # -- scikit-learn and saving -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def _check_learnt(self, weights: dict[str, Any]) -> None:
        super()._check_learnt(weights)
        if not isinstance(self.treatment_, SeriesTreatment):
            raise ValueError("treatment_ is not what its name says")
        if self.n_statics_ and not isinstance(self.static_scaler_, Scaler):
            raise ValueError("static_scaler_ is not what its name says")
        if len(getattr(self, "feature_names_in_", ())) not in (0, self.n_features_in_):
            raise ValueError("feature_names_in_ does not name the variables")
        if not _is_reading(getattr(self, "reading_", None)):
            raise ValueError("reading_ is not what its name says")
        refuse_misfit(self._network, weights)


def _is_reading(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and value.keys() == {"step", "end"})


def _stored(steps: np.ndarray) -> Any:
    """The values that are there as CSR: few cells of a series are, and what is not is a gap."""
    observed = ~np.isnan(steps)
    first = np.concatenate([[0], np.cumsum(observed.sum(axis=1))])
    return sp.csr_array((steps[observed], np.nonzero(observed)[1], first), shape=steps.shape)
