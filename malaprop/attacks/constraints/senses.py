"""A constraint on the sense: the replacement means what the word means in its sentence, not in another one.

`Senses` reads the senses of a word as WordNet describes them: how often each occurs, and its gloss.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from malaprop.assets import store
from malaprop.assets.wordnet import PARTS, WordNet, open_wordnet
from malaprop.attacks.candidates.lookup import WORDNET_PART
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.text import Ints

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


def list_used(word: str, part: str) -> tuple[Sense, ...]:
    """Return the senses of a word that are in use, at most six; none for a part of speech that WordNet lacks."""
    found = open_senses().of(word, part)[:_MOST] if part else ()
    return tuple(sense for sense in found if sense.share >= _RARE)


AMBIGUOUS = 4  # a word with this many senses in use is ambiguous
ENCODER = "encoder"  # MiniLM reads the sentences and the glosses, whatever encoder the attack compares texts with
_MOST, _RARE = 6, 0.01  # how many senses of a word are weighed, and the least share of its uses that one has
_SLACK = 1e-4  # an encoder's last digits move with its batch


@dataclass(frozen=True, slots=True, kw_only=True)
class FitsSense:
    """The replacement shares with the word a sense that fits its sentence, by WordNet's senses and a sentence encoder.

    The chance of each sense of the word is its share of the word's uses in WordNet's tagged texts, times
    exp(`weight` x cosine) of the encoder's vectors of the words around it and of the sense's words and gloss. The
    senses that the replacement has, or that are similar to one that it has, must together have at least the chance
    `least`; one of these must be at least the share `own` of the replacement's uses, as nobody reads *crap* as a
    making. `unshared`: a replacement that shares no sense with the word passes and is left to other constraints, as in
    a list of synonyms that WordNet lacks; if not, it is refused. With `alike` it passes where the packaged table of
    synonyms gives it at least that score and it is of another root: *viewer* is no *view*. Insertions beside a word
    pass. `ambiguous`: the least chance of a word with at least four senses in use, such as *way*, *subject* or *short*,
    where that is more than `least`.

    On 552 pairs of 70 words in texts of MR and AG News, of which 159 were read as good, the chance tells good from bad
    with an AUC of .91 (the counts alone: .88); of what passes here 88% are good, and 66% of the good ones pass.
    """

    least: float = 0.3
    ambiguous: float = 0.0
    own: float = 0.03
    weight: float = 18.0
    window: int = 8
    unshared: bool = True
    alike: float = 0.0
    stage: ClassVar[Literal["word"]] = "word"
    language: ClassVar[str] = "en"

    def __post_init__(self) -> None:
        if not all(0 <= share <= 1 for share in (self.least, self.ambiguous, self.own, self.alike)):
            raise SettingError(f"FitsSense needs least, ambiguous, own and alike in [0, 1], got {self}")
        if self.weight < 0 or self.window < 1:
            raise SettingError(f"FitsSense needs weight >= 0 and window >= 1, got {self.weight} and {self.window}")

    def words(self, trial: Trial, slots: Ints, words: Sequence[Ints]) -> Steps[list[Flags]]:
        tags = yield from trial.tags()
        table, here = trial.origin.table, trial.origin.words
        wanted = []  # for each slot the senses of the word that each option has
        for slot, options in zip(slots.tolist(), words, strict=True):
            part = WORDNET_PART.get(tags[slot], "")
            key = ("shared", self.own, self.alike, part)
            known: dict[tuple[int, int], frozenset[int] | None] = table.notes.setdefault(key, {})
            word = int(here[slot])
            for option in options.tolist():
                if (word, option) not in known:
                    known[word, option] = self._compare(table.strings[word], table.strings[option], part)
            wanted.append([known[word, option] for option in options.tolist()])
        chances = yield from self._weigh(trial, slots, tags, wanted)
        return [
            np.asarray([" " in table.strings[w] or self._fits(some, chance) for w, some in pairs], np.bool_)
            for pairs, chance in (
                (zip(options.tolist(), row, strict=True), chance)
                for options, row, chance in zip(words, wanted, chances, strict=True)
            )
        ]

    def _compare(self, word: str, other: str, part: str) -> frozenset[int] | None:
        """Return the senses that the two share; none where they must and do not, None where that does not matter."""
        found = _list_shared(word, other, part, self.own)
        if found is None and self.alike and not _are_alike(word, other, self.alike):
            return frozenset()
        return found

    def _fits(self, shared: frozenset[int] | None, chance: Mapping[int, float]) -> bool:
        if shared is None:
            return self.unshared
        least = max(self.least, self.ambiguous) if len(chance) >= AMBIGUOUS else self.least
        return sum(chance.get(synset, 0.0) for synset in shared) >= least - _SLACK

    def _weigh(
        self, trial: Trial, slots: Ints, tags: Sequence[str], wanted: Sequence[Sequence[frozenset[int] | None]]
    ) -> Steps[list[dict[int, float]]]:
        """Return the chance of each sense of each word; all windows and glosses of the text are encoded together."""

        senses, strings = open_senses(), trial.origin.strings
        listed: list[tuple[Sense, ...]] = []
        for slot, row in zip(slots.tolist(), wanted, strict=True):
            asked = any(row) and tags[slot] in WORDNET_PART
            listed.append(list_used(strings[slot], WORDNET_PART[tags[slot]]) if asked else ())
        shown = {i: self._show(trial, int(slots[i])) for i, some in enumerate(listed) if len(some) > 1}
        glosses = {sense.synset: senses.describe(sense.synset) for i in shown for sense in listed[i]}
        texts = list(dict.fromkeys([*shown.values(), *glosses.values()]))
        vectors = dict(zip(texts, (yield Ask(ENCODER, texts)) if texts else [], strict=True))
        out = []
        for i, some in enumerate(listed):
            shares = np.asarray([sense.share for sense in some], np.float64)
            if i in shown:
                near = np.stack([vectors[glosses[sense.synset]] for sense in some]) @ np.asarray(vectors[shown[i]])
                shares = shares * np.exp(self.weight * (near - near.max()))
            chances = shares / max(shares.sum(), 1e-9)
            out.append({sense.synset: chance for sense, chance in zip(some, chances.tolist(), strict=True)})
        return out

    def _show(self, trial: Trial, slot: int) -> str:
        """Return the word, and the words around it in its field."""
        origin = trial.origin
        fields = origin.field_of_slots()
        near = range(max(0, slot - self.window), min(origin.slots, slot + self.window + 1))
        around = [origin.strings[s] for s in near if fields[s] == fields[slot]]
        return f'the meaning of "{origin.strings[slot]}" in: {" ".join(around)}'


def _list_shared(word: str, other: str, part: str, own: float) -> frozenset[int] | None:
    """Return the word's senses that the other has, or that are similar to one that it has; see FitsSense.own.

    None where the two share no sense in any part of speech, so that this constraint cannot judge them.
    """
    from malaprop.assets.relations import open_relations

    relations, senses = open_relations(), open_senses()
    theirs = {sense.synset: sense.share for sense in (senses.of(other, part) if part else ())}
    shared = {}  # the word's sense to how much of the other's uses it is
    for sense in senses.of(word, part) if part else ():
        near = {sense.synset, *relations.similar_to(sense.synset)} & theirs.keys()
        if near:
            shared[sense.synset] = max(theirs[synset] for synset in near)
    if not shared and set(relations.wordnet.senses(word)).isdisjoint(relations.wordnet.senses(other)):
        return None
    return frozenset(synset for synset, share in shared.items() if share >= own)


def _are_alike(word: str, other: str, floor: float) -> bool:
    """Return whether the table of synonyms gives the two that score, and neither is derived from the other."""
    from malaprop.assets.relations import open_relations
    from malaprop.assets.synonyms import open_synonyms

    relations = open_relations()
    return open_synonyms().score(word, other) >= floor and not relations.share_root(word, other)
