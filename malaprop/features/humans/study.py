"""The study file of a human evaluation: one SQLite database with items, raters' lists and answers, and its writer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal

from malaprop.core.errors import MalapropError, RecordError
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


Entered = Literal["saved", "same", "taken"]
MOST = 256  # answers in one commit


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer as a rater sent it; `change` is set if the rater saw the earlier answer and replaces it."""

    rater: int
    item: int
    value: str
    change: bool = False


def now() -> str:
    """Return the time as the study file has it: ISO, UTC, in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def save_answer(base: sqlite3.Connection, given: GivenAnswer, at: str) -> Entered:
    """Write one answer inside a transaction; an earlier, different answer is kept unless `change` is set."""
    row = base.execute("SELECT value FROM answers WHERE rater = ? AND item = ?", (given.rater, given.item)).fetchone()
    if row is None:
        base.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", (given.rater, given.item, given.value, at))
        return "saved"
    if row[0] == given.value:
        return "same"
    if not given.change:
        return "taken"
    old = "INSERT INTO changes SELECT rater, item, value, at FROM answers WHERE rater = ? AND item = ?"
    base.execute(old, (given.rater, given.item))
    new = "UPDATE answers SET value = ?, at = ? WHERE rater = ? AND item = ?"
    base.execute(new, (given.value, at, given.rater, given.item))
    return "saved"


class AnswerWriter:
    """Writes the answers of a study that is served. A commit takes milliseconds, so waiting answers share one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: SimpleQueue[tuple[GivenAnswer, Future[Entered]] | None] = SimpleQueue()
        self._base = connect(path, write=True)
        try:
            with transaction(self._base, path):  # a file that cannot be written should fail now, not at an answer
                pass
            self._base.execute("PRAGMA journal_mode=WAL")
        except MalapropError:
            self._base.close()
            raise
        except sqlite3.Error as error:
            self._base.close()
            raise RecordError(
                f"{path} cannot be written: {error}; copy the study to a place you can write to"
            ) from None
        self._thread = Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def put(self, given: GivenAnswer) -> Future[Entered]:
        """Queue an answer; the future is done once the answer is on the disk."""
        promise: Future[Entered] = Future()
        promise.set_running_or_notify_cancel()  # a client that leaves early cannot cancel the write
        self._queue.put((given, promise))
        return promise

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, end = [first], False
            while len(batch) < MOST and not self._queue.empty():
                if (more := self._queue.get()) is None:
                    end = True
                    break
                batch.append(more)
            self._commit(batch)
            if end:
                return

    def _commit(self, batch: list[tuple[GivenAnswer, Future[Entered]]]) -> None:
        at = now()
        try:
            with transaction(self._base, self._path):
                found = [save_answer(self._base, given, at) for given, _ in batch]
        except Exception as error:  # noqa: BLE001 - every waiting request must get the error, whatever it is
            for _, promise in batch:
                promise.set_exception(error)
            return
        for (_, promise), entered in zip(batch, found, strict=True):
            promise.set_result(entered)

    def close(self) -> None:
        """Write the waiting answers, and leave the study as one plain file without a write-ahead log."""
        self._queue.put(None)
        self._thread.join()
        with suppress(sqlite3.Error):  # while another process has the file open, its log stays; that does no harm
            self._base.execute("PRAGMA journal_mode=DELETE")
        self._base.close()
