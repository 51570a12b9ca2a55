"""malaprop reproduce: run each step once, keep its records, and read every claim from the records."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.assets.measures import why_not
from malaprop.core.catalogue import unknown
from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.settings import opt
from malaprop.frame.study.study import View

if TYPE_CHECKING:
    from malaprop.frame.tasks.outputs import Add
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.claims.claim import Claim, ClaimStep, Paper, Reading
    from malaprop.papers.claims.record import ClaimRow, ClaimsRecord

DONE = "done.json"
_MEASURE = "--measure"
_UNVARIED = "The experiment that would show why has not been made."
_FULL = "at full size alone: give --size full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduce:
    """Test the claims of five papers, and write our figures beside theirs.

    Each claim is read from the records of ordinary commands, which are shown and can be run alone. The same --out goes
    on where it was stopped; finished steps do not run again. A step that fails costs the claims that are read from it,
    and the exit code is then 1.

    Examples:

      malaprop reproduce --list

      malaprop reproduce U2 U7 --out runs/claims

      malaprop reproduce all --size full --jobs 8 --out runs/claims --records kept --page claims.md
    """

    command: ClassVar[str] = "reproduce"

    ids: tuple[str, ...] = opt(
        (),
        "Claims such as U2, a letter such as H, or all. A letter is a paper's: U, S, N, F or H.",
        argument=True,
        repeat=True,
        free=True,
    )
    size: str = opt(
        "small",
        "small or full. small: packaged data, minutes on a CPU; full: real data below MALAPROP_DATA, hours "
        "without a GPU.",
    )
    only: tuple[str, ...] = opt(
        (),
        "Run only these steps, and the steps that they need. Existing results of the other steps are used.",
        free=True,
    )
    read: bool = opt(False, "Run nothing; read what is in --out.", free=True)
    shows: bool = opt(False, "Show the claims and their commands, and run nothing.", name="list", free=True)
    records: Path | None = opt(
        None, "Folder to which the records are copied. Packed and in small; rows are read from there.", free=True
    )
    page: Path | None = opt(
        None, "The page or folder whose tables are rewritten. Markdown with marked tables of claims.", free=True
    )
    minutes: float | None = opt(
        None, "The longest time of one command, in minutes. The next call continues it.", min=0, free=True
    )
    jobs: int = opt(2, "The value of --jobs for commands that have it.", min=1, free=True)
    saving: OutputOptions = OutputOptions()

    def __post_init__(self) -> None:
        if self.read and self.saving.out is None:
            raise SettingError("--read needs the --out of what was run")

    @property
    def where(self) -> RunOptions:
        """Steps run one after the other, each in a process of its own."""
        return RunOptions()

    def check(self) -> None:
        from malaprop.papers.claims.claim import SIZES

        if self.size not in SIZES:
            raise unknown("size", self.size, SIZES)
        if self.shows:
            return
        if not self.ids:
            raise SettingError("name the claims: U2, a paper's letter, or all; malaprop reproduce --list shows them")
        choose_claims(self.ids)

    # --- what is done

    def steps(self) -> list[ClaimStep]:
        """Return the steps that the chosen claims are read from at this size, each after the steps it needs."""
        found = steps_of(choose_claims(self.ids), self.size)
        return [step for step in found if not self.only or any(f"{step.name}/".startswith(f"{o}/") for o in self.only)]

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.task import Task

        steps = [] if self.read else self.steps()
        names = {step.name for step in steps}
        for step in steps:
            yield Task(
                name=step.name, work=partial(self.do, step), output=CommandsDone(step, self.size), optional=True,
                after=tuple(name for name in step.needs if name in names),
            )  # fmt: skip

    def do(self, step: ClaimStep, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Run the commands that have not succeeded before, up to the first that fails."""
        from malaprop.frame.tasks.outputs import Skipped

        for name, found in inputs.items():
            if isinstance(found, Skipped):
                yield Skipped(f"it needs {name}, which failed: {found.reason}", failed=True)
                return
        root, folder = context.place.root, context.folder
        folder.mkdir(parents=True, exist_ok=True)
        before = len(CommandsDone(step, self.size).before(folder))
        for number, wanted in enumerate(step.lines(self.size, root, self.jobs)[before:], start=before):
            words, lacking = drop_measures(wanted)
            for measure, why in lacking.items():
                context.note(f"{step.name} is done without {measure}: {why}")
            output = folder / f"output-{number}.txt"
            context.note(f"malaprop {shlex.join(words)}; it reports its progress in {output}")
            if reason := run_command(words, output, self.minutes):
                yield Skipped(reason, failed=True)
                return
            yield drop_measures(step.lines(self.size, root, 1)[number])[0]

    # --- what it says

    def gather(self, root: Path) -> ClaimsRecord:
        from malaprop.frame.tasks.outputs import read_skipped
        from malaprop.papers.claims.kept_records import keep
        from malaprop.papers.claims.record import ClaimsRecord

        why = {} if self.read else {step.name: read_skipped(root / step.name) for step in self.steps()}
        failed = {name: one.reason for name, one in why.items() if one is not None}
        place = root
        if self.records is not None:
            place = self.records / self.size
            for step in steps_of(choose_claims(self.ids), self.size):  # a step may leave its record in another's folder
                if self.read or read_skipped(root / step.name) is None:
                    keep(root / step.name, place / step.name, root)
        rows = tuple(self._row(paper, claim, root, place, failed) for paper, claim in choose_claims(self.ids))
        return ClaimsRecord(size=self.size, rows=rows, failed=failed)

    def outline(self) -> View | None:
        """Return the list of claims and commands for --list; None without it."""
        from malaprop.papers.claims.claim import Reading
        from malaprop.papers.claims.record import ClaimsRecord, list_text

        if not self.shows:
            return None
        self.check()
        chosen = choose_claims(self.ids or ("all",))
        reading = Reading(ours="", verdict="not done")
        rows = [
            self._build_row(paper, claim, Path("OUT"), replace(reading, ours=claim.instead or _FULL))
            for paper, claim in chosen
        ]
        found = ClaimsRecord(size=self.size, rows=tuple(rows))
        said = {
            row.id: {"claim": row.claim, "paper": row.theirs, "commands": row.commands, "fails": row.fails}
            for row in found.rows
        }
        return View(summary={"size": self.size, "rows": said}, text=partial(list_text, found))

    def _row(self, paper: Paper, claim: Claim, root: Path, place: Path, failed: dict[str, str]) -> ClaimRow:
        """Return a claim's row, read from the records in `place`."""
        there = any(step.does.get(self.size) for step in paper.steps if step.name in claim.steps)
        return self._build_row(paper, claim, root, self._read(claim, place, there, failed), place)

    def _build_row(self, paper: Paper, claim: Claim, root: Path, found: Reading, place: Path | None = None) -> ClaimRow:
        """Return a claim's row with this reading; it describes the steps alone that have a folder in `place`."""
        from malaprop.frame.records.intervals import AMISS
        from malaprop.papers.claims.record import ClaimRow

        steps = steps_of([(paper, claim)], self.size)
        read = [step for step in steps if step.name in claim.steps]
        there = [step for step in read if place is None or (place / step.name).is_dir()]
        about = [step.about[self.size] for step in there if step.name not in claim.varies]
        return ClaimRow(
            id=claim.id,
            paper=paper.title,
            claim=claim.claim,
            theirs=claim.theirs,
            ours=found.ours,
            verdict=found.verdict,
            why=(found.why or _UNVARIED) if found.verdict in AMISS else "",
            about="; ".join(dict.fromkeys(about)),
            fails=claim.fails,
            brief=found.brief,
            where=claim.where,
            differs=claim.differs if found.published else claim.differs_ours,
            theirs_brief=claim.theirs_brief,
            commands=tuple(
                f"malaprop {shlex.join(words)}" for step in steps for words in step.lines(self.size, root, self.jobs)
            )
            if read
            else (),
        )

    def _read(self, claim: Claim, place: Path, there: bool, failed: dict[str, str]) -> Reading:
        """Read a claim; one whose records are missing or unreadable is "not done", with the reason."""
        from malaprop.papers.claims.claim import Reading

        reasons = [failed[name] for name in claim.steps if name in failed]
        if claim.read is None:
            missing = claim.instead
        elif not there:
            missing = _FULL
        elif len(reasons) == len(claim.steps):
            missing = reasons[0]
        else:
            try:
                return claim.read(place)
            except MalapropError as error:
                missing = reasons[0] if reasons else plain(error)
            except (ValueError, LookupError, TypeError, ArithmeticError) as error:  # one odd record costs one row
                missing = f"the record lacks what is read from it ({type(error).__name__}: {plain(error)[:100]})"
        return Reading(ours=missing, verdict="not done")

    def view(self, record: ClaimsRecord) -> View:
        from malaprop.frame.report.page import render
        from malaprop.papers.claims.pages import write_pages
        from malaprop.papers.claims.record import FILE, page_text, summary

        files = {"claims.md": page_text(record), "report.html": render((), records=[record])}
        if self.page is not None:
            files |= write_pages(self.page, self.read_sizes(record), self.size, self.records)
        rows = {row.id: {"ours": row.ours, "verdict": row.verdict} for row in record.rows}
        said = {"size": self.size, "rows": rows, "counts": record.counts, "failed": record.failed}
        last, failed = "", ""
        if (out := self.saving.out) is not None:
            said = {"report": str(out / "report.html"), **said}
            last = f"record: {out / FILE}; page: {out / 'report.html'}"
        if record.failed:
            named = ", ".join(record.failed)
            failed = f"{len(record.failed)} steps failed: {named}; the same command tries them again"
        return View(
            rows=[{"id": name, **row} for name, row in rows.items()],
            summary={**said, "summary": summary(record)}, files=files, last=last, failed=failed, report=False,
        )  # fmt: skip

    def read_sizes(self, record: ClaimsRecord) -> dict[str, ClaimsRecord]:
        """Return the record by its size, and beside it the other size's if its records are kept."""
        from malaprop.papers.claims.claim import SIZES
        from malaprop.papers.claims.record import ClaimsRecord

        found = {record.size: record}
        for size in SIZES:
            if size not in found and self.records is not None and (place := self.records / size).is_dir():
                other = replace(self, size=size, read=True)
                rows = tuple(other._row(paper, claim, place, place, {}) for paper, claim in choose_claims(self.ids))
                found[size] = ClaimsRecord(size=size, rows=rows)
        return found


