"""malaprop check: repeat a baseline's attacks on the same texts and fail where the model is less robust."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.catalogue import unknown
from malaprop.core.errors import RecordError, SettingError
from malaprop.core.settings import read_toml
from malaprop.features.audit.study import Audit
from malaprop.frame.study.attack_tasks import DataReading, RunFigures
from malaprop.frame.study.prompt_options import Prompting
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.settings import build, flat, known_names, opt, rename, show, type_command
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import FILE, View
from malaprop.frame.study.vocabulary import ATTACKS, SEVERAL, VICTIM

if TYPE_CHECKING:
    from malaprop.features.audit.check_record import BarResult, CheckRecord
    from malaprop.frame.records.paired_texts import CheckRow, MarkedRun, NewlyBroken
    from malaprop.frame.study.study import Result
    from malaprop.frame.tasks.task import Task

LESS_ROBUST = 3  # the exit code
# options that must be those of the baseline: with another value the two runs could not be compared
SUITE = (
    "attack", "n", "seed", "split", "text_column", "label_column", "fields", "labels", "budget", "goal", "keep",
    "quality", "validity", "judge", "judge_reference",
)  # fmt: skip
PROMPT_OPTIONS = ("prompt", "shots", "label_words")  # may differ from the baseline: a check may test a new prompt
LEVELS = ("word swaps", "misspellings", "look-alikes")  # as frame/report/levels.py names them
BARS = {  # the names of --min, and the row that each applies to; "" is each single attack
    "accuracy": "no attack",
    "clean-accuracy": "no attack",
    "accuracy-under-attack": "",
    "accuracy-under-every-attack": "every attack",
    **{f"accuracy-under-{level.replace(' ', '-')}": level for level in LEVELS},
}
_AS_BASELINE = " Default: that of the baseline."


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The runs that a check compares with: their settings, and for each text a digest and its marks under attack."""

    settings: Mapping[str, Any]
    digests: Mapping[str, str]
    runs: tuple[MarkedRun, ...]


