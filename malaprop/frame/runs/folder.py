"""Write one attack over one dataset to a run folder, and resume a killed run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from malaprop.assets.languages import ENGLISH
from malaprop.attacks.attack import Attack, Ending
from malaprop.core.example import Example
from malaprop.core.settings import plain
from malaprop.core.victim import Victim, VictimDescription
from malaprop.data.base import Examples
from malaprop.engine.service import Tally
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import Writer, iter_outcomes, read_outcomes
from malaprop.frame.runs.local import outcome, run

Seen = Callable[[Outcome], None]


class SizedDataset(Protocol):
    """The description of the data in run.toml: a dataset, or the outline of one that the driver holds."""

    @property
    def name(self) -> str: ...

    @property
    def part(self) -> str: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def drawn_from(self) -> int: ...

    def __len__(self) -> int: ...


def describe(
    attack: Attack, victim: VictimDescription, data: SizedDataset, *, seed: int, width: int, notes: Sequence[str] = ()
) -> Run:
    """Return the `Run` that is written beside the outcomes."""
    return Run(
        recipe=attack.name,
        victim=victim.name,
        data=data.name,
        split=data.part,
        n=len(data),
        drawn_from=data.drawn_from,
        seed=seed,
        budget=attack.budget,
        width=width,
        labels=data.labels,
        notes=tuple(notes),
        parts={**plain(attack), **({} if attack.languages == (ENGLISH,) else {"languages": [*attack.languages]})},
        fingerprints={"victim": victim.fingerprint, "data": data.fingerprint},
    )


def error_outcome(example: Example, seed: int, why: str) -> Outcome:
    """Return the outcome of an example that could not be attacked."""
    return outcome(example, Ending("error", None, None, None, None, 0, why), Tally(), seed, 0.0)


def run_to_folder(
    attack: Attack, victim: Victim, data: Examples, folder: Path, *, seed: int = 0, width: int = 256,
    resume: bool = True, seen: Seen | None = None,
) -> list[Outcome]:  # fmt: skip
    """Attack the examples that are not done yet; return all outcomes, read from disk. `resume` has no effect.

    `seen` is called with each outcome that is on disk, those of an earlier attempt first.
    """
    del resume
    attack = attack.for_labels(data.labels)
    about = describe(attack, VictimDescription.of(victim), data, seed=seed, width=width)
    with Writer(folder, about) as writer:
        if seen is not None and len(writer.done):
            for found in iter_outcomes(folder):
                seen(found)
        before = writer.done.copy()  # a copy, so that an id that occurs twice in the data raises and is not skipped
        left = (example for example in data if example.id not in before)
        for found in run(attack, victim, left, seed=seed, width=width):
            writer.add(found)
            if seen is not None:
                seen(found)
    return read_outcomes(folder)
