"""The services an attack can ask, made when first asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from malaprop.core.capability import Capability
from malaprop.core.gradient import WhiteBox
from malaprop.core.insight import OpenBox
from malaprop.core.text import Text
from malaprop.core.victim import Victim
from malaprop.engine.insight import Insight
from malaprop.engine.passes import Passes
from malaprop.engine.service import Batched, Fresh, Scoring, Service


@cache
def _tagger() -> Any:
    from malaprop.assets.tagger import open_tagger

    return open_tagger("light")  # the same tags with and without spaCy installed, at a tenth of its time


@cache
def _encoder(device: str = "cpu") -> Any:
    from malaprop.models.encoder import open_encoder

    return open_encoder(device=device)


@cache
def _language_model() -> Any:
    from malaprop.models.language_model import open_language_model

    return open_language_model()


@cache
def _grammar() -> Any:
    from malaprop.assets.grammar import open_checker

    return open_checker()


def tags(texts: Sequence[Text]) -> list[list[str]]:
    """The part of speech of every slot; each field is read on its own."""
    strings: list[str] = []
    spans: list[list[tuple[int, int]]] = []
    for text in texts:
        rows: list[list[tuple[int, int]]] = [[] for _ in text.names]
        for field, span in zip(text.field_of_slots().tolist(), text.spans(), strict=True):
            rows[field].append(span)
        strings += text.values()
        spans += rows
    found = iter(_tagger().tags(strings, spans))
    return [[tag for _ in text.names for tag in next(found)] for text in texts]


@cache
def shared() -> dict[str, Service]:
    """Services that do not depend on the victim; what they remember serves every run of the process."""
    return {
        "tags": Batched(tags, key=lambda text: (text.values(), tuple(text.spans())), size=lambda text: text.slots),
        "encoder": Batched(lambda texts: _encoder().encode(texts), size=len),
        "language-model": Batched(lambda texts: _language_model().perplexity(texts).tolist(), size=len),
        "grammar": Batched(lambda texts: _grammar().mistakes(texts)),
    }


@cache
def _encoding(device: str) -> Service:
    """The sentence encoder on a GPU; on a CPU it is shared by all."""
    return Batched(lambda texts: _encoder(device).encode(texts), size=len)


def _device(victim: Any) -> str:
    """Where a victim lies, or the one inside it."""
    seen: set[int] = set()  # one that stands for itself would be followed for ever
    while (inner := getattr(victim, "victim", None) or getattr(victim, "defended", None)) is not None:
        if id(inner) in seen:
            break
        seen.add(id(inner))
        victim = inner
    return str(getattr(victim, "device", "cpu"))


def services(victim: Victim) -> dict[str, Service]:
    """All services for attacks on one victim; gradients where it offers them."""
    scoring = Scoring(victim)
    made: dict[str, Service] = {**shared(), "victim": scoring, "verify": Fresh(victim)}
    if (device := _device(victim)).startswith("cuda"):
        made["encoder"] = _encoding(device)
    if Capability.GRADIENTS in victim.offers and (gradients := cast(WhiteBox, victim).gradients) is not None:
        made["gradient"] = Passes(gradients, scoring)
    made.update(_insights(cast(OpenBox, victim), victim.offers, scoring))
    return made


def _insights(victim: OpenBox, offers: frozenset[Capability], scoring: Scoring) -> dict[str, Service]:
    """What the victim shows beside its scores."""
    made: dict[str, Service] = {}
    if Capability.ATTENTION in offers and (attention := victim.attention) is not None:
        made["attention"] = Insight(lambda looks: attention.focus(looks), scoring)
    if Capability.EMBEDDINGS in offers and (embeddings := victim.embeddings) is not None:
        made["embeddings"] = Insight(lambda looks: embeddings.apart(looks), scoring)
    if Capability.PADDING in offers and (padding := victim.padding) is not None:
        made["padding"] = Insight(lambda looks: padding.blanked(looks), scoring)
    return made
