"""The kinds of records: the file name, the class and the report section of each, and how to find them on disk."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, Self

from malaprop.core.codec import decode, encode
from malaprop.core.errors import RecordError
from malaprop.core.files import write_whole
from malaprop.frame.rooms import added, load, rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of record, in a file NAME.json.

    `steps` bring older formats up to this one, each a function of plain values to plain values, "module:function":
    the first takes format 1 to 2, and so on.
    """

    name: str
    record: str  # module:class
    section: str  # module:SECTION, of malaprop.frame.report.section.Section
    about: str  # the subject of the record, for messages
    again: str  # what to do if it cannot be read
    form: int = 1
    steps: tuple[str, ...] = ()
    indent: int | None = 1

    @property
    def file(self) -> str:
        return f"{self.name}.json"

    def read(self, path: Path) -> Any:
        """Return the record in this file; raise with one line that says what is wrong, and where."""
        try:
            text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            raw = json.loads(text.decode("utf-8"))
            if not isinstance(raw, dict):
                raise RecordError("not an object")
            return decode(load(self.record), self._upgrade(raw))
        except (OSError, EOFError, ValueError, RecursionError, RecordError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise RecordError(f"{path} is not a record of {self.about} ({reason[:160]}); {self.again}") from None

    def _upgrade(self, raw: dict[str, Any]) -> dict[str, Any]:
        held = raw.get("format", raw.get("version", 1))  # early files of some kinds have no format
        if held == self.form:
            return raw
        if not isinstance(held, int) or not 1 <= held < self.form:
            newer = isinstance(held, int) and held > self.form
            raise RecordError(f"format {held}, written by a newer malaprop" if newer else f"no format {self.form}")
        for step in self.steps[held - 1 :]:
            raw = load(step)(raw)
        return raw


class Record:
    """The base class of records: each is written to a folder as one JSON file and read back from there."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the plain values that the JSON file holds."""
        return {"format": kind_of(type(self)).form, **encode(self)}

    def parts(self) -> tuple[Any, ...]:
        """Return the records that this one contains, which may also have files of their own."""
        return ()

    def write(self, folder: Path) -> Path:
        """Write the file whole or not at all, and return its path."""
        name, text = self.as_file()
        return write_whole(folder / name, text)

    def as_file(self, folder: str = "") -> tuple[str, str]:
        """Return the file's name, below `folder` if one is given, and its text."""
        kind = kind_of(type(self))
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=kind.indent) + "\n"
        return f"{folder}/{kind.file}" if folder else kind.file, text

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the folder's record, from NAME.json or a packed NAME.json.gz; None if it has neither."""
        kind = kind_of(cls)
        path = folder / kind.file
        if not path.is_file():
            path = folder / f"{kind.file}.gz"
        if not path.is_file():
            return None
        record = kind.read(path)
        assert isinstance(record, cls)
        return record


_OWN = (
    Kind(
        name="spending",
        record="malaprop.frame.records.spending:SpendingRecord",
        section="malaprop.frame.report.spending:SECTION",
        about="what a run has spent",
        again="remove it, and nothing is counted as spent",
    ),
    Kind(
        name="trained",
        record="malaprop.frame.records.trained:TrainedRecord",
        section="malaprop.frame.report.trained:SECTION",
        about="trained models",
        again="train them again",
    ),
)  # the kinds that the frame itself defines


@cache
def kinds() -> dict[str, Kind]:
    """Return every kind by name: ours, and those that other packages add by the entry point `malaprop.record`."""
    outside = (point.load() for point in entry_points(group="malaprop.record"))
    found = {kind.name: kind for kind in _OWN} | {n: Kind(name=n, **one) for n, one in added("records").items()}
    return {kind.name: kind for kind in outside} | dict(sorted(found.items(), key=lambda one: rank(one[0])))


def kind_of(record: type[Any]) -> Kind:
    """Return the kind whose records are of this class."""
    place = f"{record.__module__}:{record.__qualname__}"
    return next(kind for kind in kinds().values() if kind.record == place)


class Found(NamedTuple):
    """A record on disk, with its kind and its folder."""

    kind: Kind
    record: Any
    folder: Path


def find(
    folders: Iterable[Path],
    wanted: Callable[[Kind], bool] = lambda _: True,
    broken: Callable[[RecordError], None] | None = None,
) -> Iterator[Found]:
    """Yield every record at or below the folders, sorted within each folder, each once.

    `broken` is called with the error of each record that cannot be read; without it the first error is raised.
    """
    table, seen = {kind.file: kind for kind in kinds().values() if wanted(kind)}, set[Path]()
    for folder in folders:
        for path in sorted(folder.rglob("*.json")):
            if path.name in table and path.is_file() and path.resolve() not in seen:
                seen.add(path.resolve())
                try:
                    record = table[path.name].read(path)
                except RecordError as error:
                    if broken is None:
                        raise
                    broken(error)
                    continue
                yield Found(table[path.name], record, path.parent)
