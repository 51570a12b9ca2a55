"""The senses of a word as WordNet describes them: how often each occurs, and its gloss."""

from __future__ import annotations

from collections import defaultdict
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from malaprop.assets import store
from malaprop.assets.wordnet import PARTS, WordNet, open_wordnet

_FILES = dict(zip(PARTS, ("noun", "verb", "adj", "adv"), strict=True))  # in the order in which synsets are numbered
_KINDS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # of a sense key; 5: an adjective of a cluster
_REMEMBERED = 1 << 16


class Sense(NamedTuple):
    """One sense of a word: the number of its synset, and the share of the word's uses that have it."""

    synset: int
    share: float


class Senses:
    """Tells the senses of a word of one part of speech, with their shares, and describes a synset in words."""

    def __init__(self, wordnet: WordNet, folder: Path) -> None:
        self.wordnet = wordnet
        self._counts = _read_counts(folder / "cntlist.rev")
        self._glosses = [gloss for name in _FILES.values() for gloss in _read_glosses(folder / f"data.{name}")]
        self.of = lru_cache(_REMEMBERED)(self._find)

    def _find(self, word: str, pos: str) -> tuple[Sense, ...]:
        """Return the senses of a word's base forms in that part of speech, the more frequent first.

        A sense counts its uses in WordNet's tagged texts, and half a use more; of senses that were never tagged the
        earlier ones are taken to be more frequent, as WordNet lists them by that.
        """
        found: dict[int, float] = {}
        for base in self.wordnet.bases(word.lower(), pos):
            counts = self._counts.get((base, pos), {})
            for rank, synset in enumerate(self.wordnet.senses_of_base(base, pos), 1):
                found[synset] = found.get(synset, 0.0) + counts.get(rank, 0) + 0.5 / rank
        total = sum(found.values())
        line = sorted(found.items(), key=lambda pair: -pair[1])
        return tuple(Sense(synset, uses / total) for synset, uses in line)

    def describe(self, synset: int) -> str:
        """Return the words of a synset and its gloss, without the examples: *film, movie: a form of entertainment*."""
        names = ", ".join(name.replace("_", " ") for name in self.wordnet.names(synset))
        return f"{names}: {self._glosses[synset]}"


def _read_counts(path: Path) -> dict[tuple[str, str], dict[int, int]]:
    """Read how often each sense of a lemma occurs in WordNet's tagged texts, by the sense's number."""
    found: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        key, number, count = line.split()
        lemma, _, rest = key.partition("%")
        if rest[:1] in _KINDS:
            found[lemma, _KINDS[rest[0]]][int(number)] = int(count)
    return found


def _read_glosses(path: Path) -> list[str]:
    """Read the gloss of each synset of a file, in order, without its examples."""
    glosses = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            if not line.startswith(" ") and line.strip():
                gloss = line.partition(" | ")[2].strip()
                glosses.append(gloss.partition('; "')[0].strip("; "))
    return glosses


@cache
def open_senses() -> Senses:
    """Open the senses of the packaged WordNet, read once a process."""
    return Senses(open_wordnet(), store.locate("wordnet") / "wordnet")
