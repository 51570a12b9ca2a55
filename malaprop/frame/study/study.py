"""Study: settings that say which tasks there are and what their outputs add up to; `conduct` does the rest."""

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
    from malaprop.frame.study.budget_options import BudgetOptions
    from malaprop.frame.tasks.events import Happening, Listen
    from malaprop.frame.tasks.executor import Execution
    from malaprop.frame.tasks.task import Plan, Task

FILE = "study.toml"
_EVERY = 2.0  # seconds between two records of a study that is under way


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A record as people and programs want it.

    `rows` are plain values for data frames, `summary` is what `--json` says beside the command and its folders, `files`
    are written beside the record. What is printed is what `text` gives, else the `terminal` of the section that shows
    the record in a report. `notes` are said to whoever watches, `troubles` to everybody, and `last` at the end. Where
    something `failed`, that is said, and the command's exit code is 1.
    """

    rows: Sequence[Mapping[str, Any]] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    text: Callable[[], str] | None = None
    notes: Sequence[str] = ()
    troubles: Sequence[str] = ()
    last: str = ""
    failed: str = ""
    code: int = 0  # of a command that ended as it should, where its finding has an exit code of its own
    markdown: str = ""  # a page for the summary of a job of continuous integration
    annotations: Sequence[tuple[str, str, str]] = ()  # level, title and message, for the same
    report: bool = True  # an HTML report is written with the record
    kept: bool = True  # there is a folder to name


class Study(Protocol):
    """A frozen dataclass of settings. Nothing in it knows of processes, of files that are written, or of options.

    `plan`, `gather` and `view` import what they need inside, so that the options are known without a model library.
    """

    command: ClassVar[str]  # as it is typed: "study oneword"

    @property
    def where(self) -> RunOptions: ...

    @property
    def saving(self) -> OutputOptions: ...

    def check(self) -> None:
        """Raises what can be known before anything is loaded."""

    def plan(self) -> Iterable[Task]:
        """The tasks, each behind those it comes after."""

    def gather(self, root: Path) -> Any:
        """The record, from what lies in the folder alone."""

    def view(self, record: Any) -> View: ...


class TemporaryFolder:
    """A folder that goes when nobody holds this any more."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="malaprop-"))
        finalize(self, rmtree, self.path, ignore_errors=True)


@runtime_checkable
class Spends(Study, Protocol):
    """A study that asks victims, and can be told how much of that it may do."""

    @property
    def spending(self) -> BudgetOptions: ...


@runtime_checkable
class Growing(Study, Protocol):
    """A study whose record can be made of a part of its results: one that is killed can be reported all the same."""

    def gather_part(self, root: Path) -> Any:
        """The record over what there is by now; None while nothing can be said."""


@runtime_checkable
class Outlined(Study, Protocol):
    """A study that can show what it would do."""

    def outline(self) -> View | None:
        """What is shown in its place; None where it is to be conducted."""


@dataclass(slots=True)
class Interim:
    """Writes the record of a growing study every few seconds, after a piece that is on disk."""

    study: Growing
    root: Path
    last: float = float("-inf")

    def __call__(self, happening: Happening) -> None:
        from malaprop.frame.tasks.events import PieceWritten

        if isinstance(happening, PieceWritten) and monotonic() - self.last >= _EVERY:
            self.write()
            self.last = monotonic()

    def write(self) -> None:
        """The record over what is finished."""
        record = self.study.gather_part(self.root)
        if record is not None:
            record.write(self.root)


