"""One attack over one dataset, written to a run folder; continues where a killed run left off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from malaprop.attacks.attack import Attack
from malaprop.core.settings import plain
from malaprop.core.victim import Victim
from malaprop.data.base import Dataset
from malaprop.records.outcome import Outcome
from malaprop.records.run import Run
from malaprop.records.store import Writer, read_outcomes
from malaprop.runs.local import run


def describe(attack: Attack, victim: Victim, data: Dataset, *, seed: int, width: int) -> Run:
    """What will be run, as it is written beside the outcomes."""
    return Run(
        recipe=attack.name,
        victim=victim.name,
        data=data.name,
        n=len(data),
        seed=seed,
        budget=attack.budget,
        width=width,
        labels=data.labels,
        parts=plain(attack),
        fingerprints={"victim": victim.fingerprint, "data": data.fingerprint},
    )


def run_to_folder(
    attack: Attack,
    victim: Victim,
    data: Dataset,
    folder: Path,
    *,
    seed: int = 0,
    width: int = 256,
    lanes: int = 1,
    resume: bool = False,
    seen: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """All outcomes of the run. `seen` gets each one as it is on disk, those of an earlier attempt first."""
    about = describe(attack, victim, data, seed=seed, width=width)
    with Writer(folder, about, resume=resume) as writer:
        if seen is not None and writer.done:
            for outcome in read_outcomes(folder):
                seen(outcome)
        left = [example for example in data if example.id not in writer.done]
        for outcome in run(attack, victim, left, seed=seed, width=width, lanes=lanes):
            writer.add(outcome)
            if seen is not None:
                seen(outcome)
    return read_outcomes(folder)
