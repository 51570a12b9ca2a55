"""The maintainers' tool for full size: archives come back as they were, and lanes outlive failures and deadlines."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tarfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "tools" / "fullsize"))

import board
import lanes
import pack
import phrases
import plan
import rows
import speed
import unpack
import valid

# WHAT NAME --out FOLDER: notes that it was called, then says something, finds no memory the first time or never, fails
# until it may not, or is interrupted
STUB = """
import json, sys, time
from pathlib import Path
what, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[4])
with (folder / "calls.txt").open("a") as file:
    file.write(name + "\\n")
print(json.dumps({"name": name}), flush=True)
if what == "full" and (folder / "calls.txt").read_text().count(name) < 2:
    sys.exit("CUDA error: out of memory")
if what == "starve":
    sys.exit("CUDA error: out of memory")
if what == "fail" and not (folder / "mended").exists():
    sys.exit(3)
if what == "wait":
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.fixture
def drive(tmp_path):
    """A function that runs lanes of stubs, each turn written as WHAT NAME, with what it needs."""
    (tmp_path / "stub.py").write_text(STUB)

    def run(minutes=1.0, weights=(), **turns):
        made = [
            plan.Lane(
                name=name,
                turns=tuple(
                    plan.Turn(
                        step=line.split()[1], commands=(f"{line} --out {tmp_path}",), needs=needs, aid="aid" in line
                    )
                    for line, needs in some
                ),
            )
            for name, some in turns.items()
        ]
        program = (sys.executable, str(tmp_path / "stub.py"))
        driver = lanes.Driver(made, tmp_path / "out", minutes, "tiny", program=program, grace=10, every=0.5, pause=0)
        driver.weights = weights
        driver.run()
        return driver

    return run


def calls(folder):
    return sorted((folder / "calls.txt").read_text().split())


def kept(folder, where="kept"):
    return sorted(path.parent.name for path in (folder / "out" / where).rglob("output-0.txt.gz"))


def test_a_command_that_finds_no_memory_is_tried_again_and_others_are_not(drive, tmp_path):
    driver = drive(one=[("full crowded", ())], two=[("fail broken", ())])
    assert calls(tmp_path) == ["broken", "crowded", "crowded"]
    assert list(driver.good) == ["crowded"]


def test_a_command_that_never_finds_memory_is_given_up(drive, tmp_path):
    driver = drive(one=[("starve hungry", ())])
    assert calls(tmp_path) == ["hungry"] * 3
    assert not driver.good


def test_no_more_processes_run_than_are_allowed(tmp_path):
    two, three, one = (plan.Lane(name=f"lane {jobs}", turns=(), jobs=jobs, parts=100) for jobs in (2, 3, 1))
    driver = lanes.Driver((), tmp_path, 1, clients=8)
    with driver.take_memory(two), driver.take_memory(three):  # with those that give them work: 3 and 4 processes
        driver.queue += [two, one]
        assert not driver.has_room(two)
        assert driver.has_room(one)


def test_a_lack_of_memory_in_an_earlier_call_is_no_reason_to_try_again(drive, tmp_path):
    before = tmp_path / "out/steps/broken"
    before.mkdir(parents=True)
    (before / "output-0.txt").write_text("CUDA error: out of memory\n")
    drive(one=[("fail broken", ())])
    assert calls(tmp_path) == ["broken"]


def timed(name):
    return json.loads((Path(__file__).parent.parent / f"docs/measured/claims-full-{name}.json").read_text())


@pytest.mark.parametrize(
    ("name", "begins", "ends", "rows"),
    [
        ("rest", "**All lanes but `universal`**", "**The lanes `universal`**", 8),
        ("universal", "**The lanes `universal`**", "**The lanes `images`**", 8),
        ("images", "**The lanes `images`**", "At the end of `--minutes`", 3),
    ],
)
def test_the_page_has_the_seconds_that_were_kept(name, begins, ends, rows):
    page = (Path(__file__).parent.parent / "tools/fullsize/README.md").read_text()
    steps = timed(name)["steps"]
    told = [line for line in page[page.index(begins) : page.index(ends)].splitlines() if line.startswith("| `")]
    assert len(told) == rows
    for line in told:
        names = line.split("`")[1::2]
        assert line.split("|")[2].strip() == ", ".join(f"{steps[one]:.0f}" for one in names), line


