"""The same tasks on a Ray cluster: the same files, with workers that die, and without a disk in common."""

from __future__ import annotations

from pathlib import Path

import pytest
import toy_tasks
from test_tasks import content
from toy_tasks import MANY, Number, execute

from malaprop.core.budget import Budget, Limits
from malaprop.core.errors import DataError, SettingError
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.tasks.events import WorkerLost
from malaprop.frame.tasks.executor import Execution
from malaprop.frame.tasks.outputs import JsonFile, RunFolder, Several
from malaprop.frame.tasks.task import Task, plan_of
from malaprop.frame.tasks.worker_context import Place
from malaprop.frame.tasks.workers.ray_cluster import RayCluster
from malaprop.frame.tasks.workers.ray_session import Session, join

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def session():
    pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{HERE}:{HERE.parents[2]}")
        with join(workers=2) as found:
            yield found


def workers(session: Session, root: Path, **more) -> RayCluster:
    made = RayCluster(session, Place(root=root), workers=2)
    made.shared = more.get("shared", True)
    return made


def test_lost_workers_lose_nothing_and_the_guilty_item_is_found(session, tmp_path):
    assert execute(tmp_path / "calm") == {}
    root = tmp_path / "storm"
    root.mkdir()
    (root / "kill-id7").write_text("once")
    heard: list[object] = []
    assert execute(root, workers(session, root), listen=[heard.append]) == {}
    assert content(root) == content(tmp_path / "calm")
    assert sum(isinstance(one, WorkerLost) for one in heard) == 1


def test_an_item_that_kills_every_worker_ends_as_an_error(session, tmp_path):
    (tmp_path / "kill-id33").write_text("always")
    assert execute(tmp_path, workers(session, tmp_path)) == {}
    found = {one.id: one.status for one in read_outcomes(tmp_path / "lines")}
    assert len(found) == MANY
    assert [id for id, status in found.items() if status == "error"] == ["id33"]


def test_without_a_common_disk_folders_travel(session, tmp_path):
    seen = Task(name="seen", work=toy_tasks.look, output=JsonFile(Number), after=("model",))
    assert execute(tmp_path, workers(session, tmp_path, shared=False), seen) == {}
    assert (tmp_path / "model" / "half").read_text() == "half"
    assert (tmp_path / "seen.json").read_text() == '{\n "value": 1\n}\n'


def test_without_a_common_disk_run_folders_travel_too(session, tmp_path):
    both = Task(
        name="pair", work=toy_tasks.two, output=Several({n: RunFolder(is_path=True) for n in ("left", "right")})
    )
    seen = Task(name="counted", work=toy_tasks.count_lines, output=JsonFile(Number), after=("pair",))
    made = Execution(plan_of([both, seen]), tmp_path, workers(session, tmp_path, shared=False))
    assert made.run() == {}
    assert (tmp_path / "counted.json").read_text() == '{\n "value": 6\n}\n'


def test_errors_come_back_in_words(session, tmp_path):
    bad = Task(name="bad", work=toy_tasks.broken, output=JsonFile(Number))
    lost = Task(name="lost", work=toy_tasks.unsendable, output=JsonFile(Number), victims={"v": toy_tasks.Stubborn()})
    failed = execute(tmp_path, workers(session, tmp_path), bad, lost)
    assert isinstance(failed["bad"], DataError)
    assert "a column is missing (on " in str(failed["bad"])
    assert isinstance(failed["lost"], SettingError)
    assert "lost cannot be sent to the workers" in str(failed["lost"])


def test_workers_of_a_cluster_share_one_limit(session, tmp_path):
    budget = Budget(limits=Limits(queries=95))
    made = RayCluster(session, Place(root=tmp_path, limits=budget.limits), workers=2, budget=budget)
    tasks = [Task(name=name, work=toy_tasks.spend, output=JsonFile(Number)) for name in ("one", "two")]
    execution = Execution(plan_of(tasks), tmp_path, made)
    assert execution.run() == {}
    assert execution.stopped == "--max-queries 95 is reached"
    assert budget.spent.queries == 90
