"""The texts of attack runs, put side by side: one source is an original and what each system made of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from malaprop.core.errors import RecordError
from malaprop.records import Outcome, Run, Summary, find_runs, read_outcomes

LONGEST = 20_000  # characters; nobody judges more on one page
Fields = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What is compared: a recipe on a victim, under the shortest name that tells it from the others."""

    name: str
    recipe: str
    victim: str
    data: str
    attacked: int
    successes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An original that the victims got right, and the texts by which systems (by number) broke it."""

    key: str
    label: int
    original: Fields
    broken: dict[int, Fields] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """All there is to draw from; `long` counts texts left out because nobody would read them to the end."""

    systems: tuple[System, ...]
    labels: tuple[str, ...]
    sources: tuple[Source, ...]
    long: int


def _names(runs: Sequence[Run]) -> list[str]:
    recipes, victims, data = ([getattr(run, what) for run in runs] for what in ("recipe", "victim", "data"))
    parts = [recipes] if len(set(recipes)) > 1 or len(set(victims)) == 1 else []
    if len(set(victims)) > 1:
        parts.append(victims)
    if len(set(data)) > 1:
        parts.append(data)
    return [", ".join(found) for found in zip(*parts, strict=True)]


def _groups(folders: Sequence[Path]) -> list[tuple[Run, list[Outcome]]]:
    """Runs by system: shards and seeds of one recipe on one victim and dataset are one."""
    found = find_runs(folders)
    if not found:
        raise RecordError(f"no run below {', '.join(map(str, folders))}; give a folder that malaprop attack wrote")
    groups: dict[tuple[str, str, str], tuple[Run, dict[str, Outcome]]] = {}
    for folder in found:
        run = Run.read(folder)
        _, outcomes = groups.setdefault((run.recipe, run.victim, run.data), (run, {}))
        for outcome in read_outcomes(folder):
            outcomes.setdefault(outcome.id, outcome)
    return [(run, list(outcomes.values())) for run, outcomes in groups.values()]


def _labels(runs: Sequence[Run], outcomes: Sequence[Sequence[Outcome]]) -> tuple[str, ...]:
    """The names all runs share, numbers where none are known; empty where runs disagree."""
    known = {run.labels for run in runs}
    if len(known) > 1:
        return ()
    names = known.pop()
    most = max((max(o.label, len(o.original.scores) - 1) for found in outcomes for o in found), default=-1)
    return names or tuple(f"label {number}" for number in range(most + 1))


def _key(data: str, outcome: Outcome) -> str:
    """The same for the same original, whatever attacked it."""
    whole = json.dumps([data, outcome.id, outcome.original.fields])
    return blake2b(whole.encode(), digest_size=8).hexdigest()


def _is_long(fields: Fields) -> bool:
    return sum(map(len, fields.values())) > LONGEST


def _refuse_nothing(folders: Sequence[Path], outcomes: Sequence[Sequence[Outcome]]) -> None:
    where = ", ".join(map(str, folders))
    if not any(outcomes):
        raise RecordError(f"the runs below {where} hold no outcome; wait for them to end, or attack again")
    if not any(o.status == "success" for found in outcomes for o in found):
        raise RecordError(f"no attack below {where} succeeded, so there is nothing to show to people")


def gather(folders: Sequence[Path]) -> Sources:
    """The sources of all runs at or below the folders, in the order of their keys."""
    groups = _groups(folders)
    runs, outcomes = [run for run, _ in groups], [found for _, found in groups]
    _refuse_nothing(folders, outcomes)
    systems, found, long = [], dict[str, Source](), 0
    for number, (name, run, own) in enumerate(zip(_names(runs), runs, outcomes, strict=True)):
        won = Summary.of(own).success
        systems.append(
            System(
                name=name, recipe=run.recipe, victim=run.victim, data=run.data, attacked=won.total, successes=won.hits
            )
        )
        for o in own:
            if o.status not in ("success", "failed"):
                continue
            changed = o.adversarial.fields if o.adversarial is not None and o.status == "success" else None
            if _is_long(o.original.fields) or (changed is not None and _is_long(changed)):
                long += 1
                continue
            key = _key(run.data, o)
            source = found.setdefault(key, Source(key=key, label=o.label, original=o.original.fields))
            if changed is not None:
                source.broken[number] = changed
    sources = tuple(found[key] for key in sorted(found))
    if not any(source.broken for source in sources):
        raise RecordError(f"every text is longer than {LONGEST:,} characters, which nobody would read to the end")
    return Sources(systems=tuple(systems), labels=_labels(runs, outcomes), sources=sources, long=long)
