"""Answers on their way to the disk: one thread writes what has gathered in one commit, and then says so."""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Literal

from malaprop.core.errors import MalapropError, RecordError
from malaprop.features.humans.study import connect, transaction

Entered = Literal["saved", "same", "taken"]
MOST = 256  # answers in one commit


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer as it comes; `change` says that the rater saw the earlier answer and gives another."""

    rater: int
    item: int
    value: str
    change: bool = False


def moment() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def enter(base: sqlite3.Connection, given: GivenAnswer, at: str) -> Entered:
    """Writes one answer inside a transaction; an earlier one of another value stands unless it is to be changed."""
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
    """The writing side of a study that is served. A commit takes some milliseconds, so those who wait share one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: SimpleQueue[tuple[GivenAnswer, Future[Entered]] | None] = SimpleQueue()
        self._base = connect(path, write=True)
        try:
            with transaction(self._base, path):  # finds out now, not at the first answer, that nothing can be written
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
        self._thread = Thread(target=self._work, name="ledger", daemon=True)
        self._thread.start()

    def put(self, given: GivenAnswer) -> Future[Entered]:
        """A promise that is kept once the answer is on the disk."""
        promise: Future[Entered] = Future()
        promise.set_running_or_notify_cancel()  # who leaves before it is kept does not stop the one who keeps it
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
        at = moment()
        try:
            with transaction(self._base, self._path):
                found = [enter(self._base, given, at) for given, _ in batch]
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it was
            for _, promise in batch:
                promise.set_exception(error)
            return
        for (_, promise), entered in zip(batch, found, strict=True):
            promise.set_result(entered)

    def close(self) -> None:
        """Writes what is waiting, and leaves the study as one plain file."""
        self._queue.put(None)
        self._thread.join()
        with suppress(sqlite3.Error):  # another process may have it open; then it stays as it is, which is fine too
            self._base.execute("PRAGMA journal_mode=DELETE")
        self._base.close()
