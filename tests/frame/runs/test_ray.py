"""The same work on a Ray of two workers: the same outcomes, whoever dies on the way."""

from __future__ import annotations

import json
import os
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import toy

from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.core.example import Example
from malaprop.data.base import of
from malaprop.features.audit.attack import AttackRun
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.study.attack_tasks import Conditions
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.study import conduct
from malaprop.frame.tasks.events import WorkerLost
from malaprop.frame.tasks.task import Portion, Shares
from malaprop.frame.tasks.worker_context import Place
from malaprop.frame.tasks.workers import ray_cluster as onray
from malaprop.frame.tasks.workers import ray_session as parcel
from malaprop.frame.tasks.workers import ray_session as probe
from malaprop.frame.tasks.workers.ray_cluster import RayCluster
from malaprop.frame.tasks.workers.ray_session import Session, join

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cluster():
    """One Ray for all tests of this file, whose processes find the test modules."""
    pytest.importorskip("ray")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parents[1]), str(HERE.parents[2])])
    try:
        with join(workers=2) as found:
            yield found
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(onray, "_SLOWEST", 0.1)
    return tmp_path


def local(rows: list[Example], **settings):
    return {compare_key(o) for o in toy.attack_all(toy.listed(), rows, seed=3, **settings)}


def study(victim, rows: list[Example], out: Path, *, width: int = 4, **where) -> AttackRun:
    """An attack of the toy's on two workers."""
    return AttackRun(
        recipe=toy.listed(),
        victim=victim,
        conditions=Conditions(width=width),
        texts=Selection(data=of(rows), n=0, seed=3),
        where=RunOptions(**{"engine": "ray", "jobs": 2, "device": "cpu", **where}),
        saving=OutputOptions(out=out, quiet=True),
    )


def attack(victim, rows: list[Example], out: Path, *, listen=(), **more):
    return conduct(study(victim, rows, out, **more), listen=listen).outcomes


def test_equal_to_local_and_resumed_in_either_engine(cluster, here):
    rows, victim = toy.some_examples(90), toy.victim(fingerprint="f")
    here_only = {"engine": "local", "jobs": None}
    whole = attack(victim, rows, here / "local", **here_only)
    several = attack(victim, rows, here / "several", engine="local", jobs=2)
    found = attack(victim, rows, here / "ray")
    lines = (here / "ray" / "outcomes.jsonl").read_text().splitlines(keepends=True)
    expected = {compare_key(o) for o in whole}
    (here / "ray" / "outcomes.jsonl").write_text("".join(lines[:37]) + lines[37][:20])
    resumed = attack(victim, rows, here / "ray")
    (here / "ray" / "outcomes.jsonl").write_text("".join(lines[:37]) + lines[37][:20])
    again = attack(victim, rows, here / "ray", width=8, **here_only)
    for outcomes in (several, found, resumed, again):
        assert len(outcomes) == 90
        assert {compare_key(o) for o in outcomes} == expected


def test_from_python_and_from_the_command_line(cluster, here, monkeypatch, capsys):
    import malaprop as mp
    from malaprop.cli.main import main

    pairs = [(row.fields["text"], row.label) for row in toy.some_examples(20)]
    far, near = (mp.attack("keyboard", toy.predict, pairs, seed=3, engine=name) for name in ("ray", "local"))
    assert [compare_key(o) for o in far] == [compare_key(o) for o in near]
    with pytest.raises(SettingError, match="address and workers need engine='ray'"):
        mp.attack("keyboard", toy.predict, pairs, workers=2)
    with pytest.raises(SettingError, match="no engine is called 'dask'"):
        mp.attack("keyboard", toy.predict, pairs, engine="dask")
    (here / "x.csv").write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in pairs))
    words = [
        "audit",
        "--validity",
        "paper",
        "--victim",
        "ray_victims:predict,ray_victims:slow",
        "--attacks",
        "keyboard,homoglyph",
        "--n",
        "all",
    ]
    monkeypatch.setattr(
        "sys.argv", ["malaprop", *words, "--data", "x.csv", "--engine", "ray", "--out", "run", "--json"]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(run["victim"], run["recipe"], sum(run["counts"].values())) for run in summary["runs"]] == [
        (f"ray_victims:{victim}", recipe, 20) for victim in ("predict", "slow") for recipe in ("keyboard", "homoglyph")
    ]
    assert (here / "run" / "report.html").exists()


def test_a_killed_worker_costs_nothing(cluster, here):
    rows, heard = toy.some_examples(80, seed=5), []
    (here / "calls").write_text("")
    found = attack("ray_victims:dies_once", rows, here / "run", width=2, listen=[heard.append])
    assert sum(isinstance(one, WorkerLost) for one in heard) == 1
    assert len(found) == 80
    assert {compare_key(o) for o in found} == local(rows)


def test_an_example_that_kills_its_workers_becomes_an_error(cluster, here):
    rows = toy.examples(["good film", "bad film", "good poison film", "great film", "an awful film"])
    found = {o.id: o for o in attack("ray_victims:poisoned", rows, here / "run", width=256)}
    bad = found.pop(rows[2].id)
    assert (bad.status, bad.adversarial) == ("error", None)
    assert "times while attacking it" in bad.reason
    assert {compare_key(o) for o in found.values()} == local([row for row in rows if row.id != bad.id])


