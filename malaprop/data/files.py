"""Files of labelled texts, and sets of the Hugging Face hub, as datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from malaprop.core.errors import DataError
from malaprop.core.example import PAIR, Example, number_rows
from malaprop.core.ids import Ids
from malaprop.data.base import Dataset, editable
from malaprop.data.matching import read_labels
from malaprop.data.rows import EXPECTED, SUFFIXES, Row, kind, looks_like_file, read_lines, rows

__all__ = [
    "LAYOUTS",
    "SUFFIXES",
    "Layout",
    "Row",
    "from_rows",
    "load",
    "load_from_hub",
    "load_texts",
    "looks_like_file",
]

LAYOUTS = (("text",), ("premise", "hypothesis"), ("source", "target"), ("src", "tgt"))


def load(
    path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
    limit: int | None = None,
) -> Dataset:
    """Load all rows of a file; texts without a word are kept, and an attack skips them."""
    path = Path(path)
    found = list(rows(path))
    if not found:
        raise no_rows(path)
    return from_rows(found[:limit], str(path.name), shown=str(path), text=text, label=label, labels=labels)


def no_rows(path: Path) -> DataError:
    return DataError(f"{path} holds no rows; expected a header and at least one row of {EXPECTED}")


def load_texts(path: Path, *, text: str | None = None) -> list[str]:
    """Return the text of each row, empty where it has none, without labels; in a `.txt` file each line is a text."""
    plain = kind(path) == ".txt"
    found = list(read_lines(path) if plain else rows(path))
    if not found:
        raise DataError(f"{path} holds no text")
    columns = list(found[0].cells)
    fields = _fields(columns, str(path), None if plain else text)
    if len(fields) > 1:
        raise DataError(f"{path} has pairs of texts ({', '.join(fields)}); expected one text a row")
    column = _spelling(columns).get(fields[0], fields[0])
    return [_string(row, column, str(path)) if _is_filled(row.cells.get(column)) else "" for row in found]


def _is_filled(value: object) -> bool:
    return value is not None and value == value  # a gap may be NaN


class Layout(NamedTuple):
    """The columns that hold texts, label and id; `shown` is the source's name in error messages."""

    shown: str
    columns: Mapping[str, str]  # of each field
    label: str | None  # None: a translation, which has none
    id: str | None

    @classmethod
    def of(cls, columns: Sequence[str], shown: str, text: str | None = None, label: str | None = None) -> Layout:
        fields = _fields(columns, shown, text)
        names = ("source", "target") if fields == ("src", "tgt") else fields
        if text is not None:
            names = ("text",) if len(fields) == 1 else PAIR
        actual = _spelling(columns)
        where = {name: actual.get(field, field) for name, field in zip(names, fields, strict=True)}
        column = None if names == ("source", "target") else _label_column(columns, shown, label)
        meant = [name for name in (*(names if text is None else ()), "id") if name in actual]
        _refuse_twins(columns, shown, [*meant, *(["label"] if label is None and column is not None else [])])
        return cls(shown, where, column, actual.get("id"))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def fields(self, row: Row) -> dict[str, str]:
        return {name: _string(row, column, self.shown) for name, column in self.columns.items()}

    def own_id(self, row: Row) -> str:
        """Return the row's own id, empty where it has none."""
        value = None if self.id is None else row.cells.get(self.id)
        return "" if value is None else str(value).strip()


def from_rows(
    rows: Sequence[Row],
    name: str,
    *,
    shown: str,
    text: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
) -> Dataset:
    """Make a dataset of rows of named cells; `shown` is the source's name in error messages."""
    layout = Layout.of(list(rows[0].cells), shown, text, label)
    texts = [layout.fields(row) for row in rows]
    if layout.label is None:
        read = read_labels([0] * len(rows))._replace(names=())
    else:
        try:
            cells = [row.cells.get(layout.label) for row in rows]
            read = read_labels(cells, labels, where=[row.place for row in rows])
        except DataError as error:
            raise DataError(f"{shown}: {error}") from None
    examples = tuple(number_rows(zip(texts, read.numbers, strict=True), editable(layout.names)))
    if layout.id is not None:
        examples = _with_ids(examples, [layout.own_id(row) for row in rows])
    notes = (f"{shown}: {read.note}",) if read.note else ()
    return Dataset(name=name, examples=examples, labels=read.names, fields=layout.names, notes=notes)


def _spelling(columns: Sequence[str]) -> dict[str, str]:
    """Map each lower-cased, trimmed column name to the name as the file writes it."""
    return {column.strip().casefold(): column for column in reversed(columns)}


