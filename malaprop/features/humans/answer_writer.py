"""Writes raters' answers to the study file: one thread commits all waiting answers together."""

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
