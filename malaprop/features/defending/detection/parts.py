"""Split the texts of a detector into those it learns from and those held out to fix its threshold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from malaprop.core.victim import Fields

LEAST = 20  # texts that a threshold is taken from
_LEARNS = 0.75  # share of the texts that a detector learns from
Kind = tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTexts:
    """The texts for fitting a detector: clean ones, adversarial ones made from them, and all of the data."""

    clean: Mapping[str, Fields]  # by the ids of their examples
    attacked: Sequence[tuple[str, Fields]]  # with the ids of the examples that they were made of
    corpus: Sequence[Fields]
    tried: Sequence[Collection[str]] = ()  # of each attack the ids of all examples that it was tried on
    asked: Sequence[str] = ()  # the ids of all examples of the data, those that are answered wrongly, too


@dataclass(frozen=True, slots=True, kw_only=True)
class FitParts:
    """The ids of clean texts in two parts, and other texts, in which words are counted.

    `right` are those of the held-out texts that are among the data, and `wrong` as great a part of the data's texts
    that the victim answers wrongly, from which nothing is learnt. Together they are what its accuracy is taken from.
    """

    learns: Sequence[str]
    held: Sequence[str]
    corpus: Sequence[Fields]
    right: Sequence[str]
    wrong: Sequence[str]


def cut_texts(texts: FitTexts, *, counts: bool) -> FitParts:
    """Both parts, in the order of the texts; `counts`: words are counted in texts of neither."""
    order, corpus = _set_apart(texts) if counts else (list(texts.clean), texts.corpus)
    learns, asked = _choose(texts, order), texts.asked or list(texts.clean)
    held, own = [id for id in order if id not in learns], set(asked)
    wrong = [id for id in asked if id not in texts.clean][:: 1 if len(order) == len(texts.clean) else 2]
    return FitParts(
        learns=[id for id in order if id in learns], held=held, corpus=corpus,
        right=[id for id in held if id in own], wrong=wrong[round(_LEARNS * len(wrong)) :],
    )  # fmt: skip


def _set_apart(texts: FitTexts) -> tuple[list[str], Sequence[Fields]]:
    """The examples that a detector is fitted on, and other texts, in which words are counted.

    In counts that a text is part of, none of its words is unseen; those of texts that come later would look too rare.
    Where there are few other texts, half of the examples are given up for them.
    """
    order, own = list(texts.clean), set(texts.clean.values())
    rest = [fields for fields in texts.corpus if fields not in own]
    if 2 * len(rest) >= len(order):
        return order, rest
    if len(order) < 4 * LEAST:
        return order, texts.corpus
    return order[::2], [*rest, *(texts.clean[id] for id in order[1::2])]


def _choose(texts: FitTexts, order: Sequence[str]) -> set[str]:
    """The first three quarters: of the texts that an attack was tried on as of those that it was not.

    A run on fewer texts of the same seed is one on the first of them, and none of its texts would be held out. Where no
    text that was broken lies on one of the sides, those are cut by themselves, too.
    """
    tried, broken = [set(ids) for ids in texts.tried], {id for id, _ in texts.attacked}

    def tell(ids: Sequence[str]) -> Kind:
        return tuple(not run.isdisjoint(ids) for run in tried)

    learns, there = _take_first(texts.clean, order, tell), broken.intersection(order)
    if there and (there <= learns or there.isdisjoint(learns)):
        return _take_first(texts.clean, order, lambda ids: (not broken.isdisjoint(ids), *tell(ids)))
    return learns


def _take_first(clean: Mapping[str, Fields], order: Sequence[str], tell: Callable[[Sequence[str]], Kind]) -> set[str]:
    """The ids of the first texts of each kind; all ids of a text that occurs several times go with it."""
    same: dict[Fields, list[str]] = {}
    for id in order:
        same.setdefault(clean[id], []).append(id)
    kinds: dict[Kind, list[list[str]]] = {}
    for ids in same.values():
        kinds.setdefault(tell(ids), []).append(ids)
    taken, seen = set[str](), 0
    for kind in sorted(kinds, reverse=True):
        many = round(_LEARNS * (seen + len(kinds[kind]))) - round(_LEARNS * seen)
        taken.update(id for ids in kinds[kind][:many] for id in ids)
        seen += len(kinds[kind])
    return taken
