"""The dependency parse of sentences, by spaCy's model read as data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from malaprop.assets import store
from malaprop.core.ask import Leaf
from malaprop.core.errors import AssetError


class Parser:
    """spaCy's en_core_web_md, reduced to tagging, parsing and lemmas."""

    def __init__(self) -> None:
        import spacy

        self._model: Any = spacy.load(store.locate("parser"), exclude=["ner", "senter"])

    def parse(self, sentences: Sequence[str]) -> list[tuple[Leaf, ...]]:
        """Return the tokens of each sentence."""
        return [
            tuple(Leaf(t.text, bool(t.whitespace_), t.lemma_, t.tag_, t.dep_, t.head.i) for t in document)
            for document in self._model.pipe(sentences)
        ]


@cache
def open_parser() -> Parser | None:
    """Open the parser; None where spaCy or its model is not installed."""
    try:
        return Parser()
    except (AssetError, ImportError):
        return None
