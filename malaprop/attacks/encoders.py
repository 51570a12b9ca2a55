"""Sentence encoders by name: the service of each, and the least cosine that counts as similar."""

from __future__ import annotations

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError

# The least cosine unless another is given. TextFooler's is an angle of 0.5 to the Universal Sentence Encoder's vectors.
FLOORS = {"minilm": 0.7, "mpnet": 0.7, "use": 0.8776}
ENCODERS = tuple(FLOORS)
MULTILINGUAL = "use"  # the encoder of texts that are not English, whatever encoder the attack names
TOKENS = "encoder/tokens"  # the service that gives the vectors of a text's tokens, by MiniLM


def service_of(encoder: str) -> str:
    """Return the name of an encoder's service; MiniLM's is `encoder` alone."""
    return "encoder" if encoder == "minilm" else f"encoder-{check(encoder)}"


def check(encoder: str) -> str:
    """Return the name of an encoder, or raise where it is unknown."""
    if encoder not in FLOORS:
        raise unknown("sentence encoder", encoder, ENCODERS)
    return encoder


def parse_similarity(asked: float | str | None) -> tuple[str, float | None]:
    """Parse a setting of similarity into encoder and least cosine: 0.8, mpnet, use:0.9, or None for none at all."""
    if asked is None or isinstance(asked, (int, float)):
        return "minilm", asked
    name, colon, floor = str(asked).partition(":")
    check(name)
    try:
        return name, float(floor) if colon else FLOORS[name]
    except ValueError:
        raise SettingError(f"similarity is a cosine, an encoder, or both as mpnet:0.8, got {asked!r}") from None
