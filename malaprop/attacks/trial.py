"""Trial: the state of one attack on one example. It scores answers, counts queries and applies the constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from malaprop.assets.languages import Language, choose_language
from malaprop.attacks.encoders import MULTILINGUAL, service_of
from malaprop.attacks.partmarks import Bits, marks_of
from malaprop.core.ask import Ask, Steps
from malaprop.core.example import Example
from malaprop.core.score import SLACK, Flags, Floats, Scored, ranked, ranked_within, top
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Guess, Variants

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack


# Called whenever a trial that was made in this context finds a better text, to show an attack at work.
WATCH: ContextVar[Callable[[Trial], None] | None] = ContextVar("watch", default=None)


_ALL = slice(None)
_AHEAD = 8  # most texts of a group that are checked together: where one is refused, the next mostly is, too


class Spent(Exception):  # noqa: N818 - it ends a search in the ordinary way
    """The query budget of an example is used up; the attack ends with the best text so far."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A text that satisfies all constraints, with the victim's answer and its value by the goal."""

    text: Text
    value: float
    reached: bool
    answer: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """The slots that may change and the replacements of each; a slot may have none."""

    slots: Ints
    words: list[Ints]
    likely: list[int] | None = None  # for each slot the word that was best there alone; None: not known

    @property
    def sizes(self) -> Ints:
        return np.fromiter(map(len, self.words), np.int64, len(self.words))

    def able(self) -> Space:
        """Return the space without the slots that have no replacement."""
        some = [i for i, words in enumerate(self.words) if len(words)]
        return Space(self.slots[some], [self.words[i] for i in some])


def ask_first(origin: Text, rounding: float) -> Steps[tuple[Floats, int]]:
    """Query the victim with a text; return its answer and how many unbatched queries that took.

    One is needed where rounding could change the label of the batched answer.
    """
    (answers,) = yield Ask("victim", [Variants.itself(origin)])
    row: Floats = answers[0]
    if rounding and len(row) > 1 and np.ptp(np.sort(row)[-2:]) < 2 * rounding:
        (row,) = yield Ask("verify", [origin])
        return row, 1
    return row, 0