@dataclass(frozen=True, kw_only=True)
class Check:
    """Attack a model as a baseline was attacked, and fail where it is less robust (exit code 3).

    The baseline is a folder that audit, attack or check wrote, or a check.json. The same attacks are run with the same
    seed on the same texts, and compared text by text. Writes check.json, junit.xml, summary.md and badge.svg.

    Examples:

      malaprop audit --victim my_model:predict --data reviews.csv --attack quick --n 200 --out baseline

      malaprop check --baseline baseline

      malaprop check --baseline baseline --victim ./new-model --max-drop 0.02 --out runs/check --json

      malaprop check --victim my_model:predict --data reviews.csv --attack quick --min accuracy-under-attack=0.3
    """

    command: ClassVar[str] = "check"

    baseline: Path | None = opt(
        None, "The earlier run to compare with. A folder that audit, attack or check wrote, or a check.json.", free=True
    )
    victim: tuple[Any, ...] | None = opt(None, f"{VICTIM} {SEVERAL}{_AS_BASELINE}", repeat=True)
    data: Any = opt(None, "The texts, as audit takes them." + _AS_BASELINE)
    attacks: tuple[Any, ...] | None = opt(
        None, f"{ATTACKS}{_AS_BASELINE} Without a baseline quick.",
        name="attack", old=("attacks",), repeat=True, grows=True,
    )  # fmt: skip
    max_drop: float = opt(0.05, "The drop of accuracy that you accept. A share, such as 0.05.", min=0, free=True)
    alpha: float = opt(0.01, "Significance level. The chance of a false alarm that you accept.", min=0, free=True)
    bars: Mapping[str, Any] = opt(
        {},
            "A minimum, such as accuracy=0.7. Of accuracy, accuracy-under-attack (each attack), "
            "accuracy-under-every-attack (the worst of all), accuracy-under-word-swaps, accuracy-under-misspellings or "
            "accuracy-under-look-alikes; may be repeated.",
        name="min", free=True,
    )  # fmt: skip
    n: int | None = opt(None, "How many examples; all (or 0) for all." + _AS_BASELINE, min=0, words={"all": 0})
    seed: int | None = opt(None, "The seed." + _AS_BASELINE, min=0)
    budget: int | None = opt(None, "Query budget: the most queries for one text." + _AS_BASELINE, min=1)
    keep: tuple[str, ...] | None = opt(None, "What attacks must not change, as for audit." + _AS_BASELINE, repeat=True)
    validity: str | None = opt(None, "paper, valid or strict, as for audit." + _AS_BASELINE)
    judge: str | None = opt(None, "Another judge of meaning, as for audit." + _AS_BASELINE)
    judge_reference: tuple[str, ...] | None = opt(
        None, "Other models of the task that the judge asks. As malaprop audit takes them." + _AS_BASELINE
    )
    quality: str | None = opt(None, "paper or strict, as audit takes it." + _AS_BASELINE, rare=True)
    split: str | None = opt(None, "The part of the data." + _AS_BASELINE)
    labels: tuple[str, ...] | None = opt(None, "The victim's labels in its order." + _AS_BASELINE)
    cache: Path | None = opt(
        Path("none"), "A file that keeps the victim's answers; none: the victim is queried anew.", free=True
    )
    width: int = width_option()
    prompting: Prompting = opt(Prompting())
    spending: BudgetOptions = BudgetOptions()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @cached_property
    def before(self) -> Baseline | None:
        """Return the baseline; None without --baseline."""
        return None if self.baseline is None else read_baseline(Path(self.baseline))

    @cached_property
    def inner(self) -> Audit:
        """Return the audit to run: the baseline's settings, overridden by the options given here."""
        held = {} if self.before is None else {"validity": "paper", **self.before.settings}  # earlier ones had no other
        own = flat(self)
        given = {name: own[name] for name in (*SUITE, "victim", "data") if own.get(name) is not None}
        for name in SUITE:
            if self.before is not None and name in given and show(given[name]) != show(held.get(name)):
                there, here = show(held.get(name)), show(given[name])
                raise SettingError(
                    f"the baseline was run with {name} = {there!r}, but this check has {here!r}; leave out "
                    f"--{name.replace('_', '-')}, or make another baseline"
                )
        prompts = flat(self.prompting) if self.prompting.given else {}
        chosen: dict[str, Any] = {"attack": ("quick",), **held, **given, **prompts}
        for name in ("victim", "data"):
            if chosen.get(name) is None or "<" in str(show(chosen[name]))[:2]:
                raise SettingError(f"--{name} is missing and the baseline was made from a Python object; give --{name}")
        audit = build(Audit, {name: value for name, value in chosen.items() if value is not None})
        return replace(
            audit, conditions=replace(audit.conditions, cache=self.cache, width=self.width), spending=self.spending,
            where=self.where, saving=self.saving,
        )  # fmt: skip

    @property
    def reading(self) -> DataReading:
        """Return how the inner audit reads its data."""
        return self.inner.reading

    @property
    def limits(self) -> dict[str, float]:
        """Return the minimums of --min by their names; raise on an unknown name or a value that is not a share."""
        found = {}
        for name, value in self.bars.items():
            shown = name.replace("_", "-")
            if shown not in BARS:
                raise unknown("bar", shown, BARS)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise SettingError(f"--min {shown} takes a share between 0 and 1, got {value!r}")
            found[shown] = float(value)
        return found

    def check(self) -> None:
        if self.baseline is None and not self.limits:
            raise SettingError(
                "check has nothing to compare with: give --baseline FOLDER, or a minimum such as "
                "--min accuracy-under-attack=0.3"
            )
        if not 0 <= self.max_drop <= 1 or not 0 < self.alpha < 1:
            raise SettingError(
                f"--max-drop must be from 0 to 1 and --alpha between 0 and 1, got {self.max_drop:g} and {self.alpha:g}"
            )
        if self.before is not None:
            victims = list(dict.fromkeys(run.victim for run in self.before.runs))
            if len(victims) != len(self.inner.victim):
                raise SettingError(
                    f"the baseline holds {len(victims)} victims ({', '.join(victims)[:80]}), and --victim names "
                    f"{len(self.inner.victim)}; give as many, or the folder of one of them"
                )
            self._compare_texts(self.before.digests)
        for name in self.limits:
            if BARS[name] in LEVELS and BARS[name] not in self.levels:
                raise SettingError(f"--min {name}: no attack of the suite makes {BARS[name]}; add one, or leave it out")
        self.inner.check()

    def _compare_texts(self, known: Mapping[str, str]) -> None:
        """Refuse a baseline of other texts before the victim is queried."""
        from malaprop.frame.records.paired_texts import digest

        here = {example.id: digest(example.fields) for example in self.reading.examples}
        other = [id for id, one in known.items() if here.get(id) != one]
        if other:
            raise RecordError(
                f"{self.baseline} is a baseline of other texts: {len(other)} of its {len(known)} texts are not among "
                f"the {len(here)} of {self.reading.examples.name} (first {other[0]!r}); give its data or another one"
            )

    def plan(self) -> Iterator[Task]:
        return self.inner.plan()

    def gather(self, root: Path) -> CheckRecord:
        from malaprop.features.audit.check_record import CheckRecord, smallest_drop
        from malaprop.frame.records.paired_texts import are_judged, compare, compare_groups

        digests, now = read_runs(root, self._folders(root))
        before = () if self.before is None else _rename(self.before.runs, now)
        rows = compare(before, now, max_drop=self.max_drop, alpha=self.alpha)
        rows = tuple(_fill(row, root, self._folders(root)) for row in rows)
        levels = compare_groups(before, now, self.levels)
        bars = tuple(self._bars(rows, levels))
        notes = []
        if before and not are_judged(before, now):
            notes.append("no judge of meaning rated all successes of both sides, so every flipped label counts on both")
        if tested := [row for row in rows if row.before is not None]:
            least = smallest_drop(len(digests), len(tested), max_drop=self.max_drop, alpha=self.alpha)
            notes.append(
                f"with {len(digests)} texts the smallest drop that can be detected is {100 * least:.1f} points"
                if least <= 1
                else f"{len(digests)} texts are too few to detect any drop"
            )
            missing = len(self.before.digests if self.before else ()) - max(row.now.total for row in tested)
            notes += (
                [f"{missing} texts of the baseline are not compared: their attack ended in an error or was not run"]
                if missing > 0
                else []
            )
        wanted = len(self.reading.examples)
        complete = len(now) == len(self._folders(root)) and all(
            run.complete and len(run.marks) == wanted for run in now
        )
        kept = {
            name: value
            for name, value in flat(self.inner).items()
            if name in (*SUITE, *PROMPT_OPTIONS, "victim", "data")
        }
        return CheckRecord(
            passed=complete and not any(row.worse for row in rows) and all(bar.passed for bar in bars),
            complete=complete, max_drop=self.max_drop,
            alpha=self.alpha, baseline=str(self.baseline or ""), rows=rows, levels=levels, bars=bars,
            notes=tuple(notes),
            settings={name: show(value) for name, value in kept.items() if value is not None}, digests=digests,
            runs=now,
        )  # fmt: skip

    @cached_property
    def levels(self) -> dict[str, list[str]]:
        """Return the attacks of the suite by what they change: words, spelling, or characters that nobody sees."""
        from malaprop.core.settings import plain
        from malaprop.frame.report.levels import find_level

        found = {attack.name: find_level(plain(attack)) for attack in self.inner.suite.values()}
        levels = {level: [name for name, of in found.items() if of == level] for level in LEVELS}
        return {name: attacks for name, attacks in levels.items() if attacks}

    def _folders(self, root: Path) -> dict[Path, tuple[str, str]]:
        """Return the run folders with the names of their victim and attack."""
        return {
            root / place / name: (place, attack.name)
            for place in self.inner.victims_by_folder
            for name, attack in self.inner.suite.items()
        }

    def _bars(self, rows: Sequence[CheckRow], levels: Sequence[CheckRow]) -> Iterator[BarResult]:
        """Yield each minimum for each row that it applies to, with the rate that was measured."""
        from malaprop.features.audit.check_record import BarResult
        from malaprop.frame.records.paired_texts import CLEAN, EVERY

        single = [row for row in rows if row.attack not in (CLEAN, EVERY)]
        for name, bound in self.limits.items():
            meant = [row for row in (*rows, *levels) if row.attack == BARS[name]]
            # without a row of its own, "every attack" is the only one
            for row in meant or (single if BARS[name] in ("", EVERY) else ()):
                yield BarResult(name=name, bound=bound, row=f"{row.victim}, {row.attack}", found=row.now)

    def view(self, record: CheckRecord) -> View:
        from malaprop.features.audit.check_record import annotate, badge, headline, junit, markdown

        rows = [
            {
                "victim": row.victim, "attack": row.attack, "before": row.before and row.before.value,
                "now": row.now.value, "lost": row.lost, "won": row.won, "p": row.p, "worse": row.worse,
            }
            for row in record.rows
        ]  # fmt: skip
        less = bool(record.findings())
        return View(
            rows=rows,
            summary={
                "passed": record.passed, "baseline": record.baseline, "max_drop": record.max_drop, "rows": rows,
                "levels": [
                    {"victim": row.victim, "level": row.attack, "before": row.before and row.before.to_dict(),
                     "now": row.now.to_dict()}
                    for row in record.levels
                ],
                "failures": record.failures(),
                "newly_broken": {
                    f"{row.victim}, {row.attack}": [one.id for one in row.broken] for row in record.rows if row.worse
                },
            },
            files={"junit.xml": junit(record), "badge.svg": badge(record), "summary.md": markdown(record)},
            markdown=markdown(record), annotations=annotate(record),
            troubles=record.findings(),  # that a limit ended the run is said with the limit
            last=f"{headline(record)}; all of it is in the folder, with junit.xml, summary.md and badge.svg",
            next="open report.html in the folder for the texts that newly break" if less else
            f"compare the next version with this one: {type_command('check', baseline=self.saving.out)}",
            code=0 if record.passed else LESS_ROBUST if less else 1,
        )  # fmt: skip


