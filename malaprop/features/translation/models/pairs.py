"""Pairs that a translation model learns from, is chosen by and judged on, whatever the dataset offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from malaprop.core.errors import DataError
from malaprop.core.example import Example
from malaprop.data.tenths import tenth_of
from malaprop.training.splits import Labelled, Read


class Pair(NamedTuple):
    source: str
    target: str


class Parts(NamedTuple):
    """`own` says that the test part is the dataset's own: a figure on it can be compared with others'."""

    name: str
    train: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    test: tuple[Pair, ...]
    fingerprint: str
    own: bool


def parts(read: Read, spec: str) -> Parts:
    """The parts of a dataset; of one that is whole, a tenth of the sources each, by their hash, with all pairs."""
    train = read(spec, split="train")
    test, held_out = _maybe(read, spec, "test"), _maybe(read, spec, "validation")
    own = test is not None and test.fingerprint != train.fingerprint
    learnt, rest = pairs_of(train), (pairs_of(held_out) if held_out and own else ())
    if own and test is not None:
        judged = pairs_of(test)
        if not rest:
            learnt, rest = _without(learnt, 1), _only(learnt, 1)
    else:
        judged, rest = _only(learnt, 0), _only(learnt, 1)
        learnt = _without(_without(learnt, 0), 1)
    for what, found in (("train on", learnt), ("choose by", rest), ("judge on", judged)):
        if not found:
            raise DataError(f"{train.name} has {len(train.examples)} pairs, which leaves none to {what}; give more")
    return Parts(train.name.removesuffix(":train"), learnt, rest, judged, train.fingerprint, own)


def pairs_of(data: Labelled) -> tuple[Pair, ...]:
    """Source and target of each example that has both."""
    first = data.examples[0] if data.examples else None
    if first is not None and set(first.fields) != {"source", "target"}:
        raise DataError(
            f"{data.name} has the columns {', '.join(first.fields)}; a translation needs source,target (or src,tgt)"
        )
    return tuple(pair for pair in map(_pair, data.examples) if pair.source and pair.target)


def _pair(example: Example) -> Pair:
    return Pair(example.fields["source"].strip(), example.fields["target"].strip())


def _maybe(read: Read, spec: str, split: str) -> Labelled | None:
    try:
        return read(spec, split=split)
    except DataError:
        return None


def _only(pairs: Sequence[Pair], tenth: int) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if tenth_of(pair.source) == tenth)


def _without(pairs: Sequence[Pair], tenth: int) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if tenth_of(pair.source) != tenth)
