"""Searches in the latent space of a generative model."""

from malaprop.core.catalogue import Catalogue

SEARCHES = Catalogue(
    "latent-search",
    {
        "iterative": "malaprop.attacks.latent.iterative:Iterative",
        "hybrid": "malaprop.attacks.latent.shrinking:Shrinking",
        "boundary": "malaprop.attacks.latent.boundary:Boundary",
    },
)

__all__ = ["SEARCHES"]
