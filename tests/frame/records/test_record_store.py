"""Run folders: append, kill, resume, merge."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from malaprop.core.errors import RecordError
from malaprop.frame.records import Outcome, Run, Side, Writer, find_runs, merge, read_outcomes, to_json

RUN = Run(recipe="toy", victim="toy", data="toy", n=9, started="then", versions={"malaprop": "1"})


def outcome(name: object, text: str = "x") -> Outcome:
    return Outcome(id=str(name), status="skipped", label=0, original=Side({"text": text}, 1, (0.0, 1.0)))


def fill(folder: Path, *names: object) -> Path:
    with Writer(folder, RUN) as writer:
        for name in names:
            writer.add(outcome(name))
    return folder / "outcomes.jsonl"


def ids(folder: Path) -> list[str]:
    return [o.id for o in read_outcomes(folder)]


def test_each_outcome_is_on_disk_when_add_returns(tmp_path: Path) -> None:
    with Writer(tmp_path / "deep" / "run", RUN) as writer:
        for count in range(1, 4):
            writer.add(outcome(count))
            assert len(read_outcomes(writer.folder)) == count
    assert Run.read(writer.folder) == RUN


def test_a_second_run_goes_on(tmp_path: Path) -> None:
    fill(tmp_path, 1, 2)
    fill(tmp_path, 3)
    assert ids(tmp_path) == ["1", "2", "3"]


@pytest.mark.parametrize("torn", ["", '{"id": "3", "sta', '{"id": "3"', "{broken}\n", "\0\0\0", to_json(outcome(3))])
def test_resume_drops_a_torn_last_line(tmp_path: Path, torn: str) -> None:
    path = fill(tmp_path, 1, 2)
    whole = path.read_bytes()
    path.write_bytes(whole + torn.encode())
    assert ids(tmp_path) == ["1", "2"]
    with Writer(tmp_path, RUN) as writer:
        assert [name for name in ("1", "2", "3") if name in writer.done] == ["1", "2"]
        assert path.read_bytes() == whole
        writer.add(outcome(3))
    assert ids(tmp_path) == ["1", "2", "3"]


def test_every_cut_of_a_file_resumes(tmp_path: Path) -> None:
    whole = fill(tmp_path / "whole", 1, 2, 3).read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    cut = tmp_path / "cut"
    fill(cut)
    for size in range(len(whole) + 1):
        (cut / "outcomes.jsonl").write_bytes(whole[:size])
        with Writer(cut, RUN) as writer:
            assert len(writer.done) == sum(end <= size for end in ends)


def test_resume_into_an_empty_folder_starts(tmp_path: Path) -> None:
    with Writer(tmp_path / "new", RUN) as writer:
        writer.add(outcome(1))
    assert ids(tmp_path / "new") == ["1"]


@pytest.mark.parametrize("line", ["{broken}\n", "\n", '{"id": "7"}\n', "\udcff\udcfe\n"])
def test_a_broken_line_in_the_middle_is_named(tmp_path: Path, line: str) -> None:
    path = fill(tmp_path, 1, 2)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + line.encode("utf-8", "surrogateescape") + second)
    for act in (read_outcomes, lambda folder: Writer(folder, RUN).__enter__()):
        with pytest.raises(RecordError, match="line 2"):
            act(tmp_path)
    assert path.read_bytes().endswith(second)


def test_resume_of_other_work_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    with (
        pytest.raises(RecordError, match="seed is 5 here and 0 there"),
        Writer(tmp_path, replace(RUN, seed=5)),
    ):
        pass
    (tmp_path / "run.toml").unlink()
    with pytest.raises(RecordError, match="not a run folder"), Writer(tmp_path, RUN):
        pass


def test_an_id_is_written_once_and_read_once(tmp_path: Path) -> None:
    path = fill(tmp_path, 1)
    with Writer(tmp_path, RUN) as writer, pytest.raises(RecordError, match="already holds an outcome"):
        writer.add(outcome(1))
    with path.open("a") as file:
        file.write(to_json(outcome(1, "second")) + "\n")
    assert [o.original.text for o in read_outcomes(tmp_path)] == ["x"]


def test_a_second_writer_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    with Writer(tmp_path, RUN), pytest.raises(RecordError, match="another process"), Writer(tmp_path, RUN):
        pass
    with Writer(tmp_path, RUN) as writer:
        writer.add(outcome(1))


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if len(data) > 20:
            return real(fd, data[:20])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Writer(tmp_path, RUN) as writer:
        writer.add(outcome(1))
        before = writer.path.read_bytes()
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(
            RecordError,
            match=r"No space left on device; 1 outcomes are safe, make room and give the same command again",
        ):
            writer.add(outcome(2))
        assert writer.path.read_bytes() == before
        monkeypatch.undo()
        writer.add(outcome(2))
    assert ids(tmp_path) == ["1", "2"]


def test_a_real_limit_of_the_system_leaves_whole_lines(tmp_path: Path) -> None:
    script = f"""
        import resource
        from pathlib import Path
        from test_record_store import RUN, outcome
        from malaprop.frame.records import Writer
        from malaprop.core.errors import RecordError
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        with Writer(Path({str(tmp_path)!r}), RUN) as writer:
            try:
                for name in range(99):
                    writer.add(outcome(name))
            except RecordError as error:
                print(error)
    """
    said, _ = child(script).communicate()
    assert "File too large" in said
    assert (tmp_path / "outcomes.jsonl").read_bytes().endswith(b"\n")
    assert 1 < len(ids(tmp_path)) < 99


def test_a_writer_outside_with_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="inside `with`"):
        Writer(tmp_path, RUN).add(outcome(1))


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="choose another --out"), Writer(tmp_path / "file" / "run", RUN):
        pass


def test_merge_keeps_the_first_of_each_id(tmp_path: Path) -> None:
    fill(tmp_path / "a", 1, 2)
    fill(tmp_path / "b", 2, 3)
    assert [o.id for o in merge([tmp_path / "a", tmp_path / "b"])] == ["1", "2", "3"]
    replace(RUN, seed=1).write(tmp_path / "b")
    with pytest.raises(RecordError, match="not shards of one run: seed is 0 here and 1 there"):
        merge([tmp_path / "a", tmp_path / "b"])


def test_find_runs_looks_below_and_lists_each_once(tmp_path: Path) -> None:
    for name in ("x/b", "x/a", "y"):
        fill(tmp_path / name, 1)
    (tmp_path / "x" / "model").mkdir()
    RUN.write(tmp_path / "x" / "model")
    assert find_runs([tmp_path / "x", tmp_path]) == [tmp_path / "x" / "a", tmp_path / "x" / "b", tmp_path / "y"]
    with pytest.raises(RecordError, match="no such folder"):
        find_runs([tmp_path / "gone"])
    with pytest.raises(RecordError, match="cannot read"):
        read_outcomes(tmp_path / "x")


WORK = """
    import random, sys, time
    from pathlib import Path
    from test_record_store import RUN, outcome
    from malaprop.frame.records import Writer
    folder, total = Path(sys.argv[1]), int(sys.argv[2])
    with Writer(folder, RUN) as writer:
        print("ready", flush=True)
        for name in range(total):
            if str(name) not in writer.done:
                writer.add(outcome(name, f"text {name} " * 400))
                time.sleep(0.001)
