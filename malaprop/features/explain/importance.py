"""Computes word importance: how much replacing a word changes the likelihood of the label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.capability import Capability, check
from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.core.score import Floats
from malaprop.core.text import BREAK, Ints, Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.engine.drive import drive
from malaprop.engine.service import Scoring
from malaprop.models.victims.ensemble import log_probabilities

Substitutes = Callable[[str], Iterable[str]]
_AT_ONCE = 8192  # variants of one text in one ask


@dataclass(frozen=True, slots=True)
class Substitute:
    """A substitute for a word, and by how much it lowers the label's log-likelihood."""

    word: str
    importance: float


@dataclass(frozen=True, slots=True)
class WordImportance:
    """A word of the text, the characters after it, and by how much the label's log-likelihood falls without it."""

    word: str
    after: str
    importance: float
    substitutes: tuple[Substitute, ...]  # strongest first


@dataclass(frozen=True, slots=True)
class FieldImportance:
    """A field of the example: the characters before its first word, and its words."""

    name: str
    before: str
    words: tuple[WordImportance, ...]


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance of each word of one text for one label; log-likelihoods are natural logarithms."""

    victim: str
    label: int
    scores: tuple[float, ...]
    log_likelihood: float
    unknown: str  # the word that replaced each word
    asked: int
    fields: tuple[FieldImportance, ...]
    label_name: str = ""  # as the victim calls it, if it has names

    @property
    def words(self) -> tuple[WordImportance, ...]:
        """Return the words of all fields, in their order."""
        return tuple(word for field in self.fields for word in field.words)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """The victim's scores of a text, of each blanked word and of each substitute."""

    text: Text
    words: list[Ints]  # substitutes of each slot
    first: Floats  # [label]
    blanked: Floats  # [slot, label]
    put: Floats  # [substitute, label], slot by slot


def wordnet_substitutes() -> Substitutes:
    """Return a function from a word to the words that share a WordNet synset with it, in the word's case."""
    from malaprop.assets.wordnet import open_wordnet

    wordnet = open_wordnet()
    return lambda word: (recase(other, word) for other in wordnet.synonyms(word.lower()))


def explain(
    victim: Any,
    text: str | Mapping[str, str],
    *,
    label: str | int | None = None,
    substitutes: bool = False,
    device: str = "auto",
    precision: str = "auto",
) -> Importance:
    """Weigh each word of a text by how far a victim's answer falls without it, as `malaprop explain` does.

    `victim` is what `mp.victim` takes, `text` a string or the fields of a pair. `label` is a name or number of the
    victim's, by default the label that it gives. With `substitutes` WordNet synonyms of every word are weighed too.

        found = mp.explain(predict, "a moving, funny film")
        [(one.word, one.importance) for one in found.words]
    """
    from malaprop.frame.runs.victims import victim as open_victim

    opened = open_victim(victim, device=device, precision=precision)
    others = wordnet_substitutes() if substitutes else None
    (found,) = importance(opened, [text], label=label_number(opened, label), substitutes=others)
    return found


def label_number(victim: Victim, given: str | int | None) -> int | None:
    """Return the victim's number of a label, given by name in any case or by number; None if none is given."""
    if not isinstance(given, str):
        return given
    names = victim.label_names
    numbers = {name.casefold(): number for number, name in enumerate(names)}
    if given.strip().casefold() in numbers:
        return numbers[given.strip().casefold()]
    if given.strip().isdecimal():
        return int(given)
    if names:
        known = ", ".join(names)
        raise SettingError(
            f"{victim.name} has the labels {known}; --label takes one of them or a number, got {given!r}"
        )
    raise SettingError(f"{victim.name} has no names for its labels; --label takes a number from 0, got {given!r}")


def importance(
    victim: Victim,
    texts: Sequence[str | Mapping[str, str]],
    *,
    label: int | None = None,
    substitutes: Substitutes | None = None,
    width: int = 64,
) -> list[Importance]:
    """Compute the importance of each word for one label, by default the victim's answer.

    As in appendix C of the universal-transferability paper: a word's importance is the fall of the label's
    log-likelihood when the victim's unknown word replaces it; a substitute's importance is the fall when the substitute
    replaces the word. Scores that are not probabilities go through a softmax first.
    """
    check("explain", (Capability.SCORES,), victim.name, victim.offers)
    table = Words()

    def jobs() -> Iterator[tuple[int, Steps[Importance]]]:
        for owner, source in enumerate(texts):
            yield owner, explain_steps(victim, source, table, owner, label=label, substitutes=substitutes)

    try:
        found = dict(drive(jobs(), {"victim": Scoring(victim)}, width=width))
    except ServiceFailed as failure:
        raise VictimError(str(failure)) from None
    return [found[owner] for owner in range(len(texts))]


