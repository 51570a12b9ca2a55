"""The description of a run: resolved settings, versions, fingerprints; written beside its outcomes."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError, SettingError
from malaprop.core.files import write_whole
from malaprop.core.settings import first_difference, plain, read_toml, to_toml
from malaprop.core.versions import now, versions

FILE = "run.toml"
# A resumed run may change these: they affect the speed, not the outcomes.
# It may change `split` and `notes` too, which older runs lack: the fingerprint identifies the data.
_FREE = frozenset({"width", "started", "versions", "split", "notes", "state", "stopped", "cut", "clean", "drawn_from"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run's description. `parts` holds the attack's settings as plain values, so the file alone says what ran."""

    recipe: str
    victim: str
    data: str
    n: int
    drawn_from: int = 0  # rows, of which n were drawn by the seed; 0: not known
    split: str = ""  # the part of the data: train, validation, test or all; empty: not known
    seed: int = 0
    budget: int | None = None
    width: int = 1
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # reasons to doubt the figures that were known at the start
    state: str = "running"  # or done, or budget: a spending limit ended it; a killed run stays "running"
    stopped: str = ""  # the limit that ended it
    cut: int = 0  # examples that were begun and not ended when the limit was reached
    clean: tuple[int, ...] = ()  # (right, all) answers to the unchanged texts, counted before any attack
    started: str = field(default_factory=now)
    parts: dict[str, Any] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "clean", tuple(self.clean))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "parts", plain(self.parts))

    def write(self, folder: Path) -> Path:
        """Write run.toml whole or not at all."""
        return write_whole(folder / FILE, to_toml(plain(asdict(self))))

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Run:
        """Return the run of a folder. Unknown keys are ignored: later versions may add some."""
        path = Path(folder) / FILE
        try:
            values = read_toml(path)
        except SettingError as error:
            raise RecordError(f"{error}; {folder} is not a run folder") from None
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        for name, kind in _KINDS.items():
            if name in known and not isinstance(known[name], kind):
                raise RecordError(f"{path}: {name} must be {kind.__name__}, got {known[name]!r}")
        if missing := [name for name in ("recipe", "victim", "data", "n") if name not in known]:
            raise RecordError(f"{path} lacks {', '.join(missing)}; it was not written by a run")
        return cls(**{"started": "", "versions": {}, "state": "", **known})

    def describe_draw(self) -> str:
        """Return how many rows of how many the run attacks, as text; empty if that is not known."""
        if self.n < self.drawn_from:
            return f"{self.n:,} of {self.drawn_from:,} rows, drawn by seed {self.seed}"
        return f"all {self.n:,} rows" if self.drawn_from else ""

    def same_work(self, other: Run) -> str | None:
        """Return one line on the first setting that differs; None if outcomes of both runs belong together."""
        ours, theirs = (
            {**{f.name: getattr(run, f.name) for f in fields(Run)}, "malaprop": run.versions.get("malaprop")}
            for run in (self, other)
        )
        return first_difference({k: v for k, v in ours.items() if k not in _FREE}, theirs, "")


_KINDS: dict[str, type] = {
    **dict.fromkeys(("recipe", "victim", "data", "split", "state", "stopped", "started"), str),
    **dict.fromkeys(("n", "drawn_from", "seed", "budget", "width", "cut"), int),
    **dict.fromkeys(("parts", "fingerprints", "versions"), dict),
    **dict.fromkeys(("labels", "notes", "clean"), list),
}

TASK = "translation"  # the value of `task` in the parts of such a run
TAGGING = "tagging"  # the same of a run on a tagger
ANSWERING = "answering"  # the same of a run on question answering


def is_translation(run: Run) -> bool:
    return run.parts.get("task") == TASK


def is_tagging(run: Run) -> bool:
    return run.parts.get("task") == TAGGING


def is_answering(run: Run) -> bool:
    return run.parts.get("task") == ANSWERING


def is_classification(run: Run) -> bool:
    return "task" not in run.parts