"""


def child(script: str, *args: str) -> subprocess.Popen[str]:
    here = Path(__file__).parent
    env = {**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{here.parents[2]}"}
    command = [sys.executable, "-c", textwrap.dedent(script), *args]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def test_nothing_is_lost_or_twice_after_ten_kills(tmp_path: Path) -> None:
    rng, total, kills, seen = random.Random(0), 3000, 0, 0
    while kills < 10:
        process = child(WORK, str(tmp_path), str(total))
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 0.15))
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        found = ids(tmp_path)
        assert len(found) >= seen
        assert len(found) < total, "all was done before the tenth kill; the test tests nothing"
        seen = len(found)
    process = child(WORK, str(tmp_path), str(total))
    process.communicate()
    assert process.returncode == 0
    lines = (tmp_path / "outcomes.jsonl").read_text().splitlines()
    assert len(lines) == total
    assert ids(tmp_path) == [str(name) for name in range(total)]
    assert all(o.original.text == f"text {o.id} " * 400 for o in read_outcomes(tmp_path))


def test_a_folder_may_be_named_by_a_string(tmp_path: Path) -> None:
    fill(tmp_path / "run", 1, 2)
    folder = str(tmp_path / "run")
    assert Run.read(folder) == RUN
    assert [o.id for o in read_outcomes(folder)] == [o.id for o in merge([folder])] == ["1", "2"]
    assert find_runs([str(tmp_path)]) == [tmp_path / "run"]
