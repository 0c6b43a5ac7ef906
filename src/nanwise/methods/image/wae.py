"""Wasserstein autoencoder of pictures with holes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nanwise.errors import DataError
from nanwise.estimators.image.choice import resolve
from nanwise.estimators.image.inputs import read_pictures
from nanwise.estimators.image.net import PictureNet
from nanwise.estimators.image.pictures import blocks
from nanwise.estimators.whole_fit import all_or_nothing
from nanwise.registry import method
from nanwise.train.checks import number, one_of, whole
from nanwise.train.plan import Plan

_AT_ONCE = 256


@method(
    "wae",
    kind="generator",
    inputs="image",
    summary="A Wasserstein autoencoder whose first layer sees holes; new pictures from noise.",
    paper="Tolstikhin, Bousquet, Gelly, Schölkopf: Wasserstein Auto-Encoders, ICLR 2018; "
    "Przewięźlikowski, Śmieja, Struski, Tabor: MisConv, WACV 2022",
    when="Short codes of incomplete pictures are wanted, or new pictures. To fill holes only, DMFA "
    "is simpler and takes a third of the time, and is hardly behind.",
    space={"latent": [10, 20, 64], "adversary": [0.001, 0.01, 0.1]},
    tiny={"gaps": "zero", "latent": 3, "widths": (4, 4, 8), "plan": Plan(epochs=2, batch=16)},
)
class WAE(PictureNet, TransformerMixin, BaseEstimator):
    """Wasserstein autoencoder trained on pictures with holes.

    A picture becomes a short code, the code a whole picture again. A discriminator pulls the codes
    towards a standard normal distribution, so that decoded noise is a new picture. Only known
    pixels count in the error, but the encoder does not see them all: see ``hide``.

    Parameters
    ----------
    gaps : str, ImageTreatment or imputer, default="misconv"
        What stands before the encoder, as in :class:`nanwise.NanImageClassifier`.
    latent : int, default=20
        Length of a code.
    widths : sequence of 3 int, default=(32, 40, 80)
        Channels: first convolution, the others at the full size, those at half the size.
    hidden : sequence of int, default=(64, 64, 64, 64)
        Hidden layers of the discriminator.
    adversary : float, default=0.01
        Weight of the discriminator in the loss of the encoder.
    rate : float, default=0.01
        Learning rate of the discriminator as a share of the encoder's. The paper's text says 0.01;
        1.0 is what its program does, where both share one Adam; codes then come nearer to the
        normal distribution, which new pictures gain from, and reconstructions are worse.
    hide : {"auto", "square", "pixels", "others"} or None, default="auto"
        What the encoder does not see of a picture in a step, besides its holes: a square, single
        pixels, or the hole of another picture; ``auto`` as in :class:`nanwise.DMFAImputer`. What is
        known there counts in the error. None: nothing, as published (see Notes).
    hide_size : float or None, default=None
        Side of the square as a share of the picture's, or share of the pixels. None: 0.5 for a
        square and 0.25 for pixels.
    room : float, default=2e9
        Bytes that may be used to keep the densities of the training pictures, if ``hide`` is None;
        else they change with every step.
    plan : Plan or None
        How to train. None stands for ``Plan(epochs=20, batch=128, lr=4e-4, optimizer="adam",
        weight_decay=0, schedule=None)``, as published.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState or None

    Attributes
    ----------
    shape_ : tuple
        (C, H, W) of a picture.
    treatment_ : ImageTreatment
        The fitted treatment.
    net_ : WAENet
        Trained.
    history_ : list of dict
        Losses of the epochs; ``losses`` has those of both players.
    n_iter_ : int
        Number of epochs.

    Notes
    -----
    As published, ``hide=None``: the error is of known pixels which the encoder sees. What is
    decoded into a hole is then never an error, and the encoder can see where the hole is, so nearly
    anything comes out there. On MNIST with squares (4,000 pictures, half the widths, 625 steps)
    holes are reconstructed with 5.3 dB PSNR, worse than black, but with 10.8 dB if a further square
    is hidden.
    """

    def __init__(
        self,
        gaps: Any = "misconv",
        latent: int = 20,
        widths: Sequence[int] = (32, 40, 80),
        hidden: Sequence[int] = (64, 64, 64, 64),
        adversary: float = 0.01,
        rate: float = 0.01,
        hide: str | None = "auto",
        hide_size: float | None = None,
        room: float = 2e9,
        plan: Plan | None = None,
        device: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.gaps = gaps
        self.latent = latent
        self.widths = widths
        self.hidden = hidden
        self.adversary = adversary
        self.rate = rate
        self.hide = hide
        self.hide_size = hide_size
        self.room = room
        self.plan = plan
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from pictures with holes.

        Parameters
        ----------
        X : array of shape (n_pictures, channels, height, width)
            Floats between 0 and 1; NaN is missing.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._check_settings()
        X = read_pictures(X)
        if len(X) < 2 or np.isnan(X).all():
            raise DataError("WAE needs at least two pictures and some known pixels to learn from")
        self.shape_ = tuple(int(side) for side in X.shape[1:])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        kept, held = self._split(len(X), seed)
        self.treatment_ = resolve(self.gaps, seed).fit(X if held is None else X[kept])
        self._train(*self._parts(X, kept, held), seed)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Codes of pictures, (n_pictures, latent) in float32."""
        check_is_fitted(self)
        X = read_pictures(X, self.shape_)
        return np.concatenate([self._encode(X[part]) for part in blocks(len(X), _AT_ONCE)])

    def inverse_transform(self, codes: Any) -> np.ndarray:
        """Pictures (n, channels, height, width) of codes (n, latent)."""
        import torch

        check_is_fitted(self)
        codes = np.asarray(codes, dtype=np.float32)
        if codes.ndim != 2 or codes.shape[1] != self.latent:
            raise DataError(f"codes must have the shape (n, {self.latent}), got {codes.shape}")
        if not np.isfinite(codes).all():
            first = int(np.argwhere(~np.isfinite(codes))[0, 0])
            raise DataError(f"codes must be finite, got NaN or infinity, first in code {first}")
        with torch.inference_mode():
            parts = [
                self.net_.decode(torch.as_tensor(codes[part])).numpy()
                for part in blocks(len(codes), _AT_ONCE)
            ]
        return np.concatenate(parts) if parts else np.empty((0, *self.shape_), np.float32)

    def reconstruct(self, X: Any, keep: bool = False) -> np.ndarray:
        """Pictures as the autoencoder sees them, without holes.

        Parameters
        ----------
        X : array of shape (n_pictures, channels, height, width)
        keep : bool, default=False
            Whether known pixels stay as they are in ``X``, bit for bit.
        """
        found = self.inverse_transform(self.transform(X))
        if not keep:
            return found
        X = read_pictures(X, self.shape_)
        return np.where(np.isnan(X), found.astype(X.dtype), X)

    def generate(self, n: int = 1, random_state: Any = None) -> np.ndarray:
        """New pictures (n, channels, height, width), decoded from noise."""
        whole("n", n)
        noise = check_random_state(random_state).normal(size=(n, self.latent))
        return self.inverse_transform(noise)

    # -- parts -----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        whole("latent", self.latent)
        for name in ("widths", "hidden"):
            widths = getattr(self, name)
            if not isinstance(widths, Sequence) or (name == "widths" and len(widths) != 3):
                number_of = "three" if name == "widths" else "a sequence of"
                raise ValueError(f"{name} must be {number_of} whole numbers, got {widths!r}")
            for width in widths:
                whole(name, width)
        number("adversary", self.adversary, least=0.0)
        number("rate", self.rate, above=0.0)
        one_of("hide", self.hide, (None, "auto", "square", "pixels", "others"))
        number("hide_size", self.hide_size, above=0.0, below=1.0, optional=True)
        number("room", self.room, least=0.0)
        super()._check_settings()

    def _default_plan(self) -> Plan:
        return Plan(
            epochs=20, batch=128, lr=4e-4, optimizer="adam", weight_decay=0.0, schedule=None
        )

    def _parts(self, X: np.ndarray, kept: np.ndarray, held: np.ndarray | None) -> tuple[Any, Any]:
        """What to train on and what to validate on (None: nothing)."""
        if self.hide is not None:
            return self._hiding(X, kept), None if held is None else self._hiding(X, held, True)
        prepared = self.treatment_.prepare(X)
        source = self._source(prepared, X, kept)
        return source, None if held is None else self._source(prepared, X, held)

    def _hiding(self, X: np.ndarray, rows: np.ndarray, fixed: bool = False) -> Any:
        from nanwise.estimators.image.sources import HidingSource

        precision = self._plan().precision
        return HidingSource(
            X, rows, self.treatment_, str(self.hide), self.hide_size, precision, fixed
        )

    def _source(self, prepared: np.ndarray, X: np.ndarray, rows: np.ndarray) -> Any:
        import torch

        from nanwise.estimators.image.sources import PictureSource

        plan = self._plan()
        truth = torch.as_tensor(X[rows], dtype=getattr(torch, plan.precision))
        return PictureSource(
            prepared, rows, truth, None, self.treatment_.complete, plan.precision, self.room
        )

    def _network(self, shape: tuple[int, ...]) -> Any:
        from nanwise.nets.image.wae import WAENet

        return WAENet(
            self.treatment_.layer(shape[0], self.widths[0]),
            shape,
            self.latent,
            self.widths,
            self.hidden,
            adversary=self.adversary,
            rate=self.rate,
        )

    def _encode(self, X: np.ndarray) -> np.ndarray:
        import torch

        from nanwise.estimators.image.sources import as_type, split

        prepared = self.treatment_.prepare(X)
        density = self.treatment_.complete(prepared)
        asked = None if density is None else as_type(density, torch.float32)
        with torch.inference_mode():
            return self.net_.encode(*split(prepared, torch.float32), asked).numpy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.two_d_array = False
        return tags
