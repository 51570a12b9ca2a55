"""The kinds of output that a task has in the study's folder. An output that is on disk is done: that is resuming.

| output | is | its pieces | its value |
| --- | --- | --- | --- |
| `RunFolder` | run.toml and one line for each item | first a `Run`, then lines, each with an id | the lines |
| `GrowingFile` | one line for each piece; the task decides how many | dataclasses | the pieces |
| `JsonFile` | one value in NAME.json | the value | the value |
| `OwnFolder` | a folder that the task writes itself, such as a trained model | none | its path |
| `Handover` | nothing on disk | the value | the value, while the study runs |
| `file_outputs.NpzFile` | arrays in NAME.npz | names with arrays | its path |
| `file_outputs.TextFile` | a text in NAME.SUFFIX | the text | its path |
| `Several` | several outputs, each with a name | (name, piece) | a mapping from names to values |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from malaprop.core.errors import RecordError

if TYPE_CHECKING:
    from malaprop.frame.records.store import LineKind

Made = TypeVar("Made")
Add = Callable[[Any], None]
NOTHING: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Skipped:
    """The last piece of a task that cannot be done, with the reason. It is a result, not an error.

    `failed`: the task was tried and failed, so resuming the study tries it again.
    """

    reason: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A line for the user, written to no file; with `once` it is shown once, whichever task yields it."""

    text: str
    once: bool = False


