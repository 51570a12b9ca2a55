"""Query a victim with noisy copies of the texts, and with adversarial texts that were found on other victims."""

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
    """For each text, whether the victim is right on it, and on how many of its noisy copies.

    `right` has these numbers for each kind of noise and share of changed words. `changed` is the mean share of words
    that the copies really change.
    """

    draws: int  # copies of a text for each kind and share
    ids: tuple[str, ...]
    clean: tuple[bool, ...]
    right: Mapping[str, tuple[tuple[int, ...], ...]]  # kind: [share][text]
    changed: Mapping[str, tuple[float, ...]]  # kind: [share]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """How many adversarial texts found on another model a victim gets wrong, of those whose originals it gets right."""

    rate: Rate


def classify(victim: Victim, data: Dataset) -> CorrectTexts:
    """Find the texts that the victim classifies correctly; raise if it is no classifier."""
    found = find_correct_texts(victim, data)
    if found.labels == 1:
        raise VictimError(f"{victim.name} gives one number and no labels; malaprop profile needs a classifier")
    return found


def query_noisy_copies(victim: Victim, data: Dataset, *, draws: int, seed: int) -> NoiseAnswers:
    """Query the victim with all texts and their noisy copies, each distinct text once."""
    matched = agree(data, victim)
    assume_labels(victim, matched.labels)
    copies = {
        kind: [[make_copies(example, kind, draw, seed) for draw in range(draws)] for example in matched]
        for kind in KINDS
    }
    made = (copy.fields for texts in copies.values() for each in texts for one in each for copy in one)
    originals = [tuple(example.fields.values()) for example in matched]
    answers = _query(victim, [*originals, *made])
    labels = [example.label for example in matched]
    return NoiseAnswers(
        draws=draws,
        ids=tuple(example.id for example in matched),
        clean=tuple(answers[text] == label for text, label in zip(originals, labels, strict=True)),
        right={kind: _count_right(texts, labels, answers) for kind, texts in copies.items()},
        changed={kind: _average_changed(texts) for kind, texts in copies.items()},
    )


def query_adversarial_texts(
    victim: Victim, data: Dataset, clean: CorrectTexts, outcomes: Iterable[Outcome]
) -> Transferred:
    """Query the victim with the successes in `outcomes` whose originals it classifies correctly."""
    labels = {example.id: example.label for example in agree(data, victim)}
    right = {id for id, fine in zip(clean.ids, clean.right, strict=True) if fine}
    texts = {
        one.id: tuple(one.adversarial.fields.values())
        for one in outcomes
        if one.status == "success" and one.adversarial is not None and one.id in right
    }
    answers = _query(victim, texts.values())
    return Transferred(rate=Rate(sum(answers[text] != labels[id] for id, text in texts.items()), len(texts)))


def _query(victim: Victim, texts: Iterable[Fields]) -> dict[Fields, int]:
    """Return the label that the victim gives to each distinct text."""
    some, answers = list(dict.fromkeys(texts)), dict[Fields, int]()
    for at in range(0, len(some), BLOCK):
        part = some[at : at + BLOCK]
        answers |= zip(part, winners(victim.predict(part)).tolist(), strict=True)
    return answers


Copies = Sequence[Sequence[Sequence[NoisyCopy]]]  # [text][draw][share]


def _count_right(copies: Copies, labels: Sequence[int], answers: Mapping[Fields, int]) -> tuple[tuple[int, ...], ...]:
    """Return [share][text]: how many copies of the text are classified correctly."""
    right = [
        [sum(answers[copy.fields] == label for copy in at_share) for at_share in zip(*draws, strict=True)]
        for draws, label in zip(copies, labels, strict=True)
    ]
    return tuple(zip(*right, strict=True))


def _average_changed(copies: Copies) -> tuple[float, ...]:
    """Return [share]: the mean share of words that the copies change."""
    each = [[copy.changed for copy in one] for draws in copies for one in draws]
    return tuple(round(sum(column) / len(column), 6) for column in zip(*each, strict=True))