def read_baseline(path: Path) -> Baseline:
    """Read a baseline from a check.json, or from the runs below a folder."""
    from malaprop.features.audit.check_record import CheckRecord
    from malaprop.frame.records.kinds import kind_of
    from malaprop.frame.records.store import find_runs

    if path.is_file() or (path / "check.json").is_file():
        record = kind_of(CheckRecord).read(path if path.is_file() else path / "check.json")
        return Baseline(settings=rename(Audit, record.settings), digests=record.digests, runs=record.runs)
    if not path.is_dir():
        raise RecordError(f"--baseline {path} does not exist; give a folder that audit, attack or check wrote")
    folders = find_runs([path])
    if not folders:
        raise RecordError(f"--baseline {path} holds no runs; make one with malaprop audit --out {path}")
    digests, runs = read_runs(path, dict.fromkeys(folders, ("", "")))
    return Baseline(settings=_read_settings(path), digests=digests, runs=runs)


def _read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of the runs of a folder from the study.toml in it or above it."""
    place = next((one for one in (path, *path.absolute().parents[:2]) if (one / FILE).is_file()), None)
    if place is None:
        raise RecordError(f"--baseline {path} has no {FILE}; give a folder that audit, attack or check wrote")
    held = read_toml(place / FILE)
    command = held.get("command")
    if command == "attack":
        from malaprop.features.audit.attack import AttackRun

        known = known_names(AttackRun)
        run = build(AttackRun, {name: value for name, value in held.items() if name in known})
        held |= {"attack": [run.attack], "victim": [run.target], "budget": None, "goal": None, "quality": None}
    elif command not in ("audit", "check"):
        raise RecordError(
            f"--baseline {path} was written by {command}; give a folder that audit, attack or check wrote"
        )
    if place.absolute() != path.absolute() and command == "audit":
        held["victim"] = [one for one in held["victim"] if slug(one) == path.name] or held["victim"]
    held = rename(Audit, held)
    return {name: held[name] for name in (*SUITE, *PROMPT_OPTIONS, "victim", "data") if name in held}


def read_runs(root: Path, folders: Mapping[Path, tuple[str, str]]) -> tuple[dict[str, str], tuple[MarkedRun, ...]]:
    """Return the digests of all texts and each run's marks; raise where most examples of a run ended in an error."""
    from malaprop.frame.records.paired_texts import FILE as CLEAN
    from malaprop.frame.records.paired_texts import CleanAnswer, MarkedRun, digest, mark
    from malaprop.frame.records.run import FILE as RUN_FILE
    from malaprop.frame.records.run import Run
    from malaprop.frame.records.store import iter_outcomes
    from malaprop.frame.tasks.outputs import GrowingFile, read_skipped

    digests: dict[str, str] = {}
    found = []
    for folder, (victim, attack) in folders.items():
        if (why := read_skipped(folder)) is not None:
            raise RecordError(f"{folder.relative_to(root)}: {why.reason}")
        if not (folder / RUN_FILE).is_file():
            continue  # a spending limit was reached before
        RunFigures.of(folder)
        run, marks, judged = Run.read(folder), {}, True
        for outcome in iter_outcomes(folder):
            digests[outcome.id] = digest(outcome.original.fields)
            marks[outcome.id] = mark(outcome)
            judged &= outcome.status != "success" or outcome.meaning is not None
        if run.state == "budget":
            place = folder if (folder / CLEAN).is_file() else folder.parent
            for row in GrowingFile(CleanAnswer, CLEAN).value(place):
                if row.right is not None:
                    marks.setdefault(row.id, "right" if row.right else "not right")
        names = {"victim": victim or run.victim, "attack": attack or run.recipe}
        found.append(MarkedRun(**names, marks=marks, judged=judged))
    if not digests:
        raise RecordError(f"{root} holds no outcomes")
    return digests, tuple(found)


