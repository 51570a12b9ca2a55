"""Certificates put to the test: changed texts inside them, and what an attack leaves beside what they promise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from malaprop.attacks.attack import Attack
from malaprop.attacks.constraints.edits import MaxWords
from malaprop.core.example import Example
from malaprop.core.seeds import generator
from malaprop.core.text import Words
from malaprop.core.victim import Fields, Victim
from malaprop.defences.certify import Certifier
from malaprop.defences.safer import Swaps
from malaprop.defences.smooth import Noise, cut_text
from malaprop.defences.within import Certifiable
from malaprop.records.certified import Certificate, Challenge, TopCurve
from malaprop.records.outcome import Outcome
from malaprop.records.summary import Rate

_BLOCK = 64  # changed texts that are voted on together
_KNOWN = 5000  # words of the texts that are looked at for those that speak for a label
_STRONG = 100  # words that speak most against a label


def challenge(
    certifier: Certifier, victim: Victim, noise: Noise, examples: Sequence[Example], lines: Iterable[Certificate],
    tries: int,
) -> Challenge:  # fmt: skip
    """Votes on `tries` texts with as many words changed as certificates allow; as many copies vote as certified them.

    Certified texts are taken in turn. Every other time the new words are those that the victim, shown each word alone,
    takes most for another label.
    """
    by_id = {example.id: tuple(example.fields.values()) for example in examples}
    sure = sorted((line for line in lines if line.radius), key=lambda line: line.id)
    if not sure:
        return Challenge(texts=0, tries=0, contradicted=0)
    words = sorted({word for fields in by_id.values() for word in cut_text(fields, Words()).strings})[:_KNOWN]
    against = _words_against(victim, words, {line.prediction for line in sure})
    contradicted, rest = 0, iter(range(tries))
    while block := list(islice(rest, _BLOCK)):
        table, texts = Words(), []
        for number in block:
            line = sure[number % len(sure)]
            text = cut_text(by_id[line.id], table)
            fresh = against[line.prediction] if number // len(sure) % 2 else words
            rng = generator(certifier.seed, "try", line.id, str(number))
            texts.append(cut_text(noise.change(text, line.radius or 0, fresh, rng), table))
        found, _, _ = certifier.count(victim, noise, texts)
        contradicted += sum(
            label != sure[number % len(sure)].prediction for number, label in zip(block, found, strict=True)
        )
    return Challenge(texts=min(len(sure), tries), tries=tries, contradicted=contradicted)


def _words_against(victim: Victim, words: Sequence[str], labels: Iterable[int]) -> Mapping[int, list[str]]:
    """For each label the words that the victim, shown each alone, takes least for it."""
    scores = victim.predict([(word,) for word in words])
    return {label: [words[i] for i in np.argsort(scores[:, label], kind="stable")[:_STRONG]] for label in labels}


def limit_words(noise: Noise, attack: Attack, words: int) -> Attack:
    """The attack with at most so many words changed, each in a way that certificates of this noise speak of."""
    few = MaxWords(count=words)
    if isinstance(noise, Swaps):
        return replace(attack, candidates=Certifiable(noise=noise), constraints=(few,))
    return replace(attack, constraints=(*attack.constraints, few))


def draw_top(
    certifier: Certifier, victim: Victim, noise: Noise, lines: Iterable[Certificate], outcomes: Sequence[Outcome],
    words: int,
) -> TopCurve:  # fmt: skip
    """What an attack leaves of the accuracy by the number of words that it changed.

    A success counts when it also changes the vote of as many copies as certified the text.
    """
    known = {line.id: line for line in lines}
    inside = contradicted = 0
    broken: dict[str, int] = {}
    for outcome, distance, label in _confirm(certifier, victim, noise, outcomes):
        line = known[outcome.id]
        sure = distance is not None and line.radius is not None and 0 < distance <= line.radius
        inside += sure
        contradicted += sure and label != line.prediction
        if line.right and label != line.label:
            broken[line.id] = distance if distance is not None else words
    right = [line.id for line in known.values() if line.right]
    left = [Rate(sum(broken.get(one, words + 1) > d for one in right), len(known)) for d in range(words + 1)]
    errors = sum(outcome.status == "error" for outcome in outcomes)
    return TopCurve(accuracy=tuple(left), inside=inside, contradicted=contradicted, errors=errors)


def _confirm(
    certifier: Certifier, victim: Victim, noise: Noise, outcomes: Sequence[Outcome]
) -> Iterator[tuple[Outcome, int | None, int]]:
    """Each attacked text with the number of its changed words and the label that as many copies vote for."""
    rest = iter([outcome for outcome in outcomes if outcome.adversarial is not None])
    while block := list(islice(rest, _BLOCK)):
        table = Words()
        before = [cut_text(_fields(outcome.original.fields), table) for outcome in block]
        after = [cut_text(_fields(o.adversarial.fields), table) for o in block if o.adversarial is not None]
        labels, _, _ = certifier.count(victim, noise, after)
        yield from zip(block, map(noise.distance, before, after), labels, strict=True)


def _fields(fields: Mapping[str, str]) -> Fields:
    return tuple(fields.values())
