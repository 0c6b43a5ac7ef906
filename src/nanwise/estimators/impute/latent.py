"""What imputers around an autoencoder or another model with latent variables share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nanwise.estimators.impute.net import NetImputer
from nanwise.estimators.impute.tables import read_cells
from nanwise.train.checks import number, one_of, whole
from nanwise.train.plan import Plan

#: whole numbers and shares among the settings of subclasses
_WHOLE = ("particles", "k", "components", "width", "singles")
_SHARES = ("hide", "warm_up")
#: rows of one step of the default plan
_BATCH = 128
#: rows that are answered at once
_ROWS = 1024


class CodeImputer(NetImputer):
    """Base of imputers whose network squeezes a row through a code; not used by itself.

    A subclass has ``hidden``, ``latent``, ``activation`` and the parameters of
    :class:`nanwise.estimators.impute.net.NetImputer` among its own.
    """

    hidden: Sequence[int]
    latent: int | None
    activation: str

    rows_at_once = _ROWS
    #: steps of training that ``plan=None`` stands for, and the fewest and most epochs these may be
    steps = 2000
    epochs = (5, 400)

    def _check_settings(self) -> None:
        from nanwise.nets.mlp import ACTIVATIONS
        from nanwise.nn.likelihoods import NUMBERS, VARIANCES

        super()._check_settings()
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Sequence):
            raise TypeError(
                f"hidden must be a tuple of widths, as in (64, 64), got {self.hidden!r}"
            )
        for width in self.hidden:
            whole("hidden", width)
        whole("latent", self.latent, optional=True)
        one_of("activation", self.activation, ACTIVATIONS)
        own = self.get_params(deep=False)
        for name in _WHOLE:
            whole(name, own.get(name, 1))
        for name in _SHARES:
            number(name, own.get(name, 0.0), least=0.0, below=1.0)
        one_of("numbers", own.get("numbers", "gaussian"), NUMBERS)
        variance = own.get("variance", "own")
        if isinstance(variance, str):
            one_of("variance", variance, VARIANCES)
        else:
            number("variance", variance, above=0.0)

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.n_rows_ = len(codes)
        super()._learn(codes, seed)

    def _default_plan(self) -> Plan:
        # before fit the number of epochs is not known, and nobody asks
        n_steps = max(getattr(self, "n_rows_", _BATCH) / _BATCH, 1)
        few, many = self.epochs
        return Plan(
            epochs=min(max(round(self.steps / n_steps), few), many),
            batch=_BATCH,
            lr=5e-3,
            weight_decay=0.01,
            clip=5.0,
        )

    def _latent(self, parts: tuple[Any, ...]) -> int:
        """Width of the code; None stands for half of the features, 2 to 16."""
        if self.latent is not None:
            return self.latent
        return min(max(sum(part.width for part in parts) // 2, 2), 16)

    def _own(self, *names: str) -> dict[str, Any]:
        """Settings that go to the network as they are."""
        return {name: getattr(self, name) for name in ("hidden", "activation", *names)}


class LatentImputer(CodeImputer):
    """Base of imputers whose network is a density with latent variables; not used by itself.

    A subclass has ``particles`` among its parameters: the importance samples behind every answer.
    """

    particles: int

    samples = True

    def log_prob(self, X: Any, n_samples: int = 1000) -> np.ndarray:
        """Log density of the observed cells of each row.

        Estimated from ``n_samples`` importance samples, the same for every row; on average too
        small, the less so the more samples there are. Densities of numbers are per unit of the
        table; levels and counts have probabilities.

        Parameters
        ----------
        X : array or DataFrame of shape (n_rows, n_columns)
        n_samples : int, default=1000

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        import torch

        check_is_fitted(self)
        whole("n_samples", n_samples)
        codes = read_cells(self, X, reset=False)[:, self.seen_]
        net, found = self._answering(), np.empty(len(codes))
        for part in self._blocks(len(codes)):
            with torch.inference_mode():
                found[part] = net.log_prob(*self._tensors(codes[part]), n_samples).numpy()
        return found + self.features_.log_units(codes)
