"""Makes the packaged table of synonyms from encoders, GloVe and WordNet; `malaprop.assets.synonyms` says how."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from malaprop.assets import store, synonyms
from malaprop.assets.counterfit import vocabulary
from malaprop.assets.download import say
from malaprop.assets.vectors import open_vectors
from malaprop.assets.wordnet import open_wordnet
from malaprop.core.score import Floats
from malaprop.models.encoders.encoder import Encoder, open_encoder

_ASKED = {"use": "{}", "minilm": "the meaning of the word {}"}  # of templates these agree best with held-out synonyms
_AT_ONCE = 4096


def build(path: Path) -> dict[str, float | int | None]:
    """Build the table, write it to a file and return its figures; `python -m malaprop_bench.wordtables` does it."""
    glove, wordnet = open_vectors("glove"), open_wordnet()
    words = synonyms.choose_words(vocabulary(glove.words, wordnet), wordnet)
    encoded = [glove.raw(words)[0], *(encode(name, open_encoder(name), words) for name in _ASKED)]
    return synonyms.build(path, words, encoded, store.locate("vader") / "vader_lexicon.txt")


def encode(name: str, encoder: Encoder, words: Sequence[str]) -> Floats:
    """Return an encoder's vectors of words, each in the encoder's sentence; say now and then how far it is."""
    found = []
    for start in range(0, len(words), _AT_ONCE):
        found.append(encoder.sketch([_ASKED[name].format(word) for word in words[start : start + _AT_ONCE]]))
        say(f"synonyms: {name} has read {min(start + _AT_ONCE, len(words)):,} of {len(words):,} words")
    return np.concatenate(found)
