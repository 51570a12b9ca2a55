"""Dataset: examples of one kind, sampled by seed so that the file's order does not matter."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from typing import Any, Protocol, Self, TypeVar

from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import PAIR, Example, number_rows
from malaprop.data.matching import order, turn

SPLITS = ("train", "validation", "test")


class Examples(Protocol):
    """The interface of data for runs: a `Dataset` holds its examples, a `Stream` reads them from disk."""

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def part(self) -> str:
        """Return which part of a dataset this is: train, validation, test or all; empty where nobody chose one."""

    @property
    def ordered(self) -> bool:
        """Whether the user gave the labels in the victim's order; the victim's own names then change nothing."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def present(self) -> frozenset[int]:
        """Return the labels that at least one example has."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Example]: ...

    @property
    def drawn_from(self) -> int:
        """Return the number of rows from which the examples were sampled; 0 where they are not a sample."""

    def sample(self, count: int | None, seed: int = 0) -> Examples: ...

    def in_terms_of(self, names: Sequence[str]) -> Self: ...

    def ordered_as(self, names: Sequence[str]) -> Self: ...

    def opened(self, fields: str) -> Examples: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Labelled texts in memory.

    `labels` holds the name of each label, in order; it is empty where the examples have none (translation). Each of
    `notes` is one line on a decision that a reader took, such as how it read unusual labels.
    """

    name: str
    examples: tuple[Example, ...]
    labels: tuple[str, ...]
    fields: tuple[str, ...] = ("text",)
    notes: tuple[str, ...] = ()
    part: str = ""  # of a dataset or a file: train, validation, test or all
    ordered: bool = False  # the labels stand in the victim's order, as the user gave it
    drawn_from: int = 0  # rows from which the examples were sampled; 0: they are not a sample

    def __len__(self) -> int:
        return len(self.examples)

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)

    @property
    def present(self) -> frozenset[int]:
        """Return the labels that at least one example has."""
        return frozenset(e.label for e in self.examples)

    @property
    def fingerprint(self) -> str:
        """Return sixteen hex digits that identify the content of the examples, in any order."""
        rows = sorted(map(join_fields, self.examples))
        whole = "\x1d".join([*self.labels, *rows])
        return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def sample(self, count: int | None, seed: int = 0) -> Dataset:
        """Return at most `count` examples, chosen and ordered by a hash of (seed, id).

        A small sample is the beginning of a larger one with the same seed.
        """
        if count is not None and count < 1:
            raise SettingError(f"a sample needs at least 1 example, got {count}")
        chosen = tuple(sorted(self.examples, key=lambda e: draw(seed, e.id))[:count])
        return replace(self, examples=chosen, drawn_from=self.drawn_from or len(self.examples))

    def in_terms_of(self, names: Sequence[str]) -> Dataset:
        """Return the same examples with labels numbered as in `names`, the order that a model has.

        Labels are matched by name, whatever their case. Plain numbers stay, and so do labels that the user ordered.
        """
        turned = None if self.ordered else turn(self.name, self.labels, names, self.present)
        return self if turned is None else self._turned(turned, names)

    def ordered_as(self, names: Sequence[str]) -> Dataset:
        """Return the same examples with labels numbered as the user gives them: the victim's labels, in its order."""
        turned = order(self.name, self.labels, names, self.present)
        return replace(self._turned(turned, names), ordered=True)

    def _turned(self, turned: Sequence[int], names: Sequence[str]) -> Dataset:
        examples = tuple(replace(e, label=turned[e.label]) for e in self.examples)
        return replace(self, examples=examples, labels=tuple(names))

    def opened(self, fields: str) -> Dataset:
        """Return the same examples, with the fields that attacks may change: a name, several with commas, or `both`."""
        chosen = choose(self.name, self.fields, fields)
        examples = tuple(replace(e, editable=chosen) for e in self.examples)
        return replace(self, name=f"{self.name}{split_fields(self.fields, chosen)}", examples=examples)

    def first(self, count: int | None) -> Dataset:
        """Return the first examples, in their order."""
        return self if count is None else replace(self, examples=self.examples[:count])