def _rename(runs: Sequence[MarkedRun], now: Sequence[MarkedRun]) -> list[MarkedRun]:
    """Rename the victims of the baseline's runs as they are named now, matching them by their order."""
    here = list(dict.fromkeys(run.victim for run in now))
    names = dict(zip(dict.fromkeys(run.victim for run in runs), here, strict=False))
    return [replace(run, victim=names.get(run.victim, run.victim)) for run in runs]


def _fill(row: CheckRow, root: Path, folders: Mapping[Path, tuple[str, str]]) -> CheckRow:
    """Return the row with the wording of its newly broken texts, as far as the report shows them."""
    from malaprop.features.audit.check_record import SHOWN
    from malaprop.frame.records.paired_texts import NewlyBroken
    from malaprop.frame.records.store import iter_outcomes

    wanted = [one.id for one in row.broken]
    texts: dict[str, NewlyBroken] = {}
    for folder, (victim, attack) in folders.items():
        if victim != row.victim or (
            row.attack in dict.fromkeys(a for _, a in folders.values()) and attack != row.attack
        ):
            continue
        for outcome in iter_outcomes(folder) if wanted and (folder / "run.toml").is_file() else ():
            if outcome.id in wanted and (outcome.broken or outcome.id not in texts):
                broken = outcome.adversarial.text if outcome.status == "success" and outcome.adversarial else ""
                texts[outcome.id] = NewlyBroken(id=outcome.id, text=outcome.original.text, adversarial=broken)
    del root
    return replace(row, broken=tuple(texts.get(id, NewlyBroken(id=id, text="")) for id in wanted[: 5 * SHOWN]))


def check(
    victim: Any,
    data: Any = None,
    *,
    baseline: str | os.PathLike[str] | None = None,
    min: Mapping[str, float] | None = None,
    **settings: Any,
) -> Result:
    """Test a model as `malaprop check` does; `found.record.passed` says whether it is as robust as required.

    `victim` and `data` are what `mp.audit` takes; `baseline` is a folder or a check.json, `min` holds bars, such as
    {"accuracy-under-attack": 0.3}. Further keywords are options of the command.
    """
    from malaprop.frame.study.study import conduct

    victims = tuple(victim) if isinstance(victim, (list, tuple)) else victim if isinstance(victim, str) else (victim,)
    given = {"victim": victims, "data": data, "baseline": baseline, "min": dict(min or {})}
    return conduct(build(Check, {"quiet": True, **{k: v for k, v in given.items() if v is not None}, **settings}))
