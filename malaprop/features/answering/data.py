"""Read questions with a context and true answers: SQuAD's JSON, or JSONL with `question`, `context` and `answers`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from malaprop.core.errors import DataError, plain
from malaprop.core.example import number_rows
from malaprop.core.text import check_text
from malaprop.data.base import Dataset
from malaprop.data.rows import kind, rows

FIELDS = ("question", "context", "answers")  # of an example: the true answers are a JSON list


class Question(NamedTuple):
    """One question on a text; `place` says where it stands in the file."""

    place: str
    question: Any
    context: Any
    answers: Any


def read_questions(name: str) -> Dataset:
    """Return the questions of a file that have an answer; raise `DataError` with the place where it is not right."""
    path = Path(name).expanduser()
    if not path.is_file():
        raise DataError(f"no such file: {name}; --data takes SQuAD's JSON, or JSONL: question, context, answers")
    found = [
        {"question": one.question.strip(), "context": one.context.strip(), "answers": json.dumps(answers)}
        for one in (_from_squad(path) if kind(path) == ".json" else _from_jsonl(path))
        if (answers := _check(path, one))
    ]
    if not found:
        raise DataError(f"{path} holds no question with an answer; expected question, context and answers")
    examples = tuple(number_rows(((fields, 0) for fields in found), ("context",)))
    return Dataset(name=path.name, examples=examples, labels=(), fields=FIELDS, part="all")


def _from_jsonl(path: Path) -> Iterator[Question]:
    for place, cells in rows(path):
        yield Question(place, cells.get("question"), cells.get("context"), cells.get("answers", cells.get("answer")))


def _from_squad(path: Path) -> Iterator[Question]:
    """Yield the questions of SQuAD's nested lists; a plain list of rows is read as JSONL is."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            whole = json.load(file)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON: {plain(error)}") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("data"), list):
        raise DataError(f"{path} is not in the form of SQuAD; expected an object with `data`, or a file of JSONL")
    for number, article in enumerate(whole["data"], 1):
        for part, paragraph in enumerate(_listed(article, "paragraphs", path, f"article {number}"), 1):
            place = f"article {number}, paragraph {part}"
            for one in _listed(paragraph, "qas", path, place):
                if not isinstance(one, dict):
                    raise DataError(f"{path}, {place}: expected questions as objects, got {str(one)[:40]!r}")
                yield Question(place, one.get("question"), paragraph.get("context"), one.get("answers"))


def _listed(holder: Any, name: str, path: Path, place: str) -> list[Any]:
    found = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(found, list):
        raise DataError(f"{path}, {place}: expected a list `{name}`")
    return found


def _check(path: Path, one: Question) -> list[str]:
    """Return the distinct true answers, none for a question without one; raise where a part is missing."""
    for name in ("question", "context"):
        value = getattr(one, name)
        if not isinstance(value, str) or not value.strip():
            takes = "qa takes SQuAD's JSON, or JSONL with question, context and answers; " if value is None else ""
            raise DataError(f"{takes}{path}, {one.place}: expected a {name} as text, got {str(value or '')[:40]!r}")
        check_text(value)
    given = one.answers.get("text") if isinstance(one.answers, Mapping) else one.answers
    listed = given if isinstance(given, list) else [given]
    found: dict[str, None] = {}
    for answer in listed:
        text = answer.get("text") if isinstance(answer, Mapping) else answer
        if text is not None and not isinstance(text, str):
            raise DataError(f"{path}, {one.place}: expected answers as texts, got {str(text)[:40]}")
        if text and check_text(text).strip():
            found[text.strip()] = None
    if found and not any(answer.lower() in one.context.lower() for answer in found):
        raise DataError(f"{path}, {one.place}: no answer stands in the context, such as {next(iter(found))[:40]!r}")
    return list(found)