@dataclass(frozen=True, slots=True)
class CommandsDone:
    """The commands of a step that succeeded, in done.json; the number of processes they used does not matter."""

    step: ClaimStep
    size: str

    def done(self, folder: Path) -> bool:
        return len(self.before(folder)) == len(self._lines(folder))

    def there(self, folder: Path) -> bool:
        return self.done(folder)

    def before(self, folder: Path) -> list[list[str]]:
        """Return the step's first commands that have succeeded, in full or without measures that this machine lacks.

        Later ones do not count, as each may need those before it.
        """
        pairs = zip(self._lines(folder), _read_done(folder), strict=False)
        same = takewhile(lambda pair: pair[1] == pair[0] or pair[1] == drop_measures(pair[0])[0], pairs)
        return [held for _, held in same]

    def _lines(self, folder: Path) -> list[list[str]]:
        """Return the commands of the step, with --jobs 1 so that the number of processes does not matter."""
        root = folder.parents[self.step.name.count("/")]
        return self.step.lines(self.size, root, 1)

    def value(self, folder: Path) -> Any:
        from malaprop.frame.tasks.outputs import read_skipped

        return read_skipped(folder) or folder

    @contextmanager
    def open(self, folder: Path) -> Iterator[Add]:
        from malaprop.core.files import write_whole
        from malaprop.frame.tasks.outputs import Skipped, skipped_file, write_json

        skipped_file(folder).unlink(missing_ok=True)

        def add(piece: Any) -> None:
            if isinstance(piece, Skipped):
                write_json(skipped_file(folder), piece)
            else:
                write_whole(folder / DONE, json.dumps([*self.before(folder), piece]) + "\n")

        yield add

    def blame(self, folder: Path, item: Any, why: str) -> Any:
        raise AssertionError(f"{folder} has no items: {item}, {why}")