def choose(data: str, fields: tuple[str, ...], asked: str) -> tuple[str, ...]:
    """Return the fields that `asked` names, separated by commas; `both` and `all` name every field of the dataset."""
    names = tuple(dict.fromkeys(part.strip() for part in asked.split(",") if part.strip()))
    if names in (("all",), ("both",)):
        return fields
    if not names:
        raise SettingError(f"fields names no field; {data} has {', '.join(fields)}")
    for name in names:
        if name not in fields:
            raise SettingError(f"{data} has no field {name!r}; it has {', '.join(fields)}, or say both")
    return names


def split_fields(fields: tuple[str, ...], chosen: tuple[str, ...]) -> str:
    """Return the suffix of a dataset's name that lists the fields that may change; empty where they are the default."""
    usual = set(editable(fields) or fields)
    return "" if set(chosen) == usual else f" ({' and '.join(chosen)} may change)"


def join_fields(example: Example) -> str:
    """Join an example to one string, for fingerprints, with the fields that may change unless they are the default."""
    usual = editable(tuple(example.fields))
    same = example.editable == usual or set(example.open) == set(usual or example.fields)
    chosen = () if same else example.open
    fields = (f"{name}\x1f{value}" for name, value in example.fields.items())
    return "\x1e".join([example.id, str(example.label), *fields, *chosen])


def draw(seed: int, id: str) -> tuple[bytes, str]:
    """Return the sort key of an example in the random order of a seed."""
    return blake2b(f"{seed}\x1f{id}".encode("utf-8", "surrogatepass"), digest_size=8).digest(), id


SomeExamples = TypeVar("SomeExamples", bound=Examples)


def need_two_labels(data: SomeExamples) -> SomeExamples:
    """Return the dataset, or raise where it has fewer than two labels and cannot train or test a classifier."""
    present = data.present
    if len(present) >= 2:
        return data
    only = "no example" if not present else f"one label only ({_label_name(data, min(present))})"
    raise DataError(f"{data.name} has {only} in {len(data)} rows; a classifier needs examples of at least two labels")


def _label_name(data: Examples, label: int) -> str:
    return data.labels[label] if 0 <= label < len(data.labels) else str(label)


Source = str | Sequence[str] | Mapping[str, str]  # one text, a premise with its hypothesis, or named fields


def of(items: Any, *, name: str = "examples") -> Dataset:
    """Make a dataset of Python values.

    `items` are Examples, (text, label) pairs whose text may also be a pair or a mapping, dictionaries with the columns
    of a file (text, label), a mapping of columns, a pandas DataFrame, or a set of the `datasets` library. Labels are
    numbers from 0, or names, which are matched with the victim's.
    """
    if isinstance(items, Dataset):
        return items
    rows, names = _rows(items)
    if not rows:
        raise DataError(f"{name} holds no example")
    if all(isinstance(row, Mapping) for row in rows):
        from malaprop.data import files

        table = [files.Row(f"row {at}", dict(row)) for at, row in enumerate(rows, 1)]
        return files.from_rows(table, name, shown=name, labels=names)
    labels, numbers = _labels(rows)
    made = number_rows((_fields(row), label) for row, label in zip(rows, numbers, strict=True))
    examples = tuple(
        replace(row, label=label) if isinstance(row, Example) else _limited(example)
        for row, label, example in zip(rows, numbers, made, strict=True)
    )
    return Dataset(name=name, examples=examples, labels=labels, fields=tuple(examples[0].fields))


def _rows(items: Any) -> tuple[list[Any], Sequence[str] | None]:
    """Return the items as a list of rows, and the names of the labels where the data states them."""
    if hasattr(items, "to_dict") and hasattr(items, "columns"):  # a DataFrame
        return [{str(key): value for key, value in row.items()} for row in items.to_dict("records")], None
    if hasattr(items, "column_names") and hasattr(items, "features"):  # of the datasets library
        return list(items), getattr(items.features.get("label"), "names", None)
    if isinstance(items, Mapping):
        columns = {str(key): list(values) for key, values in items.items()}
        if len({len(values) for values in columns.values()}) > 1:
            each = ", ".join(f"{key} {len(values)}" for key, values in columns.items())
            raise DataError(f"the columns are of unequal length: {each}")
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)], None
    return list(items), None


