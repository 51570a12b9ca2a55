"""Sentence encoders by name: which service answers for each, and how alike two texts must be."""

from __future__ import annotations

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError

# The least cosine unless another is given. TextFooler's is an angle of 0.5 to the Universal Sentence Encoder's vectors.
FLOORS = {"minilm": 0.7, "mpnet": 0.7, "use": 0.8776}
ENCODERS = tuple(FLOORS)
TOKENS = "encoder/tokens"  # the service that gives the vectors of a text's tokens, by MiniLM


def service_of(encoder: str) -> str:
    """The service that answers for an encoder; MiniLM's has no name behind it."""
    return "encoder" if encoder == "minilm" else f"encoder-{check(encoder)}"


def check(encoder: str) -> str:
    """The name itself, if it is one."""
    if encoder not in FLOORS:
        raise unknown("sentence encoder", encoder, ENCODERS)
    return encoder


def parse_similarity(asked: float | str | None) -> tuple[str, float | None]:
    """Encoder and least cosine of a setting: 0.8, mpnet, use:0.9, or None for no similarity at all."""
    if asked is None or isinstance(asked, (int, float)):
        return "minilm", asked
    name, colon, floor = str(asked).partition(":")
    check(name)
    try:
        return name, float(floor) if colon else FLOORS[name]
    except ValueError:
        raise SettingError(f"similarity is a cosine, an encoder, or both as mpnet:0.8, got {asked!r}") from None
