"""VSAE: imputation, generation and densities by a variational selective autoencoder."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nanwise.estimators.impute.generating import GeneratingImputer, seeded_generator
from nanwise.estimators.impute.support import thin_attributes
from nanwise.estimators.impute.tables import read_cells
from nanwise.registry import method
from nanwise.train.checks import number, one_of, whole
from nanwise.train.plan import Plan


@method(
    "vsae",
    kind="imputer",
    inputs="mixed",
    summary="A latent variable model of the data together with the pattern of gaps, in which every "
    "attribute has latents of its own.",
    paper="Gong, Hajimirsadeghi, He, Durand, Mori: Variational Selective Autoencoder: Learning "
    "from Partially-Observed Heterogeneous Data, AISTATS 2021",
    when="Tables of mixed kinds, or several modalities of which whole ones are missing, when draws "
    "and new rows are wanted, or when gaps may depend on the values themselves.",
    space={"latent": [2, 4], "hidden": [64, 128]},
    tiny={"bound": 5, "importance": 50, "plan": Plan(epochs=20, lr=1e-2, weight_decay=0.0)},
)
class VSAEImputer(GeneratingImputer):
    """Variational selective autoencoder.

    Every attribute has latents of its own. Those of an observed attribute are proposed by an
    encoder that sees this attribute alone, those of a missing one by an encoder that sees all that
    is observed of the row and which attributes these are. From all latents one decoder gives the
    probability that an attribute is observed, and others, which see that answer, the distribution
    of every attribute. So gaps that depend on what they hide are part of the model.

    Parameters
    ----------
    latent : int, default=2
        Latents of an attribute.
    vector_latent : int, default=256
        Latents of a vector, such as a picture.
    hidden : int, default=64
        Hidden units of the decoder of the data.
    number_hidden, level_hidden, vector_hidden : int, default=16, 64, 128
        Hidden units of the encoder of a number, of levels and of a vector; the last is also that
        of a vector's decoder.
    collective_hidden : int, default=128
        Hidden units of the encoder that sees all attributes.
    pattern_hidden : int, default=16
        Hidden units of the decoder of the observed pattern.
    layers : int, default=3
        Hidden layers of the encoders.
    condition : {"decoded", "observed"}, default="decoded"
        What the decoders of the data see of the pattern: its decoded probabilities, as published,
        or the pattern itself.
    activation : {"leaky", "printed"}, default="leaky"
        Whether the affine layers of the decoders of the data all have an activation between them,
        or, as the paper prints it, only the first two.
    bound : int, default=20
        Latents of each row in the bound that is maximised. 1 is the evidence lower bound, as
        published; more make it tighter, so that less of the correlation between attributes is lost
        to the form of the proposal, for about twice the time.
    draws : int, default=0
        Values generated for each gap in a step; their likelihood is part of the bound. 100 as
        published, for ``bound=1``. With a tighter bound they teach nothing (see the notes), but
        the few latents that happen to explain them take all of the weight: 0.
    warm_up : int or float, default=0.1
        Epochs before any values are generated; below 1 their share of all epochs.
    second_pass : {"keep", "re-encode"}, default="keep"
        Which latents explain generated values: those proposed for the row (``keep``), or also
        those that the encoders of single attributes propose for the completed row.
    hide : float or None, default=None
        Share of the observed attributes that the encoders do not see in training, a new choice in
        every step. They stay in the bound: so the encoder of what is missing learns from known
        values. None: 0.3 if any attribute is a vector, else 0. Of a picture nearly all of the
        likelihood is in its pixels, and what it tells of another one hardly counts; between columns
        of a table that is not so. 0, as published: all are seen.
    importance : int, default=1000
        Latents of a row of which, weighted by importance, a single answer or a draw is made.
    effective : float, default=20
        Least effective number of latents in an answer, (Σ w)² / Σ w². Where the weights w rest on
        fewer, as of rows with pictures, they are flattened (raised to a power below 1) until they
        do not. 0, as published: never.
    variance : {"shared", "own"} or float, default="shared"
        Variance of numbers given the latents: learnt for each attribute, or for each row and
        attribute, or fixed (on the scale of standardised columns). Of the published network
        nothing but means comes out, which fixes it; intervals of draws are then as wide as that
        number, not as the data.
    numbers : {"gaussian", "student"}, default="gaussian"
        Distribution of numbers given the latents.
    fewest : float, default=20
        Least number of cells that the spread of a column of numbers must rest on, counted as
        (Σ d²)² / Σ d⁴ over the deviations d of its observed cells. Of a column with fewer, and
        fewer than a tenth of its cells, such as one with a single value but for a few rows, the
        latents say nothing: it is filled by its mean. 0, as published: all columns are learnt.
    reach : float or None, default=3.0
        How far from the mean of its column, in standard deviations of the observed cells, the
        expected value of a number given the latents may lie; values farther out count as noise.
        Where nothing is observed, networks answer by extrapolation, and a bound keeps that from
        going far. None, as published: any distance.
    norm : bool, default=True
        Whether hidden layers are normalised over the batch; those of a vector's encoder never are.
    straight : bool, default=True
        Whether linear maps run beside the hidden layers of the encoders and of the decoders of the
        data; the hidden layers then start at 0 and learn what is not linear. Not in the paper.
    kinds : sequence, mapping or None
        What the columns are, see :class:`nanwise.data.attributes.Layout`.
    plan : Plan or None
        How to train. None stands for ``Plan(epochs=200, lr=2e-3, optimizer="adam",
        weight_decay=0.0)``.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
    random_state : int, RandomState or None

    Attributes
    ----------
    net_ : VSAENet
        The trained network.
    history_, n_iter_
        Its training; losses are negative bounds of a row's log density, in standardised units.
    layout_ : Layout
        The attributes.
    thin_ : list of int
        Positions of the attributes about which the latents say nothing.

    Notes
    -----
    :meth:`published` has the settings of the paper. The method is described in US patent
    12,033,083 (Royal Bank of Canada).

    Generated values are draws of the model itself: with exact proposals the gradient of their
    likelihood is 0 on average. What they change is the answer of ``bound=1``, whose proposals are
    far from exact.
    """

    samples = True

    def __init__(
        self,
        latent: int = 2,
        vector_latent: int = 256,
        hidden: int = 64,
        number_hidden: int = 16,
        level_hidden: int = 64,
        vector_hidden: int = 128,
        collective_hidden: int = 128,
        pattern_hidden: int = 16,
        layers: int = 3,
        condition: str = "decoded",
        activation: str = "leaky",
        bound: int = 20,
        draws: int = 0,
        warm_up: float = 0.1,
        second_pass: str = "keep",
        hide: float | None = None,
        importance: int = 1000,
        effective: float = 20,
        variance: str | float = "shared",
        numbers: str = "gaussian",
        fewest: float = 20,
        reach: float | None = 3.0,
        norm: bool = True,
        straight: bool = True,
        kinds: Any = None,
        plan: Plan | None = None,
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.latent = latent
        self.vector_latent = vector_latent
        self.hidden = hidden
        self.number_hidden = number_hidden
        self.level_hidden = level_hidden
        self.vector_hidden = vector_hidden
        self.collective_hidden = collective_hidden
        self.pattern_hidden = pattern_hidden
        self.layers = layers
        self.condition = condition
        self.activation = activation
        self.bound = bound
        self.draws = draws
        self.warm_up = warm_up
        self.second_pass = second_pass
        self.hide = hide
        self.importance = importance
        self.effective = effective
        self.variance = variance
        self.numbers = numbers
        self.fewest = fewest
        self.reach = reach
        self.norm = norm
        self.straight = straight
        self.kinds = kinds
        self.plan = plan
        self.device = device
        self.random_state = random_state

    @classmethod
    def published(cls, **changes: Any) -> Self:
        """An imputer with the paper's settings for tables of numbers, and these changes.

        The paper takes ``lr=1e-2, epochs=2000`` for tables of levels and ``lr=1e-4`` for pictures;
        the share of validation rows is that of its pictures, and batches of 128 are our choice.
        """
        plan = Plan(
            epochs=1000,
            lr=1e-3,
            optimizer="adam",
            weight_decay=0.0,
            schedule=None,
            validation=0.2,
            patience=None,
        )
        paper: dict[str, Any] = {"warm_up": 100, "draws": 100, "bound": 1, "variance": 1.0}
        shape = {"activation": "printed", "straight": False}
        plain = {"hide": 0.0, "fewest": 0, "reach": None, "effective": 0}
        return cls(**paper | shape | plain | {"plan": plan} | changes)

    def log_prob(self, X: Any, n_samples: int = 1000, random_state: Any = 0) -> np.ndarray:
        """Log density of the observed cells of each row, and of which cells are observed.

        Estimated from ``n_samples`` importance samples; too small on average, the less so the more
        samples there are. Densities of numbers are per unit of the table; levels and counts have
        probabilities.

        Parameters
        ----------
        X : array or DataFrame of shape (n_rows, n_columns)
        n_samples : int
            Latents of each row.
        random_state : int, RandomState or None
            Seed.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        import torch

        check_is_fitted(self)
        whole("n_samples", n_samples)
        codes = read_cells(self, X, reset=False)[:, self.seen_]
        generator, net = seeded_generator(random_state), self._answering()
        with torch.inference_mode():
            found = net.log_prob(*self._tensors(codes), n_samples, generator).numpy()
        return found + self.features_.log_units(codes)

    # -- parts -----------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        from nanwise.nets.mixed.vsae import SECOND_PASSES
        from nanwise.nets.mixed.vsae_decoders import ACTIVATIONS, CONDITIONS
        from nanwise.nn.likelihoods import NUMBERS, VARIANCES

        super()._check_settings()
        for name in _WHOLE:
            whole(name, getattr(self, name))
        whole("draws", self.draws, least=0)
        number("fewest", self.fewest, least=0.0)
        number("effective", self.effective, least=0.0)
        number("hide", self.hide, least=0.0, below=1.0, optional=True)
        number("reach", self.reach, above=0.0, optional=True)
        one_of("condition", self.condition, CONDITIONS)
        one_of("activation", self.activation, ACTIVATIONS)
        one_of("second_pass", self.second_pass, SECOND_PASSES)
        one_of("numbers", self.numbers, NUMBERS)
        number("warm_up", self.warm_up, least=0.0)
        if isinstance(self.variance, str):
            one_of("variance", self.variance, VARIANCES)
        else:
            number("variance", self.variance, above=0.0)

    def _learn(self, codes: np.ndarray, seed: int) -> None:
        self.thin_ = thin_attributes(self.layout_, codes, self.fewest)
        super()._learn(codes, seed)

    def _default_plan(self) -> Plan:
        return Plan(epochs=200, lr=2e-3, optimizer="adam", weight_decay=0.0)

    def _network(self, parts: tuple[Any, ...]) -> Any:
        from nanwise.nets.mixed.vsae import VSAENet
        from nanwise.nets.mixed.vsae_proposal import Sizes

        sizes = Sizes(
            latent=self.latent,
            vector_latent=self.vector_latent,
            numbers=self.number_hidden,
            levels=self.level_hidden,
            vectors=self.vector_hidden,
            collective=self.collective_hidden,
            decoder=self.hidden,
            pattern=self.pattern_hidden,
            layers=self.layers,
        )
        return VSAENet(
            parts,
            sizes,
            condition=self.condition,
            activation=self.activation,
            second_pass=self.second_pass,
            warm_up=self.warm_up,
            draws=self.draws,
            importance=self.importance,
            effective=self.effective,
            bound=self.bound,
            hide=_hidden(parts) if self.hide is None else self.hide,
            norm=self.norm,
            straight=self.straight,
            numbers=self.numbers,
            variance=self.variance,
            thin=self.thin_,
            reach=self.reach,
        )


def _hidden(parts: tuple[Any, ...]) -> float:
    return _HIDDEN_OF_VECTORS if any(part.kind == "vector" for part in parts) else 0.0


#: chosen on all pairs of MNIST digits, see docs/results/vsae.md
_HIDDEN_OF_VECTORS = 0.3
_WHOLE = (
    "latent",
    "vector_latent",
    "hidden",
    "number_hidden",
    "level_hidden",
    "vector_hidden",
    "collective_hidden",
    "pattern_hidden",
    "layers",
    "bound",
    "importance",
)
