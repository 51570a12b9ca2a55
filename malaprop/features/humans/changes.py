"""What runs of every kind did to their originals: texts of attacks, natural adversaries of texts and of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.core.png import is_address
from malaprop.frame.records import Run, read_outcomes
from malaprop.frame.records.run import FILE as RUN
from malaprop.frame.records.store import FILE as OUTCOMES
from malaprop.papers.natural.record import LINES as FINDS
from malaprop.papers.natural.record import Find, NaturalRecord, read_finds
from malaprop.papers.natural.text_record import LINES as TURNS
from malaprop.papers.natural.text_record import read_turns

Fields = dict[str, str]
IMAGE = "image"  # the field of an image: an address that holds its PNG
FGSM = "fgsm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """An original and what was made of it, if that broke the victim."""

    id: str
    label: str  # by its name, or its number
    original: Fields
    changed: Fields | None
    last: int = 0  # the largest label that the victim knows, by number


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedRun:
    """One recipe on one victim and dataset: shards and seeds of it are one. `labels` are those of its run, in order."""

    recipe: str
    victim: str
    data: str
    labels: tuple[str, ...]
    kind: str  # outcomes, sentences or images
    changes: dict[str, Alteration] = field(default_factory=dict)

    def take(self, found: Iterable[Alteration]) -> None:
        for change in found:
            self.changes.setdefault(change.id, change)


def read_runs(folders: Sequence[Path]) -> list[AttackedRun]:
    """Every run at or below the folders, by what it is; runs of images and of texts do not go together."""
    groups: dict[tuple[str, ...], AttackedRun] = {}
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


def _read(folder: Path) -> Iterator[tuple[AttackedRun, list[Alteration]]]:
    """What a run folder holds: outcomes, sentences or images, and beside images those of the baseline."""
    readers: tuple[tuple[str, str, Callable[[Path], list[Alteration]]], ...] = (
        (OUTCOMES, "outcomes", _convert_outcomes),
        (TURNS, "sentences", _convert_turns),
        (FINDS, "images", lambda place: _convert_finds(read_finds(place), place)),
    )
    for file, kind, read in readers:
        if (folder / file).is_file():
            run = Run.read(folder)
            about: dict[str, Any] = {"victim": run.victim, "data": run.data, "labels": run.labels, "kind": kind}
            yield AttackedRun(recipe=run.recipe, **about), read(folder)
            if kind == "images" and (record := NaturalRecord.read(folder)) is not None:
                baseline = record.gallery.get(f"{run.victim}, {FGSM.upper()}", ())
                if baseline:
                    yield AttackedRun(recipe=FGSM, **about), _convert_finds(baseline, folder)


def _convert_outcomes(folder: Path) -> list[Alteration]:
    return [
        Alteration(
            id=o.id,
            label=str(o.label),
            original=o.original.fields,
            changed=o.adversarial.fields if o.adversarial is not None and o.status == "success" else None,
            last=max(o.label, len(o.original.scores) - 1),
        )
        for o in read_outcomes(folder)
        if o.status in ("success", "failed")
    ]


def _convert_turns(folder: Path) -> list[Alteration]:
    return [
        Alteration(
            id=turn.id,
            label=turn.label,
            original=turn.fields,
            changed={**turn.fields, turn.field: turn.adversary} if turn.status == "success" else None,
        )
        for turn in read_turns(folder)
        if turn.status in ("success", "failed")
    ]


def _convert_finds(finds: Iterable[Find], folder: Path) -> list[Alteration]:
    found = []
    for find in finds:
        if find.status not in ("success", "failed") or not find.original:
            continue
        for picture in (find.original, find.adversary):
            if picture and not is_address(picture):
                raise RecordError(f"{folder}: image {find.id} is no PNG that the record holds; run it again")
        changed = {IMAGE: find.adversary} if find.status == "success" and find.adversary else None
        label = str(find.label)
        found.append(
            Alteration(id=find.id, label=label, original={IMAGE: find.original}, changed=changed, last=find.label)
        )
    return found
