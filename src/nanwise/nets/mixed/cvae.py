"""Conditional variational autoencoder: encoder and decoder know which attributes are observed."""

from __future__ import annotations

from nanwise.nets.mixed.vae import VAENet


class CVAENet(VAENet):
    """As :class:`nanwise.nets.mixed.vae.VAENet`, given the pattern of what is observed.

    The likelihood is conditional on the pattern, so gaps may depend on values that are observed
    or on the latent vector.
    """

    flags = True
