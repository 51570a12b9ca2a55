"""Tasks: what is there is done, what is killed goes on, and a lost worker loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy_tasks
from toy_tasks import MANY, Number, execute, plan

from malaprop.core.errors import DataError, RecordError, SettingError, VictimError
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.study.agreement import lock
from malaprop.frame.tasks.events import LOG, Log, PieceWritten, TaskEnded, TaskNote, WorkerLost
from malaprop.frame.tasks.executor import Execution, find_unfinished
from malaprop.frame.tasks.outputs import JsonFile, OwnFolder, RunFolder, read_skipped
from malaprop.frame.tasks.task import Task, plan_of
from malaprop.frame.tasks.worker_context import Place
from malaprop.frame.tasks.workers.job import ThisProcess
from malaprop.frame.tasks.workers.processes import Processes

HERE = Path(__file__).parent


def processes(many: int, root: Path) -> Processes:
    return Processes(many, Place(root=root), preload=())


def content(root: Path) -> dict[str, bytes]:
    """Every file but the log and the times in run.toml; lines in the order of ids, as workers finish in any."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.name not in (LOG, ".lock") and not path.name.startswith(("kill-", "worker-")):
            whole = path.read_bytes().partition(b"[versions]")[0]  # which say what else the writer had loaded
            lines = [line for line in whole.splitlines() if not line.startswith(b"started")]
            found[str(path.relative_to(root))] = b"\n".join(sorted(lines) if path.suffix == ".jsonl" else lines)
    return found


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """What the plan leaves when nobody disturbs it, and how many writes that takes."""
    root = tmp_path_factory.mktemp("calm")
    heard: list[object] = []
    assert execute(root, listen=[heard.append, Log(root)]) == {}
    return content(root), sum(isinstance(one, PieceWritten) for one in heard), root


def test_everything_is_done_once(calm):
    files, _, root = calm
    assert len(read_outcomes(root / "lines")) == MANY
    assert files["sum.json"] == b'{\n "value": 83\n}'
    assert read_skipped(root / "impossible").reason == "shows no gradient"
    assert read_skipped(root / "behind it").reason == "shows no gradient"
    assert find_unfinished(plan(), root) == {}
    log = (root / LOG).read_text()
    assert log.count('"ended": "done"') == 4
    assert '"task": "impossible", "ended": "skipped"' in log
    heard: list[object] = []
    execute(root, listen=[heard.append])
    assert len(heard) == 1, "only that nothing is left"


def test_killed_at_every_write_it_resumes_to_the_same(calm, tmp_path):
    files, writes, _ = calm
    for kill in range(1, writes + 1, 3):
        root = tmp_path / str(kill)
        for _ in range(2):  # the second time from where the first was killed
            _die_after(root, kill)
        if kill % 2:  # a line that was cut in the middle
            path = root / "lines" / "outcomes.jsonl"
            if path.is_file() and path.stat().st_size > 10 and not (root / "sum.json").is_file():
                os.truncate(path, path.stat().st_size - 7)
        assert execute(root) == {}
        assert content(root) == files


def _die_after(root: Path, writes: int) -> None:
    """In a child, which ends as if killed when so many pieces are on disk."""
    if (child := os.fork()) == 0:
        left = iter(range(writes - 1))
        execute(
            root,
            listen=[lambda one: next(left, None) is not None or os._exit(9) if isinstance(one, PieceWritten) else None],
        )
        os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.parametrize("jobs", [2, 3])
def test_several_processes_give_the_same_and_lost_workers_lose_nothing(calm, tmp_path, jobs):
    for id in ("id7", "id23", "id41"):
        (tmp_path / f"kill-{id}").write_text("once")
    heard: list[object] = []
    assert execute(tmp_path, processes(jobs, tmp_path), listen=[heard.append]) == {}
    assert content(tmp_path) == calm[0]
    assert sum(isinstance(one, WorkerLost) for one in heard) == 3
    assert any("killed by signal 9" in one.why for one in heard if isinstance(one, WorkerLost))
    assert any(one.text == "training" for one in heard if isinstance(one, TaskNote))


