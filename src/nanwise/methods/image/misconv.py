"""Expected activations over what the holes may hold."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nanwise.estimators.image.choice import ready
from nanwise.estimators.image.treatment import ImageTreatment
from nanwise.registry import method
from nanwise.train.checks import number

if TYPE_CHECKING:
    from torch import Tensor, nn

    from nanwise.completion.mfa import MFA


@method(
    "misconv",
    kind="treatment",
    inputs="image",
    tasks=("classification",),
    summary="The first convolution and ReLU answer with their expectation over what a hole may "
    "hold.",
    paper="Przewięźlikowski, Śmieja, Struski, Tabor: MisConv: Convolutional Neural Networks for "
    "Missing Data, WACV 2022",
    when="Holes that are large enough to matter, and pictures alike enough to say what may be in "
    "them. Takes the time to train a density first.",
    space={"marks": [False, True]},
    tiny={"density": "mfa"},
)
class MisConv(ImageTreatment):
    """A density says what the holes may hold; the first layer averages its answer over that.

    See :class:`nanwise.nn.MisConv2d` for the layer.

    Parameters
    ----------
    density : str or imputer of pictures, default="dmfa"
        Its ``complete`` gives the density of a hole. One that was fitted before is used as it is
        (scikit-learn's ``clone`` makes it unfitted again); else a clone learns from the training
        pictures.
    marks : bool, default=False
        Whether one more channel of the convolution says which pixels are known. False is as
        published: the layer cannot tell a known pixel from one that is predicted with certainty.
    joint : bool, default=False
        Whether the density learns on together with the classifier, which needs a DMFA. False is as
        published: it is fixed.
    joint_weight : float, default=1e-3
        What the negative log density of a picture counts beside the loss of the classifier.
    random_state : int or None, default=None
        For a density without a seed of its own.

    Attributes
    ----------
    density_ : imputer
        The fitted one.
    """

    def __init__(
        self,
        density: Any = "dmfa",
        marks: bool = False,
        joint: bool = False,
        joint_weight: float = 1e-3,
        random_state: int | None = None,
    ) -> None:
        self.density = density
        self.marks = marks
        self.joint = joint
        self.joint_weight = joint_weight
        self.random_state = random_state

    def fit(self, X: np.ndarray) -> Self:
        """Fit the density on the same incomplete pictures."""
        number("joint_weight", self.joint_weight, least=0.0)
        self.density_ = ready(self.density, X, self.random_state)
        if not hasattr(self.density_, "complete"):
            raise TypeError(
                f"density must be an imputer of pictures with complete(X), got {self.density!r}"
            )
        if self.joint:
            self._net()
        return self

    def complete(self, X: np.ndarray) -> MFA | None:
        """What the holes may hold; None if the layer finds out by itself."""
        return None if self.joint else self.density_.complete(X)

    def layer(self, channels: int, width: int) -> nn.Module:
        """MisConv, with the network of the density in it if both learn together."""
        from nanwise.nets.image.first import Expected, Joint

        layer = Expected(channels, width, self.marks)
        if not self.joint:
            return layer
        return Joint(layer, copy.deepcopy(self._net()), _own_loss, self.joint_weight)

    def _net(self) -> Any:
        from nanwise.nets.image.dmfa import DMFANet

        net = getattr(self.density_, "net_", None)
        if not isinstance(net, DMFANet):
            raise TypeError(
                "joint=True needs a density that learns by gradients, a DMFAImputer; got "
                f"{type(self.density_).__name__}"
            )
        return net


def _own_loss(net: nn.Module, values: Tensor, observed: Tensor) -> Tensor:
    step: Any = net.training_step
    return step((values, observed))