def _read_done(folder: Path) -> list[list[str]]:
    """Return the commands in done.json; none if it is missing or damaged."""
    try:
        found = json.loads((folder / DONE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def drop_measures(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return a command without the measures that this machine cannot take, and for each the reason."""
    if _MEASURE not in words:
        return words, {}
    at = words.index(_MEASURE)
    wanted = words[at + 1].split(",")
    lacking = {measure: why for measure in wanted if (why := why_not(measure))}
    left = [measure for measure in wanted if measure not in lacking]
    return [*words[:at], *([_MEASURE, ",".join(left)] if left else []), *words[at + 2 :]], lacking


def run_command(words: Sequence[str], output: Path, minutes: float | None = None) -> str:
    """Run a malaprop command in its own process with output to a file; return why it failed, empty if it succeeded."""
    with output.open("w", encoding="utf-8") as file:
        try:
            ended = subprocess.run(  # noqa: S603 - words of our own
                [sys.executable, "-m", "malaprop", *words],
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                check=False,
                timeout=None if minutes is None else 60 * minutes,
            )
        except subprocess.TimeoutExpired:
            return f"{words[0]} was stopped after {minutes:g} minutes; the same command goes on with it"
    if not ended.returncode:
        return ""
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = lines[-1].removeprefix("malaprop: ") if lines else "no word of why"
    return f"{words[0]} ended with {ended.returncode}: {said[:300]}"


def choose_claims(ids: Sequence[str]) -> list[tuple[Paper, Claim]]:
    """Return the claims of these ids: U2, a paper's letter, or all."""
    from malaprop.papers.claims.by_paper import PAPERS

    known = {claim.id.casefold(): (paper, claim) for paper in PAPERS for claim in paper.claims}
    letters = {paper.letter.casefold() for paper in PAPERS}
    wanted: set[str] = set()
    for given in ids:
        name = given.strip().casefold()
        if name == "all":
            wanted.update(known)
        elif name in letters:
            wanted.update(key for key in known if key[0] == name)
        elif name in known:
            wanted.add(name)
        else:
            raise unknown("claim", given, [claim.id for _, claim in known.values()])
    if not wanted:
        raise SettingError("no claim was named; give ids such as U2 or H4, a paper's letter, or all")
    return [pair for key, pair in known.items() if key in wanted]


def steps_of(chosen: Sequence[tuple[Paper, Claim]], size: str | None = None) -> list[ClaimStep]:
    """Return the steps that these claims are read from, each once and after the steps it needs; `size` limits them."""
    found: dict[str, ClaimStep] = {}

    def add(paper: Paper, name: str) -> None:
        step = next(step for step in paper.steps if step.name == name)
        if size is not None and not step.does.get(size):
            return
        for before in step.needs:
            add(paper, before)
        found.setdefault(name, step)

    for paper, claim in chosen:
        for name in claim.steps:
            add(paper, name)
    return list(found.values())