def test_all_of_full_size_took_less_than_an_hour_of_a_gpu():
    page = (Path(__file__).parent.parent / "tools/fullsize/README.md").read_text()
    rest, universal, images = (timed(name) for name in ("rest", "universal", "images"))
    assert f"37 processes at most: {rest['wall_seconds']:,} seconds" in page
    assert sum(lane.jobs for lane in plan.list_lanes("full") if not lane.name.startswith("universal")) == 37
    assert f"up to {lanes._CLIENTS} processes: {universal['wall_seconds']:,} seconds" in page
    both = rest["gpu_seconds"] + universal["gpu_seconds"]
    calls = f"{rest['gpu_seconds']:,} seconds and the second {universal['gpu_seconds']:,}, {both / 60:.0f} minutes"
    assert calls in page
    assert both < 60 * 60
    searched = [
        sum(found["steps"][f"natural/{one}"] for one in ("wgan", "regime", "compare", "sweep"))
        for found in (images, rest)
    ]
    assert f"took {searched[0]:.0f} seconds in this call, and {searched[1]:,.0f} in the first" in page


@pytest.mark.parametrize(("name", "is_universal"), [("rest", False), ("universal", True)])
def test_two_calls_did_every_step_of_reproduce(name, is_universal):
    made = [lane for lane in plan.list_lanes("full") if lane.name.startswith("universal") == is_universal]
    assert set(timed(name)["steps"]) == {turn.step for lane in made for turn in lane.turns}
    assert timed(name)["wall_seconds"] < timed(name)["gpu_seconds"] < 30 * 60


