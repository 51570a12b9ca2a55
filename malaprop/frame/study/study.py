"""A study is a settings class that plans tasks and gathers their outputs into a record; `conduct` runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable
from weakref import finalize

from malaprop.core.errors import LimitReached, MalapropError, SettingError, VictimError, plain
from malaprop.frame.study.agreement import LOCK
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.settings import flat
from malaprop.frame.tasks.events import LOG

if TYPE_CHECKING:
    from malaprop.core.budget import Budget
    from malaprop.frame.records.outcome import Outcome, Outcomes
    from malaprop.frame.records.spending import SpendingRecord
    from malaprop.frame.study.run_options import BudgetOptions
    from malaprop.frame.tasks.events import Listen, StudyEvent
    from malaprop.frame.tasks.executor import Execution
    from malaprop.frame.tasks.task import Plan, Task

FILE = "study.toml"
_EVERY = 2.0  # seconds between two interim records of a running study


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A record prepared for users: rows, a summary for `--json`, files, lines to print, and the exit code.

    `rows` are plain values for data frames, `summary` is what `--json` prints beside the command and its folders, and
    `files` are written beside the record. The command prints what `text` returns, else what the report section's
    `terminal` returns. It prints `notes` unless --quiet is given, `troubles` always, `last` at the end, and then what
    to do `next`; without one, it names the report. If `failed` is set, the command prints it and exits with code 1.
    """

    rows: Sequence[Mapping[str, Any]] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    text: Callable[[], str] | None = None
    notes: Sequence[str] = ()
    troubles: Sequence[str] = ()
    last: str = ""
    next: str = ""
    failed: str = ""
    code: int = 0  # the exit code of a finding, such as a failed check, of a command that worked
    markdown: str = ""  # the summary page of a CI job
    annotations: Sequence[tuple[str, str, str]] = ()  # level, title and message for the CI job
    report: bool = True  # write an HTML report with the record
    kept: bool = True  # the results stay in a folder, which the command prints


class Study(Protocol):
    """The protocol of a study, a frozen dataclass of settings that knows neither processes nor written files.

    `plan`, `gather` and `view` import what they need inside, so that `--help` loads no model library.
    """

    command: ClassVar[str]  # as it is typed: "study oneword"

    @property
    def where(self) -> RunOptions: ...

    @property
    def saving(self) -> OutputOptions: ...

    def check(self) -> None:
        """Raise for every wrong setting that can be found before data or models are loaded."""

    def plan(self) -> Iterable[Task]:
        """Return the tasks, each behind those it depends on."""

    def gather(self, root: Path) -> Any:
        """Return the record, read from the study's folder alone."""

    def view(self, record: Any) -> View:
        """Return the record prepared for users."""


