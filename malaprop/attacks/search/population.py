"""What searches over many texts at once have in common: the replacements that each text may take next."""

from __future__ import annotations

import numpy as np

from malaprop.attacks.trial import Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.text import Ints
from malaprop.core.variants import Variants, runs


class Replacements:
    """The replacements of the slots of a space, flat, and texts with one more of them.

    With `chain` they are those of the word that a text has in the slot, found when they are first asked for; without,
    those of the original word.
    """

    def __init__(self, trial: Trial, space: Space, *, chain: bool = False) -> None:
        self.trial, self.space, self.chain = trial, space, chain
        self.sizes = space.sizes
        self.flat = np.concatenate(space.words)
        self.starts = np.cumsum(self.sizes) - self.sizes
        here = trial.origin.words[space.slots].tolist()
        self._known = {(i, word): found for i, (word, found) in enumerate(zip(here, space.words, strict=True))}

    def try_slots(self, rows: Ints, places: Ints) -> Steps[tuple[Variants, Ints, Ints]]:
        """Every replacement of one slot of each text, as edits of the original: the texts, their new words, and whose
        they are. `rows` [text, slot] are the words of each text, `places` the number of its slot in the space."""
        if self.chain:
            flat, starts, sizes = yield from self._look_up(rows, places)
        else:
            flat, starts, sizes = self.flat, self.starts[places], self.sizes[places]
        origin, slots = self.trial.origin, self.space.slots[places]
        words, whose = flat[runs(starts, sizes)], np.repeat(np.arange(len(rows)), sizes)
        fresh = words != rows[whose, slots[whose]]
        words, whose = words[fresh], whose[fresh]
        differs = rows != origin.words
        differs[np.arange(len(rows)), slots] = False  # what stood there goes
        text, slot = np.nonzero(differs)
        many = differs.sum(1)
        old = runs((np.cumsum(many) - many)[whose], many[whose])  # what a text had changed before, for each try
        number = np.arange(len(whose))
        edits = (
            np.concatenate([slots[whose], slot[old]]),
            np.concatenate([words, rows[text, slot][old]]),
            np.concatenate([number, np.repeat(number, many[whose])]),
        )
        return Variants(origin, *edits, len(whose)), words, whose

    def _look_up(self, rows: Ints, places: Ints) -> Steps[tuple[Ints, Ints, Ints]]:
        """The replacements of the word that each text has in its slot, flat; where each text's begin, and how many."""
        wanted = list(zip(places.tolist(), rows[np.arange(len(rows)), self.space.slots[places]].tolist(), strict=True))
        unknown = sorted({key for key in wanted if key not in self._known})
        while unknown:
            some = dict(unknown)  # one word for each slot
            at = np.asarray(sorted(some), np.int64)
            words = self.trial.origin.words.copy()
            words[self.space.slots[at]] = [some[i] for i in at.tolist()]
            found = yield from self.trial.options(self.space.slots[at], self.trial.origin.refilled(words))
            self._known |= {(i, some[i]): row for i, row in zip(at.tolist(), found, strict=True)}
            unknown = [key for key in unknown if key not in self._known]
        found = [self._known[key] for key in wanted]
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        return np.concatenate(found), np.cumsum(sizes) - sizes, sizes
