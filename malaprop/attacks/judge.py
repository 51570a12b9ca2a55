"""A judge of meaning as a part of an attack: which texts may win, and how far a success keeps its meaning."""

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

LEGIBLE = 1.0  # the number of a text in which every changed word can still be read as the word that it was
_LONG = 8  # letters from which on two wrong ones can be read through


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A judge that says of changed texts how likely a reader finds the same meaning and the same label in them.

    As the `judge` of an attack it refuses texts below its `floor`, so that the attack goes on to a better one; as the
    `rater` it only rates each success. A word that is misspelt and can still be read is judged as the word itself, and
    a neutral sentence that `Distract` added, of those that say nothing, is not read.
    `name` is another judge than the packaged one; `both` asks it both ways and takes the smaller number. `references`
    are other classifiers of the task, as `mp.victim` takes them: where they see the label go, the number is lowered.
    `labels` are the names of the task's labels.
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
        """Return the judge for data whose labels have these names; numbers say nothing to a reader."""
        return replace(self, labels=() if all(name.isdecimal() for name in names) else tuple(names))

    def rate(self, trial: Trial, texts: Sequence[Text]) -> Steps[list[float]]:
        """Return for each text the chance that a reader finds the meaning and the label of the original in it."""
        origin, fields = trial.origin, trial.example.open
        label = trial.example.label
        name = self.labels[label] if 0 <= label < len(self.labels) else None
        original, context = trial.shown(origin), origin.only([n for n in origin.names if n not in fields])
        restored = [restore_legible(origin, text) for text in texts]
        read = [strip_asides(original, trial.shown(text)) for text in restored]
        asked = [i for i, changed in enumerate(read) if changed != original]
        numbers = [LEGIBLE] * len(texts)
        if asked:
            whole = [_label(origin, restored[i], label) if self.references else None for i in asked]
            ways = [Judgement(original, read[i], name, context, one) for i, one in zip(asked, whole, strict=True)]
            ways += [Judgement(read[i], original, name, context) for i in asked] if self.both else []
            found = yield Ask(self.service, ways)
            for place, number in enumerate(found):
                i = asked[place % len(asked)]
                numbers[i] = min(numbers[i], float(number))
        return numbers

    def allow(self, trial: Trial, texts: Sequence[Text]) -> Steps[Flags]:
        """Flag the texts that keep their meaning well enough to be chosen."""
        return np.asarray((yield from self.rate(trial, texts)), np.float64) >= self.floor


def _label(origin: Text, text: Text, label: int) -> Labelled:
    """Return both texts as a classifier of the task reads them: all fields, the changed one without asides."""
    before = origin.values()
    return Labelled(before, tuple(map(strip_asides, before, text.values())), label)


def restore_legible(origin: Text, text: Text) -> Text:
    """Return the text with each misspelt word that can still be read put back as it was."""
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
