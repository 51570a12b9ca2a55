"""The training, held-out and test parts of a dataset, whichever splits it has."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol

from malaprop.core.errors import DataError
from malaprop.core.example import Example


class Labelled(Protocol):
    """A dataset, as `malaprop.data` has it."""

    @property
    def name(self) -> str: ...

    @property
    def examples(self) -> tuple[Example, ...]: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def fingerprint(self) -> str: ...


class Read(Protocol):
    """Opens a dataset by name, file or hub address; `malaprop.data.load` is one."""

    def __call__(self, spec: str, *, split: str) -> Labelled: ...


class Added(NamedTuple):
    """Examples in a training part beside the dataset's own rows; `about` changes where any of them does."""

    rows: int
    about: str


class Splits(NamedTuple):
    """The parts of a dataset; `own` says that it has a test split of its own, whose figures compare with others'.

    `fingerprint` is that of the dataset, whatever was `added` to its training part.
    """

    name: str
    train: Sequence[Example]
    held_out: Sequence[Example]
    test: Sequence[Example]
    labels: tuple[str, ...]
    fingerprint: str
    own: bool
    added: Added | None = None


def splits(read: Read, spec: str) -> Splits:
    """Return the splits of a dataset; missing ones are taken from its rows by a hash of each id."""
    train, test = read(spec, split="train"), _maybe(read, spec, "test")
    own = test is not None and test is not train and test.fingerprint != train.fingerprint
    held_out = _maybe(read, spec, "validation") if own else None
    if test is None or not own:
        parts = _shared_out(train.examples, {0: "test", 1: "held out"})
        return _checked(train, parts["train"], parts["held out"], parts["test"], own=False)
    if held_out is None:
        parts = _shared_out(train.examples, {0: "held out"})
        return _checked(train, parts["train"], parts["held out"], test.examples, own=True)
    return _checked(train, train.examples, held_out.examples, test.examples, own=True)


def _maybe(read: Read, spec: str, split: str) -> Labelled | None:
    try:
        return read(spec, split=split)
    except DataError:
        return None


def _shared_out(examples: Sequence[Example], tenths: dict[int, str]) -> dict[str, list[Example]]:
    parts: dict[str, list[Example]] = {"train": [], **{name: [] for name in tenths.values()}}
    for example in examples:
        tenth = blake2b(example.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()[0] % 10
        parts[tenths.get(tenth, "train")].append(example)
    return parts


def _checked(
    data: Labelled, train: Sequence[Example], held_out: Sequence[Example], test: Sequence[Example], *, own: bool
) -> Splits:
    name = data.name.removesuffix(":train")
    if len({example.label for example in train}) < 2:
        rows = len(data.examples)
        if len({example.label for example in data.examples}) > 1:
            raise DataError(
                f"{name} has {rows:,} rows of two labels or more, but the {len(train):,} of them to train on have one "
                "label; training needs 100 rows or more, with several of each label"
            )
        raise DataError(f"{name} has fewer than two labels to train on; a classifier needs examples of at least two")
    if not held_out or not test:
        raise DataError(f"{name} has {len(data.examples)} rows, too few to hold some out; training needs 100 or more")
    known = {example.label for example in train}
    for part, examples in (("validation", held_out), ("test", test)):
        if odd := sorted({example.label for example in examples} - known):
            called = data.labels[odd[0]] if odd[0] < len(data.labels) else str(odd[0])
            raise DataError(
                f"{name} has the label {called!r} in its {part} part and not in its training part; add examples of it "
                "to train on, or leave it out"
            )
    return Splits(name, train, held_out, test, data.labels, data.fingerprint, own)