def test_the_item_that_kills_every_worker_is_found_and_ends_as_an_error(tmp_path):
    (tmp_path / "kill-id33").write_text("always")
    assert execute(tmp_path, processes(2, tmp_path)) == {}
    found = {one.id: one for one in read_outcomes(tmp_path / "lines")}
    assert len(found) == MANY
    assert {id for id, one in found.items() if one.status == "error"} == {"id33"}
    assert "its worker died" in found["id33"].reason
    assert (found["id33"].seed, found["id33"].original.fields) == (7, {"text": "text 33"})


@pytest.mark.parametrize("never", [False, True])
def test_a_task_that_finds_too_little_memory_beside_others_is_done_alone(tmp_path, never):
    if never:
        (tmp_path / "never").touch()
    tasks = [Task(name=name, work=toy_tasks.cramped, output=JsonFile(Number)) for name in ("one", "other")]
    heard: list[object] = []
    failed = execute(tmp_path, processes(2, tmp_path), *tasks, listen=[heard.append])
    assert set(failed) == ({"one", "other"} if never else set())
    assert any("tried again alone" in one.text for one in heard if isinstance(one, TaskNote))
    for error in failed.values():
        assert "no memory for it" in str(error)


def test_a_failure_takes_what_stands_behind_it_and_nothing_else(tmp_path):
    bad = Task(name="bad", work=toy_tasks.broken, output=JsonFile(Number))
    behind = Task(name="behind", work=toy_tasks.add, output=JsonFile(Number), after=("bad",))
    for workers in (None, processes(2, tmp_path)):
        heard: list[object] = []
        failed = execute(tmp_path, workers, bad, behind, listen=[heard.append])
        assert set(failed) == {"bad", "behind"}
        assert isinstance(failed["behind"], DataError)
        assert "a column is missing" in str(failed["behind"])
        assert (tmp_path / "sum.json").is_file()
        assert {one.task for one in heard if isinstance(one, TaskEnded) and one.how == "failed"} == {"bad"}
    assert set(find_unfinished(plan(bad, behind), tmp_path)) == {"bad", "behind"}


def test_an_optional_task_costs_its_row_alone_and_is_tried_again(tmp_path):
    bad = Task(name="bad", work=toy_tasks.broken, output=RunFolder(), optional=True)
    assert execute(tmp_path, None, bad) == {}
    assert read_skipped(tmp_path / "bad").reason == "a column is missing"
    assert set(find_unfinished(plan(bad), tmp_path)) == {"bad"}


def test_the_end_of_a_quiet_task_is_not_for_users(tmp_path):
    heard: list[object] = []
    quiet = Task(name="quiet", work=toy_tasks.model, output=OwnFolder(), quiet=True)
    assert execute(tmp_path, None, quiet, listen=[heard.append]) == {}
    shown = {one.task: one.kept for one in heard if isinstance(one, TaskEnded)}
    assert shown["model"]
    assert not shown["quiet"]


def test_a_task_that_kills_its_worker_is_given_up(tmp_path):
    deadly = Task(name="deadly", work=toy_tasks.dies, output=JsonFile(Number))
    failed = execute(tmp_path, processes(2, tmp_path), deadly)
    assert isinstance(failed["deadly"], VictimError)
    assert "deadly: its worker was lost 3 times (killed by signal 9)" in str(failed["deadly"])
    assert (tmp_path / "sum.json").is_file()


def test_what_cannot_be_sent_says_so(tmp_path):
    own = Task(name="own", work=lambda context, inputs: iter([Number(1)]), output=JsonFile(Number))
    failed = execute(tmp_path, processes(2, tmp_path), own)
    assert isinstance(failed["own"], SettingError)
    assert "own cannot be sent to another process" in str(failed["own"])
    assert execute(tmp_path, None, own) == {}


def test_an_end_that_is_there_wants_nothing_before_it(tmp_path):
    (tmp_path / "sum.json").write_text('{"value": 83}\n')
    assert set(find_unfinished(plan(), tmp_path)) == {"impossible", "behind it"}


def test_a_second_driver_is_refused(tmp_path):
    with lock(tmp_path), pytest.raises(RecordError, match="another process is at work"):
        execute(tmp_path)


