"""A tagger as a victim of every attack of the toolkit: two scores a text, "kept" and "reached".

What an attack on a tagger wants (an entity missed, mislabelled, cut or invented) is computed from the tags and their
scores, so that the searches see a model with two labels. Label 1 wins exactly where the goal is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.score import Flags, Floats
from malaprop.core.text import Ints, Text, Words
from malaprop.features.tagging.entities import Entity, read_entities, split_tag
from malaprop.features.tagging.taggers import Mapped

GOALS = {
    "any": "an entity is no longer found with its exact span and class",
    "missed": "no token of an entity is tagged any more",
    "mislabelled": "an entity is found with its exact span and another class",
    "cut": "an entity is found with its class and another span",
    "invented": "an entity is found that touches none of the true ones",
}
PLACEHOLDER = "_"  # stands for a token that a ranking leaves out, as a sentence must keep its number of tokens
_BELOW = 0.98  # a score that is as near as can be to the goal stays below one that reaches it


@dataclass(frozen=True, slots=True, kw_only=True)
class TagGoal:
    """What is to happen to the entities of a sentence, and to which share of those that the tagger finds at first."""

    kind: str = "any"
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in GOALS:
            raise SettingError(f"--goal takes {', '.join(GOALS)}; got {self.kind!r}")
        if not 0 < self.share <= 1:
            raise SettingError(f"--share must be above 0 and at most 1, got {self.share}")


class Target:
    """The entities of one sentence that an attack aims at, and how near tag scores [text, token, tag] come to it."""

    def __init__(self, goal: TagGoal, tags: Sequence[str], gold: Sequence[str], first: Sequence[str]) -> None:
        self.goal, self.count = goal, len(gold)
        parts = [split_tag(tag) for tag in tags]
        self.kinds = sorted({kind for _, kind in parts if kind})
        self.kind_of = np.asarray([self.kinds.index(kind) if kind else -1 for _, kind in parts])  # [tag]
        self.begins = np.asarray([prefix == "B" for prefix, _ in parts])  # [tag]
        there = read_entities(gold)
        self.inside = np.zeros(len(gold), np.bool_)  # [token]
        for entity in there:
            self.inside[entity.start : entity.end] = True
        found = set(read_entities(first))
        self.aims = [entity for entity in there if entity in found]
        self.already = goal.kind == "invented" and any(not self.inside[e.start : e.end].any() for e in found)

    @property
    def reason(self) -> str:
        """Why there is nothing to attack; empty where there is."""
        if self.goal.kind == "invented":
            return "the tagger invents an entity already" if self.already else ""
        if not self.inside.any():
            return "the sentence has no entity"
        return "" if self.aims else "the tagger finds none of its entities"

    def answer(self, scores: Floats) -> Floats:
        """Return the scores [text, 2] of "kept" and "reached" for tag scores [text, token, tag]."""
        tags = scores.argmax(2)
        kinds, begins = self.kind_of[tags], self.begins[tags]
        if self.goal.kind == "invented":
            broken, near = self._invented(kinds, begins, scores)
            won, total, need = broken.astype(np.int64), np.where(broken, 1.0, _BELOW * near), 1
        else:
            both = [self._entity(entity, kinds, begins, scores) for entity in self.aims]
            won = np.sum([broken for broken, _ in both], axis=0)
            total = np.mean([np.where(broken, 1.0, _BELOW * near) for broken, near in both], axis=0)
            need = ceil(self.goal.share * len(both) - 1e-9)
        reached = np.where(won >= need, 0.5 + 0.5 * np.maximum(total, 0.05), 0.49 * total)
        return np.stack([1 - reached, reached], axis=1).astype(np.float32)

    def _entity(self, entity: Entity, kinds: Ints, begins: Flags, scores: Floats) -> tuple[Flags, NDArray[Any]]:
        """Flag the texts in which the goal is reached for one entity; return how near the others are, from 0 to 1."""
        start, end, own = entity.start, entity.end, self.kinds.index(entity.kind)
        within = scores[:, start:end]
        exact = _is_exact(start, end, own, kinds, begins)
        share = within[:, :, self.kind_of == own].sum(2)
        if self.goal.kind == "missed":
            return np.asarray((kinds[:, start:end] < 0).all(1)), within[:, :, self.kind_of < 0].sum(2).mean(1)
        if self.goal.kind == "mislabelled":
            others = [k for k in range(len(self.kinds)) if k != own]
            if not others:
                return np.zeros(len(scores), np.bool_), np.zeros(len(scores))
            other = np.stack([within[:, :, self.kind_of == k].sum(2).min(1) for k in others])
            return np.any([_is_exact(start, end, k, kinds, begins) for k in others], axis=0), other.max(0)
        near = np.maximum(1 - share.min(1), self._longer(start, end, own, scores))
        if self.goal.kind == "cut":
            return (kinds[:, start:end] == own).any(1) & ~exact, near * share.max(1)
        return ~exact, near

    def _longer(self, start: int, end: int, own: int, scores: Floats) -> NDArray[Any]:
        """Return how likely it is that the entity takes in a token beside it."""
        out = np.zeros(len(scores))
        if start > 0:
            out = np.maximum(out, scores[:, start - 1, self.kind_of == own].sum(1))
        if end < self.count:
            out = np.maximum(out, scores[:, end, (self.kind_of == own) & ~self.begins].sum(1))
        return out

    def _invented(self, kinds: Ints, begins: Flags, scores: Floats) -> tuple[Flags, NDArray[Any]]:
        tagged = kinds >= 0
        goes_on = tagged[:, 1:] & (kinds[:, 1:] == kinds[:, :-1]) & ~begins[:, 1:]  # the entity of the token before
        touching = tagged & self.inside
        for place in range(1, self.count):
            touching[:, place] |= goes_on[:, place - 1] & touching[:, place - 1]
        for place in range(self.count - 2, -1, -1):
            touching[:, place] |= goes_on[:, place] & touching[:, place + 1]
        free = ~self.inside
        near = 1 - scores[:, free][:, :, self.kind_of < 0].sum(2).min(1) if free.any() else np.zeros(len(scores))
        return np.asarray((tagged & ~touching).any(1)), np.asarray(np.clip(near, 0, 1))


def _is_exact(start: int, end: int, own: int, kinds: Ints, begins: Flags) -> Flags:
    """Flag the texts in which these tokens are one entity of this class, and no token beside them belongs to it."""
    fine = (kinds[:, start:end] == own).all(1) & ~begins[:, start + 1 : end].any(1)
    if start > 0:
        fine &= begins[:, start] | (kinds[:, start - 1] != own)
    if end < kinds.shape[1]:
        fine &= begins[:, end] | (kinds[:, end] != own)
    return np.asarray(fine)


def tokens_of(text: Text, count: int, blank: str = "") -> list[str]:
    """Return the tokens of an edited sentence; raise where an edit changed their number.

    A sentence is its tokens with single spaces between them, so a token that an edit empties still has its place. With
    `blank` that word stands there; without it an empty token is an error.
    """
    strings = text.table.strings
    tokens = "".join([strings[i] for i in text.parts.tolist()]).split(" ")
    if len(tokens) != count or not (blank or all(tokens)):
        found = sum(map(bool, tokens))
        raise VictimError(f"an edit changed the number of tokens from {count} to {found}, so tags would not align")
    return [token or blank for token in tokens]


class TaggerVictim:
    """Scores variants of sentences for the engine; `targets` holds the aim of each sentence by its owner."""

    def __init__(self, tagger: Mapped) -> None:
        self.tagger = tagger
        self.targets: dict[int, Target] = {}
        self.plain: dict[int, dict[bytes, tuple[str, ...]]] = {}  # tags of whole sentences, each computed alone

    def classes(self, table: Words) -> None:
        """A tagger may tell all words apart."""

    def begin(self, pool: Pool, wanted: Ints) -> tuple[list[Target], list[Floats]]:
        texts = pool.texts(wanted)
        targets = [self.targets[text.owner] for text in texts]
        sentences = [tokens_of(text, aim.count, PLACEHOLDER) for text, aim in zip(texts, targets, strict=True)]
        return targets, self.tagger.scores(sentences)

    def finish(self, begun: tuple[list[Target], list[Floats]]) -> Floats:
        targets, scores = begun
        out = np.empty((len(targets), 2), np.float32)
        rows: dict[int, list[int]] = {}
        for row, target in enumerate(targets):
            rows.setdefault(id(target), []).append(row)
        for some in rows.values():
            out[some] = targets[some[0]].answer(np.stack([scores[row] for row in some]))
        return out

    def tag(self, text: Text, count: int) -> tuple[str, ...]:
        """Return the tags of one sentence from a query for it alone, and keep them for its record."""
        (tags,) = self.tagger.tag([tokens_of(text, count)])
        if len(tags) != count:
            raise VictimError(f"{self.tagger.name} gave {len(tags)} tags to {count} tokens; expected one a token")
        self.plain.setdefault(text.owner, {})[text.parts.tobytes()] = tuple(tags)
        return tuple(tags)

    def tags_of(self, text: Text | None) -> tuple[str, ...]:
        """Return the kept tags of a sentence; nothing where it was not asked."""
        return () if text is None else self.plain.get(text.owner, {}).get(text.parts.tobytes(), ())

    def forget(self, owner: int) -> None:
        """Drop what is kept of a sentence whose attack has ended."""
        self.targets.pop(owner, None)
        self.plain.pop(owner, None)


class ConfirmingService:
    """Answers "verify": a text is tagged alone, without batch and cache, and its tags say whether the goal is met."""

    def __init__(self, victim: TaggerVictim) -> None:
        self.victim = victim

    def begin(self, asks: Sequence[Sequence[Text]]) -> list[Sequence[Text]]:
        return list(asks)

    def finish(self, pending: list[Sequence[Text]]) -> list[list[Floats]]:
        return [[self._answer(text) for text in ask] for ask in pending]

    def _answer(self, text: Text) -> Floats:
        target, names = self.victim.targets[text.owner], self.victim.tagger.tags
        tags = self.victim.tag(text, target.count)
        scores = np.zeros((1, target.count, len(names)), np.float32)
        for place, tag in enumerate(tags):
            scores[0, place, names.index(tag)] = 1
        return np.asarray(target.answer(scores)[0])
