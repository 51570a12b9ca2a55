"""Stream: the examples of a file too large for memory, read again at each use."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from heapq import heappush, heapreplace
from itertools import islice
from pathlib import Path

import numpy as np

from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example, content_id
from malaprop.data.base import Dataset, choose, draw, editable, join_fields, split_fields
from malaprop.data.files import Layout, Names, no_rows
from malaprop.data.matching import Labels, cell_of, order, read_labels, turn
from malaprop.data.rows import Row, kind, rows

LARGE = 2 << 20  # bytes of a plain file from which on it is not held: examples take twenty times as much memory
HELD = 50_000  # a sample up to this size is held in memory
_FEW = 100_000  # distinct values of a label column; a column with more is not a label


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The examples of a file in its order, read from disk at each pass; ids and labels are those that `load` gives.

    `numbers` maps each label, as it is written, to its number; `within` is the seed of a sample and the last place in
    that seed's order that belongs to it. Memory holds eight bytes a row while the file is read, and nothing after.
    """

    path: Path
    layout: Layout
    count: int
    numbers: Mapping[str, int]
    labels: tuple[str, ...]
    notes: tuple[str, ...] = ()
    turned: tuple[int, ...] | None = field(default=None)  # the label of a model for each of ours
    within: tuple[int, bytes] | None = None
    chosen: tuple[str, ...] | None = None  # the fields that attacks may change; None: those they change by default
    part: str = ""
    ordered: bool = False  # the labels stand in the victim's order, as the user gave it
    drawn_from: int = 0  # rows from which the examples were sampled; 0: they are not a sample

    @property
    def name(self) -> str:
        return self.path.name if self.chosen is None else f"{self.path.name}{split_fields(self.fields, self.chosen)}"

    @property
    def fields(self) -> tuple[str, ...]:
        return self.layout.names

    @property
    def present(self) -> frozenset[int]:
        return frozenset(map(self._label, self.numbers.values()))

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Example]:
        contents, own = Names(), Names()
        open_ = editable(self.fields) if self.chosen is None else self.chosen
        for row in rows(self.path):
            fields, number = self.layout.fields(row), self._number(row)
            id = contents.of(content_id(fields, number))
            if self.layout.id is not None:
                id = own.of(self.layout.own_id(row) or id)
            if self.within is None or draw(self.within[0], id)[0] <= self.within[1]:
                yield Example(id, fields, self._label(number), open_)

    @cached_property
    def fingerprint(self) -> str:
        """Return sixteen hex digits of the examples' content in any order; a `Dataset` of the same file has others."""
        total = 0
        for e in self:
            total += int.from_bytes(sha256(join_fields(e).encode("utf-8", "surrogatepass")).digest(), "big")
        return sha256("\x1d".join([*self.labels, str(total % 2**256)]).encode()).hexdigest()[:16]

    def sample(self, count: int | None, seed: int = 0) -> Stream | Dataset:
        """Return the examples that `Dataset.sample` would choose."""
        if count is not None and count < 1:
            raise SettingError(f"a sample needs at least 1 example, got {count}")
        if count is None or count >= self.count:
            return replace(self, drawn_from=self.drawn_from or self.count)
        places = np.fromiter((int.from_bytes(draw(seed, e.id)[0], "big") for e in self), np.uint64, self.count)
        last = int(np.partition(places, count - 1)[count - 1])
        part = replace(
            self, count=count, within=(seed, last.to_bytes(8, "big")), drawn_from=self.drawn_from or self.count
        )
        return part if count > HELD else part.held().sample(count, seed)

    def in_terms_of(self, names: Sequence[str]) -> Stream:
        """Return the same examples with labels numbered as in `names` (see `Dataset.in_terms_of`)."""
        turned = None if self.ordered else turn(self.name, self.labels, names, self.present)
        return self if turned is None else replace(self, labels=tuple(names), turned=tuple(turned))

    def ordered_as(self, names: Sequence[str]) -> Stream:
        """Return the same examples with labels numbered as the user gives them (see `Dataset.ordered_as`)."""
        turned = order(self.name, self.labels, names, self.present)
        return replace(self, labels=tuple(names), turned=tuple(turned), ordered=True)

    def opened(self, fields: str) -> Stream:
        """Return the same examples, of which attacks may change these fields (see `Dataset.opened`)."""
        return replace(self, chosen=choose(self.name, self.fields, fields))

    def held(self) -> Dataset:
        """Read all examples into memory."""
        return Dataset(
            name=self.name, examples=tuple(self), labels=self.labels, fields=self.fields, notes=self.notes,
            part=self.part, ordered=self.ordered, drawn_from=self.drawn_from,
        )  # fmt: skip

    def _number(self, row: Row) -> int:
        if self.layout.label is None:
            return 0
        number = self.numbers.get(cell_of(row.cells.get(self.layout.label), row.place))
        if number is None:
            raise DataError(f"{self.path} changed while it was read: {row.place} has a new label; run again")
        return number

    def _label(self, number: int) -> int:
        return number if self.turned is None else self.turned[number]


