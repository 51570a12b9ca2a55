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
from malaprop.records.outcome import compare_key
from malaprop.runs.cluster import parcel, probe, slot
from malaprop.runs.cluster.crew import Crew
from malaprop.runs.cluster.session import Session, join
from malaprop.runs.cluster.shards import Shard, Shards
from malaprop.runs.folder import run_to_folder

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cluster():
    """One Ray for all tests of this file, whose processes find the test modules."""
    pytest.importorskip("ray")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parent), str(HERE.parents[1])])
    try:
        with join(workers=2) as found:
            yield found
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(slot, "_SLOWEST", 0.1)
    return tmp_path


def local(rows: list[Example], **settings):
    return {compare_key(o) for o in toy.attack_all(toy.listed(), rows, seed=3, **settings)}


def test_equal_to_local_and_resumed_in_either_engine(cluster, here):
    rows = toy.some_examples(90)
    whole = run_to_folder(toy.listed(), toy.victim(fingerprint="f"), of(rows), here / "local", seed=3)
    with Crew(cluster, toy.victim(fingerprint="f"), workers=2) as crew:
        assert crew.about.name == "toy"
        found = run_to_folder(toy.listed(), None, of(rows), here / "ray", seed=3, width=4, engine=crew)
        again = list(crew.run(toy.listed(), rows, seed=3, width=8, many=len(rows)))
        lines = (here / "ray" / "outcomes.jsonl").read_text().splitlines(keepends=True)
        (here / "ray" / "outcomes.jsonl").write_text("".join(lines[:37]) + lines[37][:20])
        resumed = run_to_folder(toy.listed(), None, of(rows), here / "ray", seed=3, engine=crew, resume=True)
    expected = {compare_key(o) for o in whole}
    for outcomes in (found, again, resumed):
        assert len(outcomes) == 90
        assert {compare_key(o) for o in outcomes} == expected


def test_from_python_and_from_the_command_line(cluster, here, monkeypatch, capsys):
    import malaprop as mp
    from malaprop.cli.main import main

    pairs = [(row.fields["text"], row.label) for row in toy.some_examples(20)]
    far, near = (mp.attack("keyboard", toy.predict, pairs, seed=3, engine=name) for name in ("ray", "local"))
    assert [compare_key(o) for o in far] == [compare_key(o) for o in near]
    with pytest.raises(SettingError, match="address and workers are for engine='ray'"):
        mp.attack("keyboard", toy.predict, pairs, workers=2)
    with pytest.raises(SettingError, match="no engine is called 'dask'"):
        mp.attack("keyboard", toy.predict, pairs, engine="dask")
    (here / "x.csv").write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in pairs))
    words = [
        "audit",
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
    rows, said = toy.some_examples(80, seed=5), []
    with Crew(cluster, "ray_victims:dies_once", workers=2, say=said.append) as crew:
        found = list(crew.run(toy.listed(), rows, seed=3, width=2, many=len(rows)))
    assert [line[:17] for line in said] == ["a worker was lost"]
    assert len(found) == 80
    assert {compare_key(o) for o in found} == local(rows)


def test_an_example_that_kills_its_workers_becomes_an_error(cluster, here):
    rows = toy.examples(["good film", "bad film", "good poison film", "great film", "an awful film"])
    with Crew(cluster, "ray_victims:poisoned", workers=2) as crew:
        found = {o.id: o for o in crew.run(toy.listed(), rows, seed=3, many=len(rows))}
    bad = found.pop(rows[2].id)
    assert (bad.status, bad.adversarial) == ("error", None)
    assert "times while attacking it" in bad.reason
    assert {compare_key(o) for o in found.values()} == local([row for row in rows if row.id != bad.id])


def test_what_cannot_be_loaded_or_sent_is_said_in_one_line(cluster, here, monkeypatch):
    monkeypatch.setattr("malaprop.runs.cluster.crew._STILLBORN", 2)
    for thing, words in [
        ("ray_victims:no_memory", "no memory for it .*cannot hold 40 GB.*use fewer workers a machine"),
        ("ray_victims:stillborn", "dies while it loads ray_victims:stillborn .*has its machine the memory"),
        ("ray_victims:nothing", "no attribute of ray_victims is called 'nothing'"),
    ]:
        with pytest.raises(VictimError, match=words) as error, Crew(cluster, thing, workers=1):
            pass
        assert "\n" not in str(error.value)
    with pytest.raises(SettingError, match=r"the victim \(StringVictim\) cannot be sent to the workers"):
        Crew(cluster, toy.victim(_holder(threading.Lock())), workers=1).__enter__()
    with pytest.raises(SettingError, match="no machine of the cluster has a GPU"):
        Crew(replace(cluster, gpus=0), "CNN-W-GloVe-1", device="cuda")
    with pytest.raises(SettingError, match="at least 1"):
        Crew(cluster, "CNN-W-GloVe-1", workers=0)


def _holder(lock):
    def call(texts):
        with lock:
            return toy.predict(texts)

    return call


def test_a_crew_left_early_can_be_used_again(cluster, here):
    rows = toy.some_examples(64)
    with Crew(cluster, "ray_victims:slow", workers=2) as crew:
        running = crew.run(toy.listed(), rows, seed=3, width=2, many=len(rows))
        next(running)
        running.close()
        assert {compare_key(o) for o in crew.run(toy.listed(), rows, seed=3, many=len(rows))} == local(rows)
        assert list(crew.run(toy.listed(), [], seed=3)) == []


def test_files_travel_as_a_parcel(tmp_path):
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "w.bin").write_bytes(b"123")
    (folder / "card").write_text("x")
    packed = parcel.portable(str(folder), device="cpu", options={}, shared=False)
    with parcel.unpack(packed) as place:
        assert (Path(place, "inner", "w.bin").read_bytes(), Path(place).name) == (b"123", "model")
    assert not Path(place).exists()
    assert parcel.portable(str(folder), device="cpu", options={}, shared=True) == str(folder)
    assert parcel.portable("my_model:predict", device="cpu", options={}, shared=False) == "my_model:predict"
    with pytest.raises(VictimError, match="outside itself"), parcel.unpack(parcel.Parcel("m", {"../x": b""})):
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
    monkeypatch.setattr("malaprop.runs.cluster.session._REACH", 0.2)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(SettingError, match=f"what listens at {address} is no Ray head"), join(address):
            pass


