"""DMFA: a network that predicts a mixture of factor analysers for the hole of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nanwise.estimators.image.imputer import ImageImputer
from nanwise.estimators.image.net import PictureNet
from nanwise.registry import method
from nanwise.train.checks import number, one_of, whole
from nanwise.train.plan import Plan

if TYPE_CHECKING:
    from nanwise.completion import MFA
    from nanwise.missing import Observed


@method(
    "dmfa",
    kind="imputer",
    inputs="image",
    summary="A network predicts a mixture of factor analysers for the hole of each picture.",
    paper="Przewięźlikowski, Śmieja, Struski: Estimating conditional density of missing values "
    "using deep Gaussian mixture model, ICONIP 2020",
    when="Holes of any shape in pictures of one size; some thousand pictures to learn from. What "
    "MisConv takes as the density of a hole.",
    space={"factors": [2, 4, 8], "components": [1, 2], "width": [16, 32]},
    tiny={"factors": 2, "width": 8, "plan": Plan(epochs=2, batch=16)},
)
class DMFAImputer(PictureNet, ImageImputer):
    """Fill holes of pictures from a density that a network predicts for each of them.

    Given the picture and where it is observed, the network says for every pixel a mean, a variance
    and its share in a few factors that move the pixels of a hole together: a mixture of factor
    analysers. It learns from incomplete pictures by hiding a further region of each and raising the
    log density of what was observed there.

    Parameters
    ----------
    components : int, default=1
        Number of factor analysers in the mixture.
    factors : int, default=4
        Factors of each.
    net : {"skip", "linear", "conv"}, default="skip"
        ``skip``: our own, small and quick; ``linear``: as published for MNIST; ``conv``: as
        published for SVHN and CIFAR-10.
    width : int, default=16
        Channels of the first layers of ``skip`` and ``conv`` (there 32 as published).
    hide : {"auto", "square", "pixels", "others"}, default="auto"
        What is hidden while learning: a square, single pixels, or the hole of another picture.
        ``auto``: single pixels if the holes of the training pictures are scattered, else a square.
    hide_size : float or None, default=None
        Side of the square as a share of the picture's, or share of the pixels. None: 0.5 for a
        square, as published, and 0.25 for pixels.
    amplitude : float, default=0.5
        Entries of the factors are between plus and minus half of it (0.5 and 0.2 as published).
    floor : float, default=1e-4
        Least variance of a pixel, that of two or three grey levels of 256 (1e-10 as published). A
        lower one makes background look more certain than it is: one pixel that is not as ever costs
        a picture thousands of nats, and the terms of the log density, of size 1 / ``floor``, cancel
        in single precision.
    mse : float, default=15.0
        Weight of the squared error of the mean beside the log density (1.0 as published). Factors
        may explain what the mean could have said; the density alone then hardly teaches the mean.
    mse_share : float, default=1.0
        For which share of the epochs it counts, from the first on (0.1 as published).
    plan : Plan or None
        How to train. None stands for ``Plan(epochs=20, batch=64, lr=3e-3, weight_decay=0.01,
        schedule="onecycle", clip=200)``.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState or None

    Attributes
    ----------
    shape_ : tuple
        (C, H, W) of a picture.
    net_ : DMFANet
        Trained: ``net_(values, observed)`` is the density, with gradients.
    history_ : list of dict
        Losses of the epochs.
    n_iter_ : int
        Number of epochs.

    Notes
    -----
    As published for MNIST: ``net="linear", mse=0, floor=1e-10`` and ``Plan(epochs=20, batch=48,
    lr=4e-5, optimizer="adam", weight_decay=0, schedule=None)``; for SVHN and CIFAR-10:
    ``net="conv", width=32, amplitude=0.2, mse=1, mse_share=0.1`` and 100 epochs. The published
    program sums over components where this one has the density of the mixture.

    Examples
    --------
    >>> import numpy as np
    >>> from nanwise import DMFAImputer, Plan
    >>> X = np.tile(np.linspace(0, 1, 8), (40, 1, 8, 1))
    >>> X[:, :, 2:5, 2:5] = np.nan
    >>> imputer = DMFAImputer(width=4, plan=Plan(epochs=1, batch=20), random_state=0).fit(X)
    >>> imputer.transform(X).shape, imputer.sample(X, 3, random_state=0).shape
    ((40, 1, 8, 8), (3, 40, 1, 8, 8))
    """

    def __init__(
        self,
        components: int = 1,
        factors: int = 4,
        net: str = "skip",
        width: int = 16,
        hide: str = "auto",
        hide_size: float | None = None,
        amplitude: float = 0.5,
        floor: float = 1e-4,
        mse: float = 15.0,
        mse_share: float = 1.0,
        plan: Plan | None = None,
        device: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.components = components
        self.factors = factors
        self.net = net
        self.width = width
        self.hide = hide
        self.hide_size = hide_size
        self.amplitude = amplitude
        self.floor = floor
        self.mse = mse
        self.mse_share = mse_share
        self.plan = plan
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> None:
        for name in ("components", "factors", "width"):
            whole(name, getattr(self, name))
        one_of("net", self.net, ("skip", "linear", "conv"))
        one_of("hide", self.hide, ("auto", "square", "pixels", "others"))
        number("hide_size", self.hide_size, above=0.0, below=1.0, optional=True)
        number("amplitude", self.amplitude, above=0.0)
        number("floor", self.floor, above=0.0)
        number("mse", self.mse, least=0.0)
        number("mse_share", self.mse_share, least=0.0)
        super()._check_settings()

    def _default_plan(self) -> Plan:
        return Plan(
            epochs=20, batch=64, lr=3e-3, weight_decay=0.01, schedule="onecycle", clip=200.0
        )

    def _network(self, shape: tuple[int, ...]) -> Any:
        from nanwise.nets.image.dmfa import DMFANet

        return DMFANet(
            shape,
            self.components,
            self.factors,
            self.net,
            self.width,
            amplitude=self.amplitude,
            floor=self.floor,
            hide=self.hide,
            hide_size=self.hide_size,
            mse=self.mse,
            mse_share=self.mse_share,
        )

    def _start(self, source: Any) -> None:
        self.net_.begin(source.values, source.observed)

    def _density(self, data: Observed) -> MFA:
        return self.net_(data.values, data.observed)
