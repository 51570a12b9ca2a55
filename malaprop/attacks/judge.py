"""The judge of meaning in an attack: it rejects texts that change the meaning, or rates the successes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from malaprop.assets.plain_letters import make_plain, strip_unseen
from malaprop.attacks.constraints.edits import levenshtein
from malaprop.attacks.sentences.distract import strip_asides
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.judgement import JUDGE, KEPT, Judgement, Labelled
from malaprop.core.score import Flags
from malaprop.core.text import Text, Words

if TYPE_CHECKING:
    from malaprop.attacks.trial import Trial

LEGIBLE = 1.0  # the probability for a text in which every changed word can still be read as the original word
_LONG = 8  # a word with at least this many letters is still readable with two wrong ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Estimates the probability that a reader finds the same meaning and label in a changed text.

    As an attack's `judge` it rejects texts with a probability below `floor`, and the search goes on; as its `rater` it
    only rates successes. A misspelt word that can still be read is judged as the word itself. The packaged neutral
    sentences that `Distract` adds are removed before judging; sentences of your own are kept.
    `name` is another judge than the packaged one. `both`: compare the original with the changed text and the changed
    text with the original, and take the smaller probability. `references`: other classifiers of the task, as
    `mp.victim` takes them; if they predict another label, the probability is lowered. `labels`: the task's label names.
    """

    floor: float = KEPT
    both: bool = False
    name: str = ""
    references: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.floor <= 1:
            raise SettingError(f"Judge.floor must lie in [0, 1], got {self.floor}")

    @property
    def service(self) -> str:
        """The name of the service that answers."""
        return JUDGE + ":" * bool(self.name or self.references) + "\n".join((self.name, *self.references))

    def for_labels(self, names: Sequence[str]) -> Judge:
        """Return the judge for data with these label names; names that are only numbers are not used."""
        return replace(self, labels=() if all(name.isdecimal() for name in names) else tuple(names))

    def rate(self, trial: Trial, texts: Sequence[Text]) -> Steps[list[float]]:
        """Return for each text the probability that a reader finds the meaning and the label of the original in it."""
        origin, fields = trial.origin, trial.example.open
        label = trial.example.label
        name = self.labels[label] if 0 <= label < len(self.labels) else None
        original, context = trial.shown(origin), origin.only([n for n in origin.names if n not in fields])
        restored = [restore_legible(origin, text) for text in texts]
        read = [strip_asides(original, trial.shown(text)) for text in restored]
        asked = [i for i, changed in enumerate(read) if changed != original]
        chances = [LEGIBLE] * len(texts)
        if asked:
            whole = [_label(origin, restored[i], label) if self.references else None for i in asked]
            ways = [Judgement(original, read[i], name, context, one) for i, one in zip(asked, whole, strict=True)]
            ways += [Judgement(read[i], original, name, context) for i in asked] if self.both else []
            found = yield Ask(self.service, ways)
            for place, chance in enumerate(found):
                i = asked[place % len(asked)]
                chances[i] = min(chances[i], float(chance))
        return chances

    def allow(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        """Flag the texts that keep their meaning well enough to be chosen."""
        return np.asarray((yield from self.rate(trial, texts)), np.float64) >= self.floor


def _label(origin: Text, text: Text, label: int) -> Labelled:
    """Return all fields of both texts for a classifier of the task; without sentences that `Distract` added."""
    before = origin.values()
    return Labelled(before, tuple(map(strip_asides, before, text.values())), label)


def restore_legible(origin: Text, text: Text) -> Text:
    """Return the text with the original words in place of misspellings that can still be read."""
    table, changed = origin.table, text.changed(origin)
    fine = [slot for slot in changed.tolist() if _reads_as(table, int(origin.words[slot]), int(text.words[slot]))]
    if not fine:
        return text
    words = text.words.copy()
    words[fine] = origin.words[fine]
    return text.refilled(words)


def _reads_as(table: Words, before: int, after: int) -> bool:
    key = ("reads as", before, after)
    found: bool | None = table.notes.get(key)
    if found is None:
        found = table.notes[key] = is_legible(table.strings[before], table.strings[after])
    return found


def is_legible(before: str, after: str) -> bool:
    """Return whether readers see the word `before` in `after`: other letters that look alike, spaces, or a misspelling.

    A misspelling is a known one, or has one wrong letter, two in a word of at least eight, and is not a word itself,
    nor the genitive of one. Letters in another order count as one.
    """
    one, two = before.lower(), make_plain(strip_unseen(after)).lower()
    if one == two or (two and _letters(one) == _letters(two)):
        return True
    if len(one) < 3 or not two or " " in two:
        return False
    from malaprop.assets.lexicon import is_known, misspellings

    if is_known(two.removesuffix("'s")):
        return False
    if two in misspellings().get(one, ()):
        return True
    wrong = levenshtein(one, two)
    if wrong == 2 and sorted(one) == sorted(two):
        wrong = 1  # neighbouring letters that changed places
    return wrong <= (2 if len(one) >= _LONG else 1)


def _letters(word: str) -> str:
    """Return the word with digits and signs read as the letters that they stand for, without spaces and marks."""
    from malaprop.assets.lexicon import digits_alike

    signs = {sign: letter for letter, alike in digits_alike().items() for sign in alike}
    return "".join(c for c in (signs.get(c, c) for c in word) if c.isalnum())
