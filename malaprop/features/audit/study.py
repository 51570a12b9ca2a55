"""malaprop audit: attack victims with a suite of recipes and write a report card."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError, VictimError
from malaprop.frame.study import attack_tasks as attacking
from malaprop.frame.study.attack_tasks import Conditions, DataReading, RunFigures, attack_tasks
from malaprop.frame.study.prompt_options import Prompting, on_prompt, split_sides
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt, type_command
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import View
from malaprop.frame.study.vocabulary import ATTACKS as ATTACKS_HELP
from malaprop.frame.study.vocabulary import SEVERAL, VICTIM

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.frame.report.levels import RobustLevels
    from malaprop.frame.study.study import Result
    from malaprop.frame.tasks.task import Task

VICTIMS = ("LSTM-W-GloVe-1", "CNN-W-GloVe-1", "BERT")
ATTACKS = ("pwws", "textfooler", "deepwordbug", "typos", "homoglyph")


@dataclass(frozen=True, kw_only=True)
class AuditFigures:
    """The figures of each run of an audit; `failed` holds a line for each run without outcomes, with the reason."""

    folder: Path
    runs: tuple[RunFigures, ...]
    failed: tuple[str, ...] = ()

    @cached_property
    def levels(self) -> list[RobustLevels]:
        """Return each victim's accuracy under word swaps, misspellings and look-alikes, and under all attacks."""
        from malaprop.frame.records.run import Run
        from malaprop.frame.records.store import outcomes_of
        from malaprop.frame.report.levels import measure_levels
        from malaprop.frame.report.run_entries import entries

        return measure_levels(entries([(Run.read(run.folder), outcomes_of(run.folder)) for run in self.runs]))

    def write(self, folder: Path) -> None:
        """Write the figures as summary.json, for programs."""
        whole = {"out": str(folder), "report": str(folder / "report.html"), **self.to_dict()}
        text = json.dumps(whole, ensure_ascii=False, indent=1) + "\n"
        (folder / "summary.json").write_text(text, encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        first = self.runs[0]
        stopped = [run for run in self.runs if run.summary.stopped]
        seconds = sum(run.wall for run in self.runs)
        return {
            "data": first.data, "split": first.split, "n": first.n, "seconds": round(seconds, 1),
            **({"stopped": min(stopped, key=_count_done).summary.stopped} if stopped else {}),
            "levels": [one.to_dict() for one in self.levels],
            "runs": [run.to_dict() for run in self.runs],
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Attack victims with a suite of recipes and write a report card (report.html).

    Without options it audits three sentiment classifiers on movie reviews, training them first if need be.

    Examples:

      malaprop audit --n 50

      malaprop audit --victim my_model:predict --data reviews.csv --attack pwws,typos --out runs/mine

      malaprop audit --victim causal:smollm2 --prompt prompt.txt --labels negative,positive --shots 4 --n 20

      malaprop audit --victim ./my-bert --data hub:rotten_tomatoes --n 200 --jobs 2
    """

    command: ClassVar[str] = "audit"

    victim: tuple[Any, ...] = opt(VICTIMS, f"{VICTIM} {SEVERAL}", repeat=True, grows=True)
    attacks: tuple[Any, ...] = opt(ATTACKS, ATTACKS_HELP, name="attack", old=("attacks",), repeat=True, grows=True)
    conditions: Conditions = opt(Conditions(validity="valid"))
    prompting: Prompting = opt(Prompting())
    texts: Selection = Selection()
    spending: BudgetOptions = BudgetOptions()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @cached_property
    def suite(self) -> dict[str, Attack]:
        """Return the attacks by the names of their folders; a recipe that is in two of the suites runs once."""
        from malaprop.attacks.recipes.suites import expand_suites, like_a_suite
        from malaprop.frame.runs.make_attack import make_attack

        attacks: dict[str, Attack] = {}
        _, texts, prompt = split_sides(self.texts.fields)
        for named in expand_suites(self.attacks):
            try:
                base = self.conditions.apply(make_attack(named, _lighten(named)))
            except SettingError:
                if isinstance(named, str) and (near := like_a_suite(named)):
                    raise SettingError(
                        f"no recipe and no suite is called {named!r}; did you mean {near}? see malaprop list suites"
                    ) from None
                raise
            both = [base] if texts or base.together is not None else []
            both += [on_prompt(base, self.prompting.panel)] if prompt and base.together is None else []
            for attack in both:
                if slug(attack.name) in attacks:
                    raise SettingError(f"two attacks are called {attack.name}; give them names that differ")
                attacks[slug(attack.name)] = attack
        return attacks

    @cached_property
    def reading(self) -> DataReading:
        rest, _, _ = split_sides(self.texts.fields)
        trains = self.prompting.shots > 0 or any(attack.together is not None for attack in self.suite.values())
        return DataReading(selection=replace(self.texts, fields=rest), victims=self.victim, trains=trains)

    @property
    def victims_by_folder(self) -> dict[str, Any]:
        """Return the victims by the names of their folders; victims of the same name get numbered folders."""
        seen: Counter[str] = Counter()
        out = {}
        for victim in self.victim:
            name = slug(_name(victim))
            seen[name] += 1
            out[name if seen[name] == 1 else f"{name}-{seen[name]}"] = victim
        return out

    @cached_property
    def prompted_victims(self) -> dict[str, Any]:
        """Return the victims by the names of their folders, language models with their prompts."""
        texts, found = self.texts, self.reading.examples
        return {place: self.prompting.equip(victim, texts, found) for place, victim in self.victims_by_folder.items()}

    def check(self) -> None:
        if not self.attacks or not self.victim:
            raise SettingError("an audit needs at least one victim and one attack")
        self.prompting.check(self.victim, self.texts.fields)
        self.conditions.check(self.where, *self.suite.values())
        assert self.reading.examples is not None  # an error in the data should not wait for a model to load
        assert self.prompted_victims
        self.conditions.fetch_judge()

    def plan(self) -> Iterator[Task]:
        looks = {place: f"look at {place}" for place in self.victims_by_folder}
        for place, victim in self.prompted_victims.items():
            yield attacking.check_victim_task(
                looks[place], victim, self.conditions, tuple(self.suite.values()), self.reading
            )
        cleans: dict[str, str] = {}
        limits = self.spending.limits
        for place, victim in self.prompted_victims.items() if limits.bound else ():
            clean = attacking.clean_task(place, looks[place], victim, self.conditions, self.reading, limits, at=place)
            cleans[place] = clean.name
            yield clean
        for place, victim in self.prompted_victims.items():
            for name, attack in self.suite.items():
                yield from attack_tasks(
                    f"{place}/{name}", looks[place], attack, victim, self.conditions, self.reading,
                    after=(*looks.values(), *cleans.values()), optional=True, vital=True,
                    clean=cleans.get(place, ""),
                )  # fmt: skip

    def gather(self, root: Path) -> AuditFigures:
        from malaprop.frame.records.run import FILE as RUN_FILE
        from malaprop.frame.tasks.outputs import read_skipped

        found: list[RunFigures] = []
        failed: list[str] = []
        times = attacking.read_times(root)
        for place, victim in self.victims_by_folder.items():
            for name, attack in self.suite.items():
                folder = root / place / name
                if not (folder / RUN_FILE).is_file():  # a spending limit was reached before
                    failed.append(f"{_name(victim)} under {attack.name}: not begun")
                    continue
                try:
                    if (why := read_skipped(folder)) is not None:
                        raise VictimError(why.reason)
                    found.append(RunFigures.of(folder, times.get(f"{place}/{name}", 0.0)))
                except VictimError as error:
                    failed.append(f"{_name(victim)} under {attack.name}: {error}")
        if not found:
            raise VictimError(failed[0])
        return AuditFigures(folder=root, runs=tuple(found), failed=tuple(failed))

    def view(self, record: AuditFigures) -> View:
        return View(
            rows=[run.to_row() for run in record.runs],
            summary=record.to_dict(),
            text=partial(attacking.summary_text, sorted(run.folder for run in record.runs)),
            notes=[note for run in record.runs for note in run.notes()],
            troubles=record.failed,
            last=f"report card: {record.folder / 'report.html'}",
            next=self._advance(record),
        )

    def _advance(self, record: AuditFigures) -> str:
        """Return what to do next: see the report, and harden the model if any of its texts was attacked."""
        seen = f"open {record.folder / 'report.html'} in a browser"
        if not any(run.summary.success.total for run in record.runs):
            return seen
        return f"{seen}, or make it stronger: {type_command('harden auto', model=self.victim, data=self.texts.data)}"


def _count_done(run: RunFigures) -> int:
    return sum(run.summary.counts.values())


def _name(thing: Any) -> str:
    """Return the victim's name as typed, or the `name` or `__name__` of a Python object."""
    if isinstance(thing, (str, os.PathLike)):
        return os.fspath(thing)
    name = getattr(thing, "name", None) or getattr(thing, "__name__", None)
    return name if isinstance(name, str) else type(thing).__name__


def _lighten(attack: Any) -> dict[str, Any]:
    """Return cheaper settings for recipes that need tens of thousands of queries a text, so that a suite ends soon."""
    if attack == "random":
        return {"trials": 1000, "stop": True}
    return {"vocabulary": 2000} if isinstance(attack, str) and attack.endswith(("-gr", "-ec")) else {}


def audit(
    victim: Any = VICTIMS,
    data: Any = "mr",
    *,
    attack: str | Attack | Sequence[str | Attack] | None = None,
    attacks: str | Attack | Sequence[str | Attack] | None = None,
    n: int = 100,
    budget: int | None = None,
    goal: Any = None,
    out: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Result:
    """Attack victims with a suite of recipes, as `malaprop audit` does, and return the report card.

    `victim` is what `mp.victim` takes (a function from texts to scores, a pipeline, a folder, a name), or a list of
    them; `data` is a name, a file, (text, label) pairs or a frame; `n` 0 takes all examples. `attack` names recipes and
    suites, or holds attacks; `attacks` is its old name. Further keywords are options of the command: seed, split,
    device, jobs, engine, measure, quiet.
    Without `out` the files lie in a temporary folder, which is deleted with the result.

        found = mp.audit(predict, "reviews.csv", attack=["pwws", "typos"], n=50)
        found.show(); found.to_frame(); found.outcomes; found.report()
    """
    from malaprop.frame.study.settings import build
    from malaprop.frame.study.study import conduct

    victims = tuple(victim) if isinstance(victim, (list, tuple)) else victim if isinstance(victim, str) else (victim,)
    given = {"victim": victims, "data": data, "n": n}
    for name, suite in (("attack", attack), ("attacks", attacks)):
        if suite is not None:
            given[name] = suite if isinstance(suite, (str, list, tuple)) else (suite,)
    known = {"budget": budget, "goal": goal, "out": out}
    more = {name: value for name, value in known.items() if value is not None}
    return conduct(build(Audit, {"quiet": True, **given, **more, **settings}))