def test_a_folder_of_other_work_is_not_added_to(tmp_path):
    execute(tmp_path)
    (tmp_path / "sum.json").unlink()
    run = tmp_path / "lines" / "run.toml"
    run.write_text(run.read_text().replace("seed = 7", "seed = 8"))
    lines = tmp_path / "lines" / "outcomes.jsonl"
    lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:5]))
    with pytest.raises(RecordError, match="seed is 7 here and 8 there"):
        execute(tmp_path)


def test_a_timed_task_runs_alone(tmp_path):
    more = [Task(name=f"timed{n}", work=toy_tasks.alone, output=JsonFile(Number), alone=n == 0) for n in range(4)]
    assert execute(tmp_path, processes(3, tmp_path), *more) == {}
    assert (tmp_path / "timed0.json").read_text() == '{\n "value": 0\n}\n'


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_was_finished(calm, tmp_path, jobs):
    child = _begin(tmp_path, jobs)
    with pytest.raises(RecordError, match="another process is at work"):
        execute(tmp_path)
    child.send_signal(signal.SIGINT)
    assert child.wait(30) == 130
    assert 3 <= len(read_outcomes(tmp_path / "lines")) < MANY
    execute(tmp_path)
    assert content(tmp_path) == calm[0]


def test_workers_end_with_a_driver_that_is_killed(calm, tmp_path):
    child = _begin(tmp_path, 2)
    workers = {int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")}
    assert workers
    child.kill()
    child.wait(30)
    until = time.monotonic() + 20
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < until, "a worker outlives its driver"
        time.sleep(0.05)
    execute(tmp_path)
    assert content(tmp_path) == calm[0]


def _begin(root: Path, jobs: int) -> subprocess.Popen[bytes]:
    """A driver in a process of its own, when a few lines are there."""
    paths = os.pathsep.join([str(HERE), str(HERE.parents[2])])
    child = subprocess.Popen(
        [sys.executable, "toy_tasks.py", str(root), str(jobs)],
        cwd=HERE,
        env={**os.environ, "TOY_SLEEP": "0.2", "PYTHONPATH": paths},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a background run ignores Ctrl-C
    )
    path = root / "lines" / "outcomes.jsonl"
    until = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < until
        time.sleep(0.02)
    return child


class Late(ThisProcess):
    """Two workers of which the second comes only after the first has said something; the first talks without end."""

    many, whole = 2, False

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.second = ThisProcess(place)
        self.there = False

    @property
    def idle(self) -> bool:
        return super().idle or (self.there and self.second.idle)

    def pick(self, ready):
        self.chosen = self if ThisProcess.idle.fget(self) else self.second if self.idle else None
        return None if self.chosen is None else ready[0]

    def start(self, job, inputs, before):
        super().start(job, inputs, before) if self.chosen is self else self.second.start(job, inputs, before)

    def events(self):
        if not ThisProcess.idle.fget(self):
            yield from super().events()
        self.there = True
        if not self.second.idle:
            yield from self.second.events()


def test_a_worker_that_comes_late_is_given_work_at_once(tmp_path):
    heard: list[object] = []
    alone = plan_of([Task(name="lines", work=toy_tasks.lines, output=RunFolder(), items=toy_tasks.examples)])
    assert Execution(alone, tmp_path, Late(Place(root=tmp_path)), [heard.append]).run() == {}
    order = [one.piece.id for one in heard if isinstance(one, PieceWritten) and isinstance(one.piece, Outcome)]
    assert order.index("id32") < order.index("id20"), "the second share began before the first was over"


@pytest.mark.parametrize(("asked", "expected"), [("", 4), ("1", 1), ("16", 4), ("2,1", 4)])
def test_processes_take_no_more_threads_than_the_user_says(monkeypatch, tmp_path, asked, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert Processes(2, Place(root=tmp_path)).place.threads == expected


def test_processes_have_the_environment_of_their_own_study(monkeypatch, tmp_path):
    for number in ("1", "2", ""):  # the server that forks them began with the first
        monkeypatch.setenv("TOY_NUMBER", number) if number else monkeypatch.delenv("TOY_NUMBER")
        root, output = tmp_path / f"of{number}", JsonFile(Number)
        root.mkdir()
        told = plan_of([Task(name="told", work=toy_tasks.read_number, output=output)])
        with lock(root), processes(1, root) as workers:
            Execution(told, root, workers).run()
        assert output.value(root / "told") == Number(int(number or "0"))
