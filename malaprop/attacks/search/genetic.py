"""Alzantot's genetic search. All members of a generation move, and ask, at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.constraints.edits import words_within
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, Scored, ranked
from malaprop.core.text import Ints
from malaprop.core.variants import Variants, runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Genetic:
    """A population of `size` texts over `rounds` generations; at most `share` of the words differ from the original.

    The paper: a member moves by drawing a slot, likelier the more replacements it has, and taking the best one there;
    parents are drawn likelier the fitter they are, and a child takes each word from either. With `until` a member goes
    on drawing slots until one gains, and the share is rounded up.
    `peer`, as TextAttack has it: the same, but parents are likelier the *weaker* they are, and children may exceed the
    share.

    `times` above 1 is the improved search of Wang et al. 2021: the first population is one text for each slot that may
    change, with its best replacement; a child is the beginning of one parent and the end of the other; and a member may
    change a slot that often, each slot that it may still change as likely as the others. With `chain` it then takes a
    replacement of the word that stands there by now, not of the original one.
    """

    size: int = 60
    rounds: int = 20
    heat: float = 0.3  # of the softmax that draws parents; the authors' code
    share: float = 0.2
    until: bool = False
    peer: bool = False
    times: int = 1
    chain: bool = False

    def __post_init__(self) -> None:
        if self.size < 2 or self.rounds < 1 or self.heat <= 0 or not 0 < self.share <= 1 or self.times < 1:
            raise SettingError("Genetic needs size >= 2, rounds and times >= 1, heat > 0 and a share in (0, 1]")
        if self.chain and self.times == 1:
            raise SettingError("Genetic.chain is for slots that change more than once: set times above 1")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        people = _People(self, trial, start, space.able())
        yield from people.begin()
        for _ in range(self.rounds):
            if people.reached.any():
                break
            yield from people.breed()
            yield from people.move(np.arange(1, people.count))
        return people.best()


class _People:
    """The population as arrays: each member's words, value and answer, and the weights of its slots."""

    def __init__(self, search: Genetic, trial: Trial, start: Held, space: Space) -> None:
        self.search, self.trial, self.space = search, trial, space
        self.improved = search.times > 1
        singles = len(trial.open() if search.peer else space.slots)
        self.count = max(2, min(search.size, singles)) if self.improved else search.size
        self.rows: Ints = np.tile(start.text.words, (self.count, 1))  # [member, slot]
        self.values: NDArray[np.float32] = np.full(self.count, start.value, np.float32)
        self.reached: NDArray[np.bool_] = np.full(self.count, start.reached)
        self.answers: NDArray[np.float32] = np.tile(start.answer, (self.count, 1))
        weights = np.full(len(space.slots), search.times) if self.improved else space.sizes
        self.weights = np.tile(weights.astype(np.float64), (self.count, 1))  # [member, open slot]
        self.insists = search.until or search.peer
        self.most = words_within(search.share, len(trial.open()), up=self.insists)
        self.options = Replacements(trial, space, chain=search.chain)

    def order(self) -> Ints:
        """Return the members from fittest to weakest."""
        return ranked(self.values, self.reached)

    def best(self) -> Held:
        top = int(self.order()[0])
        value, reached = float(self.values[top]), bool(self.reached[top])
        return Held(self.trial.origin.refilled(self.rows[top]), value, reached, self.answers[top])

    def _live(self, who: Ints, scored: Scored, chosen: Ints) -> None:
        """Store values and answers of the chosen variants as those of these members."""
        self.values[who], self.reached[who] = scored.values[chosen], scored.reached[chosen]
        self.answers[who] = scored.answers[chosen]
        self.trial.hold_best(scored, chosen)

    def begin(self) -> Steps[None]:
        """Start the first generation: each member moves once, in the improved search each in a slot of its own."""
        if not self.improved:
            yield from self.move(np.arange(self.count))
            return
        slots = self.trial.open() if self.search.peer else self.space.slots
        places = np.searchsorted(self.space.slots, slots[: self.count])
        own = np.flatnonzero(np.isin(slots[: self.count], self.space.slots))
        left = np.zeros((len(own), len(self.space.slots)))
        left[np.arange(len(own)), places[own]] = 1.0
        yield from self._draw(own, left)

    def move(self, who: Ints) -> Steps[None]:
        """Change one slot of each of these members; with `insists`, try slots until one gains or none is left."""
        slots = self.space.slots
        differs = self.rows[who] != self.trial.origin.words
        full = differs.sum(1) >= self.most
        changed = differs[:, slots]
        barred = ~changed & full[:, None] if self.improved else changed | full[:, None]
        yield from self._draw(who, np.where(barred, 0.0, self.weights[who]))

    def _draw(self, who: Ints, left: NDArray[np.float64]) -> Steps[None]:
        """Draw a slot for each of these members by the weights in `left`, and apply the best replacement there."""
        slots = self.space.slots
        while True:
            reach = np.cumsum(left, 1)
            going = np.flatnonzero(reach[:, -1] > 0) if left.size else np.empty(0, np.int64)
            if not len(going):
                return
            drawn = self.trial.rng.random(len(going)) * reach[going, -1]
            places = (reach[going] <= drawn[:, None]).sum(1)
            left[going, places] = 0
            tries, words, mover = yield from self.options.try_slots(self.rows[who[going]], places)
            fine = self.trial.allows(tries)
            (scored,) = yield from self.trial.score([tries.keep(fine)])
            words, mover = (a[fine][: len(scored.values)] for a in (words, mover))
            floors = self.values[who[going]] if self.insists else np.full(len(going), -np.inf, np.float32)
            chosen = yield from self.trial.choose_each(scored, mover, floors)
            found = np.flatnonzero(chosen >= 0)
            chosen, moved = chosen[found], who[going[found]]
            self.rows[moved, slots[places[found]]] = words[chosen]
            if self.improved:
                self.weights[moved, places[found]] -= 1
            else:
                self.weights[moved, places[found]] = 0
            self._live(moved, scored, chosen)
            left[going[found]] = 0
            if not self.insists:
                return

    def breed(self) -> Steps[None]:
        """Replace all members but the fittest by children of randomly drawn parents."""
        order = self.order()
        self.rows, self.values, self.reached = self.rows[order], self.values[order], self.reached[order]
        self.answers, self.weights = self.answers[order], self.weights[order]
        rng, count = self.trial.rng, self.count - 1
        sign = -1 if self.search.peer else 1
        heated = sign * np.round(self.values.astype(np.float64) / SLACK) * SLACK / self.search.heat
        chance = np.exp(heated - heated.max())  # scores may be logits of any size
        chance /= chance.sum()
        mothers, fathers = (rng.choice(self.count, count, p=chance) for _ in range(2))
        if self.improved:
            mask = np.arange(self.rows.shape[1]) >= rng.integers(self.rows.shape[1], size=(count, 1))
        else:
            mask = rng.random((count, self.rows.shape[1])) < 0.5
        mixed = np.where(mask, self.rows[fathers], self.rows[mothers])
        if not self.search.peer:
            mixed = self._trim(mixed)
        row, slot = np.nonzero(mixed != self.trial.origin.words)
        children = Variants(self.trial.origin, slot, mixed[row, slot], row, count)
        allowed = np.flatnonzero(self.trial.allows(children))
        (scored,) = yield from self.trial.score([children])
        fine = yield from self.trial.admit_all(scored)
        chosen = np.flatnonzero(fine)
        yield from self.trial.settle([scored], [chosen])
        born = allowed[chosen]
        for held in (self.rows, self.values, self.reached, self.answers):  # where a child breaks a constraint,
            held[1:] = held[mothers]  # its mother stays
        self.rows[born + 1] = mixed[born]
        self._live(born + 1, scored, chosen)
        taken = np.zeros_like(mask)
        taken[born] = mask[born]
        self.weights[1:] = np.where(taken[:, self.space.slots], self.weights[fathers], self.weights[mothers])

    def _trim(self, mixed: Ints) -> Ints:
        """Restore random words of children that differ in more slots than the share allows."""
        origin = self.trial.origin.words
        differs = mixed != origin
        draws = np.where(differs, self.trial.rng.random(mixed.shape), -1.0)
        rank = np.argsort(np.argsort(-draws, 1, kind="stable"), 1, kind="stable")
        return np.where(differs & (rank >= self.most), origin, mixed)


class Replacements:
    """The replacements of a space as one flat array, and variants of texts with one more of them.

    With `chain` they replace the word that a text has in the slot now, and are looked up when first needed; without,
    the original word.
    """

    def __init__(self, trial: Trial, space: Space, *, chain: bool = False) -> None:
        self.trial, self.space, self.chain = trial, space, chain
        self.sizes = space.sizes
        self.flat = np.concatenate(space.words)
        self.starts = np.cumsum(self.sizes) - self.sizes
        here = trial.origin.words[space.slots].tolist()
        self._known = {(i, word): found for i, (word, found) in enumerate(zip(here, space.words, strict=True))}

    def try_slots(self, rows: Ints, places: Ints) -> Steps[tuple[Variants, Ints, Ints]]:
        """Return every replacement of one slot of each text: the variants, their new words, and the text of each.

        `rows` [text, slot] are the words of each text, `places` the number of its slot in the space.
        """
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
        """Return the replacements of each text's word in its slot: a flat array, each text's first place, and count."""
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
