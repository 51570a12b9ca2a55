"""Which models to attack together: the genetic algorithm of section 4.1, greedy selection and exact search."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.papers.universal.matrix import Doubles

ADDED = (
    "LSTM-W-Random-1",
    "CNN-C-Random-1",
    "LSTM-WC-ELMo-1",
    "BERT",
    "CNN-W-Random-1",
    "LSTM-C-Random-1",
    "CNN-WC-ELMo-1",
)
SIZES = range(2, len(ADDED) + 1)


def expert(size: int) -> tuple[str, ...] | None:
    """Return the expert's ensemble of a size (Table 8); None for a size that the table does not have."""
    return ADDED[:size] if size in SIZES else None


def missing(size: int, known: Collection[str]) -> tuple[str, ...]:
    """Return the members of the expert's ensemble that are not among `known`."""
    return tuple(name for name in expert(size) or () if name not in known)


EXACT = 500_000  # steps of exact search at most: some ten seconds


def fitness(rates: Doubles, ensembles: Ints) -> Doubles:
    """Return the fitness (equation 1) of each row of members: the mean over targets of the best member's rate.

    `rates` [source, target] has base rates on its diagonal; what was not tried counts as 0.
    """
    return np.asarray(np.nan_to_num(rates)[ensembles].max(1).mean(1))


def _pick_best(ensembles: Ints, values: Doubles) -> tuple[int, ...]:
    """Return the row of largest value; of rows with equal values the first in the order of the models."""
    top = ensembles[values >= values.max() - 1e-12]
    return min(tuple(sorted(row)) for row in top.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneticChoice:
    """Section 4.1: two parents, drawn by fitness, are merged and give two children of as many models, drawn from both;
    a child exchanges at most one model for another.

    The paper gives no numbers. Ours: 60 candidates, 60 generations, half of the children exchange one, parents are
    drawn by how far they are above the weakest, and the best of each generation stays.
    """

    population: int = 60
    generations: int = 60
    exchanged: float = 0.5

    def __post_init__(self) -> None:
        if self.population < 2 or self.generations < 0 or not 0 <= self.exchanged <= 1:
            raise SettingError(
                "Genetic needs a population of 2 or more, 0 generations or more and a share exchanged from 0 to 1, "
                f"got {self.population}, {self.generations} and {self.exchanged}"
            )

    def choose(self, rates: Doubles, size: int, *, seed: int = 0) -> tuple[int, ...]:
        """Run the genetic algorithm and return the best ensemble of the last generation."""
        many = _check(rates, size)
        rng = generator(seed, "ensemble", str(size))
        crowd = np.stack([rng.permutation(many)[:size] for _ in range(self.population)])
        for _ in range(self.generations):
            values = fitness(rates, crowd)
            odds = values - values.min() + 1e-9
            parents = rng.choice(len(crowd), (self.population // 2, 2), p=odds / odds.sum())
            children = [child for a, b in parents for child in self._children(rng, crowd[a], crowd[b], many)]
            crowd = np.stack([crowd[int(values.argmax())], *children])[: max(2, self.population)]
        return _pick_best(crowd, fitness(rates, crowd))

    def _children(self, rng: np.random.Generator, one: Ints, two: Ints, many: int) -> Iterator[Ints]:
        merged = np.union1d(one, two)
        for _ in range(2):
            child = rng.permutation(merged)[: len(one)]
            others = np.setdiff1d(np.arange(many), child)
            if len(others) and rng.random() < self.exchanged:
                child[rng.integers(len(child))] = rng.choice(others)
            yield child


def greedy(rates: Doubles, size: int) -> tuple[int, ...]:
    """Add one model at a time, each time the one that raises the fitness most; of equal ones the first."""
    many = _check(rates, size)
    held: list[int] = []
    for _ in range(size):
        left = [i for i in range(many) if i not in held]
        values = fitness(rates, np.asarray([[*held, i] for i in left], np.int64))
        held.append(left[int(np.argmax(values >= values.max() - 1e-12))])
    return tuple(sorted(held))


def exact(rates: Doubles, size: int, *, most: int = EXACT) -> tuple[int, ...] | None:
    """Return the best of all subsets, by branch and bound; None if that takes more than `most` steps.

    What a model adds only shrinks as others join (the mean of maxima is submodular), so no ensemble that begins with
    some members is better than these and the largest of what each of the rest would add to them.
    """
    many = _check(rates, size)
    search = _Bounded(np.nan_to_num(rates), most, greedy(rates, size))
    return search.best if search.descend((), np.arange(many), np.zeros(rates.shape[1]), size) else None


class _Bounded:
    """Branch and bound from the greedy ensemble on; the models that add most are tried first."""

    def __init__(self, rates: Doubles, most: int, start: tuple[int, ...]) -> None:
        self.rates, self.left = rates, most
        self.best, self.top = start, float(rates[list(start)].max(0).mean())

    def descend(self, held: tuple[int, ...], rest: Ints, reached: Doubles, free: int) -> bool:
        """Search all ensembles of the models held and `free` of the rest; return False where the steps are spent."""
        self.left -= 1
        if self.left < 0:
            return False
        values = np.maximum(reached, self.rates[rest]).mean(1)
        if free == 1:
            top = int(values.argmax())
            if values[top] > self.top + 1e-12:
                self.top, self.best = float(values[top]), tuple(sorted((*held, int(rest[top]))))
            return True
        order = np.argsort(-values, kind="stable")
        rest, now = rest[order], float(reached.mean())
        sums = np.concatenate([[0.0], np.cumsum(values[order] - now)])
        for at, gain in enumerate((sums[free:] - sums[:-free]).tolist()):  # of a model and of those after it
            if now + gain <= self.top + 1e-12:
                break  # nor can a later one, which adds less
            reaches = np.maximum(reached, self.rates[rest[at]])
            if not self.descend((*held, int(rest[at])), rest[at + 1 :], reaches, free - 1):
                return False
        return True


def _check(rates: Doubles, size: int) -> int:
    many = len(rates)
    if not 1 <= size <= many:
        raise SettingError(f"an ensemble of {size} cannot be chosen from {many} models; give a --size up to {many}")
    return many
