"""Tasks that write to the study's own folder, hand values over, end the study, or compare a finished run."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace

import pytest
import toy_tasks
from toy_tasks import MANY, Number

from malaprop.core.errors import DataError, RecordError, VictimError
from malaprop.frame.records.outcome import Outcome, Side
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.study.settings import lasting, opt
from malaprop.frame.tasks.events import Log, TaskMeasured, WorkerLost, read_log
from malaprop.frame.tasks.executor import Execution
from malaprop.frame.tasks.outputs import Handover, JsonFile, RunFolder, Several, TimeTaken, read_skipped
from malaprop.frame.tasks.task import Task, plan_of
from malaprop.frame.tasks.worker_context import Place
from malaprop.frame.tasks.workers.job import ThisProcess
from malaprop.frame.tasks.workers.processes import Processes


def found(context, inputs):
    """A new number each time."""
    mark = context.place.root / "asked"
    mark.write_text((mark.read_text() if mark.exists() else "") + "x")
    yield Number(len(mark.read_text()))


def keep(context, inputs):
    yield inputs["ask"]


def other_lines(context, inputs, share):
    for piece in toy_tasks.lines(context, inputs, share):
        yield replace(piece, seed=8) if type(piece).__name__ == "Run" else piece


def do(root, *tasks, jobs=1):
    workers = ThisProcess(Place(root=root)) if jobs == 1 else Processes(jobs, Place(root=root), preload=())
    return Execution(plan_of(tasks), root, workers).run()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_value_is_handed_over_anew_and_written_nowhere(tmp_path, jobs):
    ask = Task(name="ask", work=found, output=Handover())
    assert do(tmp_path, ask, Task(name="first", work=keep, output=JsonFile(Number), after=("ask",)), jobs=jobs) == {}
    assert do(tmp_path, ask, Task(name="second", work=keep, output=JsonFile(Number), after=("ask",)), jobs=jobs) == {}
    assert {path.name for path in tmp_path.iterdir()} == {"asked", "first.json", "second.json"}
    assert '"value": 2' in (tmp_path / "second.json").read_text()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_in_the_studys_own_folder_is_compared_also_when_it_is_finished(tmp_path, jobs):
    def task(work):
        return Task(name="lines", at=".", work=work, output=RunFolder(checks=True), items=toy_tasks.examples)

    for _ in range(2):
        assert do(tmp_path, task(toy_tasks.lines), jobs=jobs) == {}
        assert len(read_outcomes(tmp_path)) == MANY
    with pytest.raises(RecordError, match=r"holds outcomes of other settings: seed"):
        do(tmp_path, task(other_lines), jobs=jobs)


def test_what_is_vital_ends_the_study(tmp_path):
    bad = Task(name="bad", work=toy_tasks.broken, output=Handover(), vital=True)
    rest = Task(name="rest", work=found, output=JsonFile(Number))
    with pytest.raises(DataError, match="a column is missing"):
        do(tmp_path, bad, rest)
    assert not (tmp_path / "rest.json").exists()


def asks(error):
    def work(context, inputs):
        yield Number(1)
        raise error

    return work


def test_of_a_vital_and_optional_task_the_victim_alone_may_fail(tmp_path):
    bad = Task(name="bad", work=asks(VictimError("no answer")), output=JsonFile(Number), vital=True, optional=True)
    assert do(tmp_path, bad, Task(name="rest", work=found, output=JsonFile(Number))) == {}
    assert read_skipped(tmp_path / "bad").reason == "no answer"
    assert (tmp_path / "rest.json").exists()
    with pytest.raises(DataError):
        do(tmp_path / "second", replace(bad, work=asks(DataError("no file"))))


@dataclass(frozen=True, kw_only=True)
class _Inner:
    held: int = opt(1, "Held.")


@dataclass(frozen=True, kw_only=True)
class _Outer:
    own: int = opt(1, "Own.")
    inner: _Inner = opt(_Inner(held=2), free=True)


def test_all_settings_of_a_free_group_are_free():
    assert lasting(_Outer()) == {"own": 1}


def several(context, inputs):
    """Two run folders; the worker dies over the first, as often as the file says, having written some of it."""
    once = context.keep("once", lambda: object())
    assert context.keep("once", lambda: object()) is once
    left = 0
    for name in ("left", "right"):
        yield name, toy_tasks.Run(recipe="toy", victim="v", data="d", n=MANY, seed=7, labels=("a", "b"))
        for number, item in enumerate(toy_tasks.examples(inputs)):
            if item.id in context.before[name]:
                continue
            mark = context.place.root / "kills"
            if number == 40 and mark.exists() and (kills := int(mark.read_text())):
                time.sleep(0.5)
                yield "left", Outcome(id="id40", status="skipped", label=0, original=Side(dict(item.fields)), seed=7)
                mark.write_text(str(kills - 1))
                os.kill(os.getpid(), signal.SIGKILL)
            left += 1
            yield name, Outcome(id=item.id, status="skipped", label=0, original=Side(dict(item.fields)), seed=7)
    yield TimeTaken({"left": left})


def count(context, inputs):
    yield Number(sum(len(read_outcomes(folder)) for folder in inputs["both"].values()))


def test_a_lost_worker_of_several_run_folders_leaves_what_is_done(tmp_path):
    (tmp_path / "kills").write_text("1")
    parts = {"left": RunFolder(is_path=True), "right": RunFolder(is_path=True)}
    tasks = plan_of([
        Task(name="both", work=several, output=Several(parts)),
        Task(name="counted", work=count, output=JsonFile(Number), after=("both",)),
    ])  # fmt: skip
    heard: list[object] = []
    workers = Processes(2, Place(root=tmp_path), preload=())
    assert Execution(tasks, tmp_path, workers, [heard.append, Log(tmp_path)]).run() == {}
    assert [type(one) for one in heard if isinstance(one, WorkerLost | TaskMeasured)] == [WorkerLost, TaskMeasured]
    assert '"value": 160' in (tmp_path / "counted.json").read_text()
    (took,) = (line["took"] for line in read_log(tmp_path) if "took" in line)
    assert took["left"] < 160, "what was written before the loss is not done again"


def test_several_run_folders_that_kill_every_worker_are_given_up(tmp_path):
    (tmp_path / "kills").write_text("99")
    both = Task(name="both", work=several, output=Several({"left": RunFolder(), "right": RunFolder()}))
    failed = do(tmp_path, both, jobs=2)
    assert "its worker was lost 3 times" in str(failed["both"])
