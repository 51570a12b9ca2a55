"""Compute the success of several files of rules on the same texts and victims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from malaprop.core.seeds import generator
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate, Spread
from malaprop.papers.universal.rules.record import MeasuredCell, MeasuredRules

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_DRAWS = 2000


def find_least_share(outcome: Outcome) -> float:
    """Return the least share of words that allows the changes of a success; one change is always allowed."""
    many = len({(e.field, e.slot) for e in outcome.edits})
    return 0.0 if many <= 1 else outcome.changed_share


def cell(rules: str, victim: str, outcomes: Iterable[Outcome], shares: Sequence[float] = SHARES) -> MeasuredCell:
    found = [o for o in outcomes if o.status in ("success", "failed")]
    broken = [o for o in found if o.status == "success"]
    within = {f"{s:g}": Rate(sum(find_least_share(o) <= s + 1e-9 for o in broken), len(found)) for s in shares}
    return MeasuredCell(
        rules=rules,
        victim=victim,
        success=Rate(len(broken), len(found)),
        words=Spread.of(o.changed_share for o in broken),
        within=within,
    )


def break_everywhere(runs: Iterable[Sequence[Outcome]]) -> Rate:
    """Count the texts on which the rules succeed against every victim, of those that all classify correctly."""
    broken, right = list[set[str]](), list[set[str]]()
    for outcomes in runs:
        broken.append({o.id for o in outcomes if o.status == "success"})
        right.append(broken[-1] | {o.id for o in outcomes if o.status == "failed"})
    known = set.intersection(*right) if right else set()
    return Rate(len(known.intersection(*broken)), len(known))


def measure(
    runs: Mapping[tuple[str, str], Sequence[Outcome]], shares: Sequence[float] = SHARES
) -> tuple[tuple[MeasuredCell, ...], tuple[MeasuredRules, ...]]:
    """Compute the figures from outcomes by (file of rules, victim); every file must have every victim."""
    files, victims = (list(dict.fromkeys(key[i] for key in runs)) for i in (0, 1))
    ids = sorted({o.id for found in runs.values() for o in found})
    grids = {name: _grid([runs[name, v] for v in victims], ids) for name in files}
    draws = generator(0, "rules", "measure").integers(0, len(ids), (_DRAWS, len(ids))) if ids else None
    cells = tuple(cell(name, v, runs[name, v], shares) for name in files for v in victims)
    wholes = []
    for name in files:
        mean, drawn = _means(grids[name], draws)
        ahead = None
        if name != files[0]:
            base, others = _means(grids[files[0]], draws)
            ahead = (mean - base, *_middle(drawn - others))
        words = [c.words.mean for c in cells if c.rules == name and c.words.mean is not None]
        low, high = _middle(drawn)
        share = float(np.mean(words)) if words else None
        everywhere = break_everywhere([runs[name, v] for v in victims])
        wholes.append(
            MeasuredRules(rules=name, mean=mean, low=low, high=high, words=share, ahead=ahead, everywhere=everywhere)
        )
    return cells, tuple(wholes)


Grid = NDArray[np.float64]


def _grid(rows: Sequence[Sequence[Outcome]], ids: Sequence[str]) -> Grid:
    """Return a table [victim, text]: 1 for a success, 0 for a failure, nan where nothing was attacked."""
    place = {id: at for at, id in enumerate(ids)}
    grid = np.full((len(rows), len(ids)), np.nan)
    for line, row in zip(grid, rows, strict=True):
        for outcome in row:
            if outcome.status in ("success", "failed"):
                line[place[outcome.id]] = outcome.status == "success"
    return grid


def _means(grid: Grid, draws: NDArray[np.int64] | None) -> tuple[float, Grid]:
    """Return the mean success over victims, on all texts and on each bootstrap sample of texts."""
    if draws is None or np.isnan(grid).all():
        return float("nan"), np.full(1, np.nan)
    there, hits = ~np.isnan(grid), np.nan_to_num(grid)
    counts = np.stack([np.bincount(draw, minlength=grid.shape[1]) for draw in draws]).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.nanmean((counts @ hits.T) / (counts @ there.T), 1)
        mean = float(np.nanmean(hits.sum(1) / there.sum(1)))
    return mean, drawn


def _middle(drawn: Grid) -> tuple[float, float]:
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if not np.isnan(drawn).all() else (np.nan, np.nan)
    return float(low), float(high)
