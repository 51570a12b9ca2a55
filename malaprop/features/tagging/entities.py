"""Read entities from tags, and compute entity F1 with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import DataError

OUTSIDE = "O"
_PREFIXES = {"B": "B", "U": "B", "S": "B", "I": "I", "L": "I", "E": "I", "M": "I"}  # IOB, BILUO and IOBES
_REDRAWS = 1000  # bootstrap samples of an interval


class Entity(NamedTuple):
    """Tokens `start` up to `end`, not included, of one class."""

    start: int
    end: int
    kind: str


def split_tag(tag: str) -> tuple[str, str]:
    """Return the prefix, B or I, and the class of a tag; two empty strings for O. A tag without a prefix is inside."""
    if tag in (OUTSIDE, ""):
        return "", ""
    prefix, dash, kind = tag.partition("-")
    if dash and kind and prefix in _PREFIXES:
        return _PREFIXES[prefix], kind
    return "I", tag


def find_odd_tag(tags: Iterable[str]) -> str:
    """Return a tag without a prefix where others have one; empty if all are alike. Classes alone are fine."""
    inside = [tag for tag in tags if tag != OUTSIDE]
    bare = [tag for tag in inside if tag.partition("-")[0] not in _PREFIXES]
    return bare[0] if len(bare) < len(inside) and bare else ""


def read_entities(tags: Sequence[str]) -> tuple[Entity, ...]:
    """Return the entities as conlleval reads them: B always begins one, I does so behind another class or O."""
    found: list[Entity] = []
    start, now = 0, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        prefix, kind = split_tag(tag)
        if now and (kind != now or prefix == "B"):
            found.append(Entity(start, place, now))
        if kind != now or prefix == "B":
            start = place
        now = kind
    return tuple(found)


def tags_of(classes: Iterable[str]) -> tuple[str, ...]:
    """Return all tags of these classes: O first, then B and I of each class."""
    return (OUTSIDE, *(f"{prefix}-{kind}" for kind in classes for prefix in "BI"))


def classes_of(rows: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the classes that occur in the tags, sorted."""
    return tuple(sorted({kind for tags in rows for tag in tags if (kind := split_tag(tag)[1])}))


@dataclass(frozen=True, slots=True)
class EntityF1:
    """Micro-averaged F1 of exact spans, with the 95% interval over redrawn sentences, in points from 0 to 100."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1f} ({self.low:.1f}-{self.high:.1f})"


Counts = NDArray[np.float64]  # [sentence, 3]: entities that are right, that the tagger found, that are there


def count_entities(gold: Sequence[str], found: Sequence[str], kind: str = "") -> tuple[int, int, int]:
    """Return how many entities of a class, or of all, are right, found and there; right is an exact span and class."""
    if len(gold) != len(found):
        raise DataError(f"{len(gold)} tags stand against {len(found)}; one sentence needs as many of both")
    there, seen = (
        {entity for entity in read_entities(tags) if not kind or entity.kind == kind} for tags in (gold, found)
    )
    return len(there & seen), len(seen), len(there)


def f1_of(counts: Counts) -> float:
    """Return F1 in points of summed counts; 0 where nothing is there and nothing was found."""
    right, found, there = counts.tolist()
    return 200 * right / (found + there) if found + there else 0.0


def f1_with_interval(counts: Counts, seed: int) -> EntityF1:
    """Return F1 over the sentences with the percentiles of redrawn sets of sentences."""
    low, high = np.percentile(_redraw(counts, seed), [2.5, 97.5])
    return _rounded(f1_of(counts.sum(0)), low, high)


def f1_lost(before: Counts, after: Counts, seed: int) -> EntityF1:
    """Return by how many points F1 fell, with an interval over the same redrawn sentences."""
    low, high = np.percentile(_redraw(before, seed) - _redraw(after, seed), [2.5, 97.5])
    return _rounded(f1_of(before.sum(0)) - f1_of(after.sum(0)), low, high)


def _redraw(counts: Counts, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=_REDRAWS)
    right, found, there = (weights @ counts).T
    total = found + there
    return np.asarray(200 * right / np.maximum(total, 1))


def _rounded(value: float, low: float, high: float) -> EntityF1:
    return EntityF1(round(value, 4), round(float(low), 4), round(float(high), 4))
