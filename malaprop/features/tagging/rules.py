"""What an attack on a tagger may change: one token stays one token, and entity words stay or keep their class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from malaprop.attacks.attack import Attack, Candidates, Constraint
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, split_parts
from malaprop.core.variants import Variants
from malaprop.features.tagging.entities import read_entities

ENTITIES = ("keep", "same-class")
_CHOICES = 50  # entity words of the same class that are tried for one


@dataclass(frozen=True, slots=True, kw_only=True)
class OneToken:
    """A replacement is one word: nothing is left out, and nothing with a space is put in, so that tags stay aligned."""

    stage: ClassVar[Literal["edit"]] = "edit"

    def edits(self, trial: Trial, variants: Variants) -> Flags:
        strings = trial.origin.table.strings
        ids, place = np.unique(variants.words, return_inverse=True)
        fine = np.asarray([strings[i].split() == [strings[i]] for i in ids.tolist()], np.bool_)[place]
        if variants.rows is None:
            return fine
        out = np.ones(variants.count, np.bool_)
        out[variants.rows[~fine]] = False
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSlots:
    """These slots stay: the words of the true entities."""

    kept: frozenset[int]
    stage: ClassVar[Literal["slot"]] = "slot"

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        del trial
        return np.asarray([slot not in self.kept for slot in slots.tolist()], np.bool_)


Place = tuple[str, str]  # class, and where in an entity a word stands: only, first, later


@dataclass(frozen=True, slots=True, kw_only=True)
class SameClass:
    """Entity words become words of other entities of the class, from the data; `others` gives the other words."""

    others: Candidates
    places: Mapping[int, Place]  # by slot
    lexicon: Mapping[Place, Sequence[str]]
    count: int = _CHOICES

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        free = np.asarray([slot not in self.places for slot in slots.tolist()], np.bool_)
        plain = iter((yield from self.others.words(trial, slots[free])) if free.any() else [])
        return [
            next(plain) if is_free else self._choose(trial, slot)
            for slot, is_free in zip(slots.tolist(), free.tolist(), strict=True)
        ]

    def _choose(self, trial: Trial, slot: int) -> Ints:
        own = trial.origin.strings[slot]
        known = [word for word in self.lexicon.get(self.places[slot], ()) if word != own]
        rng = generator(trial.seed, f"{trial.example.id} {slot}")
        chosen = rng.permutation(len(known))[: self.count].tolist()
        return trial.origin.table.ids(sorted(known[i] for i in chosen))


def token_of_slots(text: Text) -> Ints:
    """Return for each slot the number of its token; tokens are separated by single spaces."""
    strings = text.table.strings
    return np.cumsum([strings[i].count(" ") for i in text.parts[0:-1:2].tolist()], dtype=np.int64)


def read_lexicon(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Mapping[Place, tuple[str, ...]]:
    """Return the words of entities by class and place, from tokens and tags; only tokens that are one word."""
    found: dict[Place, dict[str, None]] = {}
    for tokens, tags in sentences:
        for place, kind in _entity_places(tags).items():
            if split_parts(tokens[place])[::2] == ["", ""]:
                found.setdefault(kind, {})[tokens[place]] = None
    return {kind: tuple(sorted(words)) for kind, words in found.items()}


def _entity_places(tags: Sequence[str]) -> dict[int, Place]:
    out = {}
    for start, end, kind in read_entities(tags):
        for place in range(start, end):
            out[place] = (kind, "only" if end == start + 1 else "first" if place == start else "later")
    return out


def keep_aligned(
    attack: Attack, text: Text, tags: Sequence[str], mode: str, lexicon: Mapping[Place, Sequence[str]]
) -> Attack:
    """Return the attack for one sentence: one token stays one, and words of entities stay or keep their class."""
    places = _entity_places(tags)
    token = token_of_slots(text).tolist()
    single = {place for place in places if token.count(place) == 1}
    swapped = single if mode == "same-class" else set()
    kept = frozenset(slot for slot, place in enumerate(token) if place in places and place not in swapped)
    rules: tuple[Constraint, ...] = (KeepSlots(kept=kept), OneToken())
    of_slots = {slot: places[place] for slot, place in enumerate(token) if place in swapped}

    def swap(candidates: Candidates) -> Candidates:
        return SameClass(others=candidates, places=of_slots, lexicon=lexicon) if of_slots else candidates

    def change(one: Attack) -> Attack:
        back = one.fallback
        return replace(
            one,
            candidates=swap(one.candidates),
            constraints=(*rules, *one.constraints),
            fallback=None if back is None else replace(back, candidates=swap(back.candidates)),
            stages=tuple(map(change, one.stages)),
        )

    return change(attack)


def check_attack(attack: Attack) -> None:
    """Raise on an attack that does not work on tagged sentences."""
    if attack.together is not None:
        raise SettingError(
            f"{attack.name} makes one change for all texts; a tagger's sentences are attacked one by one"
        )
    needed = sorted(str(one) for one in attack.needs if one not in ("scores", "labels"))
    if needed:
        raise SettingError(f"{attack.name} needs {', '.join(needed)}, which taggers do not offer; take pwws or bae")