def _labels(rows: Sequence[Any]) -> tuple[tuple[str, ...], list[int]]:
    """Return the names of the labels, and the number of each row's label."""
    from malaprop.data.matching import read_labels

    given = [_label(row) for row in rows]
    if any(isinstance(label, str) for label in given):
        read = read_labels(given)
        return read.names, read.numbers
    numbers = [int(label) for label in given]
    return tuple(map(str, range(max(numbers) + 1))), numbers


def _fields(item: Example | tuple[Source, Any]) -> Mapping[str, str]:
    if isinstance(item, Example):
        return item.fields
    source = item[0]
    if isinstance(source, str):
        return {"text": source}
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, Sequence) and len(source) == 2:
        return dict(zip(PAIR, source, strict=True))
    raise DataError(f"a text is a string, a pair of strings or a mapping, got {type(source).__name__}")


def _label(item: Any) -> int | str:
    """Return the label of an item, a number from 0 or a name; raise where it is neither."""
    if isinstance(item, Example):
        return item.label
    if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
        raise DataError(f"an example is written (text, label), got {str(item)[:60]!r}")
    label = item[1]
    if isinstance(label, str) and label.strip():
        return label
    try:
        whole = int(label)
    except (TypeError, ValueError):
        whole = -1
    if whole < 0 or whole != label:
        raise DataError(f"a label is an integer from 0 or a name, got {label!r}")
    return whole


def _limited(example: Example) -> Example:
    return replace(example, editable=editable(tuple(example.fields)))


def editable(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields that attacks may change by default: the second text of a pair, the source of a translation."""
    if fields == PAIR:
        return PAIR[1:]
    return ("source",) if fields == ("source", "target") else ()


def load(
    spec: str | os.PathLike[str],
    *,
    split: str = "test",
    text: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
    limit: int | None = None,
) -> Dataset:
    """Load a dataset by packaged name, file or `hub:NAME[:split]`.

    `split` chooses the part of a packaged set or a hub set; a file is taken whole. `text` and `label` name the columns
    where they are not called that; `labels` are the names of the labels, in order; `limit` keeps the first rows.
    """
    from malaprop.data import files, local, packaged, synthetic

    name = os.fspath(spec)
    if name.startswith("hub:"):
        return files.load_from_hub(name, split=split, text=text, label=label, labels=labels).first(limit)
    if name in packaged.NAMES:
        return packaged.load(name, split).first(limit)
    if name in synthetic.NAMES:
        return synthetic.load(name, split).first(limit)
    if name in packaged.TRANSLATIONS:
        return packaged.load_translations(name, split).first(limit)
    if name in local.names():
        return local.load(name, split).first(limit)
    if files.looks_like_file(name):
        return files.load(name, text=text, label=label, labels=labels, limit=limit)
    if name in local.TABLE:
        raise DataError(f"{name} is read from local copies; set MALAPROP_DATA to a folder that holds them")
    near = unknown("dataset", name, names())
    raise DataError(f"{near}; or give a file ({', '.join(files.SUFFIXES)}) or hub:NAME")


def reach(
    spec: str | os.PathLike[str],
    *,
    split: str = "test",
    text: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
) -> Examples:
    """Load a dataset as `load` does, but return a `Stream` for a large file, which reads it again when needed."""
    from malaprop.data import files, stream

    name = os.fspath(spec)
    named = name.startswith("hub:") or name in names()
    if not named and files.looks_like_file(name) and stream.is_large(name):
        return stream.open_stream(name, text=text, label=label, labels=labels)
    return load(spec, split=split, text=text, label=label, labels=labels)


def names() -> tuple[str, ...]:
    """Return the names of the packaged datasets, then of those that MALAPROP_DATA adds."""
    from malaprop.data import local, packaged, synthetic

    return (*packaged.NAMES, *synthetic.NAMES, *packaged.TRANSLATIONS, *local.names())


def list_splits(name: str) -> tuple[str, ...]:
    """Return the splits of a named dataset; a hub dataset is assumed to have all three."""
    from malaprop.data import local

    return tuple(local.TABLE[name].splits) if name in local.TABLE else SPLITS


def check_split(split: str) -> str:
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    return split
