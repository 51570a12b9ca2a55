"""The study file of a human evaluation: one SQLite database with the items, the raters' lists and every answer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.features.humans.items import RatedItem, Turn
from malaprop.features.humans.questions import QUESTIONS, Question, choose_questions
from malaprop.features.humans.sources import System

APPLICATION = 0x4D4C5048  # marks a SQLite file as one of ours
VERSION = 1
WAIT = 5.0  # seconds for another process to finish writing

_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE items (id INTEGER PRIMARY KEY, question TEXT NOT NULL, content TEXT NOT NULL) STRICT;
CREATE TABLE raters (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, secret TEXT NOT NULL) STRICT;
CREATE TABLE turns (rater INTEGER NOT NULL REFERENCES raters, place INTEGER NOT NULL, item INTEGER NOT NULL
    REFERENCES items, flip INTEGER NOT NULL, PRIMARY KEY (rater, place), UNIQUE (rater, item)) STRICT, WITHOUT ROWID;
CREATE TABLE answers (rater INTEGER NOT NULL REFERENCES raters, item INTEGER NOT NULL REFERENCES items,
    value TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (rater, item)) STRICT, WITHOUT ROWID;
CREATE TABLE changes (rater INTEGER NOT NULL, item INTEGER NOT NULL, value TEXT NOT NULL, at TEXT NOT NULL) STRICT;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The properties of a study: `each` raters judge an item; `admin` is the token of the progress page."""

    id: str
    created: str
    seed: int
    each: int
    labels: tuple[str, ...]
    systems: tuple[System, ...]
    ask: tuple[str, ...]
    admin: str

    @property
    def questions(self) -> tuple[Question, ...]:
        return choose_questions(self.ask)


@dataclass(frozen=True, slots=True)
class Rater:
    """One rater; raters whose answers were imported have no secret and no page."""

    id: int
    name: str
    secret: str


@dataclass(frozen=True, slots=True)
class RaterAnswer:
    """One rater's stored answer to one item."""

    rater: int
    item: int
    value: str


def create(
    path: Path, facts: Facts, items: Mapping[int, RatedItem], raters: Sequence[Rater], turns: Sequence[Sequence[Turn]]
) -> None:
    """Write a whole study or nothing; raise if the file exists."""
    if path.exists():
        raise RecordError(f"{path} exists already, and may hold answers; choose another --out")
    half = path.with_name(f".{path.name}.half")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.unlink(missing_ok=True)
        with _explain_errors(path):
            _fill(sqlite3.connect(half, isolation_level=None), facts, items, raters, turns)
        half.replace(path)
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror or error}; choose another --out") from None
    finally:
        if half.parent.is_dir():
            half.unlink(missing_ok=True)


def _fill(
    base: sqlite3.Connection,
    facts: Facts,
    items: Mapping[int, RatedItem],
    raters: Sequence[Rater],
    turns: Sequence[Sequence[Turn]],
) -> None:
    with base:
        base.executescript(f"PRAGMA application_id={APPLICATION}; PRAGMA user_version={VERSION}; {_SCHEMA}")
        base.execute("BEGIN")
        base.executemany("INSERT INTO facts VALUES (?, ?)", [(k, _dump(v)) for k, v in asdict(facts).items()])
        base.executemany("INSERT INTO items VALUES (?, ?, ?)", [(i, x.question, _content(x)) for i, x in items.items()])
        base.executemany("INSERT INTO raters VALUES (?, ?, ?)", [(r.id, r.name, r.secret) for r in raters])
        rows = ((r.id, place, t.item, t.flip) for r, own in zip(raters, turns, strict=True) for place, t in _count(own))
        base.executemany("INSERT INTO turns VALUES (?, ?, ?, ?)", rows)
    base.close()


def _count(own: Sequence[Turn]) -> Iterator[tuple[int, Turn]]:
    return enumerate(own, start=1)


def _dump(value: Any) -> str:
    return json.dumps(value)  # ASCII: a lone surrogate, which SQLite cannot hold, is escaped


def _content(item: RatedItem) -> str:
    return _dump({k: v for k, v in asdict(item).items() if k != "question"})