def test_an_archive_has_outcomes_but_those_of_steps_with_very_many(tmp_path):
    """Readability is measured from some of them afterwards."""
    places = [
        f"steps/{step}/outcomes.jsonl" for step in ("oneword/yelp/BERT", "transfer/mr-full/sources/BERT", "rules")
    ]
    for place in (*places, "steps/transfer/mr-full/tasks.jsonl"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("{}\n")
    lanes.Driver((), tmp_path, 1).pack()
    with tarfile.open(tmp_path / "results.tar.gz") as tar:
        assert tar.getnames() == [places[0], "steps/transfer/mr-full/tasks.jsonl"]


def test_ensembles_are_kept_where_readings_look_for_them(tmp_path):
    """They are written to the folder of their transfer study, which was kept before they came."""
    step = tmp_path / "steps/transfer/mr-full"
    step.mkdir(parents=True)
    record = Path(__file__).parent.parent / "docs/measured/claims/full/transfer/mr-full/ensembles.json.gz"
    (step / "ensembles.json").write_bytes(gzip.decompress(record.read_bytes()))
    lanes.Driver((), tmp_path, 1).keep("ensembles/mr-full", "kept")
    assert (tmp_path / "kept/full/transfer/mr-full/ensembles.json.gz").read_bytes() == record.read_bytes()


def test_rows_come_back_nearly_and_small_ones_exactly():
    random = np.random.default_rng(0)
    table = random.normal(size=(300, 100)).astype(np.float32) * random.uniform(0.01, 9, (300, 1)).astype(np.float32)
    table[3, 4], table[7] = 1000, 0
    given = {"table": table, "half": table[:200].astype(np.float16), "bias": table[0], "ids": np.arange(9)}
    packed = rows.encode(given, 32)
    made = rows.decode(packed)
    assert {name: (one.dtype, one.shape) for name, one in made.items()} == {
        name: (one.dtype, one.shape) for name, one in given.items()
    }
    assert rows.measure_loss(table, made["table"]) > 0.9998
    assert made["table"][3, 4] == 1000
    assert not made["table"][7].any()
    assert (made["bias"] == table[0]).all()
    assert len(packed) < 0.3 * sum(one.nbytes for name, one in given.items() if name != "half") + 2 * 20_000


def test_weights_that_were_rounded_before_come_back_exactly():
    random = np.random.default_rng(0)
    steps = (random.integers(-128, 128, (300, 100)) * 0.037).astype(np.float16)
    many = random.normal(size=(200, 100)).astype(np.float16)  # more values than a byte numbers
    given = {"steps": steps, "many": many, "bias": steps[0]}
    packed = rows.encode(given, 0)
    made = rows.decode(packed)
    assert all(made[name].tobytes() == one.tobytes() and made[name].dtype == one.dtype for name, one in given.items())
    assert len(rows.encode({"steps": steps}, 0)) < 0.6 * steps.nbytes


def test_an_archive_that_replaces_files_of_another_waits_for_it(tmp_path):
    for name, text in (("first", "slim"), ("second", "whole")):
        place = tmp_path / name / "cache/assets/toy-0"
        place.mkdir(parents=True)
        (place / "words.txt").write_text(text)
        (place / "asset.json").write_text('{"files": {"words.txt": {"time": 1}}}')
    pack.write_archive(tmp_path / "second", tmp_path / "made", "second", 20_000, after="first")
    target = tmp_path / "target"
    assert unpack.unpack(tmp_path / "made", target) == ["second"]
    pack.write_archive(tmp_path / "first", tmp_path / "made", "first", 20_000)
    assert unpack.unpack(tmp_path / "made", target) == []
    found = target / "cache/assets/toy-0"
    assert (found / "words.txt").read_text() == "whole"
    listed = json.loads((found / "asset.json").read_text())["files"]["words.txt"]
    assert listed["time"] == (found / "words.txt").stat().st_mtime_ns


def test_wordnet_keeps_what_is_read():
    line = '00001740 03 n 01 entity 0 003 ~ 00001930 n 0000 @ 00002137 n 0000 ! 04424418 n 0101 | that which is; "so"  '
    assert pack._slim("data.noun", line, whole=False) == "00001740 00 n 01 entity 0 001 ! 04424418 n 0101 | "
    kept = "00001740 00 n 01 entity 0 002 @ 00002137 n 0000 ! 04424418 n 0101 | that which is"
    assert pack._slim("data.noun", line, whole=True) == kept


def test_an_archive_in_pieces_is_restored_once_all_have_come(tmp_path):
    base, random = tmp_path / "base", np.random.default_rng(0)
    vectors = random.normal(size=(200, 100)).astype(np.float16)
    weights = {"model.w": random.normal(size=(150, 80)).astype(np.float32), "model.b": np.ones(3, np.float32)}
    for folder, tensors in (
        ("data/glove", {"vectors": vectors}),
        ("cache/vectors/W2vec-toy", {"vectors": vectors}),
        ("data/models/toy", weights),
    ):
        (base / folder).mkdir(parents=True)
        (base / folder / unpack.PACKED).write_bytes(rows.encode(tensors, 32))
    (base / "data/glove/vocab.txt").write_text("one\ntwo")
    (base / "data/toy.jsonl").write_text('{"text": "so", "label": 1}\n')
    (base / "packages/newpackage").mkdir(parents=True)
    (base / "packages/newpackage/newpackage_of_nobody.py").write_text("")
    (base / "packages/numpy/numpy").mkdir(parents=True)
    pack.write_archive(base, tmp_path / "made", "base", 20_000)
    target, last = tmp_path / "target", tmp_path / "made" / "base.1"
    held = last.read_bytes()
    last.unlink()
    assert unpack.unpack(tmp_path / "made", target) == ["base"]
    last.write_bytes(held)
    assert unpack.unpack(tmp_path / "made", target) == []
    glove = np.load(target / "data/glove" / unpack.GLOVE)["vectors"]
    assert rows.measure_loss(vectors, glove) > 0.999
    assert (np.load(target / "cache/vectors/W2vec-toy/vectors.npy") == glove).all()
    from safetensors.numpy import load_file

    assert (load_file(target / "data/models/toy/model.safetensors")["model.b"] == 1).all()
    assert json.loads(gzip.decompress((target / "data/toy.jsonl.gz").read_bytes()))["label"] == 1
    assert [path.name for path in (target / "site").iterdir()] == ["newpackage_of_nobody.py"]
    (target / "data/toy.jsonl.gz").unlink()
    unpack.unpack(tmp_path / "made", target)
    assert not (target / "data/toy.jsonl.gz").exists()  # what is restored is left alone


def test_images_of_sixteen_greys_are_off_by_eight_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "PARTS", {"train": slice(0, 20), "t10k": slice(20, None)})
    given = np.random.default_rng(0).integers(0, 256, (25, 28, 28), np.uint8)
    (tmp_path / "mnist").mkdir()
    for name, part in unpack.PARTS.items():
        images, labels = (tmp_path / f"mnist/{name}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1"))
        images.write_bytes(gzip.compress(bytes(16) + given[part].tobytes(), 1))
        labels.write_bytes(gzip.compress(bytes(8) + bytes(len(given[part])), 1))
    pack.stage_images(tmp_path, tmp_path / "to" / "data")
    unpack.restore(tmp_path / "to")
    made = gzip.decompress((tmp_path / "to/data/mnist/t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    assert np.abs(np.frombuffer(made, np.uint8).astype(int) - given[20:].ravel()).max() == 8


def test_a_failing_step_costs_what_needs_it_and_is_tried_again(drive, tmp_path):
    turns = {
        "one": [("say first", ()), ("fail second", ()), ("say third", ("second",)), ("say fourth-aid", ())],
        "two": [("say fifth", ("first",)), ("say sixth", ("never/there*",)), ("say seventh", ("none",))],
    }
    driver = drive(**turns)
    assert sorted(driver.good) == ["fifth", "first", "fourth-aid"]
    assert calls(tmp_path) == ["fifth", "first", "fourth-aid", "second"]
    assert kept(tmp_path) == ["fifth", "first"]
    assert kept(tmp_path, "partial") == ["second"]
    told = json.loads((tmp_path / "out" / lanes.TIMES).read_text())
    assert set(told) == {"machine", "steps"}
    assert set(told["steps"]) == set(calls(tmp_path))
    with tarfile.open(tmp_path / "out" / lanes.PACKED) as tar:
        names = tar.getnames()
    assert {"log.txt", "times.json", "kept/tiny/first/output-0.txt.gz", "steps/first/done.json"} <= set(names)
    (tmp_path / "mended").touch()
    (tmp_path / "calls.txt").unlink()
    driver = drive(**turns)
    assert calls(tmp_path) == ["second", "third"]
    assert sorted(driver.good) == ["fifth", "first", "fourth-aid", "second", "third"]
    assert kept(tmp_path, "partial") == []


def test_commands_that_do_not_wait_for_each_other_run_together(tmp_path):
    (tmp_path / "stub.py").write_text(STUB)
    lines = [f"{what} {name} --out {tmp_path}" for what, name in (("wait", "slow"), ("say", "quick"), ("fail", "bad"))]

    def run(*commands, minutes=0.03):
        turn = plan.Turn(step="step", commands=commands, needs=(), together=True)
        program = (sys.executable, str(tmp_path / "stub.py"))
        driver = lanes.Driver([plan.Lane(name="one", turns=(turn,))], tmp_path / "out", minutes, program=program)
        assert driver.run() == bool(driver.good)
        return driver.root / "step" / lanes.DONE

    done = run(*lines)
    assert calls(tmp_path) == ["bad", "quick", "slow"]  # the slow one keeps nobody waiting
    assert not done.exists()
    (tmp_path / "mended").touch()
    assert json.loads(run(*lines[1:], minutes=1).read_text()) == [line.split() for line in lines[1:]]
    run(*lines[1:])
    assert calls(tmp_path) == ["bad", "bad", "quick", "quick", "slow"]  # what is done is not run again


def test_commands_wait_for_memory_and_those_that_take_longest_go_first(tmp_path):
    """Each says when it began and ended; two of them never fit beside each other."""
    stub = tmp_path / "stub.py"
    stub.write_text("""
import sys, time
with open(sys.argv[2], "a") as file:
    file.write(f"{sys.argv[1]} begins\\n"); file.flush(); time.sleep(0.6); file.write(f"{sys.argv[1]} ends\\n")
""")
    made = [
        plan.Lane(name=name, turns=(plan.Turn(step=name, commands=(f"{name} {tmp_path}/said.txt",), needs=()),),
                  jobs=2, parts=parts, nice=nice)
        for name, parts, nice in (("first", 2, 0), ("polite", 3, 5), ("urgent", 3, 1), ("huge", 1, 6))
    ]  # fmt: skip
    driver = lanes.Driver(made, tmp_path / "out", 1, program=(sys.executable, str(stub)))
    with driver.take_memory(made[0]):  # so that the others are in the queue before anything is free
        for thread in driver.threads[1:]:
            thread.start()
        while len(driver.queue) < 3:
            time.sleep(0.01)
    for thread in driver.threads[1:]:
        thread.join()
    said = (tmp_path / "said.txt").read_text().split("\n")[:-1]
    assert said == [f"{name} {what}" for name in ("urgent", "polite", "huge") for what in ("begins", "ends")]
    assert not driver.taken


def test_a_step_whose_second_turn_failed_is_left(drive, tmp_path):
    driver = drive(one=[("say first", ()), ("fail first", ())], two=[("say second", ("first",))])
    assert sorted(driver.good) == ["first", "second"]  # what its first turn made is of use
    assert (tmp_path / "out/log.txt").read_text().splitlines()[-1].endswith("done: second; left: first")


def test_weights_that_are_asked_for_come_back_and_are_gone_on_from(drive, tmp_path):
    turns = {"one": [("say first", ()), ("fail second", ("first",))]}
    (tmp_path / "out/steps/first").mkdir(parents=True)
    (tmp_path / "out/steps/first/model.safetensors").write_bytes(b"weights")
    drive(weights=("first", "second"), **turns)
    assert [path.name for path in (tmp_path / "out" / lanes.WEIGHTS).iterdir()] == ["first.tar"]
    other = tmp_path / "other"
    for archive in (lanes.PACKED, f"{lanes.WEIGHTS}/first.tar"):
        with tarfile.open(tmp_path / "out" / archive) as tar:
            assert (archive == lanes.PACKED) != any(name.endswith(".safetensors") for name in tar.getnames())
            tar.extractall(other, filter="data")
    shutil.rmtree(tmp_path / "out")
    other.rename(tmp_path / "out")
    (tmp_path / "mended").touch()
    (tmp_path / "calls.txt").unlink()
    drive(**turns)
    assert calls(tmp_path) == ["second"]
    assert (tmp_path / "out/steps/first/model.safetensors").read_bytes() == b"weights"


def test_a_kept_transfer_study_stands_in_and_nothing_else_does(tmp_path):
    kept, out = tmp_path / "kept", tmp_path / "out"
    for step in ("transfer/one", "natural/wgan"):
        (kept / step).mkdir(parents=True)
        (kept / step / "record.json.gz").write_bytes(b"")
    needs = ("transfer/one", "ensembles/one", "natural/wgan", "transfer/other", "transfer/here")
    turns = (plan.Turn(step="transfer/here", needs=()), plan.Turn(step="last", needs=needs))
    here = out / "steps/ensembles/one" / lanes.DONE
    here.parent.mkdir(parents=True)
    here.write_text('[["from an earlier call"]]')
    lanes.stand_in(out, [plan.Lane(name="one", turns=turns)], kept)
    done = sorted(path.relative_to(out / "steps").parent.as_posix() for path in out.rglob(lanes.DONE))
    assert done == ["ensembles/one", "transfer/one"]
    assert (out / "steps/transfer/one/record.json.gz").is_file()
    assert "an earlier call" in here.read_text()


@pytest.mark.parametrize("complete", [False, True])
def test_at_the_deadline_a_complete_record_is_kept(drive, tmp_path, monkeypatch, complete):
    monkeypatch.setattr(lanes, "finish_record", lambda words: complete)
    driver = drive(minutes=0.03, one=[("wait long", ()), ("say after", ())], two=[("say other", ())])
    assert calls(tmp_path) == ["long", "other"]
    assert kept(tmp_path) == (["long", "other"] if complete else ["other"])
    assert kept(tmp_path, "partial") == ([] if complete else ["long"])
    assert not (driver.root / "long" / lanes.DONE).exists()  # so the next call goes on with it


def test_a_study_with_nothing_left_to_do_is_complete(tmp_path):
    from malaprop.frame.study.commands import find_study
    from malaprop.frame.study.settings import build
    from malaprop.frame.study.study import conduct

    out = tmp_path / "study"
    conduct(build(find_study("reproduce"), {"ids": ("U1",), "out": str(out), "quiet": True}))
    words, record = ["reproduce", "U1", "--out", str(out)], out / "claims.json"
    held = record.read_text()
    record.unlink()
    assert lanes.finish_record(words)
    assert record.read_text() == held
    (out / "zoo" / lanes.DONE).unlink()
    assert not lanes.finish_record(words)
    assert not lanes.finish_record(["list"])
    assert not lanes.finish_record(["train", "--out", str(tmp_path / "nowhere")])


def test_every_lane_names_steps_and_commands_that_there_are(tmp_path):
    made = plan.list_lanes("full")
    steps = {turn.step for lane in made for turn in lane.turns}
    for lane in made:
        for turn in lane.turns:
            assert plan.list_lines(turn, "full", tmp_path, lane.jobs), turn.step
            assert all("*" in need or need in steps for need in plan.find_needs(turn)), turn.step
    assert {turn.step for lane in made for turn in lane.turns if turn.aid} == steps - set(plan._steps())
    trained = [line for lane in made for turn in lane.turns for line in turn.commands if line.startswith("train ")]
    assert sum(line.count("--only") for line in trained) == 2 * 2 * 63  # two datasets, and a twin of each
    assert sum(lane.share for lane in made if not lane.name.startswith("universal")) <= 1
    shares = {lane.name: lane.share for lane in made}
    learning = [f"universal/ag_news/{part}" for part in ("plain", "tuned", "elmo")]
    assert sum(shares[name] for name in (*learning, "universal/mr-full/plain", "images/wgan")) <= 1  # none waits
    attacked = sum(shares[f"universal/{data}/genetic"] for data in ("ag_news", "mr-full"))
    mined = [4 * shares[f"universal/{data}/mined"] for data in ("ag_news", "mr-full")]
    told = [shares[f"universal/{data}/rules"] for data in ("ag_news", "mr-full")]
    assert attacked + max(sum(mined), sum(told), mined[0] + told[1], mined[1] + told[0]) <= lanes._ROOM
    assert [lane.name for lane in plan.choose_lanes(made, "mpnet,sentences")][-1] == "mpnet"
    with pytest.raises(SystemExit, match="no lane 'x'"):
        plan.choose_lanes(made, "x")


def test_the_published_lanes_make_what_they_need(tmp_path):
    made = plan.list_published()
    turns = [turn for lane in made for turn in lane.turns]
    assert all(turn.aid == bool(turn.upto) for turn in turns), "the records of what is made again are not kept"
    for turn in turns:
        (words, *_) = plan.list_lines(turn, "full", tmp_path, 4)
        assert set(plan.find_needs(turn)) <= {one.step for one in turns}
        assert not turn.aid or words[:2] == ["train", "BERT"]
    assert "cased=true" in plan.list_lines(turns[-1], "tiny", tmp_path, 4)[0]
    every = {turn.step for lane in plan.list_lanes("full") for turn in lane.turns}
    assert {turn.step for turn in turns if not turn.aid} | every >= set(plan._steps()) - {"varied/edits"}


def test_tiny_commands_have_small_numbers(tmp_path):
    said = [
        " ".join(words)
        for lane in plan.list_lanes("tiny")
        for turn in lane.turns
        for words in plan.list_lines(turn, "tiny", tmp_path, 8)
    ]
    assert not [line for line in said if " --jobs 8" in line or "epochs=4 " in line or "--n 100" in line]
    mined = next(line for line in said if line.startswith("rules measure"))
    assert mined.count("models/ag_news") == len(plan.TINY)
    assert next(line for line in said if line.startswith("pretrain")).count("--steps 2") == 1


def test_tiny_data_has_all_labels(tmp_path):
    (tmp_path / "data").mkdir()
    lines = "".join(f'{{"text": "{number}", "label": {number % 2}}}\n' for number in range(4000))
    (tmp_path / "data/train.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "data/words.txt").write_text("one")
    plan.cut_data(tmp_path / "data", tmp_path / "cut")
    found = gzip.decompress((tmp_path / "cut/train.jsonl.gz").read_bytes()).decode().splitlines()
    assert 300 < len(found) <= 400
    assert {json.loads(line)["label"] for line in found} == {0, 1}
    assert (tmp_path / "cut/words.txt").is_symlink()


def test_the_board_tests_what_it_trains(tmp_path):
    made = board.list_board()
    turns = [turn for lane in made for turn in lane.turns]
    steps = [turn.step for turn in turns]
    assert len(set(steps)) == len(steps)
    for turn in turns:
        assert all("*" in need or need in steps for need in plan.find_needs(turn)), turn.step
    tests = [turn for turn in turns if not turn.aid]
    assert [turn.step for turn in tests] == [f"board/{entry.name}/test" for entry in board.ENTRIES]
    for turn, entry in zip(tests, board.ENTRIES, strict=True):
        (words,) = plan.list_lines(turn, "full", tmp_path, 4)
        told = dict(pairwise(words))
        assert told["--hardened"] == f"{entry.method}={tmp_path}/board/{entry.name}/hard/model"
        assert told["--defence"].split(",")[:2] == ["none", entry.method]
        assert (entry.detector in told["--defence"], told["--n"]) == (True, str(entry.texts))
        assert (f"stateful:limit={entry.limit}({entry.method})" in told["--defence"]) == bool(entry.limit)
        assert set(turn.needs) < set(steps)


def test_the_lanes_of_valid_attacks_name_models_that_they_train(tmp_path):
    made = valid.list_valid()
    turns = [turn for lane in made for turn in lane.turns]
    steps = [turn.step for turn in turns]
    assert len(set(steps)) == len(steps)
    trained = set()
    for turn in turns:
        assert set(turn.needs) < set(steps)
        for words in plan.list_lines(turn, "full", tmp_path, 2):
            told = list(pairwise(words))
            if words[0] in ("train", "harden"):
                trained.add(dict(told)["--out"])
            asked = [value for word, value in told if word == "--victim"]
            asked += [value.rpartition("=")[2] for word, value in told if word == "--hardened"]
            assert set(asked) <= trained
            assert all(any(one.startswith(f"{tmp_path}/{need}/") for need in turn.needs) for one in asked)
            if words[0] in ("study", "attack"):
                assert dict(told)["--validity"] == "valid"
    (profile,) = {turn.commands[0].partition(" --seed")[0] for turn in turns if "profile" in turn.step}
    names = [Path(value).name for word, value in pairwise(profile.split()) if word == "--victim"]
    assert len(set(names)) == len(names)  # as the profile names victims by their folders


def test_without_data_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MALAPROP_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["lanes.py", "--size", "tiny", "--minutes", "1", "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="2"):
        lanes.main()
    assert "give --payload, or set MALAPROP_DATA" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_the_page_says_of_the_leaderboards_lanes_was_measured():
    here = Path(__file__).parent.parent
    told = json.loads((here / "docs/measured/leaderboard-lanes.json").read_text())
    took = told["steps"]
    page = " ".join((here / "tools/fullsize/README.md").read_text().split())
    hard, guard, large, test = (
        took[f"board/ag_news-{name}"] for name in ("BERT/hard", "BERT/guard", "MPNet/hard", "BERT/test")
    )
    assert f"with 16 cores in {told['seconds']:,} seconds" in page
    assert f"MiniLM of AG News took {hard:.0f} seconds with nine processes" in page
    assert f"its detector {guard:.0f} seconds and MPNet {large:.0f} with" in page
    assert f"behind its detector took {test:.0f} seconds" in page
    assert f"MiniLM on MR with phrases, {max(took.values()):.0f} seconds" in page


def test_phrases_without_data_or_a_place_are_refused_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MALAPROP_DATA", str(tmp_path))
    for out, said in ((tmp_path / "out.jsonl", "is missing"), (tmp_path / "no" / "out.jsonl", "is no folder")):
        monkeypatch.setattr(sys, "argv", ["phrases.py", str(out)])
        with pytest.raises(SystemExit, match="2"):
            phrases.main()
        assert said in capsys.readouterr().err.splitlines()[-1]
        (tmp_path / "sst2").mkdir(exist_ok=True)
        (tmp_path / "sst2/train_phrases.jsonl.gz").touch()


def test_phrases_of_sentences_held_out_are_left_out():
    held_out = ["A gripping, quietly funny film about the sea.", "never mind"]
    told = [
        ("quietly funny film", False),  # stands in one
        ("Quietly  funny -- film", False),
        ("it is a gripping quietly funny film indeed", False),  # shares five words in a row
        ("a funny gripping film about a sea", True),  # the same words in another order
        ("funny film", False),  # two words
        ("never mind the plot", True),
        ("", False),
    ]
    assert phrases.choose_phrases([text for text, _ in told], held_out) == [good for _, good in told]


def test_speed_is_measured_in_turns_and_shown_by_side():
    shares = speed.list_shares(["after", "before"])
    assert [share.side for share in shares if share.cells == speed.WORDS[:2]] == ["after", "before", "before", "after"]
    assert {cell for share in shares for cell in share.cells} == {*speed.WORDS, speed.CAUSAL}
    lines = [
        {"cell": "cnn:pwws", "side": "after", "asked_per_s": rate, "share": rate / 1000} for rate in (100.0, 300.0)
    ]
    lines.append({"cell": speed.CAUSAL, "side": "before", "read": 600, "seconds": 2.0, "forward": 1000})
    lines.append({"cell": "cnn:textfooler", "side": "after", "error": "no vectors"})
    cnn, causal, failed = speed.show(lines)
    assert "200 asked/s" in cnn
    assert "share 0.20   turns: 100, 300" in cnn
    assert "300 tokens/s share 0.30" in causal
    assert "no vectors" in failed
