"""A cluster of several nodes, all on this machine: nodes die, join, or have the wrong package."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import toy

from malaprop.core.errors import SettingError
from malaprop.data.base import of
from malaprop.features.audit.attack import AttackRun
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.store import EncodedLine, read_outcomes
from malaprop.frame.study.attack_tasks import Conditions
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.study import conduct
from malaprop.frame.tasks.events import PieceWritten, WorkerLost
from malaprop.frame.tasks.workers.ray_session import join

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
PATHS = os.pathsep.join([str(HERE), str(HERE.parents[1]), str(HERE.parents[2])])


@pytest.fixture
def cluster(monkeypatch, tmp_path):
    """A head without room for workers; nodes are added by the tests."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", PATHS)
    monkeypatch.chdir(tmp_path)
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_node_killed_in_mid_run_costs_no_outcome_and_none_comes_twice(cluster, tmp_path):
    rows = toy.some_examples(400)
    whole = toy.attack_all(toy.listed(), rows, seed=3)
    nodes = [cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1)]
    seen, lost = [], []

    def watch(happening):
        if isinstance(happening, WorkerLost):
            lost.append(happening)
        if not isinstance(happening, PieceWritten) or not isinstance(happening.piece, EncodedLine):
            return
        seen.append(happening.piece.id)
        if len(seen) == 60:
            cluster.remove_node(nodes[0], allow_graceful=False)
        if len(seen) == 200:
            cluster.add_node(num_cpus=1)

    study = AttackRun(
        recipe=toy.listed(),
        victim=toy.victim(slow),
        conditions=Conditions(width=2),
        texts=Selection(data=of(rows), n=0, seed=3),
        where=RunOptions(engine="ray", address=cluster.address, jobs=2),
        saving=OutputOptions(out=tmp_path / "ray", quiet=True),
    )
    conduct(study, listen=[watch])
    assert lost
    assert len(seen) == len(set(seen)) == 400
    lines = (tmp_path / "ray" / "outcomes.jsonl").read_text().splitlines()
    assert len(lines) == 400
    assert {compare_key(o) for o in read_outcomes(tmp_path / "ray")} == {compare_key(o) for o in whole}


def slow(texts):
    time.sleep(0.02)
    return toy.predict(texts)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("__version__ = '0.0.9'", r"has malaprop 0\.0\.9, here it is "),
        ("raise ModuleNotFoundError('no such package')", r"lacks malaprop \(here "),
    ],
)
def test_a_node_with_another_package_is_refused(cluster, tmp_path, code, words):
    fake = tmp_path / "fake" / "malaprop"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text(code + "\n")
    (tmp_path / "fake" / "sitecustomize.py").write_text(f"import sys\nsys.path.insert(0, {str(fake.parent)!r})\n")
    cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(fake.parent)})
    with pytest.raises(SettingError, match=words) as error, join(cluster.address):
        pass
    assert "\n" not in str(error.value)


def test_the_command_joins_a_cluster_and_is_stopped_cleanly(cluster, tmp_path):
    cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    rows = toy.some_examples(300)
    lines = "\n".join(f'"{row.fields["text"]}",{row.label}' for row in rows)
    (tmp_path / "texts.csv").write_text(f"text,label\n{lines}\n")
    words = ["attack", "keyboard", "--victim", "ray_victims:slow", "--data", "texts.csv", "--n", "all", "--width", "2"]
    command = [sys.executable, "-m", "malaprop", *words, "--out"]
    local = subprocess.run([*command, "local", "--quiet"], check=True, cwd=tmp_path)
    assert local.returncode == 0
    far = [*command, "far", "--engine", "ray", "--address", cluster.address, "--resume"]
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs are born deaf to it
    stopped = subprocess.Popen(far, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    path = tmp_path / "far" / "outcomes.jsonl"
    while not path.exists() or path.stat().st_size < 20_000:
        assert stopped.poll() is None, stopped.communicate()
        time.sleep(0.05)
    stopped.send_signal(signal.SIGINT)
    said = stopped.communicate(timeout=60)[1]
    assert stopped.returncode == 130, said
    assert "stopped; what was finished is kept" in said
    assert "Traceback" not in said
    done = len(read_outcomes(path.parent))
    assert 0 < done < 300
    again = subprocess.run(far, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    one, two = ({compare_key(o, scores=False) for o in read_outcomes(tmp_path / n)} for n in ("local", "far"))
    assert one == two
    assert len(path.read_text().splitlines()) == 300
