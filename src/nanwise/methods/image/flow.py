"""A compact conditional flow over the hole of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nanwise.estimators.image.imputer import ImageImputer
from nanwise.estimators.image.net import PictureNet
from nanwise.registry import method
from nanwise.train.checks import number, one_of, whole
from nanwise.train.plan import Plan

if TYPE_CHECKING:
    import torch

    from nanwise.completion import MFA
    from nanwise.missing import Observed

#: variance of a pixel beside that of the draws, so that the density is one
_FLOOR = 1e-5


@method(
    "flow",
    kind="imputer",
    inputs="image",
    role="rival",
    summary="A conditional normalising flow over the hole of a picture, in the place of ACFlow.",
    paper="after Li, Akbar, Oliva: ACFlow: Flow Models for Arbitrary Conditional Likelihoods, ICML "
    "2020; our own compact network",
    when="Draws that look like pictures are wanted, and time to train is no matter.",
    space={"couplings": [4, 6, 10], "width": [16, 32]},
    tiny={"couplings": 2, "width": 4, "draws": 3, "plan": Plan(epochs=2, batch=16)},
)
class FlowImputer(PictureNet, ImageImputer):
    """Fill holes by a normalising flow that sees the rest of the picture.

    **This is not ACFlow**, whose code cannot be run any more, but a compact stand-in of our own for
    it: affine couplings that move nothing but missing pixels, by what the observed ones say. It is
    of the same family, much smaller, and does not reach its published likelihoods.

    Parameters
    ----------
    couplings : int, default=4
        Number of couplings.
    width : int, default=16
        Channels of the networks in them.
    draws : int, default=16
        Number of draws whose mean fills a hole; also the factors of :meth:`complete`.
    levels : int or None, default=256
        Grey levels of the pictures; None: numbers between 0 and 1 that hardly repeat.
    hide : {"auto", "square", "pixels", "others"}, default="auto"
    hide_size : float or None, default=None
        What is hidden while learning, see :class:`nanwise.DMFAImputer`.
    plan : Plan or None
        How to train. None stands for ``Plan(epochs=20, batch=64, lr=1e-3, weight_decay=1e-4,
        schedule="onecycle", clip=100)``.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState or None

    Attributes
    ----------
    shape_ : tuple
        (C, H, W) of a picture.
    net_ : FlowNet
        Trained.
    history_ : list of dict
        Losses of the epochs.
    n_iter_ : int
        Number of epochs.

    Notes
    -----
    :meth:`transform` uses the same random numbers for every picture, so that the answer depends on
    the picture alone. :meth:`complete` is a single normal density with the mean and covariance of
    these draws. :meth:`log_prob` is that of the flow, in the middle of each grey level.
    """

    def __init__(
        self,
        couplings: int = 4,
        width: int = 16,
        draws: int = 16,
        levels: int | None = 256,
        hide: str = "auto",
        hide_size: float | None = None,
        plan: Plan | None = None,
        device: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.couplings = couplings
        self.width = width
        self.draws = draws
        self.levels = levels
        self.hide = hide
        self.hide_size = hide_size
        self.plan = plan
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> None:
        for name in ("couplings", "width", "draws"):
            whole(name, getattr(self, name))
        whole("levels", self.levels, optional=True)
        one_of("hide", self.hide, ("auto", "square", "pixels", "others"))
        number("hide_size", self.hide_size, above=0.0, below=1.0, optional=True)
        super()._check_settings()

    def _default_plan(self) -> Plan:
        return Plan(
            epochs=20, batch=64, lr=1e-3, weight_decay=1e-4, schedule="onecycle", clip=100.0
        )

    def _network(self, shape: tuple[int, ...]) -> Any:
        from nanwise.nets.image.flow import FlowNet

        own = {"levels": self.levels, "hide": self.hide, "hide_size": self.hide_size}
        return FlowNet(shape, self.couplings, self.width, **own)  # type: ignore[arg-type]

    def _start(self, source: Any) -> None:
        self.net_.begin(source.observed)

    # -- answering -------------------------------------------------------------------------------

    def _mean(self, data: Observed) -> torch.Tensor:
        return self._fixed_draws(data).mean(0)

    def _density(self, data: Observed) -> MFA:
        from nanwise.completion import MFA
        from nanwise.nets.image.flow import moments

        parts = moments(self._fixed_draws(data), _FLOOR)
        return MFA(parts[0].new_ones(len(parts[0]), 1), *parts, data.observed).pin(data)

    def _fixed_draws(self, data: Observed) -> torch.Tensor:
        """Draws (draws, N, C, H, W) from random numbers that are the same for every picture."""
        import torch

        generator = torch.Generator().manual_seed(0)
        z = torch.randn(self.draws, 1, *self.shape_, generator=generator)
        return self._from(data, z.expand(-1, len(data.values), *self.shape_))

    def _draw(self, data: Observed, n: int, generator: torch.Generator) -> torch.Tensor:
        import torch

        return self._from(data, torch.randn(n, *data.values.shape, generator=generator))

    def _from(self, data: Observed, z: torch.Tensor) -> torch.Tensor:
        import torch

        with torch.no_grad():
            return torch.stack([self.net_.draw(data.values, data.observed, one) for one in z])

    def _log_prob(self, data: Observed, truth: Observed) -> torch.Tensor:
        # holes of the truth are in neither set
        return self.net_.score(truth.values, data.observed, truth.observed & ~data.observed)
