"""Reads originals and their adversarial forms from runs: outcomes of attacks, and what rooms register to be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.frame.records import Run, read_outcomes
from malaprop.frame.records.alteration import IMAGE, Alteration, AlterationReader, Fields
from malaprop.frame.records.run import FILE as RUN
from malaprop.frame.records.store import FILE as OUTCOMES
from malaprop.frame.rooms import added, load

__all__ = ["IMAGE", "Alteration", "AttackedRun", "Fields", "read_runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedRun:
    """The changes of one recipe on one victim and dataset, from all shards and seeds; `labels` as its run has them."""

    recipe: str
    victim: str
    data: str
    labels: tuple[str, ...]
    kind: str  # outcomes, sentences or images
    changes: dict[str, Alteration] = field(default_factory=dict)

    def add(self, found: Iterable[Alteration]) -> None:
        """Add changes; the first one of each example stays."""
        for change in found:
            self.changes.setdefault(change.id, change)


def read_runs(folders: Sequence[Path]) -> list[AttackedRun]:
    """Read every run at or below the folders, grouped by recipe, victim and data; raise on texts with images."""
    groups: dict[tuple[str, ...], AttackedRun] = {}
    for folder in folders:
        if not folder.is_dir():
            raise RecordError(f"no such folder: {folder}; give a folder that a run wrote, or one above it")
        for place in sorted(path.parent for path in folder.rglob(RUN)):
            for one, changes in _read(place):
                key = (one.kind, one.recipe, one.victim, one.data)
                groups.setdefault(key, one).add(changes)
    if not groups:
        raise RecordError(
            f"no run below {', '.join(map(str, folders))}; give a folder that malaprop attack or natural wrote"
        )
    kinds = {one.kind == "images" for one in groups.values()}
    if len(kinds) > 1:
        raise RecordError("some of these runs are of images and others of texts; export them into separate studies")
    return list(groups.values())


def _read(folder: Path) -> Iterator[tuple[AttackedRun, list[Alteration]]]:
    """Yield the runs in a folder with their changes, by recipe."""
    for reader in (AlterationReader(OUTCOMES, "outcomes", _read_outcomes), *map(load, added("alterations").values())):
        if (folder / reader.file).is_file():
            run = Run.read(folder)
            about: dict[str, Any] = {"victim": run.victim, "data": run.data, "labels": run.labels, "kind": reader.kind}
            for recipe, found in reader.read(folder, run).items():
                yield AttackedRun(recipe=recipe, **about), found


def _read_outcomes(folder: Path, run: Run) -> dict[str, list[Alteration]]:
    found = [
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
    return {run.recipe: found}
