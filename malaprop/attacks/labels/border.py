"""Border: the text of another label that is nearest to the original so far, and moves that bring it nearer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.constraints.similarity import similarities
from malaprop.attacks.labels.start import RandomStart, ask_labels
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.score import Floats, Scored, best, ranked
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants

NEARER = 1e-5  # cosine that counts as a gain; the rounding of a batch moves it by less


class BorderAnswers(NamedTuple):
    """The side of the border of each text (1 across, -1 not, 0 not queried), and its similarity (nan if not across)."""

    sides: Ints
    cosines: Floats


class Border:
    """A text across the border and its similarity to the original, by the sentence encoder.

    Only labels cost queries of the victim; similarities and word vectors cost none. A place is the number of a slot
    within the space; its options are the original word, number 0, and the replacements.
    """

    def __init__(self, trial: Trial, space: Space, held: Held) -> None:
        self.trial, self.space, self.held, self.near = trial, space, held, -1.0
        self._asked: set[bytes] = set()

    @classmethod
    def find(cls, trial: Trial, space: Space, start: RandomStart) -> Steps[Border | None]:
        """Find a random start and restore every word that the label does not need; None where no label turned."""
        held = yield from start.flip(trial, space.able())
        if held is None:
            return None
        border = cls(trial, space.able(), held)
        yield from border.restore_words()
        return border

    @property
    def text(self) -> Text:
        return self.held.text

    @property
    def changed(self) -> Ints:
        """Return the places whose words differ from the original's."""
        slots = self.space.slots
        return np.flatnonzero(self.text.words[slots] != self.trial.origin.words[slots])

    def options(self, place: int) -> Ints:
        """Return the words that may stand at a place, the original one first."""
        slot = int(self.space.slots[place])
        return np.concatenate([self.trial.origin.words[slot : slot + 1], self.space.words[place]])

    def chosen(self, place: int) -> int:
        """Return the option that a place has now."""
        return int(np.argmax(self.options(place) == self.text.words[self.space.slots[place]]))

    @cached_property
    def vectors(self) -> Sequence[Floats]:
        """Return for each place the counter-fitted vectors of its options [option, dim]; zeros for unknown words."""
        from malaprop.assets.vectors import open_vectors

        known, strings = open_vectors("counter-fitted"), self.trial.origin.table.strings
        out = []
        for place in range(len(self.space.slots)):
            rows = known.ids(strings[word] for word in self.options(place).tolist())
            out.append(np.where((rows >= 0)[:, None], known.matrix[rows], np.float32(0)))
        return out

    def distances(self, places: Ints) -> NDArray[np.float64]:
        """Return the distance of each place's word from the original one."""
        pairs = [(self.vectors[p], self.chosen(p)) for p in places.tolist()]
        return np.asarray([np.linalg.norm(found[now] - found[0]) for found, now in pairs], np.float64)

    # --- moves

    def restore_words(self) -> Steps[None]:
        """Restore original words as long as the label stays turned, first those that raise similarity most.

        Half of them are restored at once, then a quarter, at last one after the other: a text that needs few of its
        changes costs a few queries for each of those, not one for every word.
        """
        slots = yield from self._by_help()
        size = max(1, len(slots) // 2)
        while len(slots):
            kept: list[int] = []
            for part in np.split(slots, range(size, len(slots), size)):
                if len(part) < len(self.changed):  # restoring all of them would give the original
                    zeros = np.zeros(len(part), np.int64)
                    back = Variants(self.text, part, self.trial.origin.words[part], zeros, 1)
                    scored = yield from ask_labels(self.trial, back)
                    if scored.reached.any():
                        self._move(scored, 0)
                        continue
                kept += part.tolist()
            if size == 1:
                break
            slots, size = np.asarray(kept, np.int64), max(1, min(size, len(kept)) // 2)
        (near,) = yield from similarities(self.trial, [self.text])
        self.near = float(near)

    def _by_help(self) -> Steps[Ints]:
        """Return the changed slots, first those whose original word brings the text nearest to the original."""
        slots = self.space.slots[self.changed]
        if len(slots) < 2:
            return slots
        texts = [self.text.put(slot, int(self.trial.origin.words[slot])) for slot in slots.tolist()]
        return slots[ranked((yield from similarities(self.trial, texts)), slack=NEARER)]

    def put(self, place: int, options: Ints) -> Variants:
        """Return this text with each of these options at a place, as variants."""
        return Variants.at(self.text, int(self.space.slots[place]), self.options(place)[options])

    def advance(self, variants: Variants) -> Steps[BorderAnswers]:
        """Query these texts and move to the nearest across the border if it is nearer than this one."""
        sides, scored, places = yield from self.ask(variants)
        cosines = np.full(variants.count, np.nan, np.float32)
        hits = np.flatnonzero(scored.reached)
        cosines[places[hits]] = yield from self.weigh(scored, hits)
        return BorderAnswers(sides, cosines)

    def ask(self, variants: Variants) -> Steps[tuple[Ints, Scored, Ints]]:
        """Query the allowed texts that are new; return every text's side, the answers, and their places in `variants`.

        A side is 1 across the border, -1 not across, 0 where the text was not queried.
        """
        places = np.flatnonzero(self._are_new(variants) & self.trial.allows(variants))
        flags = np.zeros(variants.count, np.bool_)
        flags[places] = True
        scored = yield from ask_labels(self.trial, variants.keep(flags))
        sides = np.zeros(variants.count, np.int64)
        sides[places[: len(scored.values)]] = np.where(scored.reached, 1, -1)
        return sides, scored, places

    def weigh(self, scored: Scored, hits: Ints) -> Steps[Floats]:
        """Return the similarity of some texts across the border; move to the nearest if it is nearer than this text."""
        if not len(hits):
            return np.empty(0, np.float32)
        found = yield from similarities(self.trial, [scored.variants.pick(i) for i in hits.tolist()])
        top = best(found, NEARER)
        if found[top] > self.near + NEARER:
            self.near = float(found[top])
            self._move(scored, int(hits[top]))
        return found

    def _are_new(self, variants: Variants) -> NDArray[np.bool_]:
        fresh = np.zeros(variants.count, np.bool_)
        for i in range(variants.count):
            key = variants.pick(i).parts.tobytes()
            fresh[i] = key not in self._asked
            self._asked.add(key)
        return fresh

    def _move(self, scored: Scored, index: int) -> None:
        self.held = self.trial.take(scored, index)
        self.trial.keep(self.held)