def test_what_cannot_be_loaded_or_sent_is_said_in_one_line(cluster, here):
    rows = toy.some_examples(3)
    for thing, words in [
        ("ray_victims:no_memory", "no memory for it .*cannot hold 40 GB.*use fewer workers a machine"),
        ("ray_victims:stillborn", "look at the victim: its worker was lost 3 times"),
        ("ray_victims:nothing", "no attribute of ray_victims is called 'nothing'"),
    ]:
        with pytest.raises(VictimError, match=words) as error:
            attack(thing, rows, here / "run", jobs=1)
        assert "\n" not in str(error.value)
    with pytest.raises(SettingError, match="look at the victim cannot be sent to the workers"):
        attack(toy.victim(_holder(threading.Lock())), rows, here / "run")


def test_labels_and_cut_off_texts_are_looked_at_where_the_victim_is(cluster, here):
    """The labels of a plain function are counted by the worker that holds it."""
    rows = [replace(row, label=row.label) for row in toy.some_examples(6)]
    data = replace(of(rows), labels=("bad", "fine", "good"))
    asked = replace(study("ray_victims:predict", rows, here / "run"), texts=Selection(data=data, n=0))
    with pytest.raises(DataError, match=r"3 labels \(bad, fine, good\), ray_victims:predict scores 2"):
        conduct(asked)


def _holder(lock):
    def call(texts):
        with lock:
            return toy.predict(texts)

    return call


def test_files_travel_as_a_parcel(tmp_path):
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "w.bin").write_bytes(b"123")
    (folder / "card").write_text("x")
    packed = parcel.pack(folder)
    with parcel.unpack(packed) as place:
        assert (Path(place, "inner", "w.bin").read_bytes(), Path(place).name) == (b"123", "model")
    assert not Path(place).exists()
    assert parcel.portable(str(folder)) == str(folder)
    assert parcel.portable("my_model:predict") == "my_model:predict"
    with pytest.raises(VictimError, match="outside itself"), parcel.unpack(parcel.VictimArchive("m", {"../x": b""})):
        pass


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("auto", "no Ray cluster runs on this machine"),
        ("nowhere", "takes HOST:PORT"),
        ("head:port", "takes HOST:PORT"),
        ("127.0.0.1:0", "takes HOST:PORT"),
        ("ray://127.0.0.1:10001", "ray job submit"),
        ("127.0.0.1:{free}", "nobody listens at 127.0.0.1:.*Connection refused"),
        ("no-such-host.invalid:6379", "nobody listens at no-such-host.invalid:6379"),
    ],
)
def test_no_such_address(monkeypatch, tmp_path, address, words):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray itself would try for minutes"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shown = address.format(free=free.getsockname()[1])
        with pytest.raises(SettingError, match=words) as error, join(shown):
            pass
    assert "\n" not in str(error.value)


def test_what_listens_there_is_no_ray_head(monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr("malaprop.frame.tasks.workers.ray_session._REACH", 0.2)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(SettingError, match=f"what listens at {address} is not a Ray head"), join(address):
            pass


def test_machines_without_the_package_or_with_another_version_are_refused(monkeypatch):
    monkeypatch.setattr("malaprop.__version__", "1.2.3")
    probe.refuse([("a", "1.2.3", "")])
    with pytest.raises(SettingError, match=r"machine b has malaprop 1\.2\.2, here it is 1\.2\.3"):
        probe.refuse([("a", "1.2.3", ""), ("b", "1.2.2", "")])
    with pytest.raises(SettingError, match=r"machine b lacks malaprop \(here 1\.2\.3\): ModuleNotFoundError"):
        probe.refuse([("b", None, "ModuleNotFoundError: No module named 'malaprop'")])


def test_shares_shrink_towards_the_end_and_narrow_down_who_is_to_blame():
    rows = toy.some_examples(300)
    shares, sizes = Shares(rows, 300), []
    while (portion := shares.next(2)) is not None:
        sizes.append(len(portion))
    assert sizes == [75, 56, 42, 32, 32, 32, 31]
    shares = Shares(rows[:4], 4)
    portion, tried = shares.next(1), []
    while portion is not None:
        tried.append([row.id for row in portion.left.values()])
        guilty = shares.back(portion) if rows[1].id in portion.left else None
        portion = shares.next(1)
    a, b, c, d = (row.id for row in rows[:4])
    assert tried == [[a, b, c, d], [a, b, c, d], [a, b], [a], [b], [c, d]]
    assert guilty is None  # of the last portion
    assert Shares(rows[:1], 1).back(Portion(rows[:1], deaths=2)) is rows[0]
    with pytest.raises(DataError, match="share an id"):
        Portion([rows[0], rows[0]])


def test_workers_share_the_gpus_of_a_session():
    def workers(device="auto", gpus=3, **more):
        return RayCluster(Session(shared=True, cpus=2, gpus=gpus, machines=1), Place(root=HERE, device=device), **more)

    with pytest.raises(SettingError, match="no machine of the cluster has a GPU"):
        workers("cuda:1", gpus=0)
    for many, share in ((None, 1), (3, 1), (4, 1 / 2), (7, 1 / 3)):
        assert workers(workers=many).gpus == share
    assert workers().many == 3
    assert workers("cpu").many == 2