class Trial:
    """The attack on one example, as searches, rankings, candidates and constraints see it."""

    def __init__(
        self, attack: Attack, example: Example, origin: Text, seed: int, unknown: str, rounding: float = 0.0
    ) -> None:
        self.attack, self.example, self.origin, self.seed, self.unknown = attack, example, origin, seed, unknown
        self.rounding = rounding  # the largest difference between the victim's batched answers and those of `predict`
        self.corrected: dict[bytes, Floats] = {}  # answers of `predict`, which replace the batched ones
        self.checks = 0  # queries with `predict`
        self.times = 1  # searches started
        self.clean: Floats | None = None  # the answer for the original, once there is one
        self.asked = 0
        self.tried = 0  # edits that were scored; probes do not count
        self.before = 1  # queries asked before the search began: the original, or all that an earlier search asked
        self.held: Held | None = None
        self.inherited: Held | None = None  # the best of an earlier search
        self.notes: dict[str, float] = {}  # counts of the search, for the record of the example
        self.flips = 0  # texts that reached the goal and that the judge of meaning refused
        self.reason = ""  # why the search failed, where it knows
        self._watch = WATCH.get()
        self._tags: list[str] | None = None
        self._seen: list[Scored] = []  # what reached the goal, and what was scored last
        self._edit_rules = [c for c in attack.constraints if c.stage == "edit"]
        self._text_rules = [c for c in attack.constraints if c.stage == "text"]
        self._asks_texts = attack.judge is not None or bool(self._text_rules)  # a choice needs a service

    @cached_property
    def rng(self) -> np.random.Generator:
        return generator(self.seed, self.example.id)

    @cached_property
    def language(self) -> Language:
        """The language of the text that is attacked."""
        return choose_language(self.shown(self.origin), self.attack.languages)

    def generator(self, *names: str) -> np.random.Generator:
        """Return a random generator for one part of the work, independent of earlier draws."""
        return generator(self.seed, self.example.id, *names)

    # --- asking the victim

    def first(self) -> Steps[Floats]:
        """Query the original, without the goal: its label may not be among the scores."""
        self.asked += 1
        row, checks = yield from ask_first(self.origin, self.rounding)
        self.checks += checks
        self.clean = row
        return row

    def rewound(self) -> Trial:
        """This trial as it was after the first answer, but knowing the plain answers that were asked for since.

        A search that runs again asks the same things, which the engine remembers, up to where such a text comes in.
        """
        again = Trial(self.attack, self.example, self.origin, self.seed, self.unknown, self.rounding)
        again.corrected = self.corrected
        again.asked = again.before = self.before
        again.held = again.inherited = self.inherited
        again.checks, again.times, again.flips = self.checks, self.times + 1, self.flips
        return again

    def pass_on(self, attack: Attack) -> Trial:
        """A trial of another attack on the same text: what was asked counts, and the best so far stays held."""
        following = Trial(attack, self.example, self.origin, self.seed, self.unknown, self.rounding)
        following.corrected, following.checks, following.times = self.corrected, self.checks, self.times
        following.asked = following.before = self.asked
        following.tried = self.tried
        following.held = following.inherited = self.held
        following.notes, following._tags, following.flips = self.notes, self._tags, self.flips
        following.language = self.language
        return following

    def confirmed(self, scored: Scored) -> Steps[Scored]:
        """The same, with plain answers for what reaches the goal by no more than rounding, asked for together.

        For a choice that prefers what lies near the border: one at a time, the first would nearly always be a flip of
        rounding.
        """
        goal, label = self.attack.goal, self.example.label
        if not self.rounding or not scored.reached.any():
            return scored
        near = scored.reached & ~goal.reached(scored.answers, label, 2 * self.rounding)
        if not near.any():
            return scored
        yield from self._ask_plain([scored.variants.pick(i) for i in np.flatnonzero(near).tolist()])
        return self._scored(scored.variants, scored.answers)

    def settle(self, groups: Sequence[Scored], picks: Sequence[Sequence[int] | Ints], many: int = 1) -> Steps[bool]:
        """Whether a choice among scored texts may stand: none of those picked reaches the goal by fewer bits alone.

        Else plain answers are asked for: for each that does so by no more than rounding, and for the best of its group
        that do, up to `many`. They take the places of the fast ones in `groups`, and the choice is to be made again.
        What is further over the border is left to the check that ends every success.
        """
        if not self.rounding:
            return True
        doubtful: list[Text] = []
        for scored, picked in zip(groups, picks, strict=True):
            if len(picked) and scored.reached[picked].any():
                doubtful += self._doubtful(scored, np.asarray(picked), many)
        if not doubtful:
            return True
        yield from self._ask_plain(doubtful)
        for scored in groups:
            scored.become(self._scored(scored.variants, scored.answers))
        return False

    def _doubtful(self, scored: Scored, picked: Ints, many: int) -> list[Text]:
        """Those picked that reach the goal by no more than rounding and by a fast answer, and the best others like
        them, up to `many`."""
        goal, label = self.attack.goal, self.example.label
        near = scored.reached & ~goal.reached(scored.answers, label, 2 * self.rounding)
        found = self._fast(scored, picked[near[picked]])
        if found and many > 1:
            found += self._fast(scored, ranked(scored.values, near)[: np.count_nonzero(near)])[:many]
        return found

    def _fast(self, scored: Scored, some: Ints) -> list[Text]:
        """Return the texts among these whose answer is still a batched one."""
        texts = [scored.variants.pick(i) for i in some.tolist()]
        rows = [self.corrected.get(text.parts.tobytes()) for text in texts]
        same = [row is not None and np.array_equal(row, scored.answers[i]) for i, row in zip(some, rows, strict=True)]
        return [text for text, known in zip(texts, same, strict=True) if not known]

    def _ask_plain(self, texts: Sequence[Text]) -> Steps[None]:
        """Query `predict` for texts that were not checked yet; its answers replace the batched ones from now on."""
        new = {key: text for text in texts if (key := text.parts.tobytes()) not in self.corrected}
        plain = yield Ask("verify", [*new.values()])
        self.checks += len(new)
        self.corrected |= zip(new, np.asarray(plain, np.float32), strict=True)

    def verified(self, text: Text) -> Steps[Floats]:
        """Return the answer of `predict` for the search's result, from an earlier check or by a query."""
        yield from self._ask_plain([text])
        return self.corrected[text.parts.tobytes()]

    def start(self, first: Floats) -> Held:
        """Hold the original until something is better. It counts as no success, even for the goal to keep its label."""
        (value,) = self.attack.goal.values(first[None], self.example.label)
        here = Held(self.origin, float(value), False, first)
        self.hold(here)
        return here

    def score(
        self, groups: Sequence[Variants], *, probes: int = 0, ahead: Sequence[Variants] = ()
    ) -> Steps[list[Scored]]:
        """Query the victim and score its answers by the goal.

        Variants that violate a cheap constraint are dropped before the query, and so are those beyond the budget: read
        `scored.variants`, not the argument. The first `probes` groups (a word left out, an unknown word) are no
        attempts, so constraints do not apply to them. Variants `ahead` may be needed next: they are scored with the
        others, but count as queries only when a search asks for them.
        """
        if self._edit_rules:
            groups = [g.keep(self.allows(g)) if i >= probes else g for i, g in enumerate(groups)]
        groups = self._afford(groups)
        counts = [g.count for g in groups]
        self.tried += sum(counts[probes:])
        some = [g for g, count in zip(groups, counts, strict=True) if count]
        guesses = [Guess(g.keep(self.allows(g))) for g in ahead] if some and self.attack.budget is None else []
        answers = iter((yield Ask("victim", [*some, *guesses])))
        sized = zip(groups, counts, strict=True)
        scored = [self._scored(g, next(answers)) if count else self._nothing(g) for g, count in sized]
        there = self.held is not None and self.held.reached  # then `look_back` is not needed
        if len(scored) > probes and self.attack.budget is not None and not there:
            self._seen = [s for s in self._seen if s.reached.any()] + scored[probes:]
        return scored

    def allows(self, variants: Variants) -> Flags:
        """Flag the variants that satisfy the cheap constraints."""
        fine = np.ones(variants.count, np.bool_)
        for rule in self._edit_rules:
            fine &= rule.edits(self, variants)
        return fine

    def _afford(self, groups: Sequence[Variants]) -> list[Variants]:
        budget = self.attack.budget
        total = sum(g.count for g in groups)
        if budget is None or self.asked + total <= budget:
            self.asked += total
            return list(groups)
        if self.asked >= budget:
            raise Spent
        out = []
        for group in groups:
            part = group.first(budget - self.asked)
            self.asked += part.count
            out.append(part)
        return out

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self.attack.budget is not None and self.asked >= self.attack.budget

    def spend(self, count: int) -> int:
        """Count queries that are not sent by `score`; return how many of them the budget covers."""
        budget = self.attack.budget
        left = count if budget is None else min(count, budget - self.asked)
        if count and left < 1:
            raise Spent
        self.asked += left
        return left

    def _scored(self, variants: Variants, answers: Floats) -> Scored:
        goal, label = self.attack.goal, self.example.label
        if self.rounding:
            answers = answers.copy()  # answers of `predict` may replace them
        if self.corrected:
            for i in np.flatnonzero(goal.reached(answers, label)).tolist():
                answers[i] = self.corrected.get(variants.pick(i).parts.tobytes(), answers[i])
        return Scored(variants, answers, goal.values(answers, label), goal.reached(answers, label))

    def _nothing(self, variants: Variants) -> Scored:
        none = np.empty(0, np.float32)
        return Scored(variants, none[:, None], none, np.empty(0, np.bool_))

    # --- choosing

    def take(self, scored: Scored, index: int) -> Held:
        """Return one variant as a text, and hold it as the result so far if it is better."""
        here = Held(
            scored.variants.pick(index), float(scored.values[index]), bool(scored.reached[index]), scored.answers[index]
        )
        self.hold(here)
        return here

    def hold(self, here: Held) -> None:
        now = self.held
        if now is None or (here.reached, here.value) > (now.reached, now.value + SLACK):
            self.held = here
            if self._watch is not None:
                self._watch(self)

    def keep(self, here: Held) -> None:
        """Hold a text as the result so far, for a search that knows why it is better, such as being nearer."""
        if self.held is not here:
            self.held = here
            if self._watch is not None:
                self._watch(self)

    def choose(self, groups: Sequence[Scored], floors: Sequence[float | None]) -> Steps[list[Held | None]]:
        """Return for each group its best variant that satisfies every constraint and exceeds its floor, if any.

        Constraints that need a service (sentence similarity, tags in context) are checked from the best variant on, and
        not much further than needed: one, then two, four and so on, but one at a time where there is a judge of
        meaning, which costs more than a half-empty batch. All groups are checked together.
        """
        many = 1
        while True:
            picks = yield from self._pick(groups, floors)
            if (yield from self.settle(groups, [[i] if i >= 0 else [] for i in picks], many)):
                return [self.take(s, i) if i >= 0 else None for s, i in zip(groups, picks, strict=True)]
            many *= 2

    def _pick(self, groups: Sequence[Scored], floors: Sequence[float | None]) -> Steps[list[int]]:
        """Return the index that `choose` takes of each group, -1 for none."""
        if not self._asks_texts:
            return [self._pick_best(scored, floor) for scored, floor in zip(groups, floors, strict=True)]
        lines = [self._line(scored, floor).tolist() for scored, floor in zip(groups, floors, strict=True)]
        chosen = [-1] * len(groups)
        at, many = 0, 1
        while going := [i for i, line in enumerate(lines) if chosen[i] < 0 and at < len(line)]:
            tops = [(i, index) for i in going for index in lines[i][at : at + many]]
            texts = [groups[i].variants.pick(index) for i, index in tops]
            reached = np.asarray([groups[i].reached[index] for i, index in tops], np.bool_)
            flags = (yield from self.admit(texts, reached)).tolist()
            for (i, index), fine in zip(tops, flags, strict=True):
                if fine and chosen[i] < 0:
                    chosen[i] = index
            at += many
            many = min(2 * many, _AHEAD) if self.attack.judge is None else 1
        return chosen

    def choose_each(self, scored: Scored, groups: Ints, floors: Floats) -> Steps[Ints]:
        """Choose as `choose` does, for groups that were scored together; `groups` [variant] is sorted.

        Return the index of each group's choice, -1 for none; hold nothing.
        """
        many = 1
        while True:
            chosen = yield from self._pick_each(scored, groups, floors)
            if (yield from self.settle([scored], [chosen[chosen >= 0]], many)):
                return chosen
            many *= 2

    def _pick_each(self, scored: Scored, groups: Ints, floors: Floats) -> Steps[Ints]:
        values, reached = scored.values, scored.reached
        line = ranked_within(groups, values, reached)
        line = line[(values[line] > floors[groups[line]] + np.float32(SLACK)) | reached[line]]
        chosen = np.full(len(floors), -1, np.int64)
        while len(line):
            whose, first = np.unique(groups[line], return_index=True)
            tops = line[first]
            fine = (
                (yield from self.admit([scored.variants.pick(i) for i in tops.tolist()], reached[tops]))
                if self._asks_texts
                else _ALL
            )
            chosen[whose[fine]] = tops[fine]
            line = np.delete(line, first)
            line = line[chosen[groups[line]] < 0]
        return chosen

    def hold_best(self, scored: Scored, chosen: Ints) -> None:
        """Hold the best of these variants, as holding one after the other would."""
        found = -1
        mark = (False, -np.inf) if self.held is None else (self.held.reached, self.held.value + SLACK)
        ends = zip(chosen.tolist(), scored.reached[chosen].tolist(), scored.values[chosen].tolist(), strict=True)
        for index, reached, value in ends:
            if (reached, value) > mark:
                found, mark = index, (reached, value + SLACK)
        if found >= 0:
            self.take(scored, found)

    def look_back(self) -> Steps[None]:
        """Hold the best scored variant after the budget ended: a ranking scores variants without choosing one."""
        for scored in self._seen:
            if self.held is not None and self.held.reached:
                return
            yield from self.choose([scored], [None if self.held is None else self.held.value])

    def _pick_best(self, scored: Scored, floor: float | None) -> int:
        """Pick as `_pick` does for one group, where no constraint needs a service."""
        if not len(scored.values):
            return -1
        index = top(scored.values, scored.reached)
        if floor is not None and not (scored.values[index] > floor + SLACK or scored.reached[index]):
            if not scored.values.max() > floor + SLACK:
                return -1
            line = self._line(scored, floor)  # one that ties with the first lies above the floor
            return int(line[0]) if len(line) else -1
        return index

    def _line(self, scored: Scored, floor: float | None) -> Ints:
        if not len(scored.values):
            return np.empty(0, np.int64)
        order = ranked(scored.values, scored.reached)
        if floor is None:
            return order
        return order[(scored.values[order] > floor + SLACK) | scored.reached[order]]

    def admit(self, texts: Sequence[Text], reached: Flags | None = None) -> Steps[Flags]:
        """Flag the texts that satisfy the constraints that need a service; the judge of meaning comes last.

        `reached` flags those that reach the goal, so that the ones that the judge refuses are counted.
        """
        fine = np.ones(len(texts), np.bool_)
        for rule in self._text_rules:
            left = np.flatnonzero(fine)
            if not len(left):
                break
            fine[left] = yield from rule.texts(self, [texts[i] for i in left.tolist()])
        judge, left = self.attack.judge, np.flatnonzero(fine)
        if judge is not None and len(left):
            fine[left] = yield from judge.allow(self, [texts[i] for i in left.tolist()])
            if reached is not None:
                self.flips += int((reached[left] & ~fine[left]).sum())
        return fine

    def admit_all(self, scored: Scored) -> Steps[Flags]:
        """Flag the variants that satisfy the constraints that need a service."""
        if not self._asks_texts:
            return np.ones(len(scored.values), np.bool_)
        every = [scored.variants.pick(i) for i in range(len(scored.values))]
        return (yield from self.admit(every, scored.reached))

    # --- what may change

    def tags(self) -> Steps[list[str]]:
        """Return the part of speech of each slot of the original; X, not known, where that is not English."""
        if not self.language.is_english:
            yield from ()
            return ["X"] * self.origin.slots
        if self._tags is None:
            (self._tags,) = yield Ask("tags", [self.origin])
        return self._tags

    def space(self, *, later: bool = False) -> Steps[Space]:
        """Return the slots that may change and their replacements, after all constraints on slots and words.

        `later`: the slots alone; the search fetches the words of a slot with `options` when it comes to it.
        """
        slots = self.open()
        for rule in self.attack.constraints:
            if rule.stage == "slot" and len(slots):
                slots = slots[rule.slots(self, slots)]
        if later:
            return Space(slots, [np.empty(0, np.int64)] * len(slots))
        return Space(slots, (yield from self.options(slots)))

    def options(self, slots: Ints, text: Text | None = None) -> Steps[list[Ints]]:
        """Return the replacements of each of these slots, of the original or of another text.

        Candidates then read that text in place of the original: its context, and the words that it has now.
        """
        if not len(slots):
            return []
        if text is not None and text is not self.origin:
            return (yield from self.reread(text).options(slots))
        words = yield from self.attack.candidates.words(self, slots)
        if (bits := (yield from self.parts(slots))) is not None:
            sizes = np.fromiter(map(len, words), np.int64, len(words))
            flat = np.concatenate(words)
            fine = (marks_of(self.origin.table, flat) & np.repeat(bits, sizes)) > 0
            if not fine.all():
                ends = np.cumsum(sizes).tolist()
                words = [w[fine[end - len(w) : end]] for w, end in zip(words, ends, strict=True)]
        for rule in self.attack.constraints:
            if rule.stage == "word":
                flags = yield from rule.words(self, slots, words)
                words = [w[f] for w, f in zip(words, flags, strict=True)]
        return words

    def reread(self, text: Text) -> Trial:
        """Return this trial for candidates that read another text in place of the original."""
        seen = copy(self)
        seen.origin, seen._tags = text, None
        return seen

    def parts(self, slots: Ints) -> Steps[Bits | None]:
        """Return the allowed parts of speech of each of these slots as bits; None without such a constraint.

        Candidates that know the parts of speech of their words use them to drop words that would be refused later.
        """
        bits: Bits | None = None
        for rule in self.attack.constraints:
            if rule.stage == "part" and self.language.is_english:  # else not known: senses are of one part anyhow
                mine = yield from rule.parts(self, slots)
                bits = mine if bits is None else bits & mine
        return bits

    def open(self) -> Ints:
        """Return the slots of the fields that may change."""
        return self.origin.slots_of(self.example.open)

    @property
    def encoder(self) -> str:
        """The name of the service that encodes sentences for this attack; one of many languages where it must be."""
        return service_of(self.attack.encoder if self.language.is_english else MULTILINGUAL)

    def shown(self, text: Text) -> str:
        """Return the fields that may change as one string, for encoders and language models."""
        return text.only(self.example.open)
