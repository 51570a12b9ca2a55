"""Ask a victim for noisy copies of texts, and for the adversarial texts of another victim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from malaprop.core.errors import VictimError
from malaprop.core.score import winners
from malaprop.core.victim import Fields, Victim
from malaprop.data.base import Dataset
from malaprop.data.matching import agree
from malaprop.features.profile.noise import KINDS, NoisyCopy, make_copies
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.victims import assume_labels
from malaprop.frame.study.shared_tasks import BLOCK, CorrectTexts, find_correct_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseAnswers:
    """Which texts are answered rightly, and by kind of noise and share how many copies of each text are.

    `changed` is the mean share of words that the copies change.
    """

    draws: int  # copies of a text for each kind and share
    ids: tuple[str, ...]
    clean: tuple[bool, ...]
    right: Mapping[str, tuple[tuple[int, ...], ...]]  # kind: [share][text]
    changed: Mapping[str, tuple[float, ...]]  # kind: [share]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """How many adversarial texts of one source a victim gets wrong, of those whose originals it gets right."""

    rate: Rate


def classify(victim: Victim, data: Dataset) -> CorrectTexts:
    """Find the texts that the victim classifies correctly; raise if it is no classifier."""
    found = find_correct_texts(victim, data)
    if found.labels == 1:
        raise VictimError(f"{victim.name} gives one number and no labels; a profile is of classifiers")
    return found


def ask_noise(victim: Victim, data: Dataset, *, draws: int, seed: int) -> NoiseAnswers:
    """Ask the victim for all texts and their noisy copies; of equal texts one is asked."""
    matched = agree(data, victim)
    assume_labels(victim, matched.labels)
    copies = {
        kind: [[make_copies(example, kind, draw, seed) for draw in range(draws)] for example in matched]
        for kind in KINDS
    }
    made = (copy.fields for texts in copies.values() for each in texts for one in each for copy in one)
    originals = [tuple(example.fields.values()) for example in matched]
    said = _ask(victim, [*originals, *made])
    labels = [example.label for example in matched]
    return NoiseAnswers(
        draws=draws,
        ids=tuple(example.id for example in matched),
        clean=tuple(said[text] == label for text, label in zip(originals, labels, strict=True)),
        right={kind: _count_right(texts, labels, said) for kind, texts in copies.items()},
        changed={kind: _average_changed(texts) for kind, texts in copies.items()},
    )


def ask_transferred(victim: Victim, data: Dataset, clean: CorrectTexts, outcomes: Iterable[Outcome]) -> Transferred:
    """Ask the victim for the adversarial texts of a source, where it answers the originals rightly."""
    labels = {example.id: example.label for example in agree(data, victim)}
    right = {id for id, fine in zip(clean.ids, clean.right, strict=True) if fine}
    texts = {
        one.id: tuple(one.adversarial.fields.values())
        for one in outcomes
        if one.status == "success" and one.adversarial is not None and one.id in right
    }
    said = _ask(victim, texts.values())
    return Transferred(rate=Rate(sum(said[text] != labels[id] for id, text in texts.items()), len(texts)))


def _ask(victim: Victim, texts: Iterable[Fields]) -> dict[Fields, int]:
    """Return the label that the victim gives to each distinct text."""
    some, said = list(dict.fromkeys(texts)), dict[Fields, int]()
    for at in range(0, len(some), BLOCK):
        part = some[at : at + BLOCK]
        said |= zip(part, winners(victim.predict(part)).tolist(), strict=True)
    return said


Copies = Sequence[Sequence[Sequence[NoisyCopy]]]  # [text][draw][share]


def _count_right(copies: Copies, labels: Sequence[int], said: Mapping[Fields, int]) -> tuple[tuple[int, ...], ...]:
    """Return [share][text]: how many copies of the text are answered rightly."""
    right = [
        [sum(said[copy.fields] == label for copy in at_share) for at_share in zip(*draws, strict=True)]
        for draws, label in zip(copies, labels, strict=True)
    ]
    return tuple(zip(*right, strict=True))


def _average_changed(copies: Copies) -> tuple[float, ...]:
    """Return [share]: the mean share of words that the copies change."""
    each = [[copy.changed for copy in one] for draws in copies for one in draws]
    return tuple(round(sum(column) / len(column), 6) for column in zip(*each, strict=True))
