"""Input reduction: remove words one by one while the label stays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from malaprop.attacks.constraints.edits import words_within
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Scored, ranked
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """Leaves out words as long as the goal, that the label stays, is met; one word stays.

    At each step the `width` best texts each lose the word whose loss leaves the victim surest; of a long text one word
    in `pace` goes at a step, and one alone where that is too much (Feng et al. 2018 take one at a time, by gradients).
    With `once`, each word is left out once to rank the places, and in that order the words that stand there by then go
    unless the label would change (TextAttack). A reduction counts as a success where at least `share` of the words are
    gone; how many stay is noted as `words_left`.
    """

    width: int = 5
    pace: int = 20
    share: float = 0.5
    once: bool = False

    def __post_init__(self) -> None:
        if min(self.width, self.pace) < 1 or not 0 < self.share <= 1:
            raise SettingError(
                f"Reduction needs width and pace >= 1 and a share in (0, 1], got {self.width}, {self.pace} and "
                f"{self.share}"
            )

    @property
    def fetches(self) -> bool:
        return True  # the empty word is the only one there is

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        walk = _Walk(self, trial, space)
        if walk.total > 1:
            yield from walk.go_once(start) if self.once else walk.go(start)
        return trial.held or start


class _Walk:
    """The reduction of one text: its removable words, its queries, and the best reduced text."""

    def __init__(self, search: Reduction, trial: Trial, space: Space) -> None:
        self.search, self.trial, self.slots = search, trial, space.slots
        self.total = len(trial.open())
        self.wanted = min(words_within(search.share, self.total, up=True), self.total - 1)

    def gone(self, text: Text) -> int:
        return int(np.count_nonzero(text.words[self.trial.open()] == 0))

    def hold(self, scored: Scored, index: int) -> Held:
        """Hold a text as the best so far by the number of removed words, then by the victim's confidence."""
        text = scored.variants.pick(index)
        gone = self.gone(text)
        value = 1 + gone + float(scored.values[index]) / self.total  # above the value of the unreduced text
        here = Held(text, value, gone >= self.wanted, scored.answers[index])
        self.trial.hold(here)
        self.trial.notes["words_left"] = float(self.total - self.gone((self.trial.held or here).text))
        return here

    def left(self, text: Text) -> Ints:
        """Return the slots of words that may still be removed; none once a single word is left."""
        return self.slots[text.words[self.slots] > 0] if self.gone(text) < self.total - 1 else self.slots[:0]

    def _ask(self, groups: list[Variants]) -> Steps[list[Scored]]:
        """Query variants as probes, for where the budget ends, a text that merely keeps its label is not a success."""
        groups = [group.keep(self.trial.allows(group)) for group in groups]
        self.trial.tried += sum(group.count for group in groups)
        return (yield from self.trial.score(groups, probes=len(groups)))

    def go_once(self, start: Held) -> Steps[None]:
        """Remove words, first those without which the victim is surest; a word stays where the label would change.

        As in TextAttack, the order is one of places in the current text: once a word is removed, its place holds the
        next word.
        """
        (scored,) = yield from self._ask([_without(start.text, self.slots)])
        worth = np.where(scored.reached, scored.values, np.float32(0))
        text, here = start.text, self.slots.tolist()
        for place in np.searchsorted(self.slots, scored.variants.slots[ranked(worth)]).tolist():
            if not len(self.left(text)):
                break
            if place >= len(here):
                continue
            (now,) = yield from self._ask([_without(text, np.asarray(here[place : place + 1]))])
            fine = now.reached & (yield from self.trial.admit_all(now))
            if fine.any():
                text = self.hold(now, 0).text
                here.pop(place)

    def go(self, start: Held) -> Steps[None]:
        """Reduce by beam search: remove words from each text of the beam, and go on with the surest results."""
        beam = [start.text]
        while beam:
            groups = [_without(text, self.left(text)) for text in beam]
            asked = yield from self._ask(groups)
            many = max(1, len(groups[0].slots) // self.search.pace)
            found: list[Held] = []
            if many > 1:
                bold = [_drop_surest(text, scored, many) for text, scored in zip(beam, asked, strict=True)]
                found = yield from self._keep((yield from self._ask(bold)))
            beam = [held.text for held in found or (yield from self._keep(asked))]

    def _keep(self, groups: list[Scored]) -> Steps[list[Held]]:
        """Return the distinct texts of highest confidence that keep the label and satisfy the constraints."""
        line = [
            (-float(np.round(scored.values[i], 6)), g, int(i))
            for g, scored in enumerate(groups)
            for i in np.flatnonzero(scored.reached).tolist()
        ]
        found: dict[bytes, Held] = {}
        for _, g, i in sorted(line):
            text = groups[g].variants.pick(i)
            if text.parts.tobytes() not in found and (yield from self.trial.admit([text])).all():
                found[text.parts.tobytes()] = self.hold(groups[g], i)
            if len(found) == self.search.width:
                break
        return list(found.values())


def _without(text: Text, slots: Ints) -> Variants:
    """Return the text without each of these words in turn, as variants."""
    return Variants(text, slots, np.zeros(len(slots), np.int64))


def _drop_surest(text: Text, scored: Scored, many: int) -> Variants:
    """Return the text without the `many` words whose loss, each alone, keeps the victim surest."""
    order = ranked(scored.values, scored.reached)[:many]
    slots = scored.variants.slots[order]
    return Variants(text, slots, np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int64), 1)