def _refuse_twins(columns: Sequence[str], shown: str, meant: Sequence[str]) -> None:
    """Raise where two columns have one of these names but for case, as the user may mean either."""
    for name in meant:
        found = [column for column in columns if column.strip().casefold() == name]
        if len(found) > 1:
            which = " and ".join(map(repr, found[:2]))
            raise DataError(f"{shown} has the columns {which}, either of which may be the {name}; rename one of them")


def _fields(columns: Sequence[str], shown: str, text: str | None) -> tuple[str, ...]:
    if text is not None:
        chosen = (text,) if text in columns else tuple(part.strip() for part in text.split(","))
        if len(chosen) > len(PAIR) or not all(column in columns for column in chosen):
            raise _wrong(columns, shown, text)
        return chosen
    known = _spelling(columns)
    for layout in LAYOUTS:
        if all(name in known for name in layout):
            return layout
    raise _wrong(columns, shown, EXPECTED)


def _label_column(columns: Sequence[str], shown: str, label: str | None) -> str:
    column = label if label is not None else _spelling(columns).get("label")
    if column is None or column not in columns:
        raise _wrong(columns, shown, label or "label")
    return column


def _wrong(columns: Sequence[str], shown: str, expected: str) -> DataError:
    found = ", ".join(column[:30] or "(no name)" for column in columns[:12]) + (", ..." if len(columns) > 12 else "")
    return DataError(
        f"{shown} has the columns {found}; expected {expected}: rename them, or name yours with --text-column and "
        "--label-column"
    )


def _string(row: Row, column: str, shown: str) -> str:
    value = row.cells.get(column)
    if not isinstance(value, str):
        what = "no" if value is None else f"a {type(value).__name__} as"
        raise DataError(f"{shown}, {row.place} has {what} {column}; expected a string")
    return value


def _with_ids(examples: tuple[Example, ...], given: Sequence[str]) -> tuple[Example, ...]:
    """Return the examples with the file's own ids.

    A repeated id gets -2, -3 and so on; where the file's is empty, the example keeps the id of its content.
    """
    names = Names()
    return tuple(replace(e, id=names.of(own or e.id)) for e, own in zip(examples, given, strict=True))


class Names:
    """Makes names distinct: a repeated one gets -2, -3 and so on, and skips suffixes that the file itself uses."""

    def __init__(self, seen: Iterable[str] = ()) -> None:
        self._seen = Ids(seen)
        self._again: dict[str, int] = {}

    def of(self, name: str) -> str:
        own = name
        while not self._seen.add(own):
            count = self._again[name] = self._again.get(name, 1) + 1
            own = f"{name}-{count}"
        return own


# --- `hub:NAME[:split]`, through the `datasets` library

# What hub sets call their texts, most telling first.
_TEXT_COLUMNS = ("text", "sentence", "content", "review", "document", "tweet")


def load_from_hub(
    spec: str,
    *,
    split: str = "test",
    text: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
) -> Dataset:
    """Load a split of a hub dataset; a third part names its configuration: `hub:nyu-mll/glue/sst2:validation`."""
    name, config, part = parse_hub_name(spec, split)
    table = _fetch(name, config, part)
    columns = list(table.column_names)
    if text is None and not any(all(c in columns for c in layout) for layout in LAYOUTS):
        text = next((c for c in _TEXT_COLUMNS if c in columns), None)
    rows = [Row(f"row {at}", dict(cells)) for at, cells in enumerate(table, 1)]
    if not rows:
        raise DataError(f"{spec} has no rows in {part}")
    names = labels if labels is not None else getattr(table.features.get(label or "label"), "names", None)
    return from_rows(rows, f"hub:{name}:{part}", shown=spec, text=text, label=label, labels=names)


def parse_hub_name(spec: str, split: str) -> tuple[str, str | None, str]:
    """Split `hub:NAME[:split]` into name, configuration and split."""
    name, _, part = spec.removeprefix("hub:").partition(":")
    if not name or name.count("/") > 2:
        raise DataError(f"a hub dataset is written hub:NAME or hub:NAME:split, got {spec!r}")
    if name.count("/") == 2:
        name, config = name.rsplit("/", 1)
        return name, config, part or split
    return name, None, part or split


def _fetch(name: str, config: str | None, split: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise DataError(f"hub:{name} needs the datasets library; install malaprop[hf]") from None
    try:
        return datasets.load_dataset(name, config, split=split, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - the hub's client raises errors of many libraries
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"hub:{name} could not be read ({reason[:200]}); check the name, the split and the network"
        ) from None