class TemporaryFolder:
    """A temporary folder that is removed when this object is garbage-collected."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="malaprop-"))
        finalize(self, rmtree, self.path, ignore_errors=True)


@runtime_checkable
class Spends(Study, Protocol):
    """A study that asks victims and takes limits on that."""

    @property
    def spending(self) -> BudgetOptions: ...


@runtime_checkable
class Growing(Study, Protocol):
    """A study whose record can be made from a part of its results, for example after a kill."""

    def gather_part(self, root: Path) -> Any:
        """Return the record of the results so far; None if there are too few."""


@runtime_checkable
class Outlined(Study, Protocol):
    """A study that can print its plan instead of running."""

    def outline(self) -> View | None:
        """Return the plan to print; None if the study is to run."""


@dataclass(slots=True)
class InterimWriter:
    """A listener that writes the record of a growing study every few seconds, after a written piece."""

    study: Growing
    root: Path
    last: float = float("-inf")

    def __call__(self, event: StudyEvent) -> None:
        from malaprop.frame.tasks.events import PieceWritten

        if isinstance(event, PieceWritten) and monotonic() - self.last >= _EVERY:
            self.write()
            self.last = monotonic()

    def write(self) -> None:
        """Write the record of the results so far."""
        record = self.study.gather_part(self.root)
        if record is not None:
            record.write(self.root)


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a study: record, figures and outcomes, all in `folder`; a temporary folder goes with the result."""

    study: Study
    folder: Path
    record: Any
    temporary: TemporaryFolder | None = None
    spent: SpendingRecord | None = None  # None if nothing was counted
    finished: bool = False  # an earlier run had finished it

    @property
    def state(self) -> str:
        """done, or budget if a spending limit ended the study early."""
        return "done" if self.spent is None else self.spent.state

    def __repr__(self) -> str:
        return f"<{self.study.command} in {self.folder}: show(), rows, record, outcomes, to_frame(), report()>"

    @cached_property
    def view(self) -> View:
        return self.study.view(self.record)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The figures as rows of plain values."""
        return [dict(row) for row in self.view.rows]

    @property
    def records(self) -> list[Any]:
        """All records at or below the folder."""
        from malaprop.frame.records.kinds import find

        return [found.record for found in find([self.folder])]

    @cached_property
    def runs(self) -> dict[str, Sequence[Outcome]]:
        """The outcomes of each run by the name of its folder below the study's."""
        from malaprop.frame.records.store import find_runs, outcomes_of

        return {folder.relative_to(self.folder).as_posix(): outcomes_of(folder) for folder in find_runs([self.folder])}

    @property
    def outcomes(self) -> Outcomes:
        """All outcomes, run by run."""
        from malaprop.frame.records.outcome import Outcomes

        return Outcomes(outcome for run in self.runs.values() for outcome in run)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the figures as rows of plain values; for those of each text see `outcomes.to_dicts()`."""
        return self.rows

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame; for those of each text see `outcomes.to_pandas()`."""
        from malaprop.frame.records.outcome import make_frame

        return make_frame(self.rows)

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame, as `to_pandas` does."""
        return self.to_pandas()

    def report(self) -> Path:
        """Write the HTML report and return its path."""
        from malaprop.frame.report.page import write_report

        return write_report([self.folder], self.folder / "report.html")

    @property
    def text(self) -> str:
        """The figures as the terminal shows them."""
        if self.view.text is not None:
            return self.view.text()
        from malaprop.frame.records.kinds import kind_of
        from malaprop.frame.rooms import load

        text: str = load(kind_of(type(self.record)).section).terminal(self.record)
        return text

    def show(self) -> None:
        """Print the figures."""
        print(self.text)

    def _repr_html_(self) -> str:
        """Show the report in a frame of a notebook."""
        page = self.folder / "report.html"
        path = page if page.is_file() else self.report()
        inside = escape(path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{inside}" style="width:100%;height:640px;border:0" sandbox="allow-scripts"></iframe>'


def conduct(study: Study, *, listen: Iterable[Listen] = ()) -> Result:
    """Run the tasks of a study that are not done yet; write its record and report, and return the result.

    Without `out` it uses a temporary folder, which is removed with the result. The same folder with the same settings
    resumes an interrupted study; nothing of a finished study is done again. A folder with a study of other settings, or
    with other files, raises RecordError.
    """
    from malaprop.core.files import remove_partial_files
    from malaprop.frame.records.store import check_writable
    from malaprop.frame.study.agreement import agree, lock
    from malaprop.frame.tasks.executor import is_finished
    from malaprop.frame.tasks.task import plan_of
    from malaprop.frame.tasks.worker_context import forget_checks

    study.where.check()
    if study.saving.track:
        from malaprop.frame.study.tracking import check_trackers

        check_trackers(study.saving.track)
    if isinstance(study, Spends):
        study.spending.check()
        if study.spending.dry_run:
            from malaprop.frame.study.forecast import forecast

            return forecast(study, listen)
    if (root := study.saving.out) is not None:
        if root.exists() and not root.is_dir():
            raise SettingError(f"--out {root} is a file; give a folder")
        check_writable(root)
    study.check()
    temporary = TemporaryFolder() if root is None else None
    root = temporary.path if temporary is not None else root
    assert root is not None
    with _new_folder(root), lock(root):
        with agree(study, root) as same:
            remove_partial_files(root, FILE, "report.html")
            plan = plan_of(study.plan())
            _mark_done(plan, root)
            finished = same and is_finished(plan, root)
            budget = study.spending.open_budget(root) if isinstance(study, Spends) else None
            execution = None if finished else _execute(study, root, plan, budget, listen)
        if execution is not None and not execution.stopped:
            forget_checks(root)
        spent = _settle(budget, root, execution)
        record = _gather(study, root, "" if execution is None else execution.stopped)
        record.write(root)
        result = Result(study, root, record, temporary, spent, finished)
        for name, text in result.view.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if result.view.report:
            result.report()
    _track(result, listen)
    return result


def _mark_done(plan: Plan, root: Path) -> None:
    """Corrects the state of runs that were killed behind their last line; nothing else opens them again."""
    from malaprop.frame.tasks.outputs import RunFolder

    for task in plan.values():
        if isinstance(task.output, RunFolder):
            task.output.mark_done(task.folder(root))


def _track(result: Result, listen: Iterable[Listen]) -> None:
    """Send the result to the trackers; a failure is only a note to the user."""
    from malaprop.frame.tasks.events import TaskNote

    for name in result.study.saving.track:
        from malaprop.frame.study.tracking import send

        try:
            send(result, [name])
        except Exception as error:  # noqa: BLE001 - a tracker may raise anything
            for hear in listen:
                hear(TaskNote("", f"could not send this run to {name}: {plain(error)[:300]}"))


def _execute(study: Study, root: Path, plan: Plan, budget: Budget | None, listen: Iterable[Listen]) -> Execution:
    """Run the unfinished tasks of the plan; an interrupt still writes a growing study's interim record."""
    from malaprop.frame.tasks.events import Log
    from malaprop.frame.tasks.executor import Execution
    from malaprop.frame.tasks.task import ExampleGroups

    interim = [InterimWriter(study, root)] if isinstance(study, Growing) else []
    labels = flat(study).get("labels") or ()
    workers = study.where.open_workers(root, quiet=study.saving.quiet, budget=budget, labels=labels)
    with _keep_spending(budget, root), workers as opened:
        groups = None if budget is None or not budget.limits.bound else ExampleGroups(budget.read_share)
        execution = Execution(plan, root, opened, (Log(root), *interim, *listen), groups=groups)
        try:
            execution.run()
        except KeyboardInterrupt:
            for one in interim:
                one.write()
            raise
    if execution.failed:
        raise next(iter(execution.failed.values()))
    return execution


