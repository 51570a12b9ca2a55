"""Parts of speech of the slots of a text: by spaCy's model read as data, or by a light tagger of our own."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, Protocol

from malaprop.assets import store
from malaprop.core.errors import AssetError, SettingError

Span = tuple[int, int]
Kind = Literal["auto", "spacy", "light"]


class Tagger(Protocol):
    """Gives each slot of each string a universal part of speech (NOUN, VERB, ADJ, ADV, PROPN, AUX, ...)."""

    def tags(self, strings: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[list[str]]: ...


def same_part(one: str, other: str) -> bool:
    """Whether two tags count as one part of speech: auxiliaries are verbs, and a name is a noun."""
    merged = {"AUX": "VERB", "PROPN": "NOUN"}
    return merged.get(one, one) == merged.get(other, other)


def align(tokens: Sequence[tuple[int, int, str]], spans: Sequence[Span]) -> list[str]:
    """Return for each span the tag of the token that covers most of it, X where none does; both run left to right."""
    found, first = [], 0
    for start, end in spans:
        while first < len(tokens) and tokens[first][1] <= start:
            first += 1
        best, most, at = "X", 0, first
        while at < len(tokens) and tokens[at][0] < end:
            shared = min(end, tokens[at][1]) - max(start, tokens[at][0])
            if shared > most:
                best, most = tokens[at][2], shared
            at += 1
        found.append(best)
    return found


class SpacyTagger:
    """spaCy's en_core_web_md, reduced to tagging. Its scores are bit-identical at any batch size (on a CPU)."""

    def __init__(self, batch: int = 128) -> None:
        import spacy

        folder = store.locate("tagger")
        self._batch = batch
        self._model: Any = spacy.load(folder, exclude=["parser", "ner", "lemmatizer", "senter"])

    def tags(self, strings: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[list[str]]:
        documents = self._model.pipe(strings, batch_size=self._batch)
        read = ([(t.idx, t.idx + len(t.text), t.pos_) for t in document] for document in documents)
        return [align(tokens, slots) for tokens, slots in zip(read, spans, strict=True)]


@cache
def open_tagger(kind: Kind = "auto") -> Tagger:
    """Open a tagger: `spacy`, `light`, or `auto`, which is spaCy where it and its model are available, else light."""
    from malaprop.assets.light_tagger import LightTagger

    if kind not in ("auto", "spacy", "light"):
        raise SettingError(f"a tagger is auto, spacy or light, got {kind!r}")
    if kind == "light":
        return LightTagger()
    try:
        if importlib.util.find_spec("spacy") is None:
            raise AssetError("the tagger `spacy` needs spaCy; install it with: pip install 'malaprop[lexicon]'")
        return SpacyTagger()
    except (AssetError, ImportError):
        if kind == "spacy":
            raise
        return LightTagger()
