"""Tests of certificates: votes on changed texts inside them, and attacks limited to the changes that they cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import remembered
from malaprop.attacks.constraints.edits import MaxWords
from malaprop.attacks.goals.goal import Confident, Untargeted
from malaprop.attacks.ranking.order import LeaveOneOut
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.trial import Trial
from malaprop.core.ask import Steps
from malaprop.core.example import Example
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words
from malaprop.core.victim import Fields, Victim
from malaprop.features.defending.certified_record import Certificate, Challenge, TopCurve
from malaprop.features.defending.certify import Certifier
from malaprop.features.defending.safer import Swaps
from malaprop.features.defending.smooth import Noise, cut_text
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Certifiable:
    """The synonyms that SAFER's certificate allows for a word."""

    noise: Swaps

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        yield from ()  # makes this a generator, as the protocol wants, though it asks nothing
        known, table, strings = self.noise.known.synonyms, trial.origin.table, trial.origin.strings
        return [
            remembered(table, ("certifiable", self, w), w, lambda w=w: known.get(w.lower(), ()))  # type: ignore[misc]
            for w in (strings[s] for s in slots.tolist())
        ]


def within(noise: Noise, attack: Attack) -> Attack:
    """Return an attack within the certificate: on any words by SAFER's synonyms, else `attack` on one word."""
    if isinstance(noise, Swaps):
        return Attack(name="synonyms", candidates=Certifiable(noise=noise), search=Greedy(rank=LeaveOneOut()))
    return replace(attack, name=f"{attack.name}-one-word", constraints=(*attack.constraints, MaxWords(count=1)))


_BLOCK = 64  # changed texts in one vote
_KNOWN = 5000  # the most common words of the texts, from which new words are drawn
_MORE = 20  # times as many copies as made a certificate decide whether it is contradicted
_STRONG = 100  # words with the lowest scores for a label


def challenge(
    certifier: Certifier, victim: Victim, noise: Noise, examples: Sequence[Example], lines: Iterable[Certificate],
    tries: int,
) -> Challenge:  # fmt: skip
    """Change words of `tries` texts, as many as their certificates allow, and vote with as many copies as certified.

    Certified texts take turns. Every other time the new words are those with the lowest scores for the label, where
    the victim reads each word alone.
    """
    by_id = {example.id: tuple(example.fields.values()) for example in examples}
    sure = sorted((line for line in lines if line.radius), key=lambda line: line.id)
    if not sure:
        return Challenge(texts=0, tries=0, flipped=0, contradicted=0)
    words = _common_words(by_id.values())
    against = _words_against(victim, words, {line.prediction for line in sure})
    done = flipped = contradicted = 0
    for start in range(0, tries, _BLOCK):
        table, texts, promised = Words(), [], []
        for number in range(start, min(tries, start + _BLOCK)):
            line = sure[number % len(sure)]
            before = cut_text(by_id[line.id], table)
            fresh = against[line.prediction] if number // len(sure) % 2 else words
            rng = generator(certifier.seed, "try", line.id, str(number))
            after = cut_text(noise.change(before, line.radius or 0, fresh, rng), table)
            distance = noise.distance(before, after)
            if distance is not None and distance <= (line.radius or 0):
                texts.append(after)
                promised.append(line.prediction)
        found = certifier.vote(victim, noise, texts) if texts else []
        done += len(texts)
        for text, label, other in zip(texts, found, promised, strict=True):
            if label != other:
                flipped += 1
                contradicted += _contradicts(certifier, victim, noise, text, other)
    return Challenge(texts=min(len(sure), tries), tries=done, flipped=flipped, contradicted=contradicted)


def _contradicts(certifier: Certifier, victim: Victim, noise: Noise, text: Text, label: int) -> bool:
    """Return whether many more copies vote against a certified label too; near a tie, few may do so by chance."""
    many = replace(certifier, samples=_MORE * certifier.samples)
    return many.vote(victim, noise, [text])[0] != label


def _common_words(texts: Iterable[Fields]) -> list[str]:
    counts = Counter(word for fields in texts for word in cut_text(fields, Words()).strings)
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_KNOWN]]


def _words_against(victim: Victim, words: Sequence[str], labels: Iterable[int]) -> Mapping[int, list[str]]:
    """Return for each label the words to which the victim, reading each alone, gives it the lowest scores."""
    scores = victim.predict([(word,) for word in words])
    return {label: [words[i] for i in np.argsort(scores[:, label], kind="stable")[:_STRONG]] for label in labels}


def limit_words(noise: Noise, attack: Attack, words: int, copies: int) -> Attack:
    """Return the attack limited to so many changed words, each in a way that certificates of this noise cover.

    It searches until another label leads by more than chance explains in a vote of `copies` (two standard deviations):
    a text that turns the vote by chance alone is not a success.
    """
    few = MaxWords(count=words)
    found = replace(attack, stages=tuple(limit_words(noise, stage, words, copies) for stage in attack.stages))
    if isinstance(attack.goal, Untargeted):
        found = replace(found, goal=Confident(floor=min(0.9, 0.5 + copies**-0.5)))
    if isinstance(noise, Swaps):
        return replace(found, candidates=Certifiable(noise=noise), constraints=(few,))
    return replace(found, constraints=(*attack.constraints, few))


def draw_top(
    certifier: Certifier, victim: Victim, noise: Noise, lines: Iterable[Certificate], outcomes: Sequence[Outcome],
    words: int,
) -> TopCurve:  # fmt: skip
    """Return the accuracy under an attack by the number of words that it changed.

    A success counts when it also changes the vote of as many copies as certified the text.
    """
    known = {line.id: line for line in lines}
    inside = flipped = contradicted = 0
    broken: dict[str, int] = {}
    for outcome, after, distance, label in _confirm(certifier, victim, noise, outcomes):
        line = known[outcome.id]
        sure = distance is not None and line.radius is not None and 0 < distance <= line.radius
        inside += sure
        if sure and label != line.prediction:
            flipped += 1
            contradicted += _contradicts(certifier, victim, noise, after, line.prediction)
        if line.right and label != line.label:
            broken[line.id] = distance if distance is not None else words
    right = [line.id for line in known.values() if line.right]
    left = [Rate(sum(broken.get(one, words + 1) > d for one in right), len(known)) for d in range(words + 1)]
    errors = sum(outcome.status == "error" for outcome in outcomes)
    return TopCurve(accuracy=tuple(left), inside=inside, flipped=flipped, contradicted=contradicted, errors=errors)


def _confirm(
    certifier: Certifier, victim: Victim, noise: Noise, outcomes: Sequence[Outcome]
) -> Iterator[tuple[Outcome, Text, int | None, int]]:
    """Yield each attacked text with its number of changed words and the label that `samples` copies vote for."""
    rest = iter([outcome for outcome in outcomes if outcome.adversarial is not None])
    while block := list(islice(rest, _BLOCK)):
        table = Words()
        before = [cut_text(_fields(outcome.original.fields), table) for outcome in block]
        after = [cut_text(_fields(o.adversarial.fields), table) for o in block if o.adversarial is not None]
        labels = certifier.vote(victim, noise, after)
        yield from zip(block, after, map(noise.distance, before, after), labels, strict=True)


def _fields(fields: Mapping[str, str]) -> Fields:
    return tuple(fields.values())
