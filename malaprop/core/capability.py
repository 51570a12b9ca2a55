"""What a victim offers, what an attack needs, and one check with one clear message."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from malaprop.core.errors import CapabilityError


class Capability(StrEnum):
    LABELS = "labels"  # which label wins
    SCORES = "scores"  # a score for every label
    GRADIENTS = "gradients"  # of the loss, at the input embeddings
    ATTENTION = "attention"  # weights from word to word
    EMBEDDINGS = "embeddings"  # the vector that the classifier reads
    STATES = "states"  # of every layer


def check(attack: str, needs: Iterable[Capability], victim: str, offers: Iterable[Capability]) -> None:
    """Raises before the first query if the victim lacks something."""
    missing = sorted(set(needs) - set(offers))
    if missing:
        raise CapabilityError(
            f"{attack} needs {', '.join(missing)}, which {victim} does not offer "
            f"(it offers {', '.join(sorted(offers)) or 'nothing'}); use another victim or an attack that needs less"
        )
