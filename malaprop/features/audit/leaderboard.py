"""malaprop study leaderboard: victims ranked by their accuracy under all of several attacks.

This file holds the whole study: settings, tasks, record, and the section of a report that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.frame.records.kinds import Record
from malaprop.frame.records.paired_texts import hold_under_all, holds
from malaprop.frame.records.summary import Rate, Summary
from malaprop.frame.report.markup import Markup, join
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, bullets, card, lines_of, table
from malaprop.frame.study.attack_tasks import check_judge, validity_option
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import (
    CorrectTexts,
    attack_share,
    describe_errors,
    find_correct_texts,
    name_models,
)
from malaprop.frame.study.study import View
from malaprop.frame.study.vocabulary import ATTACK, SEVERAL, VICTIM
from malaprop.frame.tasks.outputs import JsonFile, RunFolder, Skipped
from malaprop.frame.tasks.task import Inputs, Share, Task

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.data.base import Dataset
    from malaprop.frame.tasks.worker_context import WorkerContext

NAMES = ("Victim", "Accuracy", "Under all attacks")
LEAD = "A text counts if no attack succeeded on it. Texts on which an attack ended in an error are left out."


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Rank victims by their accuracy under all attacks: a text counts if no attack succeeded on it.

    The same --out resumes an interrupted run, and with more attacks.

    Examples:

      malaprop study leaderboard --victim my_model:predict,five(BERT) --attack pwws,typos --data reviews.csv --jobs 2
    """

    command: ClassVar[str] = "study leaderboard"

    victims: tuple[Any, ...] = opt(
        ("LSTM-W-GloVe-1", "CNN-W-GloVe-1", "BERT"), f"{VICTIM} {SEVERAL}",
        name="victim", old=("victims",), repeat=True,
    )  # fmt: skip
    attacks: tuple[str, ...] = opt(
        ("pwws", "deepwordbug", "typos", "homoglyph"), f"{ATTACK} {SEVERAL}",
        name="attack", old=("attacks",), repeat=True, free=True,
    )  # fmt: skip
    validity: str = validity_option("valid")
    budget: int | None = opt(None, min=1)
    texts: Selection = Selection(n=100)
    width: int = width_option()
    where: RunOptions = RunOptions()
    spending: BudgetOptions = BudgetOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def named(self) -> dict[str, Any]:
        return name_models(self.victims, "--victim")

    def attack(self, name: str) -> Attack:
        from malaprop.frame.runs.make_attack import recipe

        return recipe(name, budget=self.budget, validity="" if self.validity == "paper" else self.validity)

    def check(self) -> None:
        assert self.named
        assert all(map(self.attack, self.attacks))
        self.data()
        check_judge(self.validity)

    def plan(self) -> Iterator[Task]:
        self.data()  # an error in the data is raised once, before any victim is loaded
        for name, spec in self.named.items():
            clean, at = f"clean/{name}", {"victim": spec}
            yield Task(
                name=clean, work=self.classify, output=JsonFile(CorrectTexts), victims=at, holds=(name,),
                reads=self.read, optional=True,
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

    def classify(self, worker: WorkerContext, inputs: Inputs) -> Iterator[CorrectTexts]:
        """Find the texts that the victim classifies correctly."""
        yield find_correct_texts(worker.victim(inputs["victim"]), inputs["data"])

    def examples(self, name: str, inputs: Inputs) -> Dataset:
        from malaprop.data.matching import agree

        return agree(self.data(), inputs[f"clean/{name}"])

    def run(self, attack: str, name: str, worker: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Attack the victim's correctly classified texts, or skip where it lacks a capability that the attack needs."""
        recipe, victim = self.attack(attack), inputs["victim"]
        if missing := recipe.needs - set(inputs[f"clean/{name}"].offers):
            yield Skipped(f"needs {' and '.join(sorted(missing))}")
            return
        yield from attack_share(worker, recipe, worker.victim(victim), share, seed=self.texts.seed, width=self.width)

    def gather(self, root: Path) -> LeaderboardRecord:
        found = {name: JsonFile(CorrectTexts).value(root / "clean" / name) for name in self.named}
        seen = {name: one for name, one in found.items() if not isinstance(one, Skipped)}
        entries = [LeaderboardEntry(victim=name, reason=found[name].reason) for name in found if name not in seen]
        entries += [self._entry(root, name, one) for name, one in seen.items()]
        entries.sort(key=lambda one: (1 if one.value is None else -one.value, one.victim))
        data, texts = next(((one.data, len(one.ids)) for one in seen.values()), (str(self.texts.data), 0))
        return LeaderboardRecord(data=data, texts=texts, attacks=self.attacks, entries=tuple(entries))

    def _entry(self, root: Path, name: str, seen: CorrectTexts) -> LeaderboardEntry:
        """Count one victim's texts: under all attacks those on which every attack ended."""
        found = {attack: RunFolder().value(root / "runs" / name / attack) for attack in self.attacks}
        why = {attack: run.reason for attack, run in found.items() if isinstance(run, Skipped)}
        runs = {attack: found[attack] for attack in found if attack not in why}
        clean = zip(seen.ids, seen.right, strict=True)
        fates: list[Iterable[tuple[str, bool | None]]] = [
            ((outcome.id, holds(outcome)) for outcome in run) for run in runs.values()
        ]
        return LeaderboardEntry(
            victim=name,
            clean=Rate(sum(seen.right), len(seen.ids)),
            under_all=hold_under_all(fates or [clean], len(seen.ids)).rate,
            under={attack: Summary.of(run).robust for attack, run in runs.items()},
            not_run=why,
            errors={attack: said for attack, run in runs.items() if (said := describe_errors(run))},
        )

    def view(self, record: LeaderboardRecord) -> View:
        rows = [
            {
                "rank": rank, "victim": one.victim, "clean": one.clean and one.clean.value,
                "under all": one.value,
                **{attack: one.under[attack].value if attack in one.under else None for attack in record.attacks},
                "reason": one.reason or None,
            }
            for rank, one in enumerate(record.entries, start=1)
        ]  # fmt: skip
        return View(rows=rows, summary={"kind": "leaderboard", "ranking": rows}, notes=record.errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardEntry:
    """One victim's accuracy on clean texts, under each attack and under all of them, or the reason why it has none."""

    victim: str
    clean: Rate | None = None
    under_all: Rate | None = None
    under: Mapping[str, Rate] = field(default_factory=dict)
    not_run: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)  # by attack: how many texts ended in an error, and why
    reason: str = ""

    @property
    def value(self) -> float | None:
        """The accuracy under all attacks, which ranks it; None without a rate."""
        return self.under_all.value if self.under_all is not None and self.under_all.shown else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRecord(Record):
    """The ranked victims, best first."""

    data: str
    texts: int
    attacks: tuple[str, ...]
    entries: tuple[LeaderboardEntry, ...]

    @property
    def errors(self) -> list[str]:
        """Return a line for each victim and attack with errors on some texts."""
        return [f"{at} on {one.victim}: {why}" for one in self.entries for at, why in one.errors.items()]


def rows_of(record: LeaderboardRecord, show: Callable[[Rate], str]) -> list[tuple[str, ...]]:
    """Return a table row for each victim, best first."""
    return [
        (
            f"{rank}. {one.victim}", show(one.clean) if one.clean else one.reason,
            show(one.under_all) if one.under_all else DASH,
            *(show(one.under[a]) if a in one.under else one.not_run.get(a, DASH) for a in record.attacks),
        )
        for rank, one in enumerate(record.entries, start=1)
    ]  # fmt: skip


def body(records: Sequence[LeaderboardRecord]) -> Markup:
    cards = list[Markup]()
    for one in records:
        parts = table("Ranking", (*NAMES, *one.attacks), rows_of(one, str)), bullets("Errors", one.errors)
        cards.append(card(f"board-{len(cards)}", "Leaderboard", f"{one.texts:,} texts of {one.data}. {LEAD}", *parts))
    return join(*cards)


def terminal(record: LeaderboardRecord) -> str:
    rows = rows_of(record, lambda rate: f"{rate.value:.1%}" if rate.shown else DASH)
    return lines_of(f"{record.data}, {record.texts:,} texts", (*NAMES, *record.attacks), rows)


SECTION = Section(rank=15, title="Leaderboard", body=body, terminal=terminal)
