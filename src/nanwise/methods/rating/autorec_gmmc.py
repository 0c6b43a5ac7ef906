"""AutoRec with generalised neurons: gaps hold a mixture of normal distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from nanwise.data.ratings import Ratings
from nanwise.gaussian.mixture import fit_standard
from nanwise.methods.rating.autorec_filled import FilledAutoRec
from nanwise.registry import method
from nanwise.train.checks import number, whole
from nanwise.train.plan import Plan

#: what hidden units start near: sigmoid(0), for which AutoRec sets its first weights
_HALF = 0.5


@method(
    "autorec_gmmc",
    kind="recommender",
    inputs="rating",
    role="rival",
    summary="AutoRec whose hidden units are ReLU and give their expected answer over a mixture in "
    "the gaps.",
    paper="Śmieja, Struski, Tabor, Zieliński, Spurek: Processing of missing data by neural "
    "networks, NeurIPS 2018; in AutoRec: Table 7 of Yi, Lee, Kim, Hwang, Yang, ICLR 2020",
    when="To see what generalised neurons do in place of normalising.",
    space={"components": [1, 3], "penalty": [10.0, 20.0, 50.0, 100.0, 200.0]},
    tiny={"hidden": 8, "penalty": 1.0, "components": 2},
    sparse=True,
)
class GmmcAutoRec(FilledAutoRec):
    """Autoencoder ``V · E[relu(W · row + μ)] + b`` of the rows of a matrix of ratings.

    A missing rating is no single value: it holds a mixture of normal distributions, which starts
    from the training ratings (EM over what is observed) and is trained with the network. On the
    way out only observed ratings are asked for, as in :class:`nanwise.AutoRec`.

    Parameters
    ----------
    components : int, default=3
        Number of components of the mixture.
    gamma : float, default=1.0
        Variance added to every rating when a row is assigned to components; trained, this is its
        start.
    by, hidden, penalty, plan, refit, warm_start, cold, device, random_state
        See :class:`nanwise.AutoRec`.

    Attributes
    ----------
    centre_ : ndarray of shape (n_columns,)
        Mean of each column; the network sees deviations from it.
    users_, items_, scale_, mean_, matrix_, net_, history_, n_iter_, best_epoch_
        See :class:`nanwise.AutoRec`.

    Notes
    -----
    Nothing of the size users × items is made. A step takes two sparse products for each component
    where AutoRec takes one.
    """

    # What FilledAutoRec asks of itself: deviations from column means, and no imputer.
    fill = "mean"
    columns = None
    centred = True

    def __init__(
        self,
        components: int = 3,
        gamma: float = 1.0,
        by: str = "item",
        hidden: int = 500,
        penalty: float | tuple[float, float] = 100.0,
        plan: Plan | None = None,
        refit: bool = False,
        warm_start: bool = False,
        cold: str | float = "mean",
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.components = components
        self.gamma = gamma
        self.by = by
        self.hidden = hidden
        self.penalty = penalty
        self.plan = plan
        self.refit = refit
        self.warm_start = warm_start
        self.cold = cold
        self.device = device
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        whole("components", self.components)
        number("gamma", self.gamma, least=0.0)

    def _network(self, n_users: int, n_items: int) -> Any:
        from nanwise.nets.autorec_gmmc import GaussianAutoRecNet

        width = n_users if self.by == "item" else n_items
        if self.centre_.shape != (width,):
            raise ValueError(f"centre_ has shape {self.centre_.shape}, expected ({width},)")
        return GaussianAutoRecNet(width, self.hidden, self.components, self.gamma, *self.ends_)

    def _start(self, net: Any, train: Ratings) -> None:
        import torch

        super()._start(net, train)
        z = self._oriented(train.matrix).astype(np.float64)
        z.data -= self.centre_[z.indices]
        spread = float(z.data.std()) or 1.0
        z.data /= spread
        present = z.copy()
        present.data[:] = 1.0
        found = fit_standard(present, z, self.components).parameters
        with torch.no_grad():
            net.hidden_bias.fill_(_HALF)
            net.logits.copy_(torch.as_tensor(np.log(found.weights)))
            net.means.copy_(torch.as_tensor(found.means.T * spread))
            net.variances.copy_(torch.as_tensor(found.variances.T * spread**2))

    def _sides(self) -> dict[str, str]:
        sides = super()._sides()
        return {**sides, "means": sides["encode"], "variances": sides["encode"]}
