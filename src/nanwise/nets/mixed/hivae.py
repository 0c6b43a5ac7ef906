"""HI-VAE: a mixture prior, and for every attribute its own small part of the decoder."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import gumbel_softmax, one_hot

from nanwise.nets.mixed.importance import ImportanceNet
from nanwise.nets.mixed.latent import Gaussian, standard_log_prob
from nanwise.nets.mixed.layers import Bent
from nanwise.nn.likelihoods import AnyPart, Heads

#: temperature of the relaxed component at the end of training
_COLDEST = 1e-3
#: places of one attribute from which on each attribute is a product of matrices by itself
_MANY = 16


class HIVAENet(ImportanceNet):
    """Component s of a mixture, latent vector z given s, and a short vector y for each attribute.

    p(s) is uniform, p(z | s) normal around a mean of the component, y linear in z; places of the
    heads are linear in the attribute's y and in s, shapes depend on s alone. The encoder gives
    q(s | row) and q(z | row, s); in training s is relaxed.

    Parameters
    ----------
    parts : sequence of Part
    hidden : sequence of int
        Widths of the hidden layers of both encoders; ``()``, as published, makes them linear.
    latent : int
        Width of z.
    components : int
        Number of values of s.
    width : int
        Width of each y.
    particles : int
    activation : str
    """

    def __init__(
        self,
        parts: Sequence[AnyPart],
        *,
        hidden: Sequence[int],
        latent: int,
        components: int = 10,
        width: int = 5,
        particles: int = 100,
        activation: str = "relu",
    ) -> None:
        heads = Heads(parts)
        # one more number chooses the component
        super().__init__(latent + 1, heads.width, particles)
        self.heads, self.components, self.width = heads, components, width
        self.temperature = 1.0
        self.encode_s = Bent.over(heads.n_features, hidden, components, activation)
        self.encode_z = Bent.over(heads.n_features + components, hidden, 2 * latent, activation)
        self.centres = nn.Linear(components, latent)
        self.y = nn.Linear(latent, heads.n_attributes * width)
        self.from_y = nn.Parameter(torch.randn(heads.n_places, width) / math.sqrt(width))
        self.from_s = nn.Linear(components, heads.width, bias=False)
        owner = [a for a, places in enumerate(heads.place_widths) for _ in range(places)]
        self.owner: Tensor
        self.register_buffer("owner", torch.tensor(owner, dtype=torch.long), persistent=False)

    def begin_epoch(self, epoch: int, epochs: int) -> None:
        """Cool the relaxation, linearly over all epochs."""
        self.temperature = max(1 - (epoch - 1) / epochs, _COLDEST)

    def training_step(self, batch: tuple[Tensor, Tensor], phase: str = "main") -> Tensor:
        """Minus the mean evidence lower bound of a row."""
        features, observed = batch
        scores = self.encode_s(features)
        s = gumbel_softmax(scores, tau=self.temperature)
        posterior = self._posterior(features, s)
        raw = self._decode(posterior.at(torch.randn_like(posterior.mean)), s)
        divergence = posterior.divergence(self.centres(s)) + self._divergence_s(scores)
        return -(self.log_observed(raw, features, observed) - divergence).mean()

    def propose(self, features: Tensor, observed: Tensor) -> Tensor:
        """Log probabilities of the components, (N, components)."""
        return self.encode_s(features).log_softmax(-1)

    def weigh(
        self, proposal: Tensor, features: Tensor, observed: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log of p(observed | z, s) p(z | s) p(s) / (q(z | s) q(s)), and the raw outputs at z."""
        place = torch.special.ndtr(noise[..., :1])
        # the even points of all rows are the same, the shares of the components are not
        which = (place > proposal.exp().cumsum(-1)[..., :-1]).sum(-1)
        s = one_hot(which, self.components).to(features.dtype)
        posterior = self._posterior(features.expand((*s.shape[:-1], -1)), s)
        z = posterior.at(noise[..., 1:])
        raw = self._decode(z, s)
        ratio = standard_log_prob(z - self.centres(s)) - posterior.log_prob(z)
        of_s = -math.log(self.components) - (proposal * s).sum(-1)
        return self.log_observed(raw, features, observed) + ratio + of_s, raw

    def _posterior(self, features: Tensor, s: Tensor) -> Gaussian:
        return Gaussian.of(self.encode_z(torch.cat((features, s), -1)))

    def _decode(self, z: Tensor, s: Tensor) -> Tensor:
        places = self._places(self.y(z).unflatten(-1, (-1, self.width)))
        of_s = self.from_s(s)
        n = self.heads.n_places
        return torch.cat((places + of_s[..., :n], of_s[..., n:]), -1)

    def _places(self, y: Tensor) -> Tensor:
        """Each place (…, n_places) from the vector of its attribute, of y (…, A, width)."""
        widths = self.heads.place_widths
        if max(widths, default=0) < _MANY:
            return (y.index_select(-2, self.owner) * self.from_y).sum(-1)
        # a copy of y for each pixel of a picture would be as large as the picture times the width
        own = zip(y.unbind(-2), self.from_y.split(list(widths)), strict=True)
        return torch.cat([mine @ weight.T for mine, weight in own], -1)

    def _divergence_s(self, scores: Tensor) -> Tensor:
        """Of q(s) from the uniform distribution."""
        log_q = scores.log_softmax(-1)
        return (log_q.exp() * log_q).sum(-1) + math.log(self.components)
