"""Makes the packaged table of polarity: people's ratings of words, spread to others by MiniLM and by WordNet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.assets import polarity, store
from malaprop.assets.relations import Relations, open_relations
from malaprop.assets.vectors import open_vectors
from malaprop.assets.wordnet import PARTS, WordNet, open_wordnet
from malaprop.core.score import Floats
from malaprop.models.encoders.encoder import open_encoder

_COMMON = 40_000  # of the most frequent words of GloVe those that WordNet knows get a valence
_NEUTRAL = 6_000  # what VADER's raters left out of these is neutral
_LANDMARKS = 1_500
_SHARE = 0.7  # of the adjectives' lexicon, against the estimate, for words that VADER lacks
# Fitted to ratings that were held out, with all forms of their words: r = .91 where a synonym is rated, .82 elsewhere.
_OF_ESTIMATE, _OF_SYNONYMS, _ALONE = 0.7, 0.5, 1.15


def build(out: Path) -> None:
    """Build the table and write it to a file; `python -m malaprop_bench.wordtables` does it for the package."""
    wordnet = open_wordnet()
    rated = polarity.read_ratings(store.locate("vader") / "vader_lexicon.txt")
    adjectives = polarity.read_adjectives(store.locate("adjectives") / "en-sentiment.xml")
    frequent = [w for w in open_vectors("glove").words[:_COMMON] if w.isascii() and w.isalpha() and wordnet.marks(w)]
    words = list(dict.fromkeys([*rated, *adjectives, *frequent]))
    vectors = open_encoder("minilm").encode([f"it was {word}" for word in words])
    polarity.write(out, spread(words, vectors, rated, adjectives, wordnet, open_relations()))


def spread(
    words: Sequence[str],
    vectors: Floats,
    rated: Mapping[str, float],
    adjectives: Mapping[str, float],
    wordnet: WordNet,
    relations: Relations,
) -> dict[str, float]:
    """Return a valence for each word: its rating, or an estimate from its vector and its rated synonyms.

    `words` are in the order of their frequency behind those that are rated.
    """
    both = [word for word in adjectives if word in rated]
    ours, theirs = (np.asarray([table[word] for word in both]) for table in (rated, adjectives))
    scale = float(ours @ theirs / max(float(theirs @ theirs), 1e-6)) if both else 1.0
    known = {**{word: value * scale for word, value in adjectives.items()}, **rated}
    places = {word: i for i, word in enumerate(words)}
    plain = [word for word in words[len(known) :][:_NEUTRAL] if not _has_rated_base(word, known, wordnet)]
    neutral = frozenset(plain)
    seeds = [*(word for word in words if word in known), *plain]
    estimate = _fit(vectors[[places[word] for word in seeds]], np.asarray([known.get(w, 0.0) for w in seeds]))(vectors)
    found = {}
    for word, value in zip(words, estimate.tolist(), strict=True):
        if word in rated:
            found[word] = rated[word]
        elif word in adjectives:
            found[word] = _SHARE * known[word] + (1 - _SHARE) * value
        elif word in neutral:
            found[word] = _ALONE * value  # frequent words have many senses, and synonyms of all of these
        else:
            near = [known[name] for name in _list_synonyms(word, wordnet, relations) if name in known]
            found[word] = _OF_ESTIMATE * value + _OF_SYNONYMS * float(np.mean(near)) if near else _ALONE * value
    return found


def _has_rated_base(word: str, known: Mapping[str, float], wordnet: WordNet) -> bool:
    return any(base in known for pos in PARTS for base in wordnet.bases(word, pos))


def _list_synonyms(word: str, wordnet: WordNet, relations: Relations) -> set[str]:
    """Return the names in the word's synsets and in those that are similar to them."""
    senses = wordnet.senses(word)
    near = {*senses}.union(*(relations.similar_to(sense) for sense in senses))
    return {name.lower() for sense in near for name in wordnet.names(sense)} - {word}


def _fit(vectors: Floats, values: NDArray[np.float64]) -> Callable[[Floats], NDArray[np.float64]]:
    """Fit ridge regression in the space of a Gaussian kernel, with some of the vectors as landmarks."""
    chosen = np.random.default_rng(0).permutation(len(vectors))[:_LANDMARKS]
    landmarks = vectors[np.sort(chosen)].astype(np.float64)

    def features(some: Floats | NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(-4 * (1 - some.astype(np.float64) @ landmarks.T)))

    seen = features(vectors)
    gram = seen.T @ seen + 0.3 * features(landmarks) + 1e-4 * np.eye(len(landmarks))
    weights = np.linalg.solve(gram, seen.T @ values)
    return lambda some: np.concatenate([features(some[i : i + 4096]) @ weights for i in range(0, len(some), 4096)])
