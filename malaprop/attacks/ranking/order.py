"""Rankings: the order in which a search visits the slots of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from malaprop.attacks.gradient.look import aim, look
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.gradient import SlotLook
from malaprop.core.insight import Blank, Direction, Focus
from malaprop.core.score import SLACK, Floats, Scored, firsts, ranked, winner, winners
from malaprop.core.text import Ints, check_text
from malaprop.core.variants import Variants


class Ranking(Protocol):
    """Orders the words of a text, the most promising to change first; may also drop some of their candidates."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]: ...


def _unknown(trial: Trial, word: str | None = None) -> int:
    return trial.origin.table.id(trial.unknown if word is None else word)


def sort_slots(space: Space, weights: Floats, slack: float = SLACK) -> Space:
    """The heaviest slots first."""
    order = ranked(weights, slack=slack)
    likely = None if space.likely is None else [space.likely[i] for i in order.tolist()]
    return Space(space.slots[order], [space.words[i] for i in order.tolist()], likely)


def _probes(start: Held, slots: Ints, word: int) -> Variants:
    """Return one variant of the text for each slot, with `word` in it."""
    return Variants(start.text, slots, np.full(len(slots), word, np.int64))


def _read(scored: Scored, start: Held, slots: Ints) -> tuple[Floats, Floats]:
    """Values and answers of probes; what the budget no longer covered counts as no change."""
    done = len(scored.values)
    values = np.full(len(slots), start.value, np.float32)
    answers = np.repeat(start.answer[None], len(slots), 0)
    values[:done], answers[:done] = scored.values, scored.answers.reshape(done, answers.shape[1])
    return values, answers


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOneOut:
    """By what leaving the word out gains. With `shift`, a word whose loss changes the label also counts what the new
    label gained (Jin et al. 2019, equation 2)."""

    shift: bool = False

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        (scored,) = yield from trial.score([_probes(start, space.slots, 0)], probes=1)
        values, answers = _read(scored, start, space.slots)
        if self.shift:
            new = winners(answers)
            rows = np.arange(len(new))
            values = values + np.where(new != winner(start.answer), answers[rows, new] - start.answer[new], 0)
        return sort_slots(space, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownWord:
    """By what an unknown word in its place gains."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        (scored,) = yield from trial.score([_probes(start, space.slots, _unknown(trial))], probes=1)
        return sort_slots(space, _read(scored, start, space.slots)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Saliency:
    """Ren et al. 2019: softmax of the word saliency times the best gain of its replacements, which are fixed here.

    With `peer`, as TextAttack has it: the value reached instead of the gain, and all replacements stay open. `unknown`
    is what is put in a word's place; None: the word that the victim itself has for unknown ones.
    """

    peer: bool = False
    unknown: str | None = None

    def __post_init__(self) -> None:
        if self.unknown is not None:
            check_text(self.unknown)

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        if not self.peer:
            space = space.able()
        swaps, unknown = Variants.each(start.text, space.slots, space.words), _unknown(trial, self.unknown)
        probed, scored = yield from trial.score([_probes(start, space.slots, unknown), swaps], probes=1)
        saliency = probed.values
        if len(saliency) < len(space.slots):
            saliency, _ = _read(probed, start, space.slots)
        # without the sum of the softmax: it changes no order, but shrinks differences below what rounding moves
        weight = np.exp(saliency - saliency.max())
        gain = np.zeros(len(space.slots), np.float32)
        words, likely, asked = space.words, np.zeros(len(space.slots), np.int64), scored.variants
        many = np.bincount(asked.slots, minlength=start.text.slots)[space.slots]  # slots of a fresh space are in order
        some = np.flatnonzero(many)
        if asked is not swaps:
            words = [w if count else w[:0] for w, count in zip(words, many.tolist(), strict=True)]
        if len(some):
            tops = firsts(scored.values, (np.cumsum(many) - many)[some])
            gain[some] = scored.values[tops] - np.float32(0 if self.peer else start.value)
            likely[some] = asked.words[tops]
            if not self.peer:
                words = [*words]
                for i, k in zip(some.tolist(), tops.tolist(), strict=True):
                    words[i] = asked.words[k : k + 1]
        return sort_slots(Space(space.slots, words, likely.tolist()), (weight * gain).astype(np.float32))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOrder:
    """At random, by the example's seed."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:  # noqa: ARG002
        yield from ()  # a generator like its siblings, though it asks nothing
        order = trial.rng.permutation(len(space.slots))
        return Space(space.slots[order], [space.words[i] for i in order.tolist()])


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftToRight:
    """Try the words in the order of the text."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:  # noqa: ARG002
        yield from ()  # a generator like its siblings, though it asks nothing
        return space


UNREAD = -1e9  # less than any gain: a slot that the victim does not read


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroVector:
    """By what a zero vector in the word's place gains (Yang et al. 2018); one query a word."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        some = trial.spend(len(space.slots))
        (answers,) = yield Ask("padding", [Blank(text=start.text, slots=space.slots[:some])])
        values = np.full(len(space.slots), start.value, np.float32)
        read = np.isfinite(answers).all(1)
        values[:some][read] = trial.attack.goal.values(answers[read], trial.example.label)
        values[:some][~read] = UNREAD
        return sort_slots(space, values)


_ROUNDING = 1e-5  # of the largest weight: what a batch may move, and must not decide


@dataclass(frozen=True, slots=True, kw_only=True)
class ByGradient:
    """The word first at which the loss is steepest: the L1 norm of the mean gradient over its tokens; one query."""

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        ((seen, _),) = yield from look(trial, [SlotLook(text=start.text, aim=aim(trial, odds=True))])
        weights = seen.weights[space.slots]
        return sort_slots(space, weights, _ROUNDING * float(abs(weights).max(initial=0.0)))


_SLACK = 1e-5  # of a share of attention: what the rounding of a batch moves, and must not decide


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAttention:
    """The most attended word first, or with `least` the least; by the mean over the heads of one layer; one query.

    `received` is attention from all tokens, `cls` that of the first token alone (see core.insight.Focus).
    """

    least: bool = False
    layer: int = 0
    direction: Direction = "received"

    def __post_init__(self) -> None:
        if self.direction not in ("received", "cls"):
            raise SettingError(f"direction is received or cls, got {self.direction!r}")

    def order(self, trial: Trial, start: Held, space: Space) -> Steps[Space]:
        trial.spend(1)
        (found,) = yield Ask("attention", [Focus(text=start.text, layer=self.layer, direction=self.direction)])
        here = found[space.slots]
        weights = np.nan_to_num(-here if self.least else here, nan=UNREAD)
        return sort_slots(space, weights, _SLACK)