def _item(question: str, content: str) -> RatedItem:
    plain = json.loads(content)
    return RatedItem(question=question, **{**plain, "systems": tuple(plain["systems"]), "texts": tuple(plain["texts"])})


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a line that says what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        words = str(error)
        if "locked" in words or "busy" in words:
            raise RecordError(f"{path} is locked by another process; wait for it to end and try again") from None
        if "readonly" in words or "unable to open" in words or "attempt to write" in words:
            raise RecordError(
                f"{path} cannot be written: {words}; copy the study to a place you can write to"
            ) from None
        raise RecordError(f"{path}: {words}; check the disk and the file, or export the study again") from None
    except sqlite3.DatabaseError as error:
        raise RecordError(f"{path} is not a study ({error}); give a file that humans export wrote") from None


class RatingStudy:
    """An open study. Items, raters and turns never change once written; answers are read anew each time."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        if not path.is_file():
            raise RecordError(f"no such study: {path}; make one with malaprop humans export")
        with _explain_errors(path):
            self._base = connect(path, write=write)
            self.facts = self._facts()
            self.items = {
                i: _item(q, content) for i, q, content in self._rows("SELECT id, question, content FROM items")
            }
            self.turns: dict[int, list[Turn]] = {}
            for rater, item, flip in self._rows("SELECT rater, item, flip FROM turns ORDER BY rater, place"):
                self.turns.setdefault(rater, []).append(Turn(item, bool(flip)))

    def _rows(self, query: str, *values: int | str) -> list[tuple[Any, ...]]:
        return self._base.execute(query, values).fetchall()

    def _facts(self) -> Facts:
        ((mark,),), ((version,),) = self._rows("PRAGMA application_id"), self._rows("PRAGMA user_version")
        if mark != APPLICATION:
            raise RecordError(f"{self.path} is not a study; give a file that malaprop humans export wrote")
        if version > VERSION:
            raise RecordError(f"{self.path} was written by a later Malaprop (format {version}); update this one")
        plain = {name: json.loads(value) for name, value in self._rows("SELECT name, value FROM facts")}
        systems = tuple(System(**system) for system in plain["systems"])
        return Facts(**{**plain, "systems": systems, "labels": tuple(plain["labels"]), "ask": tuple(plain["ask"])})

    def raters(self) -> dict[int, Rater]:
        with _explain_errors(self.path):
            return {
                id: Rater(id, name, secret) for id, name, secret in self._rows("SELECT id, name, secret FROM raters")
            }

    def answers(self) -> list[RaterAnswer]:
        """Return every answer, ordered by rater and item."""
        with _explain_errors(self.path):
            return [
                RaterAnswer(*row) for row in self._rows("SELECT rater, item, value FROM answers ORDER BY rater, item")
            ]

    def answers_of(self, rater: int) -> dict[int, str]:
        """Return one rater's answers by item."""
        with _explain_errors(self.path):
            return dict(self._rows("SELECT item, value FROM answers WHERE rater = ?", rater))

    @property
    def images(self) -> bool:
        """Whether raters judge images instead of texts."""
        return any(item.image for item in self.items.values())

    def question(self, item: int) -> Question:
        return QUESTIONS[self.items[item].question]

    def close(self) -> None:
        self._base.close()

    def __enter__(self) -> RatingStudy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a connection without automatic commits; with `write`, a commit returns once it is on the disk."""
    where = f"{path.absolute().as_uri()}?mode={'rw' if write else 'ro'}"
    with _explain_errors(path):
        base = sqlite3.connect(where, uri=True, isolation_level=None, timeout=WAIT, check_same_thread=False)
        if write:
            base.execute("PRAGMA synchronous=FULL")
    return base


@contextmanager
def transaction(base: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
    """Commit everything written inside the block, or nothing if it raises."""
    with _explain_errors(path):
        base.execute("BEGIN IMMEDIATE")
        try:
            yield base
            base.execute("COMMIT")
        except BaseException:
            if base.in_transaction:
                base.execute("ROLLBACK")
            raise
