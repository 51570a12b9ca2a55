"""Searches in the latent space of a generative model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import Catalogue, unknown
from malaprop.core.settings import call

if TYPE_CHECKING:
    from malaprop.papers.natural.search.service import LatentSearch

SEARCHES = Catalogue(
    "latent-search",
    {
        "iterative": "malaprop.papers.natural.search.algorithms:Iterative",
        "hybrid": "malaprop.papers.natural.search.algorithms:Shrinking",
        "boundary": "malaprop.papers.natural.search.algorithms:Boundary",
    },
)


def make_search(name: str, settings: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> LatentSearch:
    """Make a search with its settings; those written NAME.setting are for that search alone."""
    own = dict(defaults or {})
    for key, value in settings.items():
        whose, dot, setting = key.rpartition(".")
        if dot and whose not in SEARCHES:
            raise unknown("latent search", whose, SEARCHES)
        if not dot or whose == name:
            own[setting] = value
    made: LatentSearch = call(SEARCHES[name], own, f"the {name} search")
    return made


__all__ = ["SEARCHES", "make_search"]
