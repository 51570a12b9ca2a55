"""Reads originals and adversarial forms from runs, and groups them: a source is an original with each system's form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.frame.records import Run, read_outcomes
from malaprop.frame.records.run import FILE as RUN
from malaprop.frame.records.store import FILE as OUTCOMES
from malaprop.frame.records.store import IMAGE, Alteration, AlterationReader, Fields
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


LONGEST = 20_000  # characters of a text; a rater cannot judge more on one page
LARGEST = 2_000_000  # characters of an image as a data address


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A recipe on a victim, under the shortest name that distinguishes it from the study's other systems."""

    name: str
    recipe: str
    victim: str
    data: str
    attacked: int
    successes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySource:
    """An original that was attacked, and its adversarial forms by the number of the system that succeeded."""

    key: str
    label: int
    original: Fields
    broken: dict[int, Fields] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """All sources that items are sampled from; `long` counts texts left out as too long to judge.

    `natural` is set for searches in latent space, which have other default questions; `images` for runs of images.
    """

    systems: tuple[System, ...]
    labels: tuple[str, ...]
    sources: tuple[StudySource, ...]
    long: int
    natural: bool = False
    images: bool = False


def _names(runs: Sequence[AttackedRun]) -> list[str]:
    recipes, victims, data = ([getattr(run, what) for run in runs] for what in ("recipe", "victim", "data"))
    parts = [recipes] if len(set(recipes)) > 1 or len(set(victims)) == 1 else []
    if len(set(victims)) > 1:
        parts.append(victims)
    if len(set(data)) > 1:
        parts.append(data)
    return [", ".join(found) for found in zip(*parts, strict=True)]


def _labels(runs: Sequence[AttackedRun]) -> tuple[str, ...]:
    """Return the labels' names that all runs share, numbers where no run has names, nothing where runs disagree."""
    changes = [change for run in runs for change in run.changes.values()]
    if any(not change.label.isdecimal() for change in changes):  # records of sentences hold the labels' names
        return tuple(sorted({change.label for change in changes if change.label}))
    known = {run.labels for run in runs}
    if len(known) > 1:
        return ()
    most = max((change.last for change in changes), default=-1)
    word = "" if runs[0].kind == "images" else "label "
    return known.pop() or tuple(f"{word}{number}" for number in range(most + 1))


def _number(change: Alteration, labels: Sequence[str]) -> int:
    """Return the number of the change's label, -1 where the label is unknown."""
    if change.label in labels:
        return labels.index(change.label)
    return int(change.label) if change.label.isdecimal() else -1


def _key(data: str, change: Alteration) -> str:
    """Return a hash that is the same for the same original, whichever system attacked it."""
    whole = json.dumps([data, change.id, change.original])
    return blake2b(whole.encode(), digest_size=8).hexdigest()


def _is_long(fields: Fields | None, images: bool) -> bool:
    return fields is not None and sum(map(len, fields.values())) > (LARGEST if images else LONGEST)


def _check_not_empty(folders: Sequence[Path], runs: Sequence[AttackedRun]) -> None:
    where = ", ".join(map(str, folders))
    if not any(run.changes for run in runs):
        raise RecordError(f"the runs below {where} hold no outcomes; wait for them to end, or attack again")
    if not any(change.changed is not None for run in runs for change in run.changes.values()):
        raise RecordError(f"no attack below {where} succeeded, so there is nothing to judge; give runs with successes")


def gather(folders: Sequence[Path]) -> Sources:
    """Read the sources of all runs at or below the folders, in the order of their keys."""
    runs = read_runs(folders)
    _check_not_empty(folders, runs)
    labels, images = _labels(runs), runs[0].kind == "images"
    systems, found, long = [], dict[str, StudySource](), 0
    for number, (name, run) in enumerate(zip(_names(runs), runs, strict=True)):
        won = sum(change.changed is not None for change in run.changes.values())
        systems.append(
            System(
                name=name, recipe=run.recipe, victim=run.victim, data=run.data, attacked=len(run.changes), successes=won
            )
        )
        for change in run.changes.values():
            if _is_long(change.original, images) or _is_long(change.changed, images):
                long += 1
                continue
            key = _key(run.data, change)
            source = StudySource(key=key, label=_number(change, labels), original=change.original)
            source = found.setdefault(key, source)
            if change.changed is not None:
                source.broken[number] = change.changed
    sources = tuple(found[key] for key in sorted(found))
    if not any(source.broken for source in sources):
        raise RecordError(f"every text is longer than {LONGEST:,} characters, too long to judge; attack shorter texts")
    natural = any(run.kind != "outcomes" for run in runs)
    return Sources(systems=tuple(systems), labels=labels, sources=sources, long=long, natural=natural, images=images)
