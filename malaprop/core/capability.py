"""The capabilities of victims (scores, gradients, attention ...) and the check that an attack finds those it needs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from malaprop.core.errors import CapabilityError


class Capability(StrEnum):
    """Something that a victim can answer beyond running a text; attacks name those that they need."""

    LABELS = "labels"  # which label wins
    SCORES = "scores"  # a score for every label
    NUMBER = "number"  # one number a text, as a regression gives
    GRADIENTS = "gradients"  # of the loss, at the input embeddings
    CHARACTERS = "characters"  # gradients of the loss by the characters it reads
    ATTENTION = "attention"  # weights from word to word
    EMBEDDINGS = "embeddings"  # the vector that the classifier reads
    STATES = "states"  # of every layer
    PADDING = "padding"  # scores with a zero vector in a word's place


_INSTEAD = {  # what to use for a capability that is missing
    Capability.SCORES: "hqa, leap, texthoaxer or hlbb, which need labels alone, or another goal: label-only "
    "(--goal label-only) where a victim gives labels alone, moved:BOUND "
    "(--goal moved:0.5) where it gives a number",
    Capability.NUMBER: "another goal: moved:BOUND is for victims that give one number a text",
    Capability.CHARACTERS: "key* or deepwordbug, which need scores alone",
    Capability.GRADIENTS: "textfooler or pwws, which need scores alone",
    Capability.ATTENTION: "gs-gr with --set probe=leave-out, which needs scores alone",
    Capability.EMBEDDINGS: "pwws, or gs-gr with --set probe=leave-out, which need scores alone",
    Capability.PADDING: "the setting probe=leave-out, which needs scores alone",
}


def check(attack: str, needs: Iterable[Capability], victim: str, offers: Iterable[Capability], why: str = "") -> None:
    """Raise `CapabilityError` if the victim lacks a needed capability; `why` is the victim's own reason."""
    missing = sorted(set(needs) - set(offers))
    if missing:
        reason = f", because {why}" if why else ""
        raise CapabilityError(
            f"{attack} needs {', '.join(missing)}, which {victim} does not offer{reason} "
            f"(it offers {', '.join(sorted(offers)) or 'nothing'}); use another victim or {_instead(missing)}"
        )


def _instead(missing: list[Capability]) -> str:
    return next((hint for lack, hint in _INSTEAD.items() if lack in missing), "an attack that needs less")