def is_large(path: str | Path) -> bool:
    """Whether a file should be streamed, by its size, four times as much if compressed; a JSON list never is."""
    path = Path(path)
    if not path.is_file() or kind(path) == ".json":
        return False
    packed = path.suffix.lower() in (".gz", ".parquet")
    return path.stat().st_size * (4 if packed else 1) >= LARGE


def open_stream(
    path: str | Path, *, text: str | None = None, label: str | None = None, labels: Sequence[str] | None = None
) -> Stream:
    """Read the file once, to count its rows, to learn its labels and to raise on bad rows."""
    path = Path(path)
    layout: Layout | None = None
    cells: dict[str, str] = {}  # each label as it is written, with its first place
    count = 0
    for row in rows(path):
        layout = layout or Layout.of(list(row.cells), str(path), text, label)
        layout.fields(row)
        count += 1
        if layout.label is not None:
            try:
                cells.setdefault(cell_of(row.cells.get(layout.label), row.place), row.place)
            except DataError as error:
                raise DataError(f"{path}: {error}") from None
            if len(cells) > _FEW:
                raise DataError(f"{path}: the label column holds over {_FEW:,} different values; is it the label?")
    if layout is None:
        raise no_rows(path)
    if layout.label is None:
        return Stream(path=path, layout=layout, count=count, numbers={"0": 0}, labels=())
    try:
        read = read_labels(list(cells), labels, where=list(cells.values()))
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    notes = (f"{path}: {read.note}",) if read.note else ()
    numbers = dict(zip(cells, read.numbers, strict=True))
    return Stream(path=path, layout=layout, count=count, numbers=numbers, labels=read.names, notes=notes)


# --- a sample in one pass, where `Stream.sample` needs three

_LOOK = 2000  # rows that are read for the labels before the pass


class _Surprise(Exception):  # noqa: N818 - it ends the fast way, not the reading
    """One pass does not suffice: a later row has a new label, or a copy needs a row that was dropped."""


def sample_file(
    path: Path, count: int, seed: int, *, text: str | None = None, label: str | None = None
) -> Dataset | None:
    """Return the examples that `load(path).sample(count, seed)` gives; None where one pass does not suffice.

    An id is a hash of a row's fields and of its label's number, which depends on all labels of the file. So the labels
    of the first rows are taken for all of them; for a file that has others later, or ids of its own, use a `Stream`.
    """
    head = list(islice(rows(path), _LOOK))
    if not head:
        raise no_rows(path)
    layout = Layout.of(list(head[0].cells), str(path), text, label)
    if layout.id is not None:
        return None
    try:
        cells = [] if layout.label is None else [cell_of(row.cells.get(layout.label), row.place) for row in head]
        read = read_labels(cells, where=[row.place for row in head]) if cells else Labels([], (), "")
        numbers = dict(zip(cells, read.numbers, strict=True))
        examples, many = _draw(path, layout, numbers, count, seed)
    except _Surprise:
        return None
    except DataError as error:
        raise DataError(f"{path}: {error}" if not str(error).startswith(str(path)) else str(error)) from None
    notes = (f"{path}: {read.note}",) if read.note else ()
    return Dataset(
        name=path.name, examples=examples, labels=read.names, fields=layout.names, notes=notes, drawn_from=many
    )


def _draw(
    path: Path, layout: Layout, numbers: dict[str, int], count: int, seed: int
) -> tuple[tuple[Example, ...], int]:
    """Return the first `count` examples in the order of the seed, and the number of rows.

    Eight bytes of each other row are kept, to recognise copies.
    """
    marks = array("Q")
    heap: list[tuple[int, str]] = []  # the last in the order of the seed first
    kept: dict[str, Example] = {}
    may_change = editable(layout.names)
    for row in rows(path):
        fields = layout.fields(row)
        number = 0 if layout.label is None else numbers.get(cell_of(row.cells.get(layout.label), row.place), -1)
        if number < 0:
            raise _Surprise
        id = content_id(fields, number)
        marks.append(int(id, 16))
        place = -int.from_bytes(draw(seed, id)[0], "big")
        if id in kept or (len(heap) == count and place <= heap[0][0]):
            continue
        kept[id] = Example(id, fields, number, may_change)
        if len(heap) < count:
            heappush(heap, (place, id))
        else:
            del kept[heapreplace(heap, (place, id))[1]]
    for example in _copies(np.frombuffer(marks, np.uint64), kept, -heap[0][0] if len(heap) == count else None, seed):
        kept[example.id] = example
    return tuple(sorted(kept.values(), key=lambda e: draw(seed, e.id))[:count]), len(marks)


def _copies(marks: np.ndarray, kept: dict[str, Example], last: int | None, seed: int) -> list[Example]:
    """Return the sampled examples that repeat an earlier row; their ids end in -2, -3 and so on."""
    found, often = np.unique(marks, return_counts=True)
    out = []
    for mark, times in zip(found[often > 1].tolist(), often[often > 1].tolist(), strict=True):
        id = f"{mark:012x}"
        for copy in (f"{id}-{number}" for number in range(2, times + 1)):
            if last is not None and int.from_bytes(draw(seed, copy)[0], "big") > last:
                continue
            if id not in kept:
                raise _Surprise  # its fields are gone
            first = kept[id]
            out.append(Example(copy, first.fields, first.label, first.editable))
    return out
