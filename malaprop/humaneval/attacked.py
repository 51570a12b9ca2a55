"""What runs of every kind did to their originals: texts of attacks, natural adversaries of texts and of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.core.png import is_address
from malaprop.records import Run, read_outcomes
from malaprop.records.natural import LINES as FINDS
from malaprop.records.natural import Find, NaturalRecord, read_finds
from malaprop.records.naturaltext import LINES as TURNS
from malaprop.records.naturaltext import read_turns
from malaprop.records.run import FILE as RUN
from malaprop.records.store import FILE as OUTCOMES

Fields = dict[str, str]
IMAGE = "image"  # the field of an image: an address that holds its PNG
FGSM = "fgsm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An original and what was made of it, if that broke the victim."""

    id: str
    label: str  # by its name, or its number
    original: Fields
    changed: Fields | None
    last: int = 0  # the largest label that the victim knows, by number


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked:
    """One recipe on one victim and dataset: shards and seeds of it are one. `labels` are those of its run, in order."""

    recipe: str
    victim: str
    data: str
    labels: tuple[str, ...]
    kind: str  # outcomes, sentences or images
    changes: dict[str, Change] = field(default_factory=dict)

    def take(self, found: Iterable[Change]) -> None:
        for change in found:
            self.changes.setdefault(change.id, change)


def read_attacked(folders: Sequence[Path]) -> list[Attacked]:
    """Every run at or below the folders, by what it is; runs of images and of texts do not go together."""
    groups: dict[tuple[str, ...], Attacked] = {}
    for folder in folders:
        if not folder.is_dir():
            raise RecordError(f"no such folder: {folder}; give a folder that a run wrote, or one above it")
        for place in sorted(path.parent for path in folder.rglob(RUN)):
            for one, changes in _read(place):
                key = (one.kind, one.recipe, one.victim, one.data)
                groups.setdefault(key, one).take(changes)
    if not groups:
        raise RecordError(
            f"no run below {', '.join(map(str, folders))}; give a folder that malaprop attack or natural wrote"
        )
    kinds = {one.kind == "images" for one in groups.values()}
    if len(kinds) > 1:
        raise RecordError("these runs are of images and of texts; export them apart, as people judge one or the other")
    return list(groups.values())


def _read(folder: Path) -> Iterator[tuple[Attacked, list[Change]]]:
    """What a run folder holds: outcomes, sentences or images, and beside images those of the baseline."""
    readers: tuple[tuple[str, str, Callable[[Path], list[Change]]], ...] = (
        (OUTCOMES, "outcomes", _outcomes),
        (TURNS, "sentences", _turns),
        (FINDS, "images", lambda place: _finds(read_finds(place), place)),
    )
    for file, kind, read in readers:
        if (folder / file).is_file():
            run = Run.read(folder)
            about: dict[str, Any] = {"victim": run.victim, "data": run.data, "labels": run.labels, "kind": kind}
            yield Attacked(recipe=run.recipe, **about), read(folder)
            if kind == "images" and (record := NaturalRecord.read(folder)) is not None:
                baseline = record.gallery.get(f"{run.victim}, {FGSM.upper()}", ())
                if baseline:
                    yield Attacked(recipe=FGSM, **about), _finds(baseline, folder)


def _outcomes(folder: Path) -> list[Change]:
    return [
        Change(
            id=o.id,
            label=str(o.label),
            original=o.original.fields,
            changed=o.adversarial.fields if o.adversarial is not None and o.status == "success" else None,
            last=max(o.label, len(o.original.scores) - 1),
        )
        for o in read_outcomes(folder)
        if o.status in ("success", "failed")
    ]


def _turns(folder: Path) -> list[Change]:
    return [
        Change(
            id=turn.id,
            label=turn.label,
            original=turn.fields,
            changed={**turn.fields, turn.field: turn.adversary} if turn.status == "success" else None,
        )
        for turn in read_turns(folder)
        if turn.status in ("success", "failed")
    ]


def _finds(finds: Iterable[Find], folder: Path) -> list[Change]:
    found = []
    for find in finds:
        if find.status not in ("success", "failed") or not find.original:
            continue
        for picture in (find.original, find.adversary):
            if picture and not is_address(picture):
                raise RecordError(f"{folder}: image {find.id} is no PNG that the record holds; run it again")
        changed = {IMAGE: find.adversary} if find.status == "success" and find.adversary else None
        label = str(find.label)
        found.append(Change(id=find.id, label=label, original={IMAGE: find.original}, changed=changed, last=find.label))
    return found