@contextmanager
def _keep_spending(budget: Budget | None, root: Path) -> Iterator[None]:
    """Keep spending.json up to date while a study runs, if there is a budget."""
    if budget is None:
        yield
        return
    from malaprop.frame.study.run_options import SpendingWriter

    with SpendingWriter(budget, root):
        yield


def _settle(budget: Budget | None, root: Path, execution: Execution | None) -> SpendingRecord | None:
    """Write the final spending record and mark the runs that a limit cut short; raise if no example was finished."""
    if budget is None:
        return None
    from malaprop.frame.records.store import find_runs, iter_outcomes, mark_stopped
    from malaprop.frame.study.run_options import SpendingWriter

    stopped = "" if execution is None else execution.stopped
    record = SpendingWriter(budget, root).write("budget" if stopped else "done")
    if execution is not None and stopped:
        mark_stopped(root, record.reached, execution.cut)
    if stopped and not any(next(iter_outcomes(folder), None) for folder in find_runs([root])):
        if "; before that, " in stopped:  # the victim fails, so a higher limit is no help
            raise VictimError(f"no example was done: {stopped}")
        raise SettingError(
            f"{record.reached} is smaller than one example takes: none was done ({record.describe()}); give a higher "
            "limit, or see what the run takes with --dry-run"
        )
    return record


def _gather(study: Study, root: Path, stopped: str) -> Any:
    """Return the record; after a spending limit ended the study, that of the results so far."""
    if not stopped:
        return study.gather(root)
    try:
        record = study.gather_part(root) if isinstance(study, Growing) else study.gather(root)
    except MalapropError:
        record = None
    if record is None:
        if (why := _find_failure(root)) is not None:
            raise VictimError(f"{stopped}, and all that was attacked until then ended in an error: {why}")
        raise LimitReached(
            f"{stopped} before there was anything to add up; what is finished is kept in {root}, and the same command "
            "with a higher limit goes on"
        )
    return record


def _find_failure(root: Path) -> str | None:
    """Return the reason of the first error if every example ended in an error, else None."""
    from malaprop.frame.records.store import find_runs, iter_outcomes

    ended = [outcome for folder in find_runs([root]) for outcome in iter_outcomes(folder)]
    return ended[0].reason if ended and all(outcome.status == "error" for outcome in ended) else None


@contextmanager
def _new_folder(root: Path) -> Iterator[None]:
    """Remove a folder that is new with this study if the study fails before it writes a result."""
    new = not root.exists()
    try:
        yield
    except BaseException:
        if new and root.is_dir() and {path.name for path in root.iterdir()} <= {FILE, LOCK, LOG}:
            rmtree(root, ignore_errors=True)
        raise