def explain_steps(
    victim: Victim,
    source: str | Mapping[str, str],
    table: Words,
    owner: int,
    *,
    label: int | None = None,
    substitutes: Substitutes | None = None,
) -> Steps[Importance]:
    """Explain one text as `importance` does, as steps for callers that drive their own engine."""
    answers = yield from _steps(_cut(source, table, owner), victim.unknown, substitutes)
    return _compute_importance(victim, answers, label)


def _cut(source: str | Mapping[str, str], table: Words, owner: int) -> Text:
    text = Text.of(source, table, owner)
    if not text.slots:
        raise DataError("the text holds no word; give one with at least one letter or digit")
    return text


def _steps(text: Text, unknown: str, substitutes: Substitutes | None) -> Steps[_Answers]:
    table, slots = text.table, np.arange(text.slots)
    others = {word: () if substitutes is None else _list_substitutes(substitutes, word) for word in set(text.strings)}
    words = [table.ids(others[word]) for word in text.strings]
    blanks = Variants(text, slots, np.full(len(slots), table.id(unknown)))
    first, blanked = yield Ask("victim", [Variants.itself(text), blanks])
    every = Variants.each(text, slots, words)
    put: list[Floats] = []
    for at in range(0, every.count, _AT_ONCE):
        end = at + _AT_ONCE
        put += yield Ask("victim", [Variants(text, every.slots[at:end], every.words[at:end])])
    return _Answers(text, words, first[0], blanked, np.concatenate(put) if put else blanked[:0])


def _list_substitutes(substitutes: Substitutes, word: str) -> tuple[str, ...]:
    return tuple(sorted({other for other in substitutes(word) if other and other != word}))


def _compute_importance(victim: Victim, answers: _Answers, label: int | None) -> Importance:
    scores = answers.first
    if label is not None and not 0 <= label < len(scores):
        raise SettingError(f"label must be from 0 to {len(scores) - 1} for {victim.name}, got {label}")
    chosen = int(scores.argmax()) if label is None else label
    before = float(log_probabilities(scores[None])[0, chosen])
    falls = (before - log_probabilities(answers.blanked)[:, chosen]).tolist()
    sizes = [len(words) for words in answers.words]
    put = iter((before - log_probabilities(answers.put)[:, chosen]).tolist()) if sum(sizes) else iter(())
    strings = answers.text.table.strings
    substitutes = [
        tuple(
            sorted((Substitute(strings[w], next(put)) for w in words.tolist()), key=lambda s: (-s.importance, s.word))
        )
        for words in answers.words
    ]
    return Importance(
        victim=victim.name,
        label=chosen,
        scores=tuple(scores.tolist()),
        log_likelihood=before,
        unknown=victim.unknown,
        asked=1 + answers.text.slots + sum(sizes),
        fields=_split_fields(answers.text, falls, substitutes),
        label_name=victim.label_names[chosen] if victim.label_names else "",
    )


def _split_fields(
    text: Text, falls: list[float], substitutes: list[tuple[Substitute, ...]]
) -> tuple[FieldImportance, ...]:
    """Group the words by field; a gap with field breaks ends one field and begins the next, empty fields included."""
    parts = text.joined()
    edges: list[str] = []
    words: list[list[WordImportance]] = []
    for gap, slot in zip(parts[::2], range(-1, text.slots), strict=True):
        own, *others = gap.split(BREAK)
        if slot < 0:
            edges, words = [own], [[]]
        else:
            words[-1].append(WordImportance(parts[2 * slot + 1], own, falls[slot], substitutes[slot]))
        edges += others
        words += [[] for _ in others]
    return tuple(
        FieldImportance(name, edge, tuple(row)) for name, edge, row in zip(text.names, edges, words, strict=True)
    )
