"""Choose ensembles from a transfer matrix, and compute how far their adversarial texts transfer (Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from malaprop.core.errors import SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.frame.records.intervals import Estimate
from malaprop.papers.universal.choose_ensemble import EXACT, GeneticChoice, exact, expert, fitness, greedy, missing
from malaprop.papers.universal.ensembles_record import ChosenEnsemble, Contrast, EnsemblesRecord
from malaprop.papers.universal.matrix import Doubles, Matrix, ModelResamples, interval
from malaprop.papers.universal.record import TransferRecord
from malaprop.papers.universal.sampled_successes import SampledSuccesses, SampledTexts, Verdicts

HOW = ("genetic", "expert", "greedy", "exact")
_RESAMPLES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleChoice:
    """How ensembles are chosen; `unseen` models are kept from all choices."""

    sizes: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    how: tuple[str, ...] = HOW
    unseen: int = 0
    genetic: GeneticChoice = field(default_factory=GeneticChoice)
    most: int = EXACT
    seed: int = 0  # of the genetic algorithm, and of which models are unseen

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise SettingError(f"ensembles have 1 member or more, got sizes {self.sizes}")
        for how in self.how or ("none",):
            if how not in HOW:
                raise SettingError(f"ensembles are chosen by {', '.join(HOW)}, got {how}")


class Pick(NamedTuple):
    """A chosen ensemble before it is attacked: members are places in the study's list of models."""

    size: int
    how: str
    members: tuple[int, ...]
    fitness: float


def pick(record: TransferRecord, choice: EnsembleChoice) -> tuple[list[Pick], tuple[int, ...], list[str]]:
    """Choose the ensembles; also return the models held out from every choice, and notes on choices that failed."""
    rates = Matrix.from_record(record).rates
    names = [model.name for model in record.models]
    usable = [i for i, model in enumerate(record.models) if model.drawn]
    unseen = _unseen(usable, choice)
    pool = np.asarray([i for i in usable if i not in unseen], np.int64)
    seen = rates[np.ix_(pool, pool)]
    picks, notes = list[Pick](), list[str]()
    for size in choice.sizes:
        for how in choice.how:
            members = _members(how, size, seen, pool, names, choice, notes)
            if members is not None:
                value = fitness(rates[:, pool], np.asarray([members], np.int64))[0]
                picks.append(Pick(size, how, members, round(float(value), 6)))
    if not picks:
        raise SettingError(f"no ensemble can be chosen: {'; '.join(dict.fromkeys(notes))}")
    return picks, unseen, list(dict.fromkeys(notes))


def _unseen(usable: Sequence[int], choice: EnsembleChoice) -> tuple[int, ...]:
    many = len(usable) - choice.unseen
    if many < max(choice.sizes):
        raise SettingError(
            f"ensembles of {max(choice.sizes)} cannot be chosen from {max(many, 0)} models with adversarial texts; "
            "give a smaller --size or fewer --hold-out"
        )
    order = generator(choice.seed, "unseen").permutation(len(usable))
    return tuple(sorted(usable[i] for i in order[: choice.unseen].tolist()))


def _members(
    how: str,
    size: int,
    seen: Doubles,
    pool: Ints,
    names: Sequence[str],
    choice: EnsembleChoice,
    notes: list[str],
) -> tuple[int, ...] | None:
    if how == "expert":
        return _experts(size, names, notes)
    if how == "genetic":
        found: tuple[int, ...] | None = choice.genetic.choose(seen, size, seed=choice.seed)
    else:
        found = greedy(seen, size) if how == "greedy" else exact(seen, size, most=choice.most)
    if found is None:
        notes.append(f"size {size}: exact search among {len(pool)} models would take more than {choice.most:,} steps")
        return None
    return tuple(pool[list(found)].tolist())


def _experts(size: int, names: Sequence[str], notes: list[str]) -> tuple[int, ...] | None:
    listed = expert(size)
    if listed is None:
        notes.append(f"size {size}: the expert's table has sizes 2 to 7")
        return None
    if away := missing(size, names):
        notes.append(f"size {size}: the expert's ensemble needs {', '.join(away)}, which the study does not have")
        return None
    return tuple(sorted(names.index(name) for name in listed))


