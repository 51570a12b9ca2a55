"""Read rows of CSV, TSV, JSONL, JSON and Parquet files, plain or gzipped, one at a time.

Files of pairs without a header (label, premise and hypothesis, separated by tabs) are read under any name: those of
TextFooler are called `snli` and `mnli`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from malaprop.core.errors import DataError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
EXPECTED = "text,label or premise,hypothesis,label or source,target"
PAIR = ("label", "premise", "hypothesis")  # of a file without a header
_OURS = ("text", "label", "premise", "hypothesis", "source", "target", "src", "tgt", "id")  # columns with a meaning
_LABEL = re.compile(r"\d{1,3}|entailment|neutral|contradiction", re.IGNORECASE)
_WHOLE_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_LONGEST = 2**31 - 1  # characters of a cell


class Row(NamedTuple):
    place: str  # "line 7", for errors
    cells: dict[str, Any]


def looks_like_file(name: str) -> bool:
    return Path(name).exists() or "/" in name or kind(Path(name)) in SUFFIXES


def kind(path: Path) -> str:
    """Return the suffix that names the format of a file, without a final `.gz`."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes = suffixes[:-1]
    return suffixes[-1] if suffixes else ""


def rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file; only `.json`, one value, is read whole. A bad row raises when it is reached."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a file ending in {', '.join(SUFFIXES)}")
    if not path.exists():
        raise DataError(
            f"no such file: {path}; give a file that exists (--data also takes a dataset's name or hub:NAME)"
        )
    suffix = kind(path)
    if (suffix not in SUFFIXES or suffix == ".tsv") and _is_bare_pairs(path):
        return _bare_pairs(path)
    if suffix not in SUFFIXES:
        raise DataError(
            f"{path} ends in {suffix or 'nothing known'}; expected one of {', '.join(SUFFIXES)}, plain or .gz"
        )
    if suffix == ".parquet":
        return _parquet(path)
    if suffix == ".json":
        return _objects(path)
    if suffix == ".jsonl":
        return _lines(path)
    return _table(path, "\t" if suffix == ".tsv" else _separator(path))


def read_lines(path: Path) -> Iterator[Row]:
    """Yield each line of a plain text file as a row of one text."""
    with _open_text(path, "\n") as file:
        yield from (Row(f"line {at}", {"text": line.rstrip("\r\n")}) for at, line in enumerate(file, 1))


