"""Pre-generated adversarial examples: made against one model, and given to others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from malaprop.core.errors import DataError
from malaprop.core.example import Example
from malaprop.core.score import winners
from malaprop.core.victim import Victim
from malaprop.data.base import load
from malaprop.frame.records.outcome import Outcome, from_json
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.records.summary import Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class PregeneratedExamples:
    """Pre-generated adversarial examples with the labels of their originals, and their source."""

    examples: tuple[Example, ...]
    source: str

    def answers(self, victim: Victim) -> list[int]:
        """Return the label that the victim's `predict` gives each text."""
        if not self.examples:
            return []
        found: list[int] = winners(victim.predict([tuple(e.fields.values()) for e in self.examples])).tolist()
        return found

    def accuracy(self, victim: Victim) -> Rate:
        """Return the share of texts for which the victim gives the original's label."""
        return self.count_right(self.answers(victim))

    def count_right(self, answers: Sequence[int]) -> Rate:
        return Rate(sum(a == e.label for a, e in zip(answers, self.examples, strict=True)), len(self.examples))


def from_outcomes(outcomes: Iterable[Outcome], source: str) -> PregeneratedExamples:
    """Return the adversarial texts of the successful attacks."""
    found = tuple(
        Example(outcome.id, outcome.adversarial.fields, outcome.label)
        for outcome in outcomes
        if outcome.status == "success" and outcome.adversarial is not None
    )
    return PregeneratedExamples(examples=found, source=source)


def read_pregenerated(path: Path, *, text: str | None = None, label: str | None = None) -> PregeneratedExamples:
    """Read the successes of a run folder or its outcomes.jsonl, or all rows of any other file."""
    if path.is_dir():
        run = Run.read(path)
        return _some(from_outcomes(read_outcomes(path), f"{run.recipe} against {run.victim}"), path)
    if not path.is_file():
        raise DataError(
            f"--premade {path} is neither a run folder nor a file; give what malaprop attack wrote, or a dataset"
        )
    if path.name.endswith("outcomes.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines()
        return _some(from_outcomes((from_json(line) for line in lines if line), path.name), path)
    data = load(path, text=text, label=label)
    return _some(PregeneratedExamples(examples=tuple(replace(e, editable=()) for e in data), source=data.name), path)


def _some(found: PregeneratedExamples, path: Path) -> PregeneratedExamples:
    if not found.examples:
        raise DataError(f"--premade {path} holds no adversarial text; give a run in which an attack succeeded")
    return found
