"""Attention maps as the page draws them: which word looks at which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from malaprop.core.ask import Steps
from malaprop.core.capability import Capability, check
from malaprop.core.text import Text, Words
from malaprop.features.playground.victim_thread import Make, VictimThread

if TYPE_CHECKING:
    from malaprop.models.inside import Maps, WordAttention

SHOWN = 60  # words of a text whose map is drawn
_HEADS = 12  # more heads than these over all layers are shown as the mean of each layer


def attention_of(desk: VictimThread, fields: Mapping[str, str]) -> Make[dict[str, Any]]:
    """The maps of one text; it asks no service, so it is done between two rounds of the desk."""
    check("the attention map", (Capability.ATTENTION,), desk.name, desk.victim.offers)
    looks: WordAttention = desk.victim.parts[Capability.ATTENTION]

    def steps(table: Words, owner: int) -> Steps[dict[str, Any]]:
        yield from ()  # a generator like its siblings, though it asks nothing
        text = Text.of(fields, table, owner)
        return {"words": text.strings, "maps": name_heads(looks.words(text), text.strings)}

    return steps


def name_heads(maps: Maps, words: list[str]) -> list[dict[str, Any]]:
    """The mean of all first, then every head, or the mean of every layer where there are many."""
    queries = words if maps.shape[2] > 1 else ["the whole text"]
    layers, heads = maps.shape[:2]
    shown = [("all layers", maps.mean((0, 1)))] if layers * heads > 1 else []
    if layers * heads <= _HEADS:
        many = layers * heads > 1
        shown += [
            (f"layer {i + 1}, head {j + 1}" if many else "attention", maps[i, j])
            for i in range(layers)
            for j in range(heads)
        ]
    else:
        shown += [(f"layer {i + 1}, all heads", maps[i].mean(0)) for i in range(layers)]
    return [
        {"name": name, "queries": queries, "weights": np.round(one.astype(np.float64), 3).tolist()}
        for name, one in shown
    ]
