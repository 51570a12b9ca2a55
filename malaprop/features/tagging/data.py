"""Read tagged sentences from CoNLL files (a token and its tag a line) and JSONL files (`tokens` and `tags`)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.errors import DataError, plain
from malaprop.core.example import number_rows
from malaprop.core.text import check_text
from malaprop.data.base import Dataset
from malaprop.data.rows import kind, rows
from malaprop.features.tagging.entities import find_odd_tag

FIELDS = ("tokens", "tags")  # of an example: joined by single spaces


def read_sentences(name: str) -> Dataset:
    """Return the sentences of a file; raise `DataError` with the line where it is not as expected."""
    path = Path(name).expanduser()
    if not path.is_file():
        raise DataError(f"no such file: {name}; --data takes a CoNLL file, or JSONL with tokens and tags")
    found = [
        {"tokens": " ".join(tokens), "tags": " ".join(tags)}
        for place, tokens, tags in (_from_jsonl(path) if kind(path) == ".jsonl" else _from_conll(path))
        if _checked(path, place, tokens, tags)
    ]
    if not found:
        raise DataError(f"{path} holds no sentence; expected tokens with tags, and blank lines between sentences")
    examples = tuple(number_rows((fields, 0) for fields in found))
    return Dataset(name=path.name, examples=examples, labels=(), fields=FIELDS, part="all")


Sentence = tuple[str, Sequence[Any], Sequence[Any]]  # place, tokens, tags


def _from_jsonl(path: Path) -> Iterator[Sentence]:
    for place, cells in rows(path):
        tokens, tags = cells.get("tokens"), cells.get("tags")
        if not isinstance(tokens, list) or not isinstance(tags, list):
            raise DataError(f"{path}, {place}: expected the lists tokens and tags, got {', '.join(cells) or 'nothing'}")
        yield place, tokens, tags


def _from_conll(path: Path) -> Iterator[Sentence]:
    """Read the first column as tokens and the last as tags; comments and -DOCSTART- lines are left out."""
    tokens: list[str] = []
    tags: list[str] = []
    first = at = 0
    for at, line in enumerate(_lines(path), 1):
        cells = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or cells[0] == "-DOCSTART-":
            if tokens:
                yield f"line {first}", tokens, tags
            tokens, tags = [], []
            continue
        if line.startswith("# ") and not tokens:
            continue
        if len(cells) < 2:
            raise DataError(
                f"tag takes CoNLL, or JSONL with tokens and tags; {path}, line {at}: expected a token and its tag, got "
                f"{line.strip()[:40]!r}"
            )
        first = at if not tokens else first
        tokens.append(cells[0])
        tags.append(cells[-1].strip())
    if tokens:
        yield f"line {first}", tokens, tags


def _lines(path: Path) -> Iterator[str]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield from (line.rstrip("\r\n") for line in file)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as text: {plain(error)}") from None


def _checked(path: Path, place: str, tokens: Sequence[Any], tags: Sequence[Any]) -> bool:
    """Whether there is a sentence; raise where its tokens and tags cannot be used."""
    if len(tokens) != len(tags):
        raise DataError(f"{path}, {place}: {len(tokens)} tokens and {len(tags)} tags; give each token one tag")
    for name, cells in (("token", tokens), ("tag", tags)):
        for cell in cells:
            if not isinstance(cell, str) or not cell or cell.split() != [cell]:
                raise DataError(f"{path}, {place}: the {name} {cell!r} is not one word; give strings without spaces")
            check_text(cell)
    if odd := find_odd_tag(tags):
        raise DataError(f"{path}, {place}: {odd!r} is no IOB tag, and others are; expected O, or tags such as I-{odd}")
    return bool(tokens)
