"""CSV, TSV, JSONL, JSON and Parquet files of labelled texts, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from malaprop.core.errors import DataError
from malaprop.core.example import Example, number
from malaprop.data.base import Dataset, editable
from malaprop.data.labels import read_labels

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
LAYOUTS = (("text",), ("premise", "hypothesis"), ("source", "target"), ("src", "tgt"))
_WHOLE_QUOTED = re.compile(r'"(?:[^"]|"")*"')


class Row(NamedTuple):
    place: str  # "line 7", for errors
    cells: dict[str, Any]


def looks_like_file(name: str) -> bool:
    return Path(name).exists() or "/" in name or _kind(Path(name)) in SUFFIXES


def load(
    path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
    limit: int | None = None,
) -> Dataset:
    """All rows of a file; texts without a word are kept, and it is the attack that marks them."""
    path = Path(path)
    rows = _read(path)
    if not rows:
        raise DataError(f"{path} holds no rows; expected a header and at least one row of {_expected()}")
    return from_rows(rows[:limit], str(path.name), shown=str(path), text=text, label=label, labels=labels)


def from_rows(
    rows: Sequence[Row],
    name: str,
    *,
    shown: str,
    text: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
) -> Dataset:
    """Rows of named cells as a dataset; `shown` is what errors call the source."""
    columns = list(rows[0].cells)
    fields = _fields(columns, shown, text)
    names = ("source", "target") if fields == ("src", "tgt") else ("text",) if text else fields
    actual = _spelling(columns)
    texts = [
        {name: _string(row, actual.get(field, field), shown) for name, field in zip(names, fields, strict=True)}
        for row in rows
    ]
    if names == ("source", "target"):
        read = read_labels([0] * len(rows))._replace(names=())
    else:
        column = _label_column(columns, shown, label)
        try:
            read = read_labels([row.cells.get(column) for row in rows], labels, where=[row.place for row in rows])
        except DataError as error:
            raise DataError(f"{shown}: {error}") from None
    examples = tuple(number(zip(texts, read.numbers, strict=True), editable(names)))
    if (given := actual.get("id")) is not None:
        examples = _with_ids(examples, [row.cells.get(given) for row in rows])
    notes = (f"{shown}: {read.note}",) if read.note else ()
    return Dataset(name=name, examples=examples, labels=read.names, fields=names, notes=notes)


def _kind(path: Path) -> str:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes = suffixes[:-1]
    return suffixes[-1] if suffixes else ""


def _read(path: Path) -> list[Row]:
    kind = _kind(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a file ending in {', '.join(SUFFIXES)}")
    if not path.exists():
        raise DataError(f"no such file: {path}")
    if kind not in SUFFIXES:
        raise DataError(
            f"{path} ends in {kind or 'nothing known'}; expected one of {', '.join(SUFFIXES)}, plain or .gz"
        )
    if kind == ".parquet":
        return _parquet(path)
    string = _decoded(path)
    try:
        if kind == ".json":
            return _objects(path, json.loads(string or "[]"))
        if kind == ".jsonl":
            return list(_lines(path, string))
        return _table(path, _separated(path, string, "\t" if kind == ".tsv" else ","))
    except json.JSONDecodeError as error:
        raise DataError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise DataError(f"{path} is not a list of rows: its JSON is nested too deeply") from None


def _decoded(path: Path) -> str:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file: {error}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path} is not UTF-8: byte 0x{raw[error.start]:02X} in line {line}; save the file as UTF-8"
        ) from None


def _lines(path: Path, string: str) -> Iterator[Row]:
    for at, line in enumerate(string.split("\n"), 1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, line {at} is not JSON: {error.msg} at character {error.colno}") from None
        if not isinstance(cells, dict):
            raise DataError(f"{path}, line {at} is a JSON {type(cells).__name__}; expected an object of {_expected()}")
        yield Row(f"line {at}", cells)


def _objects(path: Path, whole: object) -> list[Row]:
    if not isinstance(whole, list) or not all(isinstance(cells, dict) for cells in whole):
        raise DataError(f"{path} is not a list of objects; expected [{{...}}, ...] of {_expected()}")
    return [Row(f"row {at}", cells) for at, cells in enumerate(whole, 1)]


Cells = list[tuple[int, list[str]]]  # with the line where each row ends


def _separated(path: Path, string: str, mark: str) -> Cells:
    if mark == ",":
        return _parsed(path, string, mark, quoted=True)
    # Tab-separated files come without quoting as a rule (a quote mark is text), but data frames write them with it.
    plain = _parsed(path, string, mark, quoted=False)
    if len({len(cells) for _, cells in plain}) > 1:
        return _parsed(path, string, mark, quoted=True)
    opened = [cell for _, cells in plain for cell in cells if cell.startswith('"')]
    quoted = bool(opened) and all(_WHOLE_QUOTED.fullmatch(cell) for cell in opened)
    return _parsed(path, string, mark, quoted=True) if quoted else plain


def _parsed(path: Path, string: str, mark: str, *, quoted: bool) -> Cells:
    before = csv.field_size_limit(max(csv.field_size_limit(), len(string) + 1))
    stream = io.StringIO(string, newline="")
    reader = (
        csv.reader(stream, delimiter=mark, strict=True)
        if quoted
        else csv.reader(stream, delimiter=mark, quoting=csv.QUOTE_NONE)
    )
    try:
        return [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}; put texts in double quotes and double those inside"
        ) from None
    finally:
        csv.field_size_limit(before)


def _table(path: Path, rows: Cells) -> list[Row]:
    if not rows:
        return []
    header = [name.strip() for name in rows[0][1]]
    for line, cells in rows[1:]:
        if len(cells) != len(header):
            raise DataError(
                f"{path}, line {line} has {len(cells)} columns, the header has {len(header)} ({', '.join(header)}); "
                "put texts that hold the separator in double quotes"
            )
    return [Row(f"line {line}", dict(zip(header, cells, strict=True))) for line, cells in rows[1:]]


def _parquet(path: Path) -> list[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise DataError(f"{path} needs pyarrow; install malaprop[parquet], or save the rows as CSV or JSONL") from None
    try:
        rows = parquet.read_table(path).to_pylist()
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not a Parquet file: {' '.join(str(error).split())}") from None
    return [Row(f"row {at}", cells) for at, cells in enumerate(rows, 1)]


def _spelling(columns: Sequence[str]) -> dict[str, str]:
    """Lower-cased, trimmed column name to the name as it stands."""
    return {column.strip().casefold(): column for column in reversed(columns)}


def _fields(columns: Sequence[str], shown: str, text: str | None) -> tuple[str, ...]:
    if text is not None:
        if text not in columns:
            raise _wrong(columns, shown, text)
        return (text,)
    known = _spelling(columns)
    for layout in LAYOUTS:
        if all(name in known for name in layout):
            return layout
    raise _wrong(columns, shown, _expected())


def _label_column(columns: Sequence[str], shown: str, label: str | None) -> str:
    column = label if label is not None else _spelling(columns).get("label")
    if column is None or column not in columns:
        raise _wrong(columns, shown, label or "label")
    return column


def _wrong(columns: Sequence[str], shown: str, expected: str) -> DataError:
    found = ", ".join(column[:30] or "(no name)" for column in columns[:12]) + (", ..." if len(columns) > 12 else "")
    return DataError(
        f"{shown} has the columns {found}; expected {expected}: rename them, or say which hold text and label"
    )


def _expected() -> str:
    return "text,label or premise,hypothesis,label or source,target"


def _string(row: Row, column: str, shown: str) -> str:
    value = row.cells.get(column)
    if not isinstance(value, str):
        what = "no" if value is None else f"a {type(value).__name__} as"
        raise DataError(f"{shown}, {row.place} has {what} {column}; expected a string")
    return value


def _with_ids(examples: tuple[Example, ...], given: Sequence[object]) -> tuple[Example, ...]:
    """The file's own ids; a repeated one gets -2, -3 and so on, an empty one keeps the id of its content."""
    seen: dict[str, int] = {}
    out = []
    for example, value in zip(examples, given, strict=True):
        id = str(value).strip() if value is not None else ""
        id = id or example.id
        count = seen[id] = seen.get(id, 0) + 1
        out.append(replace(example, id=id if count == 1 else f"{id}-{count}"))
    return tuple(out)
