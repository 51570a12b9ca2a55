"""malaprop study leaderboard: several victims under several attacks, ranked by what is left of their accuracy.

The whole study is in this file: settings, tasks, record, and the section of a report that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.records.kinds import Record
from malaprop.records.summary import Rate
from malaprop.reports.markup import Markup, join
from malaprop.reports.section import Section
from malaprop.reports.tables import DASH, card, lines_of, table
from malaprop.studies.common import Examined, attack_share, examine, name_models
from malaprop.studies.selection import Selection
from malaprop.studies.settings import opt
from malaprop.studies.study import View
from malaprop.studies.where import Saving, Where, width_option

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.data.base import Dataset
    from malaprop.tasks.desk import Desk
    from malaprop.tasks.task import Inputs, Share, Task

NAMES = ("Victim", "Accuracy", "Under all attacks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Rank victims by their accuracy under all attacks: a text counts while no attack has broken it.

    The same --out goes on with what was killed, and with more attacks.

    Examples:

      malaprop study leaderboard --victims my_model:predict,five(BERT) --attacks pwws,typos --data reviews.csv --jobs 2
    """

    command: ClassVar[str] = "study leaderboard"

    victims: tuple[Any, ...] = opt(
        ("LSTM-W-GloVe-1", "CNN-W-GloVe-1", "BERT"), "Victims, separated by commas, as malaprop audit takes them."
    )
    attacks: tuple[str, ...] = opt(
        ("pwws", "deepwordbug", "typos", "homoglyph"),
        "Recipes, separated by commas: see malaprop list recipes.",
        free=True,
    )
    budget: int | None = opt(None, "Most victim queries an example may ask.", min=1)
    texts: Selection = Selection(n=100)
    width: int = width_option()
    where: Where = Where()
    saving: Saving = Saving()

    @property
    def named(self) -> dict[str, Any]:
        return name_models(self.victims, "--victims")

    def attack(self, name: str) -> Attack:
        from malaprop.runs.api import recipe

        return recipe(name, budget=self.budget)

    def check(self) -> None:
        for name in self.attacks:
            self.attack(name)
        assert self.named

    def plan(self) -> Iterator[Task]:
        from malaprop.tasks.outputs import JsonFile, RunFolder
        from malaprop.tasks.task import Task

        for name, spec in self.named.items():
            clean, at = f"clean/{name}", {"victim": spec}
            yield Task(
                name=clean, work=self.examine, output=JsonFile(Examined), victims=at, holds=(name,), reads=self.read,
                optional=True,
            )  # fmt: skip
            for attack in self.attacks:
                yield Task(
                    name=f"runs/{name}/{attack}", work=partial(self.run, attack, name), output=RunFolder(), victims=at,
                    holds=(name,), after=(clean,), follows=True, items=partial(self.examples, name), optional=True,
                )  # fmt: skip

    def data(self) -> Dataset:
        return self.texts.held(self.victims)

    def read(self, inputs: Inputs) -> Inputs:
        return {**inputs, "data": self.data()}

    def examine(self, desk: Desk, inputs: Inputs) -> Iterator[Examined]:
        yield examine(desk.victim(inputs["victim"]), inputs["data"])

    def examples(self, name: str, inputs: Inputs) -> Dataset:
        from malaprop.data.matching import agree

        return agree(self.data(), inputs[f"clean/{name}"])

    def run(self, attack: str, name: str, desk: Desk, inputs: Inputs, share: Share) -> Iterator[Any]:
        from malaprop.tasks.outputs import Skipped

        made = self.attack(attack)
        if missing := made.needs - set(inputs[f"clean/{name}"].offers):
            yield Skipped(f"needs {' and '.join(sorted(missing))}")
            return
        target = desk.victim(inputs["victim"])
        yield from attack_share(desk, made, target, share, seed=self.texts.seed, width=self.width)

    def gather(self, root: Path) -> LeaderboardRecord:
        from malaprop.tasks.outputs import JsonFile, Skipped

        data = self.data()
        entries = []
        for name in self.named:
            clean = JsonFile(Examined).value(root / "clean" / name)
            if isinstance(clean, Skipped):
                entries.append(Entry(victim=name, reason=clean.reason))
            else:
                right = {example.id for example, fine in zip(data, clean.right, strict=True) if fine}
                entries.append(self._entry(root / "runs" / name, name, right, len(data)))
        entries.sort(key=lambda one: (-one.under_all.hits if one.under_all else 1, one.victim))
        return LeaderboardRecord(data=data.name, texts=len(data), attacks=self.attacks, entries=tuple(entries))

    def _entry(self, folder: Path, name: str, right: set[str], n: int) -> Entry:
        from malaprop.tasks.outputs import RunFolder, Skipped

        found = {attack: RunFolder().value(folder / attack) for attack in self.attacks}
        why = {attack: run.reason for attack, run in found.items() if isinstance(run, Skipped)}
        broken = {a: {o.id for o in run if o.status == "success"} for a, run in found.items() if a not in why}
        left = right - set().union(*broken.values())
        under = {attack: Rate(len(right - ids), n) for attack, ids in broken.items()}
        return Entry(victim=name, clean=Rate(len(right), n), under_all=Rate(len(left), n), under=under, not_run=why)

    def view(self, record: LeaderboardRecord) -> View:
        rows = [
            {
                "rank": rank, "victim": one.victim, "clean": one.clean and one.clean.value,
                "under all": one.under_all and one.under_all.value,
                **{attack: one.under[attack].value if attack in one.under else None for attack in record.attacks},
            }
            for rank, one in enumerate(record.entries, start=1)
        ]  # fmt: skip
        return View(rows=rows, summary={"kind": "leaderboard", "ranking": rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One victim: accuracy on the texts as they are, under each attack, and under all of them; or why there is none."""

    victim: str
    clean: Rate | None = None
    under_all: Rate | None = None
    under: Mapping[str, Rate] = field(default_factory=dict)
    not_run: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRecord(Record):
    """The victims, best first."""

    data: str
    texts: int
    attacks: tuple[str, ...]
    entries: tuple[Entry, ...]


def rows_of(record: LeaderboardRecord, show: Callable[[Rate], str]) -> list[tuple[str, ...]]:
    """A row a victim, best first."""
    return [
        (
            f"{rank}. {one.victim}", show(one.clean) if one.clean else one.reason,
            show(one.under_all) if one.under_all else DASH,
            *(show(one.under[a]) if a in one.under else one.not_run.get(a, DASH) for a in record.attacks),
        )
        for rank, one in enumerate(record.entries, start=1)
    ]  # fmt: skip


def body(records: Sequence[LeaderboardRecord]) -> Markup:
    parts = []
    for number, record in enumerate(records):
        lead = f"{record.texts:,} texts of {record.data}. A text counts while no attack has broken it. 95% intervals."
        shown = table("Ranking", (*NAMES, *record.attacks), rows_of(record, str))
        parts.append(card(f"leaderboard-{number}", "Leaderboard", lead, shown))
    return join(*parts)


def terminal(record: LeaderboardRecord) -> str:
    rows = rows_of(record, lambda rate: f"{rate.value:.1%}")
    return lines_of(f"{record.data}, {record.texts:,} texts", (*NAMES, *record.attacks), rows)


SECTION = Section(rank=15, title="Leaderboard", body=body, terminal=terminal)
