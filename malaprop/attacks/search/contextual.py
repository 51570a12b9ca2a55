"""Greedy search over three kinds of moves: replace a word, insert a word, merge two neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from malaprop.attacks.candidates.masked import MergedWords
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.score import Scored, ranked
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants

# Two words that one may stand for, by their parts of speech (Li et al. 2021, as TextAttack has it).
_PAIRS = {
    "NOUN": ("NOUN",),
    "ADJ": ("NOUN", "NUM", "ADJ", "ADV"),
    "ADV": ("ADJ", "VERB"),
    "VERB": ("ADV", "VERB", "NOUN", "ADJ"),
    "DET": ("NOUN", "ADJ"),
    "PRON": ("NOUN", "ADJ"),
    "NUM": ("NUM", "NOUN"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contextual:
    """Queries all moves on the original, and applies the best of each place by gain (Li et al. 2021, CLARE).

    It stops when the goal is reached. The candidates supply replacements and insertions; `merge` supplies words for two
    neighbours, for which constraints on single slots do not count (None: no merges). With `anew` all moves are queried
    again after each step, on the current text, and the best is applied whether it gains or not (TextAttack). A place
    changes once.
    """

    merge: MergedWords | None = field(default_factory=MergedWords)
    anew: bool = False

    @property
    def fetches(self) -> bool:
        return True

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        if not self.anew:
            return (yield from self._make_in_order(trial, start, space.slots))
        now = start
        while True:
            moves = yield from self._moves(trial, now.text, space.slots)
            (scored,) = yield from trial.score([moves])
            (found,) = yield from trial.choose([scored], [None])
            if found is None:
                return now
            now = found
            if now.reached:
                return now

    def _make_in_order(self, trial: Trial, start: Held, slots: Ints) -> Steps[Held]:
        moves = yield from self._moves(trial, start.text, slots)
        fine = trial.allows(moves)
        (scored,) = yield from trial.score([moves.keep(fine)])
        whose = _places(scored.variants)
        floors = np.full(start.text.slots, start.value, np.float32)
        chosen = yield from trial.choose_each(scored, whose, floors)
        chosen = chosen[chosen >= 0]
        trial.hold_best(scored, chosen)
        now = start
        for index in chosen[ranked(scored.values[chosen], scored.reached[chosen])].tolist():
            move = _edits(scored, index)
            if (now.text.words != trial.origin.words)[move.slots].any():
                continue  # an earlier move merged this word with its neighbour
            (step,) = yield from trial.score([Variants(now.text, move.slots, move.words, np.zeros_like(move.slots), 1)])
            (found,) = yield from trial.choose([step], [None])
            now = found or now
            if now.reached:
                break
        return now

    def _moves(self, trial: Trial, text: Text, slots: Ints) -> Steps[Variants]:
        """Return the moves from a text, place by place: replacements and insertions, then merges with the next word."""
        left = slots[(text.words == trial.origin.words)[slots]]
        words = yield from trial.options(left, text)
        pairs = (yield from _mergeable(trial, text)) if self.merge is not None else left[:0]
        merged = (yield from self.merge.words(trial.reread(text), pairs)) if self.merge is not None else []
        single, double = (np.fromiter(map(len, found), np.int64, len(found)) for found in (words, merged))
        at = np.concatenate([np.repeat(left, single), np.repeat(pairs, double)])
        order = np.argsort(at, kind="stable")  # moves of one place lie together
        rows = np.empty(len(at), np.int64)
        rows[order] = np.arange(len(at))
        gone = np.repeat(pairs + 1, double)
        edits = (
            np.concatenate([at, gone]),
            np.concatenate([*words, *merged, np.zeros(len(gone), np.int64)]).astype(np.int64),
            np.concatenate([rows, rows[len(at) - len(gone) :]]),
        )
        return Variants(text, *edits, len(at))


def _places(variants: Variants) -> Ints:
    """Return the first slot that each variant changes."""
    assert variants.rows is not None
    places = np.full(variants.many, variants.base.slots, np.int64)
    np.minimum.at(places, variants.rows, variants.slots)
    return places


def _edits(scored: Scored, index: int) -> Variants:
    """Return the edits of one variant."""
    one = np.zeros(scored.variants.count, np.bool_)
    one[index] = True
    return scored.variants.keep(one)


def _mergeable(trial: Trial, text: Text) -> Steps[Ints]:
    """Return the slots whose word may merge with the next one.

    Both are unchanged, of one field, separated by white space alone, and of parts of speech that go together.
    """
    tags = yield from trial.tags()
    same, strings = (text.words == trial.origin.words).tolist(), text.table.strings
    fields, opened = text.field_of_slots().tolist(), {*trial.open().tolist()}
    found = [
        slot
        for slot in range(text.slots - 1)
        if same[slot] and same[slot + 1] and {slot, slot + 1} <= opened and fields[slot] == fields[slot + 1]
        if tags[slot + 1] in _PAIRS.get(tags[slot], ()) and strings[int(text.parts[2 * slot + 2])].isspace()
    ]
    return np.asarray(found, np.int64)