def test_machines_without_the_package_or_with_another_version_are_refused(monkeypatch):
    monkeypatch.setattr("malaprop.__version__", "1.2.3")
    probe.refuse([("a", "1.2.3", "")])
    with pytest.raises(SettingError, match=r"machine b has malaprop 1\.2\.2, here it is 1\.2\.3"):
        probe.refuse([("a", "1.2.3", ""), ("b", "1.2.2", "")])
    with pytest.raises(SettingError, match=r"machine b lacks malaprop \(here 1\.2\.3\): ModuleNotFoundError"):
        probe.refuse([("b", None, "ModuleNotFoundError: No module named 'malaprop'")])


def test_shards_shrink_towards_the_end_and_narrow_down_who_is_to_blame():
    rows = toy.some_examples(300)
    shards, sizes = Shards(rows, 300, workers=2), []
    while (shard := shards.next()) is not None:
        sizes.append(len(shard))
    assert sizes == [75, 56, 42, 32, 32, 32, 31]
    shards = Shards(rows[:4], 4, workers=1)
    shard, tried = shards.next(), []
    while shard is not None:
        tried.append([row.id for row in shard.left.values()])
        guilty = shards.back(shard) if rows[1].id in shard.left else None
        shard = shards.next()
    a, b, c, d = (row.id for row in rows[:4])
    assert tried == [[a, b, c, d], [a, b, c, d], [a, b], [a], [b], [c, d]]
    assert guilty is None  # of the last shard
    assert Shards(rows[:1], 1, 1).back(Shard(rows[:1], deaths=2)) is rows[0]
    with pytest.raises(DataError, match="share an id"):
        Shard([rows[0], rows[0]])


def test_an_order_says_what_a_session_lacks():
    with pytest.raises(SettingError, match="no machine of the cluster has a GPU"):
        Crew(Session(shared=True, cpus=2, gpus=0, machines=1), "x:y", device="cuda:1")
    for workers, share in ((None, 1), (3, 1), (4, 1 / 2), (7, 1 / 3)):
        assert Crew(Session(shared=True, cpus=2, gpus=3, machines=1), "x:y", workers=workers).gpu_share == share
    assert Crew(Session(shared=True, cpus=2, gpus=3, machines=1), "x:y").workers == 3
    assert Crew(Session(shared=True, cpus=2, gpus=3, machines=1), "x:y", device="cpu").workers == 2
