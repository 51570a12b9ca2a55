"""Attacks on question answering: AddSent, AddAny (Jia and Liang 2017), and recipes on words outside the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from malaprop.assets.lexicon import stop_words
from malaprop.attacks.attack import Attack, Own
from malaprop.attacks.constraints.positions import KeepWords
from malaprop.attacks.ranking.order import LeftToRight
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Flags
from malaprop.core.seeds import generator
from malaprop.core.settings import call
from malaprop.core.text import BREAK, Ints, Text
from malaprop.core.variants import Variants
from malaprop.features.answering.statements import change_words, fake_answer, make_statement, spans_of
from malaprop.frame.runs.make_attack import recipe

_MARKS = ".!?"


def true_answers(trial: Trial) -> list[str]:
    """Return the true answers of the question that is attacked."""
    found: list[str] = json.loads(trial.example.fields["answers"])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAnswers:
    """The true answers stay wherever they stand in the context."""

    stage: ClassVar[Literal["slot"]] = "slot"

    def slots(self, trial: Trial, slots: Ints) -> Flags:
        items = tuple(f"re:(?i){re.escape(answer)}" for answer in true_answers(trial))
        return KeepWords(items=items).slots(trial, slots)


def _append(trial: Trial, slot: int, sentence: str) -> str:
    """Return the last word of the context with a sentence behind it; the context's last mark then ends the sentence."""
    origin = trial.origin
    behind = origin.table.strings[int(origin.parts[2 * slot + 2])].partition(BREAK)[0]
    mark = next((sign for sign in behind if sign in _MARKS), ".")
    return f"{origin.strings[slot]}{mark} {sentence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MisleadingSentences:
    """Sentences that seem to answer the question, behind the context's last word; up to `count` of them."""

    count: int = 5

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SettingError(f"addsent needs a count of at least 1, got {self.count}")

    def words(self, trial: Trial, slots: Ints) -> Steps[list[Ints]]:
        last = int(trial.open()[-1])
        found = yield from self._sentences(trial)
        ids = trial.origin.table.ids(sorted({_append(trial, last, sentence) for sentence in found}))
        return [ids if slot == last else np.empty(0, np.int64) for slot in slots.tolist()]

    def _sentences(self, trial: Trial) -> Steps[list[str]]:
        question, true = trial.example.fields["question"], true_answers(trial)
        spans, text = spans_of(question), Text.of(question, trial.origin.table)
        if not spans:
            return []
        (found,) = yield Ask("tags", [text])
        by_start = {start: tag for (start, _), tag in zip(text.spans(), found, strict=True)}
        words = [question[start:end] for start, end in spans]
        tags = [by_start.get(start, "X") for start, _ in spans]
        out = []
        for number in range(self.count):
            rng = generator(trial.seed, f"{trial.example.id} sentence {number}")
            changed = change_words(words, tags, rng)
            answer = fake_answer(true[0], words, rng)
            sentence = "" if changed == words else make_statement(changed, tags, answer)
            out += [sentence] if sentence and not any(one.lower() in sentence.lower() for one in true) else []
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWords:
    """Adds words behind the context, and changes them one after the other to what lowers the F1 most."""

    words: int = 10
    passes: int = 3
    each: int = 20  # frequent words that are tried in a place, beside those of the question

    def __post_init__(self) -> None:
        if min(self.words, self.passes, self.each) < 1:
            raise SettingError(f"addany needs words, passes and each of at least 1, got {self!r}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        last = int(space.slots[-1])
        question = trial.example.fields["question"].lower()
        own = [question[begin:end] for begin, end in spans_of(question)]
        barred = {word for answer in true_answers(trial) for word in answer.lower().split()}
        common = np.asarray(sorted(stop_words() - barred))
        now = trial.rng.choice(common, self.words).tolist()
        best = start
        for _ in range(self.passes):
            for place in trial.rng.permutation(self.words).tolist():
                tried = dict.fromkeys([*trial.rng.choice(common, self.each).tolist(), *own])
                rows = [[*now[:place], word, *now[place + 1 :]] for word in tried if word not in barred]
                ids = trial.origin.table.ids([_append(trial, last, " ".join(row)) for row in rows])
                (scored,) = yield from trial.score([Variants.at(trial.origin, last, ids)])
                (found,) = yield from trial.choose([scored], [best.value])
                if found is None:
                    continue
                best, now = found, rows[ids.tolist().index(int(found.text.words[last]))]
                if best.reached:
                    return best
        return best


def addsent(*, count: int = 5) -> Attack:
    """Jia and Liang 2017, "Adversarial examples for evaluating reading comprehension systems", AddSent.

    Differs: no people check the sentences; entities are replaced by names of our lists, not by near words of GloVe; the
    fake answers and the rules that turn a question into a statement are ours, and fewer.
    """
    return Attack(
        name="addsent", candidates=MisleadingSentences(count=count), search=Greedy(rank=LeftToRight(), always=True)
    )


def addany(*, words: int = 10, passes: int = 3, each: int = 20) -> Attack:
    """Jia and Liang 2017, AddAny: ten words that need not make a sentence.

    Differs: the common words are the function words of English, the words stand behind the context.
    """
    return Attack(name="addany", candidates=Own(), search=AddWords(words=words, passes=passes, each=each))


ADDING: Mapping[str, Callable[..., Attack]] = {"addsent": addsent, "addany": addany}


def make(name: str, settings: Mapping[str, Any], budget: int | None) -> Attack:
    """Return the attack of this name: one that adds words, or a recipe that leaves the true answers in place."""
    if name in ADDING:
        added: Attack = call(ADDING[name], settings, name)
        return added.but(budget=budget)
    made = recipe(name, budget=budget, **settings)
    if made.together is not None:
        raise SettingError(f"{name} makes one change for all texts; questions are attacked one by one")
    needed = sorted(str(one) for one in made.needs if one not in ("scores", "labels"))
    if needed:
        raise SettingError(f"{name} needs {', '.join(needed)}, which question answering does not offer; take pwws")
    return _keep(made)


def _keep(attack: Attack) -> Attack:
    return replace(attack, constraints=(KeepAnswers(), *attack.constraints), stages=tuple(map(_keep, attack.stages)))
