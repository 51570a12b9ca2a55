"""Greedy search: slot by slot in a ranking's order."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from malaprop.attacks.constraints.similarity import most_similar
from malaprop.attacks.ranking.order import LeaveOneOut, Ranking, Saliency, UnknownWord
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.errors import SettingError
from malaprop.core.insight import Toward
from malaprop.core.score import SLACK, Scored, ranked
from malaprop.core.text import Text
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """Takes the best replacement of each slot if it gains, until the goal is reached.

    `always` takes it also where it does not gain (Ren et al. 2019). `nearest` ends with the most similar of the texts
    that reach the goal in the last slot, not with the surest (Jin et al. 2019), unless the text has fewer than `least`
    words; `among` limits the comparison to so many of the surest (None: all). Where the ranking knows the best
    replacement of each slot alone, the next `ahead` steps are scored in the same batch on that guess, so that batches
    of few texts fill; a text that a wrong guess or an early end makes needless reaches the model, but is not a query.

    `fetch` sets when the candidates of a slot are computed: `before`, for all slots at once; `there`, when the search
    comes to the slot, which saves a masked language model most of its work; or `anew`, likewise, but from the text as
    changed so far, not from the original. The last two need a ranking that looks at slots alone.
    """

    rank: Ranking = field(default_factory=LeaveOneOut)
    always: bool = False
    nearest: bool = False
    ahead: int = 0
    least: int = 0
    among: int | None = None
    fetch: Literal["before", "there", "anew"] = "before"

    def __post_init__(self) -> None:
        if self.fetch not in ("before", "there", "anew"):
            raise SettingError(f"Greedy.fetch is before, there or anew, got {self.fetch!r}")
        if self.fetches and isinstance(self.rank, Saliency):
            raise SettingError(f"Saliency asks all words before the walk, so Greedy.fetch is before, not {self.fetch}")
        if self.among is not None and self.among < 1:
            raise SettingError(f"Greedy.among must be at least 1, got {self.among}")
        if min(self.ahead, self.least) < 0:
            raise SettingError(f"Greedy.ahead and least must be at least 0, got {self.ahead} and {self.least}")

    @property
    def fetches(self) -> bool:
        return self.fetch != "before"

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        now, nearest = start, self.nearest and len(trial.open()) >= self.least
        plan = yield from self.rank.order(trial, start, space)
        some = [i for i, words in enumerate(plan.words) if len(words) or self.fetches]
        slots = plan.slots.tolist()
        covered = 0  # the step up to which the next steps are scored already
        for step, i in enumerate(some):
            slot, words = slots[i], plan.words[i]
            if self.fetches:
                text = now.text if self.fetch == "anew" else None
                (words,) = yield from trial.options(plan.slots[i : i + 1], text)
                if not len(words):
                    continue
            guesses: list[Variants] = []
            if self.ahead and plan.likely is not None and step >= covered:
                guesses = _onward(plan, now.text, some[step : step + self.ahead + 1])
                covered = step + self.ahead
            (scored,) = yield from trial.score([Variants.at(now.text, slot, words)], ahead=guesses)
            if nearest and scored.reached.any():
                found = yield from _take_nearest(trial, scored, self.among)
            else:
                (found,) = yield from trial.choose([scored], [None if self.always else now.value])
            if self.ahead and plan.likely is not None and (found is None or found.text.words[slot] != plan.likely[i]):
                covered = step
            if found is not None:
                now = found
                if now.reached:
                    break
        return now


def _onward(plan: Space, text: Text, places: list[int]) -> list[Variants]:
    """Return the variants of the steps after the first of these places, if each earlier step takes its likely word."""
    assert plan.likely is not None
    out = []
    for here, there in pairwise(places):
        text = text.put(int(plan.slots[here]), plan.likely[here])
        out.append(Variants.at(text, int(plan.slots[there]), plan.words[there]))
    return out


def _take_nearest(trial: Trial, scored: Scored, among: int | None) -> Steps[Held | None]:
    """Return the allowed text that reaches the goal and is most like the original; else the best of the rest."""
    many = 1
    while (index := (yield from _nearest(trial, scored, among))) is not None:
        if (yield from trial.settle([scored], [[index]], many)):
            return trial.take(scored, index)
        many *= 2
    rest = ~scored.reached
    others = Scored(scored.variants.keep(rest), scored.answers[rest], scored.values[rest], scored.reached[rest])
    return (yield from trial.choose([others], [trial.held.value if trial.held else None]))[0]


def _nearest(trial: Trial, scored: Scored, among: int | None) -> Steps[int | None]:
    """Return the index of the allowed text that reaches the goal and is most like the original.

    `among` of the surest are compared at a time, the next ones only where none of these is allowed; None: all at once.
    """
    hits = ranked(scored.values, scored.reached)[: int(scored.reached.sum())]
    each = among or max(1, len(hits))  # a plain answer may have taken the last of them away
    for at in range(0, len(hits), each):
        part = np.sort(hits[at : at + each])
        texts = [scored.variants.pick(i) for i in part.tolist()]
        kept = np.flatnonzero((yield from trial.admit(texts, np.ones(len(texts), np.bool_)))).tolist()
        if kept:
            top = yield from most_similar(trial, [texts[i] for i in kept])
            return int(part[kept[top]])
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFound:
    """Tries one slot at a time in a ranking's order, other words original, and ends with the first that succeeds.

    Where none does and `words` is above 1, the replacement that gained most stays, and the other slots are tried again.
    """

    rank: Ranking
    words: int = 1

    def __post_init__(self) -> None:
        if self.words < 1:
            raise SettingError(f"FirstFound.words must be at least 1, got {self.words}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        now, left = start, space.able()
        for _ in range(min(self.words, len(left.slots))):
            plan = yield from self.rank.order(trial, now, left)
            top = now
            for slot, words in zip(plan.slots.tolist(), plan.words, strict=True):
                (scored,) = yield from trial.score([Variants.at(now.text, slot, words)])
                (found,) = yield from trial.choose([scored], [now.value])
                if found is not None and found.reached:
                    return found
                if found is not None and found.value > top.value + SLACK:
                    top = found
            if top is now:
                break
            fresh = np.isin(left.slots, top.text.changed(now.text), invert=True)
            now, left = top, Space(left.slots[fresh], [w for w, f in zip(left.words, fresh.tolist(), strict=True) if f])
        return trial.held or start


_SLACK = 1e-5  # share of the largest projection that batch rounding may change, so that it decides nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Takes, slot by slot, the replacement that moves the classifier's input vector farthest toward the boundary.

    Distances are along the shortest way to the decision boundary (Meng and Wattenhofer 2020), which is computed again
    after every replacement. A slot keeps its word where no replacement moves that way. Every replacement that is
    measured counts as a query.
    """

    rank: Ranking = field(default_factory=UnknownWord)

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        now = start
        plan = yield from self.rank.order(trial, start, space.able())
        for slot, words in zip(plan.slots.tolist(), plan.words, strict=True):
            variants = Variants.at(now.text, slot, words)
            variants = variants.keep(trial.allows(variants))
            variants = variants.first(trial.spend(variants.count))
            if not variants.count:
                continue
            look = Toward(origin=now.text, variants=variants, label=trial.example.label)
            (moves,) = yield Ask("toward", [look])
            slack = _SLACK * float(np.abs(moves).max())
            order = ranked(moves, slack=slack)
            order = order[moves[order] > slack]
            for index in order.tolist():
                text = variants.pick(index)
                if (yield from trial.admit([text])).all():
                    (scored,) = yield from trial.score([Variants.itself(text)])
                    yield from trial.settle([scored], [range(len(scored.values))])
                    now = trial.take(scored, 0) if len(scored.values) else now
                    break
            if now.reached:
                break
        return now if now.reached else trial.held or now
