"""Split the texts of a detector into those it learns from and those held out to fix its threshold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from malaprop.core.victim import Fields

LEAST = 20  # the fewest texts that a threshold is fixed on
_LEARNS = 0.75  # share of the texts that a detector learns from
Kind = tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTexts:
    """The texts for fitting a detector: clean ones, adversarial ones made from them, and all of the data."""

    clean: Mapping[str, Fields]  # by the id of the example
    attacked: Sequence[tuple[str, Fields]]  # each with the id of its original
    corpus: Sequence[Fields]
    tried: Sequence[Collection[str]] = ()  # for each attack the ids of all examples that it was tried on
    asked: Sequence[str] = ()  # ids of all examples of the data, also of those that the victim answers wrongly


@dataclass(frozen=True, slots=True, kw_only=True)
class FitParts:
    """The ids of the clean texts to learn from and of those held out, and the texts in which words are counted.

    `right` are the held-out texts that are among the data, `wrong` as large a share of the data's texts that the victim
    answers wrongly (nothing is learnt from those). The victim's accuracy is measured on both together.
    """

    learns: Sequence[str]
    held: Sequence[str]
    corpus: Sequence[Fields]
    right: Sequence[str]
    wrong: Sequence[str]


def cut_texts(texts: FitTexts, *, counts: bool) -> FitParts:
    """Split the texts, in their order, into both parts; with `counts`, words are counted in texts of neither part."""
    order, corpus = _set_apart(texts) if counts else (list(texts.clean), texts.corpus)
    learns, asked = _choose(texts, order), texts.asked or list(texts.clean)
    held, own = [id for id in order if id not in learns], set(asked)
    wrong = [id for id in asked if id not in texts.clean][:: 1 if len(order) == len(texts.clean) else 2]
    return FitParts(
        learns=[id for id in order if id in learns], held=held, corpus=corpus,
        right=[id for id in held if id in own], wrong=wrong[round(_LEARNS * len(wrong)) :],
    )  # fmt: skip


def _set_apart(texts: FitTexts) -> tuple[list[str], Sequence[Fields]]:
    """Return the ids of the examples to fit a detector on, and other texts to count words in.

    A text that was itself counted has no unseen word, so the words of later texts would look too rare. Where there are
    few other texts, half of the examples are used for counting alone.
    """
    order, own = list(texts.clean), set(texts.clean.values())
    rest = [fields for fields in texts.corpus if fields not in own]
    if 2 * len(rest) >= len(order):
        return order, rest
    if len(order) < 4 * LEAST:
        return order, texts.corpus
    return order[::2], [*rest, *(texts.clean[id] for id in order[1::2])]


def _choose(texts: FitTexts, order: Sequence[str]) -> set[str]:
    """Return the ids to learn from: the first three quarters of the attacked texts and of the others, run by run.

    A run on fewer texts of the same seed has the first of them, so without this none of its texts would be held out.
    Where one of the two parts has no text on which an attack succeeded, those texts are split by themselves too.
    """
    tried, broken = [set(ids) for ids in texts.tried], {id for id, _ in texts.attacked}

    def tell(ids: Sequence[str]) -> Kind:
        return tuple(not run.isdisjoint(ids) for run in tried)

    learns, there = _take_first(texts.clean, order, tell), broken.intersection(order)
    if there and (there <= learns or there.isdisjoint(learns)):
        return _take_first(texts.clean, order, lambda ids: (not broken.isdisjoint(ids), *tell(ids)))
    return learns


def _take_first(clean: Mapping[str, Fields], order: Sequence[str], tell: Callable[[Sequence[str]], Kind]) -> set[str]:
    """Return the ids of the first three quarters of each kind of text; the ids of equal texts stay together."""
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
