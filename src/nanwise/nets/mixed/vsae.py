"""VSAE, a variational selective autoencoder: data and observed pattern from selected latents.

Model: p(z) p(m | z) Π_i p(x_i | m, z), z standard normal, m the observed pattern. Proposal:
:mod:`nanwise.nets.mixed.vsae_proposal`. Answers: :mod:`nanwise.nets.mixed.vsae_answers`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nanwise.nets.mixed import vsae_answers as answers
from nanwise.nets.mixed.layers import hidden_part
from nanwise.nets.mixed.vsae_decoders import Decoders, log_pattern
from nanwise.nets.mixed.vsae_proposal import Gaussian, Proposal, Sizes, normal
from nanwise.nn.likelihoods import AnyPart

SECOND_PASSES = ("keep", "re-encode")
#: noise of the validation loss: the same in every epoch, so that epochs can be compared
_VALIDATION_SEED = 0


class Terms(NamedTuple):
    """The lower bound of the log density of each row, in its parts.

    Attributes
    ----------
    observed, pattern, divergence : Tensor of shape (K, N)
        Log density of the observed attributes and of the pattern at each of K latents, and what
        the proposal of the latents costs: their divergence from the prior (K = 1), or the log
        ratio of the two densities at the latents.
    generated : Tensor of shape (D, K, N)
        Log density of D generated completions.
    """

    observed: Tensor
    generated: Tensor
    pattern: Tensor
    divergence: Tensor

    def bound(self) -> Tensor:
        """The bound (N,): log of the mean over latents, mean over completions."""
        each = self.observed + self.generated + self.pattern - self.divergence
        return (torch.logsumexp(each, 1) - math.log(each.shape[1])).mean(0)


class VSAENet(nn.Module):
    """Variational selective autoencoder.

    Parameters
    ----------
    parts : sequence of Part
        The attributes.
    sizes : Sizes
        Widths of the networks.
    condition : {"decoded", "observed"}
        What the data decoders see of the pattern.
    activation : {"leaky", "printed"}
        Of the data decoders.
    second_pass : {"keep", "re-encode"}
        After the warm-up: ``keep`` scores generated values under the latents that were selected
        for the row; ``re-encode`` adds the bound of the row completed by them, whose latents come
        from the attributive encoders alone.
    warm_up : int or float
        Epochs without generated values; below 1: their share of all epochs.
    draws : int
        Generated values of a gap in each step; 0: none, and no second pass.
    importance : int
        Latents of a row from which an answer is made.
    effective : float
        Least effective number of these, see :func:`nanwise.nets.mixed.vsae_answers.flatten`.
    bound : int
        Latents of a row in the bound that is maximised; 1 is the evidence lower bound.
    hide : float
        Share of the observed attributes that the proposal does not see in training. They stay in
        the bound, which is one of the same likelihood, by another proposal.
    norm : bool
        Whether hidden layers are normalised over the batch.
    straight : bool
        Whether linear maps run beside the hidden layers of encoders and data decoders.
    numbers, variance
        See :class:`nanwise.nn.likelihoods.Heads`.
    thin : sequence of int
        Attributes about whose values no latent says anything.
    reach : float or None
        How far from 0 a decoded mean of a number may lie; None: anywhere.
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        sizes: Sizes | None = None,
        *,
        condition: str = "decoded",
        activation: str = "leaky",
        second_pass: str = "keep",
        warm_up: float = 0.1,
        draws: int = 10,
        importance: int = 1000,
        effective: float = 0.0,
        bound: int = 1,
        hide: float = 0.0,
        norm: bool = True,
        straight: bool = False,
        numbers: str = "gaussian",
        variance: str | float = "own",
        thin: Sequence[int] = (),
        reach: float | None = None,
    ) -> None:
        super().__init__()
        sizes = Sizes() if sizes is None else sizes
        self.proposal = Proposal(parts, sizes, norm=norm, straight=straight)
        self.decoders = Decoders(
            parts,
            self.proposal.n_latents,
            sizes,
            condition=condition,
            activation=activation,
            norm=norm,
            straight=straight,
            numbers=numbers,
            variance=variance,
            thin=thin,
            reach=reach,
        )
        self.second_pass, self.warm_up = second_pass, warm_up
        self.draws, self.importance, self.bound = draws, importance, bound
        self.effective, self.hide = effective, hide
        self.generating = False

    # -- training --------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int, epochs: int) -> None:
        """Generate values of gaps once the warm-up is over, if any are asked for."""
        last = self.warm_up if self.warm_up >= 1 else self.warm_up * epochs
        self.generating = self.draws > 0 and epoch > last

    def training_step(self, batch: tuple[Tensor, Tensor], phase: str = "main") -> Tensor:
        """Negative mean bound of the batch."""
        features, observed = batch
        shown = hidden_part(observed, self.hide)
        if not self.generating or bool(observed.all()):
            return -self.terms(features, observed, shown=shown).bound().mean()
        generated = self.imagine(features, observed)
        if self.second_pass == "keep":
            return -self.terms(features, observed, generated, shown=shown).bound().mean()
        completed = self.completed_terms(observed, generated).bound().mean()
        return -0.5 * (completed + self.terms(features, observed, shown=shown).bound().mean())

    def validation_step(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Negative bound of what is observed: comparable before and after the warm-up."""
        features, observed = batch
        generator = torch.Generator(features.device).manual_seed(_VALIDATION_SEED)
        bound = self.terms(features, observed, generator=generator).bound()
        return -bound.sum(), torch.tensor(len(features))

    @torch.no_grad()
    def imagine(self, features: Tensor, observed: Tensor) -> Tensor:
        """Features (D, N, F) with gaps drawn from the present model; constants for a step."""
        n = self.draws if self.bound == 1 else self.bound
        z, proposal, noise = self.latents(features, observed, n)
        log_odds, raws = self.decoders(z, observed)
        if self.bound > 1:
            weights = self.decoders.log_prob(raws, features).mul(observed).sum(-1)
            weights = weights + log_pattern(log_odds, observed) + proposal.log_ratio(noise)
            raws = answers.resample(raws, weights, self.draws)
        return self.keep_observed(self.decoders.sample(raws), features, observed)

    def latents(
        self, features: Tensor, observed: Tensor, n: int, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Gaussian, Tensor]:
        """``n`` latents (n, N, Z) of the selective proposal, the proposal and their noise."""
        proposal = self.proposal(features, observed, normal(features.shape, features, generator))
        noise = normal((n, *proposal.mean.shape), features, generator)
        return proposal.at(noise), proposal, noise

    def terms(
        self,
        features: Tensor,
        observed: Tensor,
        generated: Tensor | None = None,
        generator: torch.Generator | None = None,
        shown: Tensor | None = None,
    ) -> Terms:
        """The bound at random latents of the proposal, with ``generated`` (D, N, F) values.

        The proposal sees what is ``shown`` of the observed attributes; None: all.
        """
        shown = observed if shown is None else shown
        z, proposal, noise = self.latents(features, shown, self.bound, generator)
        return self.terms_at(z, self.cost(proposal, noise), features, observed, generated)

    def cost(self, proposal: Gaussian, noise: Tensor) -> Tensor:
        """What latents from the proposal cost, (K, N)."""
        return -proposal.log_ratio(noise) if len(noise) > 1 else proposal.divergence()[None]

    def terms_at(
        self,
        z: Tensor,
        cost: Tensor,
        features: Tensor,
        observed: Tensor,
        generated: Tensor | None = None,
    ) -> Terms:
        """The bound at latents (K, N, Z)."""
        log_odds, raws = self.decoders(z, observed)
        seen = self.decoders.log_prob(raws, features).mul(observed).sum(-1)
        if generated is None:
            unseen = torch.zeros_like(seen)[None]
        else:
            unseen = self.decoders.log_prob(raws, generated[:, None]).mul(~observed).sum(-1)
        return Terms(seen, unseen, log_pattern(log_odds, observed), cost)

    def completed_terms(self, observed: Tensor, generated: Tensor) -> Terms:
        """The bound of rows completed by ``generated``, encoded attribute by attribute."""
        rows, pattern = generated.flatten(0, 1), observed.repeat(len(generated), 1)
        proposal = self.proposal.from_each(rows, torch.ones_like(pattern))
        noise = normal((self.bound, *proposal.mean.shape), rows)
        cost = self.cost(proposal, noise)
        return self.terms_at(proposal.at(noise), cost, rows, pattern, rows[None])

    def keep_observed(self, found: Tensor, features: Tensor, observed: Tensor) -> Tensor:
        """``found`` (…, N, F) in gaps, ``features`` elsewhere."""
        return torch.where(observed[:, self.proposal.feature_owner], features, found)

    # -- answers ---------------------------------------------------------------------------------

    def fill(self, features: Tensor, observed: Tensor) -> Tensor:
        """Expected features (N, F), from latents weighted by their importance."""
        return answers.fill(self, features, observed)

    def draw(
        self, features: Tensor, observed: Tensor, n: int, generator: torch.Generator
    ) -> Tensor:
        """Random completions (n, N, F)."""
        return answers.draw(self, features, observed, n, generator)

    def log_prob(
        self, features: Tensor, observed: Tensor, n: int, generator: torch.Generator
    ) -> Tensor:
        """Log density (N,) of what is observed and of the pattern, from n latents of each row."""
        return answers.log_prob(self, features, observed, n, generator)

    def generate(self, n: int, generator: torch.Generator) -> Tensor:
        """Features (n, F) of new rows."""
        return answers.generate(self, n, generator)
