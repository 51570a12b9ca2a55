"""What attack and audit share: load data and victims, run recipes, say how it went."""

from __future__ import annotations

import json as _json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from malaprop.attacks.attack import Attack
from malaprop.cli.options import say, slug
from malaprop.cli.progress import outcomes_bar
from malaprop.core.capability import check
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.victim import Victim
from malaprop.data.base import Dataset, load, need_two_labels
from malaprop.engine.cache import OnDisk
from malaprop.records.outcome import Outcome
from malaprop.records.summary import Summary
from malaprop.runs.folder import run_to_folder


@dataclass
class Work:
    """The settings of one command."""

    data: str
    n: int
    split: str
    columns: Mapping[str, str | None]  # what the user calls text and label
    seed: int
    width: int
    device: str
    cache: Path | None
    quiet: bool

    @cached_property
    def dataset(self) -> Dataset:
        whole = need_two_labels(
            load(self.data, split=self.split, text=self.columns["text"], label=self.columns["label"])
        )
        for note in whole.notes:
            say(note, self.quiet)
        return whole.sample(self.n, self.seed)

    def victim(self, spec: str) -> Victim:
        from malaprop.runs.victims import victim

        made = victim(spec, device=self.device, quiet=self.quiet)
        return made if self.cache is None else OnDisk(made, self.cache)

    def one(self, attack: Attack, spec: str, folder: Path, *, resume: bool) -> tuple[list[Outcome], dict[str, Any]]:
        """One recipe on one victim."""
        data = self.dataset  # first: what is wrong with a file should not wait for a model
        return self._run(attack, self.victim(spec), data, folder, resume)

    def suite(self, attacks: Sequence[Attack], specs: Sequence[str], folder: Path, *, resume: bool) -> dict[str, Any]:
        """Every recipe on every victim, each in a folder of its own, and the report over all."""
        from malaprop.reports.html import write_report

        if not attacks or not specs:
            raise SettingError("an audit needs at least one victim and one attack")
        data = self.dataset
        began = perf_counter()
        cells, failed = [], []
        for spec, place in zip(specs, _places(specs), strict=True):
            victim = self.victim(spec)
            for attack in attacks:
                check(attack.name, attack.needs, victim.name, victim.offers)
            for attack in attacks:
                try:
                    _, cell = self._run(attack, victim, data, folder / place / slug(attack.name), resume)
                    cells.append(cell)
                except VictimError as error:
                    say(f"malaprop: {victim.name} under {attack.name}: {error}")
                    failed.append(error)
        if not cells:
            raise failed[0]
        report = write_report([folder], folder / "report.html")
        summary = {
            "out": str(folder),
            "report": str(report),
            "data": data.name,
            "n": len(data),
            "seconds": round(perf_counter() - began, 1),
            "runs": cells,
        }
        (folder / "summary.json").write_text(
            _json.dumps(summary, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
        return summary

    def _run(
        self, attack: Attack, victim: Victim, data: Dataset, folder: Path, resume: bool
    ) -> tuple[list[Outcome], dict[str, Any]]:
        began = perf_counter()
        data = data.in_terms_of(getattr(victim, "label_names", ()))
        with outcomes_bar(f"{attack.name} on {victim.name}", len(data), self.quiet) as seen:
            outcomes = run_to_folder(
                attack, victim, data, folder, seed=self.seed, width=self.width, resume=resume, seen=seen
            )
        wall = perf_counter() - began
        for note in getattr(victim, "notes", ()):  # what a function's answers turned out to be
            say(note, self.quiet)
        errors = Counter(o.reason for o in outcomes if o.status == "error")
        if errors and sum(errors.values()) == len(outcomes):
            reason, count = errors.most_common(1)[0]
            raise VictimError(
                f"all {len(outcomes)} examples ended in an error ({count} of them: {reason}); see {folder}"
            )
        for reason, count in errors.most_common(3):
            say(f"{count} of {len(outcomes)} examples ended in an error: {reason}", self.quiet)
        summary = Summary.of(outcomes).to_dict()
        return outcomes, {"victim": victim.name, "recipe": attack.name, "wall": round(wall, 2), **summary}


def _places(specs: Sequence[str]) -> list[str]:
    """A folder name for each victim, distinct also where two slugs are alike."""
    seen: Counter[str] = Counter()
    out = []
    for spec in specs:
        name = slug(spec)
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return out
