"""Searches over whole sentences: rewrites put in one after the other, and a second level that begins where they end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from malaprop.attacks.attack import Fetching, Search
from malaprop.attacks.sentences.rewriters import Rewriter
from malaprop.attacks.sentences.style import Sentence, list_sentences, put_sentences
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.alignment import realign
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Scored, ranked
from malaprop.core.text import Text
from malaprop.core.variants import Variants

Choice = Mapping[Sentence, str]  # the rewrite of each changed sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """Queries every rewrite of each sentence alone, then puts them in, the most gainful sentence first.

    At each sentence all its rewrites are queried in the text as it is by then, and the best stays if it gains. With
    `whole` a field is rewritten as one sentence. Rewrites that touch a word that must stay are left out.
    """

    rewriters: tuple[Rewriter, ...]
    whole: bool = False

    def __post_init__(self) -> None:
        if not self.rewriters:
            raise SettingError("Sentences needs at least one rewriter, such as BackTranslation()")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        sentences = list_sentences(trial.origin.fields, trial.example.open, whole=self.whole)
        offers: list[dict[str, None]] = [{} for _ in sentences]
        for rewriter in self.rewriters:
            for mine, made in zip(offers, (yield from rewriter.rewrite(trial, sentences)), strict=True):
                mine.update(dict.fromkeys(made))
        choices = [{one: made} for one, mine in zip(sentences, offers, strict=True) for made in mine]
        asked = yield from _score(trial, space, choices)
        now, chosen, done = start, dict[Sentence, str](), set[Sentence]()
        values = np.asarray([scored.values[0] for _, scored in asked], np.float32)
        reached = np.asarray([scored.reached[0] for _, scored in asked], np.bool_)
        best: dict[Sentence, None] = {}
        for place in ranked(values, reached).tolist():
            best.setdefault(next(iter(asked[place][0])))
        for sentence in best:
            if chosen:
                more = [{**chosen, sentence: made} for made in offers[sentences.index(sentence)]]
                asked = yield from _score(trial, space, more)
            found = yield from _take_best(trial, asked, now)
            if found is not None:
                chosen, now = dict(found[0]), found[1]
                done |= chosen.keys()
            if now.reached:
                break
        return trial.held or start


def _score(trial: Trial, space: Space, choices: Sequence[Choice]) -> Steps[list[tuple[Choice, Scored]]]:
    """Query texts with these rewrites; those that the slots cannot hold, or that touch other slots, are left out."""
    made = [(choice, _write(trial, choice)) for choice in choices]
    open_slots = set(space.slots.tolist())
    some = [
        (choice, text)
        for choice, text in made
        if text is not None and open_slots.issuperset(text.changed(trial.origin).tolist())
    ]
    if not some:
        return []
    scored = yield from trial.score([Variants.itself(text) for _, text in some])
    return [(choice, one) for (choice, _), one in zip(some, scored, strict=True) if len(one.values)]


def _write(trial: Trial, choice: Choice) -> Text | None:
    fields = trial.origin.fields
    named = dict.fromkeys(sentence.field for sentence in choice)
    values = {
        name: put_sentences(fields[name], {one: made for one, made in choice.items() if one.field == name})
        for name in named
    }
    return realign(trial.origin, values)


def _take_best(trial: Trial, asked: Sequence[tuple[Choice, Scored]], now: Held) -> Steps[tuple[Choice, Held] | None]:
    """Return the best of these texts that gains and that every constraint allows; None where none does."""
    values = np.asarray([scored.values[0] for _, scored in asked], np.float32)
    reached = np.asarray([scored.reached[0] for _, scored in asked], np.bool_)
    for place in ranked(values, reached).tolist():
        choice, scored = asked[place]
        (held,) = yield from trial.choose([scored], [now.value])
        if held is not None:
            return choice, held
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FromBest:
    """Another search that begins from the best text that the earlier attack of a chain left, not from the original.

    For attacks that are tried in turn: where rewritten sentences alone do not reach the goal, words of the best of them
    change. The constraints still compare with the original. Where no earlier text gained, it begins from the original.
    """

    of: Search

    def __post_init__(self) -> None:
        if isinstance(self.of, Fetching) and self.of.fetches:
            raise SettingError(f"FromBest takes no search that fetches words as it goes; got {self.of!r}")

    @property
    def fetches(self) -> bool:
        return True  # the words of the original are not what it changes

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:  # noqa: ARG002 - has words of its own
        best = trial.inherited
        text = start.text if best is None else best.text
        seen = trial.reread(text)
        slots = (yield from seen.space(later=True)).slots
        slots = slots[text.words[slots] > 0]  # an empty one has no gap of its own: a word there would touch the next
        words = Space(slots, (yield from seen.options(slots)))
        if not any(map(len, words.words)):
            return trial.held or start
        yield from self.of.steps(trial, start if best is None else best, words)
        return trial.held or start