@contextmanager
def _open_text(path: Path, newline: str) -> Iterator[IO[str]]:
    """Open a file as text; raise a one-line error where it cannot be read or decoded."""
    try:
        with io.TextIOWrapper(_raw(path), encoding="utf-8-sig", newline=newline) as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file: {error}") from None
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _raw(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _not_utf8(path: Path) -> DataError:
    """Return an error that names the first byte that is not UTF-8, and its line."""
    with _raw(path) as raw:
        for at, line in enumerate(raw, 1):
            try:
                line.decode("utf-8-sig" if at == 1 else "utf-8")
            except UnicodeDecodeError as error:
                wrong = line[error.start]
                return DataError(f"{path} is not UTF-8: byte 0x{wrong:02X} in line {at}; save the file as UTF-8")
    return DataError(f"{path} is not UTF-8; save the file as UTF-8")


def _lines(path: Path) -> Iterator[Row]:
    with _open_text(path, "\n") as file:
        for at, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                cells = json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(f"{path}, line {at} is not JSON: {error.msg} at character {error.colno}") from None
            except RecursionError:
                raise DataError(f"{path}, line {at} is not a row: its JSON is nested too deeply") from None
            except ValueError as error:
                raise DataError(f"{path}, line {at} holds {_too_long(error)}") from None
            if not isinstance(cells, dict):
                raise DataError(f"{path}, line {at} is a JSON {type(cells).__name__}; expected an object of {EXPECTED}")
            yield Row(f"line {at}", cells)


def _objects(path: Path) -> Iterator[Row]:
    with _open_text(path, "\n") as file:
        string = file.read()
    try:
        whole = json.loads(string or "[]")
    except json.JSONDecodeError as error:
        raise DataError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise DataError(f"{path} is not a list of rows: its JSON is nested too deeply") from None
    except ValueError as error:
        raise DataError(f"{path} holds {_too_long(error)}") from None
    if not isinstance(whole, list) or not all(isinstance(cells, dict) for cells in whole):
        raise DataError(f"{path} is not a list of objects; expected [{{...}}, ...] of {EXPECTED}")
    yield from (Row(f"row {at}", cells) for at, cells in enumerate(whole, 1))


def _too_long(error: ValueError) -> str:
    """Describe why Python does not read well-formed JSON: usually a whole number of thousands of digits."""
    if "digits" not in str(error):
        return f"what cannot be read: {error}"
    return f"a whole number of over {sys.get_int_max_str_digits():,} digits; write it as a string"


def _is_bare_pairs(path: Path) -> bool:
    """Whether the first line is a label, a premise and a hypothesis, rather than a header."""
    try:
        with _open_text(path, "\n") as file:
            first = file.readline(1 << 20)
    except DataError:
        return False  # the reader of the rows reports the error
    cells = first.rstrip("\r\n").split("\t")
    return len(cells) == len(PAIR) and _LABEL.fullmatch(cells[0].strip()) is not None


def _bare_pairs(path: Path) -> Iterator[Row]:
    with _open_text(path, "\n") as file:
        for at, line in enumerate(file, 1):
            if not (whole := line.rstrip("\r\n")):
                continue
            cells = whole.split("\t")
            if len(cells) != len(PAIR):
                raise DataError(
                    f"{path}, line {at} has {len(cells)} columns; expected {', '.join(PAIR)}, with tabs between them"
                )
            yield Row(f"line {at}", dict(zip(PAIR, cells, strict=True)))


def _separator(path: Path) -> str:
    """Return the separator of a .csv: a comma, or the mark that its header has instead (`;` in much of Europe)."""
    with _open_text(path, "") as file:
        first = file.readline(1 << 20)
    for mark in (",", ";", "\t"):
        try:
            columns = next(csv.reader([first], delimiter=mark), [])
        except csv.Error:
            continue
        if {name.strip().casefold() for name in columns} & set(_OURS) and len(columns) > 1:
            return mark
    return next((mark for mark in (",", ";", "\t") if mark in first), ",")


def _table(path: Path, mark: str) -> Iterator[Row]:
    quoted = mark != "\t" or _is_quoted(path, mark)
    header: list[str] = []
    for line, cells in _parse(path, mark, quoted=quoted):
        if not header:
            header = [name.strip() for name in cells]
            _refuse_twins(path, header)
        elif len(cells) != len(header):
            raise DataError(
                f"{path}, line {line} has {len(cells)} columns, the header has {len(header)} ({', '.join(header)}); "
                "put texts that hold the separator in double quotes"
            )
        else:
            yield Row(f"line {line}", dict(zip(header, cells, strict=True)))


def _refuse_twins(path: Path, header: Sequence[str]) -> None:
    if twice := next((name for name in _OURS if header.count(name) > 1), None):
        raise DataError(f"{path} has two columns called {twice}; rename one of them")


def _is_quoted(path: Path, mark: str) -> bool:
    """Whether a tab-separated file quotes its cells: most do not (a quote mark is text), but data frames do."""
    width, opened = -1, False
    whole = True
    for _, cells in _parse(path, mark, quoted=False):
        if width not in (-1, len(cells)):
            return True
        width = len(cells)
        for cell in cells:
            if cell.startswith('"'):
                opened, whole = True, whole and _WHOLE_QUOTED.fullmatch(cell) is not None
    return opened and whole


def _parse(path: Path, mark: str, *, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty, each after the number of the line where it ends."""
    before = csv.field_size_limit(_LONGEST)
    try:
        with _open_text(path, "") as file:
            reader = (
                csv.reader(file, delimiter=mark, strict=True)
                if quoted
                else csv.reader(file, delimiter=mark, quoting=csv.QUOTE_NONE)
            )
            try:
                yield from ((reader.line_num, cells) for cells in reader if cells)
            except csv.Error as error:
                raise DataError(
                    f"{path}, line {reader.line_num}: {error}; put texts in double quotes and double those inside"
                ) from None
    finally:
        csv.field_size_limit(before)


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise DataError(f"{path} needs pyarrow; install malaprop[parquet], or save the rows as CSV or JSONL") from None
    at = 0
    try:
        with parquet.ParquetFile(path) as file:
            _refuse_twins(path, file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=4096):
                for cells in batch.to_pylist():
                    at += 1
                    yield Row(f"row {at}", cells)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not a Parquet file: {' '.join(str(error).split())}") from None