@dataclass(frozen=True, slots=True)
class TimeTaken:
    """The cost of a task's work, such as queries and seconds, for a line of tasks.jsonl."""

    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The piece that ends the whole run because a spending limit is reached. What is written stays."""

    reason: str


class Output(Protocol):
    """What a task writes. Only the driver opens it. `folder` is the study's folder plus the task's name."""

    def done(self, folder: Path) -> bool:
        """Return whether the task need not run."""

    def there(self, folder: Path) -> bool:
        """Return whether all of it is on disk, even if the task runs each time to compare or recompute it."""

    def before(self, folder: Path) -> Any:
        """Return what an earlier attempt finished: for a task with items, their ids."""

    def value(self, folder: Path) -> Any:
        """Return what dependent tasks get as input; `Skipped` if there is nothing."""

    def open(self, folder: Path) -> AbstractContextManager[Add]:
        """Return a function that writes one piece; when it returns, a kill of this process cannot lose the piece."""

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        """Return the piece to write for an item that killed every worker that tried it."""


def value_file(folder: Path) -> Path:
    """Return the file of a task whose output is one value."""
    return folder.with_name(f"{folder.name}.json")


def skipped_file(folder: Path) -> Path:
    """Return the file with the reason why a task was skipped."""
    return folder.with_name(f"{folder.name}.skipped.json")


def write_json(path: Path, value: Any) -> None:
    """Write a dataclass as JSON, whole or not at all."""
    from malaprop.core.codec import encode
    from malaprop.core.files import write_whole

    write_whole(path, json.dumps(encode(value), ensure_ascii=False, indent=1) + "\n")


def read_json(path: Path, kind: type[Made]) -> Made:
    """Read a value of this type from a JSON file; raise RecordError with one line if it does not fit."""
    from malaprop.core.codec import decode

    try:
        return decode(kind, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecordError) as error:
        raise RecordError(f"{path} is not what a study writes ({error}); remove it, and it is made again") from None


def read_skipped(folder: Path) -> Skipped | None:
    """Return why a task was skipped, or None if it was not."""
    path = skipped_file(folder)
    return read_json(path, Skipped) if path.is_file() else None


def _left_out(folder: Path) -> bool:
    found = read_skipped(folder)
    return found is not None and not found.failed


def _skip(folder: Path, why: Skipped) -> None:
    write_json(skipped_file(folder), why)


def _forget(folder: Path) -> None:
    """Remove the reason why a task was skipped, now that it is done."""
    skipped_file(folder).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """A run folder: run.toml and one line for each item. The first piece is the `Run`, every other one has an id.

    `lines` names a `records.store.LineKind`; `error` names a function (item, seed, why) that makes the line of an item
    that could not be done. `checks`: the task runs even if the folder holds all lines; its `Run` is compared with the
    one on disk, and if both are the same nothing is done. `is_path`: the value is the folder, which dependent tasks
    read themselves.
    """

    lines: str = "malaprop.frame.records.store:OUTCOMES"
    error: str = "malaprop.frame.runs.folder:error_outcome"
    checks: bool = False
    is_path: bool = False

    def _kind(self) -> LineKind:
        kind: LineKind = load_named(self.lines)
        return kind

    def done(self, folder: Path) -> bool:
        return not self.checks and self.there(folder)

    def there(self, folder: Path) -> bool:
        from malaprop.frame.records.run import FILE, Run

        if _left_out(folder):
            return True
        path = folder / self._kind().file
        if not path.is_file() or not (folder / FILE).is_file():
            return False
        n = Run.read(folder).n
        with path.open("rb") as file:  # a count of lines is quick, and enough to know that it is not done
            return sum(1 for _ in file) >= n and len(self.before(folder)) >= n

    def mark_done(self, folder: Path) -> None:
        """Says in run.toml that a whole run is done, where a kill came between its last line and that."""
        from malaprop.frame.records.run import FILE, Run

        if not (folder / FILE).is_file() or _left_out(folder):
            return
        if (run := Run.read(folder)).state == "running" and self.there(folder):
            replace(run, state="done", stopped="", cut=0).write(folder)

    def before(self, folder: Path) -> Any:
        from malaprop.core.ids import Ids
        from malaprop.frame.records.lines import open_lines, scan

        kind = self._kind()
        path = folder / kind.file
        if not path.is_file():
            return NOTHING
        with open_lines(path) as file:
            return Ids(row.id for row, _ in scan(file, path, kind.read))

    def value(self, folder: Path) -> Any:
        from malaprop.frame.records.lines import open_lines, scan
        from malaprop.frame.records.store import OUTCOMES, outcomes_of

        if (why := read_skipped(folder)) is not None:
            return why
        if self.is_path:
            return folder
        kind = self._kind()
        if kind is OUTCOMES:
            return outcomes_of(folder)
        with open_lines(folder / kind.file) as file:
            return [row for row, _ in scan(file, folder / kind.file, kind.read)]

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        from malaprop.frame.records.run import Run
        from malaprop.frame.records.store import Writer

        writer: Writer | None = None

        def add(piece: Any) -> None:
            nonlocal writer
            if isinstance(piece, Skipped):
                _skip(folder, piece)
            elif isinstance(piece, Run):  # of each worker that has a share; the first counts
                if writer is None:
                    _forget(folder)
                    writer = stack.enter_context(Writer(folder, piece, kind=self._kind()))
                elif (difference := piece.same_work(writer.run)) is not None:
                    raise RecordError(f"{folder}: two workers do not do the same work: {difference}")
            else:
                assert writer is not None, f"{folder.name}: a run begins with its Run"
                writer.add_new(piece)

        with ExitStack() as stack:
            yield add

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        from malaprop.frame.records.run import FILE, Run

        seed = Run.read(folder).seed if (folder / FILE).is_file() else 0
        return load_named(self.error)(item, seed, why)


@dataclass(frozen=True, slots=True)
class GrowingFile:
    """A file to which each piece adds a line. The task runs each time and decides itself when there are enough lines.

    `kind` is the class of a piece, by whose types it is read back. The task finds earlier pieces in `context.before`.
    """

    kind: Any
    file: str
    most: int = 0  # the number of lines that is enough; 0: only the task knows

    def done(self, folder: Path) -> bool:
        del folder
        return False

    def there(self, folder: Path) -> bool:
        return 0 < self.most <= len(self.value(folder))

    def before(self, folder: Path) -> Any:
        return self.value(folder)

    def value(self, folder: Path) -> Any:
        from malaprop.core.codec import decode
        from malaprop.frame.records.lines import open_lines, scan

        path = folder / self.file
        if not path.is_file():
            return []
        with open_lines(path) as file:
            return [piece for piece, _ in scan(file, path, partial(decode, self.kind))]

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        from malaprop.core.codec import encode
        from malaprop.frame.records.lines import Lines

        with Lines(folder / self.file, what="lines") as lines:
            list(lines.read(lambda line: line))
            lines.cut()
            yield lambda piece: lines.append(json.dumps(encode(piece), ensure_ascii=False))

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        raise RecordError(f"{folder.name}: {why}, at {item.id!r}")


@dataclass(frozen=True, slots=True)
class JsonFile:
    """One dataclass in one file, written atomically; `kind` is the class, by whose types it is read back.

    `again`: the task recomputes it at every run, because that is quick and the settings may have changed.
    `fixed`: a recomputed value must equal the one on disk, because other results in the folder rest on it.
    """

    kind: Any
    again: bool = False
    fixed: bool = False

    def done(self, folder: Path) -> bool:
        return not self.again and self.there(folder)

    def there(self, folder: Path) -> bool:
        return value_file(folder).is_file() or _left_out(folder)

    def before(self, folder: Path) -> Collection[str]:
        del folder
        return NOTHING

    def value(self, folder: Path) -> Any:
        return read_skipped(folder) or read_json(value_file(folder), self.kind)

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        def add(piece: Any) -> None:
            if isinstance(piece, Skipped):
                _skip(folder, piece)
            else:
                if self.fixed and value_file(folder).is_file():
                    self._compare(folder, piece)
                write_json(value_file(folder), piece)
                _forget(folder)

        yield add

    def _compare(self, folder: Path, piece: Any) -> None:
        """Raise RecordError if the value on disk, on which other results of the folder rest, differs from this."""
        there = self.value(folder)
        for one in fields(piece):
            ours, theirs = getattr(piece, one.name), getattr(there, one.name)
            if ours != theirs:
                raise RecordError(
                    f"{folder.parent} holds results of other {one.name} ({_short(theirs)}, and here it is "
                    f"{_short(ours)}); choose another --out"
                )

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        raise RecordError(f"{folder.name}: {why}, at {item.id!r}")


@dataclass(slots=True, eq=False)
class Handover:
    """A value for dependent tasks that is recomputed at every run and written to no file."""

    found: Any = None

    def done(self, folder: Path) -> bool:
        del folder
        return False

    def there(self, folder: Path) -> bool:
        del folder
        return True  # it leaves nothing

    def before(self, folder: Path) -> Collection[str]:
        del folder
        return NOTHING

    def value(self, folder: Path) -> Any:
        del folder
        return self.found

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        del folder

        def add(piece: Any) -> None:
            self.found = piece

        yield add

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        raise RecordError(f"{folder.name}: {why}, at {item.id!r}")


@dataclass(frozen=True, slots=True)
class OwnFolder:
    """A folder that the task writes and resumes itself (`context.folder`); `mark` is the file that it writes last.

    A worker that does not share the driver's disk sends the folder when the work ends. `checks`: the task runs even if
    the folder is complete, and compares its contents with the current settings.
    """

    mark: str = "model.json"
    checks: bool = False

    def done(self, folder: Path) -> bool:
        return not self.checks and self.there(folder)

    def there(self, folder: Path) -> bool:
        return (folder / self.mark).is_file() or _left_out(folder)

    def before(self, folder: Path) -> Collection[str]:
        del folder
        return NOTHING

    def value(self, folder: Path) -> Any:
        return read_skipped(folder) or folder

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        def add(piece: Any) -> None:
            if isinstance(piece, Skipped):
                _skip(folder, piece)
            else:  # from a worker that does not share this disk
                self._unpack(piece, folder)

        yield add
        if (folder / self.mark).is_file():
            _forget(folder)

    def _unpack(self, archive: Any, folder: Path) -> None:
        """Copy the files of an archive to the folder, the mark last."""
        from shutil import copytree

        from malaprop.frame.tasks.workers.ray_session import VictimArchive, unpack

        assert isinstance(archive, VictimArchive), f"{folder.name} writes its folder itself and yielded {archive!r}"
        with unpack(archive) as found:
            copytree(found, folder, dirs_exist_ok=True, ignore=lambda _, names: {self.mark} & set(names))
            (folder / self.mark).write_bytes((Path(found) / self.mark).read_bytes())

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        raise RecordError(f"{folder.name}: {why}, at {item.id!r}")


@dataclass(frozen=True, slots=True)
class Several:
    """Several outputs by name, beside the task's folder: `runs/both` with the parts A and B writes runs/A and runs/B.

    Pieces are (name, piece). It is for work on several things that share one process.
    """

    parts: Mapping[str, Output]

    def done(self, folder: Path) -> bool:
        return _left_out(folder) or all(part.done(folder.parent / name) for name, part in self.parts.items())

    def there(self, folder: Path) -> bool:
        return _left_out(folder) or all(part.there(folder.parent / name) for name, part in self.parts.items())

    def before(self, folder: Path) -> Mapping[str, Any]:
        return {name: part.before(folder.parent / name) for name, part in self.parts.items()}

    def value(self, folder: Path) -> Any:
        return read_skipped(folder) or {name: part.value(folder.parent / name) for name, part in self.parts.items()}

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        with ExitStack() as stack:
            adds = {name: stack.enter_context(part.open(folder.parent / name)) for name, part in self.parts.items()}

            def add(piece: Any) -> None:
                if isinstance(piece, Skipped):
                    _skip(folder, piece)
                else:
                    name, inner = piece
                    adds[name](inner)

            yield add

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        raise RecordError(f"{folder.name}: {why}, at {item.id!r}")


def _short(value: Any) -> str:
    """Return a value as an error message shows it."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def load_named(place: str) -> Any:
    """Import and return the object at "module:name"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