def gather(
    record: TransferRecord, choice: EnsembleChoice, found: SampledTexts, verdicts: Mapping[str, Verdicts]
) -> EnsemblesRecord:
    """Build the record of the chosen ensembles from their sampled successes, by folder, and the models' answers."""
    picks, unseen, notes = pick(record, choice)
    names = [model.name for model in record.models]
    if unseen:
        notes.insert(0, f"no choice saw {', '.join(names[i] for i in unseen)}")
    draws, matrix = ModelResamples(len(names), seed=record.seed), Matrix.from_record(record)
    drawn = found.sources
    grids = {key: _grid(mine, names, verdicts) for key, mine in drawn.items() if len(mine)}
    for one in picks:
        key = key_of(one.members, names)
        notes += _fell_short("+".join(_names(one, names)), drawn[key], grids.get(key), one.members, names)
    return EnsemblesRecord(
        recipe=record.recipe,
        data=record.data,
        texts=record.texts,
        wanted=record.wanted,
        seed=record.seed,
        models=tuple(names),
        unseen=tuple(names[i] for i in unseen),
        upper=matrix.base_mean(draws),
        lower=matrix.pairs_mean(draws),
        chosen=tuple(_choose(p, picks, unseen, names, drawn, grids, record.seed) for p in picks),
        contrasts=tuple(_contrasts(picks, names, grids, record.seed)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _fell_short(
    ensemble: str, mine: SampledSuccesses, grid: _Grid | None, members: Sequence[int], names: Sequence[str]
) -> list[str]:
    """Note where an ensemble has no success, ended in errors, or was not answered by some model."""
    out = [] if grid is not None else [f"{ensemble}: the attack broke no text"]
    if mine.counts["error"]:
        out.append(f"{ensemble}: {mine.counts['error']} texts ended in an error ({mine.reason})")
    for target, name in enumerate(names if grid is not None else ()):
        lost = 0 if target in members or grid is None else len(mine) - int(grid.answered[:, target].sum())
        if lost:
            out.append(f"{ensemble}: {name} could not answer {lost} of the {len(mine)} texts; its rate leaves them out")
    return out


def _names(picked: Pick, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[i] for i in picked.members)


def key_of(members: Sequence[int], names: Sequence[str]) -> str:
    """Return the name of an ensemble's folder: its size and a hash of its members."""
    whole = "+".join(sorted(names[i] for i in members))
    return f"{len(members)}-{blake2b(whole.encode(), digest_size=5).hexdigest()}"


class _Grid(NamedTuple):
    """Two tables [text, model] of 0 and 1: whether the model answered the text, and whether the answer was wrong."""

    answered: Ints
    wrong: Ints


def _grid(mine: SampledSuccesses, names: Sequence[str], verdicts: Mapping[str, Verdicts]) -> _Grid:
    columns = [verdicts[name].misled(mine.texts, mine.labels) for name in names]
    return _Grid(np.stack([a for a, _ in columns], 1), np.stack([w for _, w in columns], 1))


def _resample(grid: _Grid, targets: Sequence[int], seed: int, whose: str = "") -> tuple[float, Doubles]:
    """Return the mean of the targets' rates, and that mean over bootstrap samples of texts and targets together.

    All ensembles share the samples of targets; texts are sampled for each ensemble (`whose`), as successes differ.
    """
    what = ",".join(map(str, targets))
    answered, wrong = (part[:, list(targets)].astype(float) for part in grid)
    with np.errstate(invalid="ignore"):
        value = float(np.nanmean(wrong.sum(0) / answered.sum(0)))
        rng, own = generator(seed, "targets", what), generator(seed, "texts", what, whose)
        weights = rng.multinomial(len(targets), [1 / len(targets)] * len(targets), _RESAMPLES)
        texts = own.multinomial(len(wrong), [1 / len(wrong)] * len(wrong), _RESAMPLES).astype(float)
        rates = (texts @ wrong) / (texts @ answered)
        kept = np.isfinite(rates)
        means = (np.where(kept, rates, 0) * weights).sum(1) / (weights * kept).sum(1)
    return value, means


def _mean(grid: _Grid | None, targets: Sequence[int], seed: int) -> Estimate | None:
    if grid is None or not targets:
        return None
    value, means = _resample(grid, targets, seed)
    return interval(value, means)


def _choose(
    picked: Pick,
    picks: Sequence[Pick],
    unseen: Sequence[int],
    names: Sequence[str],
    found: Mapping[str, SampledSuccesses],
    grids: Mapping[str, _Grid],
    seed: int,
) -> ChosenEnsemble:
    key = key_of(picked.members, names)
    grid, every = grids.get(key), range(len(names))
    outside = [t for t in every if t not in picked.members]
    taken = {i for other in picks if other.size == picked.size for i in other.members}
    hits, totals = (
        _row(part, picked.members, len(names)) for part in ((grid.wrong, grid.answered) if grid else (None, None))
    )
    return ChosenEnsemble(
        size=picked.size,
        how=picked.how,
        members=_names(picked, names),
        fitness=picked.fitness,
        counts=found[key].counts,
        drawn=len(found[key]),
        hits=hits,
        totals=totals,
        outside=_mean(grid, outside, seed),
        common=_mean(grid, [t for t in every if t not in taken], seed),
        unseen=_mean(grid, [t for t in unseen if t in outside], seed),
    )


def _row(part: Ints | None, members: Sequence[int], many: int) -> tuple[int | None, ...]:
    if part is None:
        return (None,) * many
    return tuple(None if t in members else int(part[:, t].sum()) for t in range(many))


def _difference(value: float, resampled: Doubles) -> Estimate:
    low, high = np.nanpercentile(resampled, [2.5, 97.5])
    return Estimate(round(value, 6), round(float(low), 6), round(float(high), 6))


def _contrasts(picks: Sequence[Pick], names: Sequence[str], grids: Mapping[str, _Grid], seed: int) -> list[Contrast]:
    """Compare the genetic ensemble with every other one of its size; identical ensembles are left out."""
    out = []
    for one in (p for p in picks if p.how == "genetic"):
        for two in (p for p in picks if p.size == one.size and p.members != one.members):
            targets = [t for t in range(len(names)) if t not in one.members and t not in two.members]
            first, second = grids.get(key_of(one.members, names)), grids.get(key_of(two.members, names))
            if first is None or second is None or not targets:
                continue
            (a, x), (b, y) = _resample(first, targets, seed, one.how), _resample(second, targets, seed, two.how)
            difference = _difference(a - b, x - y)
            out.append(
                Contrast(size=one.size, first=one.how, second=two.how, difference=difference, targets=len(targets))
            )
    return out