@dataclass(frozen=True, repr=False)
class Result:
    """What a study found. All of it is on disk, in `folder`; a temporary folder goes with the result."""

    study: Study
    folder: Path
    record: Any
    temporary: TemporaryFolder | None = None
    spent: SpendingRecord | None = None  # where anything was counted
    finished: bool = False  # all of it was there before

    @property
    def state(self) -> str:
        """done, or budget where a spending limit ended it before all was done."""
        return "done" if self.spent is None else self.spent.state

    def __repr__(self) -> str:
        return f"<{self.study.command} in {self.folder}: show(), rows, record, outcomes, to_frame(), report()>"

    @cached_property
    def view(self) -> View:
        return self.study.view(self.record)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The figures, a row of plain values each."""
        return [dict(row) for row in self.view.rows]

    @property
    def records(self) -> list[Any]:
        """Every record at or below the folder."""
        from malaprop.frame.records.kinds import find

        return [found.record for found in find([self.folder])]

    @cached_property
    def runs(self) -> dict[str, Sequence[Outcome]]:
        """The outcomes of each run, by its folder's name below the study's."""
        from malaprop.frame.records.store import find_runs, outcomes_of

        return {folder.relative_to(self.folder).as_posix(): outcomes_of(folder) for folder in find_runs([self.folder])}

    @property
    def outcomes(self) -> Outcomes:
        """All outcomes, run by run."""
        from malaprop.frame.records.outcome import Outcomes

        return Outcomes(outcome for run in self.runs.values() for outcome in run)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The figures, a row of plain values each; those of each text are `outcomes.to_dicts()`."""
        return self.rows

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame; those of each text are `outcomes.to_pandas()`."""
        from malaprop.frame.records.outcome import make_frame

        return make_frame(self.rows)

    def to_frame(self) -> Any:
        """As `to_pandas`."""
        return self.to_pandas()

    def report(self) -> Path:
        """Writes the HTML report and gives its path."""
        from malaprop.frame.report.page import write_report

        return write_report([self.folder], self.folder / "report.html")

    @property
    def text(self) -> str:
        """The figures, as a terminal shows them."""
        if self.view.text is not None:
            return self.view.text()
        from malaprop.frame.records.kinds import kind_of
        from malaprop.frame.rooms import load

        text: str = load(kind_of(type(self.record)).section).terminal(self.record)
        return text

    def show(self) -> None:
        """Prints the figures."""
        print(self.text)

    def _repr_html_(self) -> str:
        """In a notebook: the report, in a frame of its own."""
        page = self.folder / "report.html"
        path = page if page.is_file() else self.report()
        inside = escape(path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{inside}" style="width:100%;height:640px;border:0" sandbox="allow-scripts"></iframe>'


def conduct(study: Study, *, listen: Iterable[Listen] = ()) -> Result:
    """Does all that is not there yet, and writes the record over it and its report.

    Without `out` a temporary folder is used, which goes with the result. The same folder with the same settings goes on
    with what was interrupted; of a study that is finished nothing is done again. A folder that holds a study of other
    settings, or something else, is refused.
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
            finished = same and is_finished(plan, root)
            ledger = study.spending.open_ledger(root) if isinstance(study, Spends) else None
            execution = None if finished else _execute(study, root, plan, ledger, listen)
        if execution is not None and not execution.stopped:
            forget_checks(root)
        spent = _settle(ledger, root, execution)
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


def _track(result: Result, listen: Iterable[Listen]) -> None:
    """Tells the trackers; one that cannot be told costs no result, and whoever watches hears of it."""
    from malaprop.frame.tasks.events import TaskNote

    for name in result.study.saving.track:
        from malaprop.frame.study.tracking import send

        try:
            send(result, [name])
        except Exception as error:  # noqa: BLE001 - a tracker may raise anything
            for hear in listen:
                hear(TaskNote("", f"{name} could not be told of this run: {plain(error)[:300]}"))


def _execute(study: Study, root: Path, plan: Plan, ledger: Budget | None, listen: Iterable[Listen]) -> Execution:
    """Does what is left of the plan; one that is interrupted leaves a record of what there is by then."""
    from malaprop.frame.tasks.events import Log
    from malaprop.frame.tasks.executor import Execution
    from malaprop.frame.tasks.shares import Groups

    interim = [Interim(study, root)] if isinstance(study, Growing) else []
    labels = flat(study).get("labels") or ()
    workers = study.where.open_workers(root, quiet=study.saving.quiet, ledger=ledger, labels=labels)
    with _keep_books(ledger, root), workers as crew:
        groups = None if ledger is None or not ledger.limits.bound else Groups(ledger.read_share)
        execution = Execution(plan, root, crew, (Log(root), *interim, *listen), groups=groups)
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
def _keep_books(ledger: Budget | None, root: Path) -> Iterator[None]:
    """Writes what is spent while a study runs, and once more however it ends."""
    if ledger is None:
        yield
        return
    from malaprop.frame.study.budget_options import Bookkeeper

    with Bookkeeper(ledger, root):
        yield


def _settle(ledger: Budget | None, root: Path, execution: Execution | None) -> SpendingRecord | None:
    """The last word on what was spent; the runs below say themselves which of them were cut short."""
    if ledger is None:
        return None
    from malaprop.frame.records.store import find_runs, iter_outcomes, mark_stopped
    from malaprop.frame.study.budget_options import Bookkeeper

    stopped = "" if execution is None else execution.stopped
    record = Bookkeeper(ledger, root).write("budget" if stopped else "done")
    if execution is not None and stopped:
        mark_stopped(root, record.reached, execution.cut)
    if stopped and not any(next(iter_outcomes(folder), None) for folder in find_runs([root])):
        if "; before that, " in stopped:  # the victim fails, so a higher limit is no help
            raise VictimError(f"no example was done: {stopped}")
        raise SettingError(
            f"{record.reached} is smaller than one example takes: none was done ({record.describe()}); give a higher "
            "limit, or see what is wanted with --dry-run"
        )
    return record


def _gather(study: Study, root: Path, stopped: str) -> Any:
    """The record; of a study that a spending limit ended, over what there is."""
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
    """The reason of the first error, where every example ended in one."""
    from malaprop.frame.records.store import find_runs, iter_outcomes

    ended = [outcome for folder in find_runs([root]) for outcome in iter_outcomes(folder)]
    return ended[0].reason if ended and all(outcome.status == "error" for outcome in ended) else None


@contextmanager
def _new_folder(root: Path) -> Iterator[None]:
    """A folder that was made for a study goes with it where the study ends before anything is found."""
    new = not root.exists()
    try:
        yield
    except BaseException:
        if new and root.is_dir() and {path.name for path in root.iterdir()} <= {FILE, LOCK, LOG}:
            rmtree(root, ignore_errors=True)
        raise
