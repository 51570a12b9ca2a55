"""Alzantot's genetic search. All members of a generation move, and ask, at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import SLACK, ranked
from malaprop.core.text import Ints
from malaprop.core.variants import Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Genetic:
    """A population of `size` texts over `rounds` generations; at most `share` of the words differ from the original.

    The paper: a member moves by drawing a slot, likelier the more replacements it has, and taking the best one there;
    parents are drawn likelier the fitter they are, and a child takes each word from either.
    `peer`, as TextAttack has it: a member goes on drawing slots until one gains, parents are likelier the *weaker* they
    are, and children may exceed the share.
    """

    size: int = 60
    rounds: int = 20
    heat: float = 0.3  # of the softmax that draws parents; the authors' code
    share: float = 0.2
    peer: bool = False

    def __post_init__(self) -> None:
        if self.size < 2 or self.rounds < 1 or self.heat <= 0 or not 0 < self.share <= 1:
            raise SettingError("Genetic wants size >= 2, rounds >= 1, heat > 0 and a share in (0, 1]")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        people = _People(self, trial, start, space.able())
        yield from people.move(np.arange(self.size))
        for _ in range(self.rounds):
            if people.best().reached:
                break
            yield from people.breed()
            yield from people.move(np.arange(1, self.size))
        return people.best()


class _People:
    """The population as arrays, with each member's text, value and the weights of its slots."""

    def __init__(self, search: Genetic, trial: Trial, start: Held, space: Space) -> None:
        self.search, self.trial, self.space = search, trial, space
        self.members: list[Held] = [start] * search.size
        self.weights = np.tile(space.sizes.astype(np.float64), (search.size, 1))  # [member, open slot]
        share = search.share * trial.origin.slots
        self.most = max(1, int(np.ceil(share) if search.peer else np.floor(share + 1e-9)))

    @property
    def values(self) -> NDArray[np.float64]:
        return np.asarray([m.value for m in self.members])

    def order(self) -> list[int]:
        """Members from fittest to weakest."""
        values = np.asarray([m.value for m in self.members], np.float32)
        return [int(i) for i in ranked(values, np.asarray([m.reached for m in self.members]))]

    def best(self) -> Held:
        return self.members[self.order()[0]]

    def move(self, who: Ints) -> Steps[None]:
        """Each of these members changes one slot; a peer's member tries on until it gains or has no slot left."""
        origin, slots = self.trial.origin.words, self.space.slots
        differs = np.stack([self.members[m].text.words for m in who.tolist()]) != origin
        full = differs.sum(1) >= self.most
        left = np.where(differs[:, slots] | full[:, None], 0.0, self.weights[who])
        while True:
            reach = np.cumsum(left, 1)
            going = np.flatnonzero(reach[:, -1] > 0) if left.size else np.empty(0, np.int64)
            if not len(going):
                return
            drawn = self.trial.rng.random(len(going)) * reach[going, -1]
            places = (reach[going] <= drawn[:, None]).sum(1)
            left[going, places] = 0
            tries = [
                Variants.at(self.members[m].text, int(slots[p]), self.space.words[p])
                for m, p in zip(who[going].tolist(), places.tolist(), strict=True)
            ]
            scored = yield from self.trial.score(tries)
            floors = [self.members[m].value if self.search.peer else None for m in who[going].tolist()]
            found = yield from self.trial.choose(scored, floors)
            for i, m, p, held in zip(going.tolist(), who[going].tolist(), places.tolist(), found, strict=True):
                if held is not None:
                    self.members[m] = held
                    self.weights[m, p] = 0
                    left[i] = 0
            if not self.search.peer:
                return

    def breed(self) -> Steps[None]:
        """The fittest stays; the rest are children of drawn parents."""
        order = self.order()
        self.members = [self.members[i] for i in order]
        self.weights = self.weights[order]
        rng, count = self.trial.rng, self.search.size - 1
        sign = -1 if self.search.peer else 1
        heated = sign * np.round(self.values / SLACK) * SLACK / self.search.heat
        chance = np.exp(heated - heated.max())  # scores may be logits of any size
        chance /= chance.sum()
        mothers, fathers = (rng.choice(self.search.size, count, p=chance) for _ in range(2))
        rows = np.stack([m.text.words for m in self.members])
        mask = rng.random((count, rows.shape[1])) < 0.5
        mixed = np.where(mask, rows[fathers], rows[mothers])
        if not self.search.peer:
            mixed = self._trim(mixed)
        row, slot = np.nonzero(mixed != self.trial.origin.words)
        children = Variants(self.trial.origin, slot, mixed[row, slot], row, count)
        allowed = np.flatnonzero(self.trial.allows(children))
        (scored,) = yield from self.trial.score([children])
        fine = yield from self.trial.admit([scored.variants.pick(i) for i in range(len(scored.values))])
        born = allowed[: len(fine)][fine]
        parents = self.members
        self.members = [parents[0], *(parents[m] for m in mothers.tolist())]
        for child, i in zip(born.tolist(), np.flatnonzero(fine).tolist(), strict=True):
            self.members[child + 1] = self.trial.take(scored, i)
        taken = np.zeros_like(mask)  # a child that breaks a constraint never lives: its mother stays
        taken[born] = mask[born]
        self.weights[1:] = np.where(taken[:, self.space.slots], self.weights[fathers], self.weights[mothers])

    def _trim(self, mixed: Ints) -> Ints:
        """Restores random words of children that differ in more slots than the share allows."""
        origin = self.trial.origin.words
        differs = mixed != origin
        draws = np.where(differs, self.trial.rng.random(mixed.shape), -1.0)
        rank = np.argsort(np.argsort(-draws, 1, kind="stable"), 1, kind="stable")
        return np.where(differs & (rank >= self.most), origin, mixed)
