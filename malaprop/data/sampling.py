"""Sample a large file in one pass, where `Stream.sample` needs three."""

from __future__ import annotations

from array import array
from heapq import heappush, heapreplace
from itertools import islice
from pathlib import Path

import numpy as np

from malaprop.core.errors import DataError
from malaprop.core.example import Example, content_id
from malaprop.data.base import Dataset, draw, editable
from malaprop.data.files import Layout, no_rows
from malaprop.data.labels import Labels, cell_of, read_labels
from malaprop.data.rows import rows

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
