"""Run the unfinished steps of `malaprop reproduce --size full` on one GPU, several side by side in lanes.

    python tools/fullsize/lanes.py --size full --minutes 25 --out DIR [--lanes reviews,images] [--payload TARGET]

TARGET is the folder that unpack.py restored. DIR gets log.txt, times.json, `steps` (what the commands wrote), `kept`
(the records of finished steps), `partial` (those of unfinished ones) and results.tar.gz: everything but weights and the
outcomes of `universal`. When the time is up, all commands are interrupted; the same call resumes them.
`--weights natural/wgan` also packs a whole finished step into `weights`, so that another machine with both archives in
DIR can continue from there.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from board import list_board  # noqa: E402
from plan import (  # noqa: E402
    Lane,
    Turn,
    choose_lanes,
    cut_data,
    find_needs,
    home_of,
    list_lanes,
    list_lines,
    list_published,
)
from valid import list_valid  # noqa: E402

DONE, PACKED, TIMES = "done.json", "results.tar.gz", "times.json"  # the first as `reproduce` writes it
WEIGHTS = "weights"  # a folder of archives
_LARGE = (".safetensors", ".pt", ".npz", ".npy", ".png", ".html", ".bin")
_MANY = ("genetic", "rules", "transfer")  # steps of which so many texts are attacked that their outcomes stay
_LONGEST = 8 << 20  # bytes of a file among the results
_DATA = "tiny-data"
_INTERRUPTED = 130  # the exit code
_ROOM = 1.3  # of the GPU's memory, up to which the parts of running processes may add up: few take all of theirs
_CLIENTS = 46  # processes at a time; the Multi-Process Service takes 48
_TRIES = 3  # of a command that finds no memory
WELL, COMPLETE, FAILED = "well", "complete", "failed"  # how a command ended; `complete` was interrupted with all done


def finish_record(words: Sequence[str]) -> bool:
    """Write the record of an interrupted study if all its tasks are done; return whether they are."""
    from malaprop.core.errors import MalapropError
    from malaprop.frame.study.commands import read_study
    from malaprop.frame.study.study import FILE
    from malaprop.frame.tasks.executor import find_unfinished
    from malaprop.frame.tasks.task import plan_of

    if "--out" not in words:
        return False
    folder = Path(words[words.index("--out") + 1])
    try:
        study = read_study(folder / FILE, {"out": str(folder)})
        if find_unfinished(plan_of(study.plan()), folder):
            return False
        study.gather(folder).write(folder)
    except MalapropError:
        return False
    return True


def _lacks_memory(output: Path, before: int) -> bool:
    """Return whether the end of a command's output, after the first `before` bytes, reports a full GPU."""
    return b"out of memory" in output.read_bytes()[before:][-3000:]


def _load(path: Path, empty: object) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return empty


@dataclass
class Driver:
    """Runs all lanes of one call.

    In seconds: `grace` is the time that interrupted commands have to end, `every` the time between two archives of
    results, `pause` the wait of a command that found no memory.
    """

    lanes: Sequence[Lane]
    out: Path
    minutes: float
    size: str = "full"
    machine: str = "one GPU"
    program: tuple[str, ...] = (sys.executable, "-m", "malaprop")
    grace: float = 45
    every: float = 30
    pause: float = 15
    memory: float = _ROOM
    clients: int = _CLIENTS  # processes at a time
    weights: Sequence[str] = ()  # steps that are packed whole
    good: dict[str, bool] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)  # steps of which a turn did not end well
    running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)
    stop: threading.Event = field(default_factory=threading.Event)
    waiting: int = 0
    taken: list[Lane] = field(default_factory=list)  # the lane of each running command
    queue: list[Lane] = field(default_factory=list)  # those that wait for memory

    def __post_init__(self) -> None:
        self.out = self.out.absolute()
        self.root = self.out / "steps"
        self.root.mkdir(parents=True, exist_ok=True)
        self.room = threading.Condition(self.lock)
        self.begun = time.monotonic()
        self.ended = {turn.step: threading.Event() for lane in self.lanes for turn in lane.turns}
        self.aids = {turn.step for lane in self.lanes for turn in lane.turns if turn.aid}
        self.threads = [threading.Thread(target=self.run_lane, args=(lane,), daemon=True) for lane in self.lanes]

    # --- what is said and kept

    def say(self, line: str) -> None:
        with self.lock, (self.out / "log.txt").open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%H:%M:%S')} {time.monotonic() - self.begun:6.0f} s  {line}\n")
            print(line, flush=True)

    def add_time(self, step: str, seconds: float) -> None:
        """Add to the seconds that a step took over all calls, in the form of docs/measured/claims-full-rest.json."""
        with self.lock:
            told = _load(self.out / TIMES, {})
            steps = dict(told.get("steps", {})) if isinstance(told, Mapping) else {}
            steps[step] = round(steps.get(step, 0) + seconds, 1)
            said = {"machine": self.machine, "steps": steps}
            (self.out / TIMES).write_text(json.dumps(said, indent=1), encoding="utf-8")

    def keep(self, step: str, to: str) -> None:
        """Keep the records of a step in the small form that `reproduce --records` writes."""
        from malaprop.papers.claims.kept_records import keep

        if step in self.aids:
            return
        place = home_of(step)
        with self.lock:
            try:
                if keep(self.root / place, self.out / to / self.size / place, self.root) and to == "kept":
                    shutil.rmtree(self.out / "partial" / self.size / place, ignore_errors=True)
            except Exception as error:  # noqa: BLE001 - a record may be half written
                self.say(f"{step}: its record cannot be kept yet: {type(error).__name__}: {error}")

    def pack(self) -> None:
        """Pack all results but weights and very large outcome files; the archive is complete at every moment."""
        with self.lock:
            for step in self.ended:
                if (self.root / step).is_dir() and step not in self.good:
                    self.keep(step, "partial")
        for step in self.weights:
            place = self.out / WEIGHTS / f"{step.replace('/', '-')}.tar"
            if self.good.get(step) and not place.exists():
                self.pack_whole(step, place)
        part = self.out / f"{PACKED}.part"
        with tarfile.open(part, "w:gz", compresslevel=6) as tar:
            for path in sorted(self.out.rglob("*")):
                try:
                    small = path.is_file() and path.suffix not in _LARGE and path.stat().st_size < _LONGEST
                    made = path.relative_to(self.out).parts
                    small = small and not (path.name == "outcomes.jsonl" and {*made[:2]} & {*_MANY})
                    if small and not path.name.startswith(PACKED) and not {_DATA, WEIGHTS, ".training"} & set(made):
                        tar.add(path, path.relative_to(self.out).as_posix())
                except OSError:  # a command took it away
                    continue
        part.replace(self.out / PACKED)

    def pack_whole(self, step: str, place: Path) -> None:
        """Pack the whole folder of a step, with its weights."""
        place.parent.mkdir(exist_ok=True)
        part = place.with_suffix(".part")
        with tarfile.open(part, "w") as tar:
            tar.add(self.root / step, (self.root / step).relative_to(self.out).as_posix())
        part.replace(place)

    # --- one lane

    def has_room(self, lane: Lane) -> bool:
        """Return whether a lane may start: its processes fit, and no waiting lane that fits has a lower `nice`."""
        room = self.memory + 1e-9 - sum(one.share for one in self.taken)
        clients = self.clients - sum(one.processes for one in self.taken)
        fits = [one for one in self.queue if not self.taken or (one.share <= room and one.processes <= clients)]
        return lane in fits and lane.nice == min(one.nice for one in fits)

    @contextmanager
    def take_memory(self, lane: Lane) -> Iterator[None]:
        """Wait until the GPU has memory for the lane's processes; after the deadline, go on at once."""
        with self.room:
            self.queue.append(lane)
            self.room.wait_for(lambda: self.stop.is_set() or self.has_room(lane))
            self.queue.remove(lane)
            self.taken.append(lane)
            self.room.notify_all()
        try:
            yield
        finally:
            with self.room:
                self.taken.remove(lane)
                self.room.notify_all()

    def call(self, lane: Lane, step: str, words: Sequence[str], output: Path) -> int:
        """Run a command of a step; its time is counted from the moment that it has memory."""
        with self.take_memory(lane):
            begun = time.monotonic()
            code = self.run_command(lane, words, output)
            seconds = time.monotonic() - begun
        self.add_time(step, seconds)
        self.say(f"{step}: {output.stem} ended with {code} after {seconds:.0f} s")
        return code

    def run_command(self, lane: Lane, words: Sequence[str], output: Path) -> int:
        env = {**os.environ, "MALAPROP_GPU_PARTS": str(lane.parts), "CUDA_MPS_CLIENT_PRIORITY": str(int(lane.nice > 0))}
        polite = ("nice", "-n", str(lane.nice)) if lane.nice else ()
        with output.open("ab") as file:
            with self.lock:
                if self.stop.is_set():
                    return _INTERRUPTED
                ran = subprocess.Popen(  # noqa: S603
                    [*polite, *self.program, *words], stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                    env=env, start_new_session=True,
                )  # fmt: skip
                self.running.add(ran)
            code = ran.wait()
        with self.lock:
            self.running.discard(ran)
        return code

    def do(self, lane: Lane, turn: Turn) -> bool:
        """Run the unfinished commands of a step, in order up to the first failure, or all together."""
        folder = self.root / turn.step
        folder.mkdir(parents=True, exist_ok=True)
        done = _load(folder / DONE, [])
        done = done if isinstance(done, list) else []
        plain = list_lines(turn, self.size, self.root, 1)
        lines = list_lines(turn, self.size, self.root, lane.jobs)
        left = [number for number in range(len(plain)) if done[number : number + 1] != [plain[number]]]
        for some in [left] if turn.together else [[number] for number in left]:
            with ThreadPoolExecutor(max(1, len(some))) as threads:
                ended = list(threads.map(lambda number: self.command(lane, turn, number, lines[number]), some))
            if FAILED in ended:
                return False
            if COMPLETE in ended:
                return some[-1:] == left[-1:]
            done = plain if turn.together else [*done[: some[0]], plain[some[0]]]
            (folder / DONE).write_text(json.dumps(done) + "\n", encoding="utf-8")
        self.link(turn)
        return True

    def command(self, lane: Lane, turn: Turn, number: int, words: Sequence[str]) -> str:
        """Run one command and keep its records; return how it ended."""
        folder = self.root / turn.step
        self.say(f"{turn.step}: malaprop {shlex.join(words)[:300]}")
        output = folder / f"output-{number}.txt"
        for again in reversed(range(_TRIES)):
            before = output.stat().st_size if output.exists() else 0
            code = self.call(lane, turn.step, words, output)
            if not code or not again or not _lacks_memory(output, before) or self.stop.wait(self.pause):
                break
            self.say(f"{turn.step}: command {number} found no memory beside the others and is tried again")
        if code and not (self.stop.is_set() and finish_record(words)):
            lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            self.say("\n".join([f"{turn.step}: its last lines", *lines[-6:]]))
            return FAILED
        self.keep(turn.step, "kept")
        if not code:
            return WELL
        self.say(f"{turn.step}: interrupted, but its record is complete and is kept")
        return COMPLETE

    def link(self, turn: Turn) -> None:
        for line in list_lines(turn, self.size, self.root, 1) if turn.models else ():
            for made in sorted(Path(line[line.index("--out") + 1]).glob("*/")):
                place = self.root / turn.models / made.name
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists():
                    place.symlink_to(made)

    def lacks(self, turn: Turn) -> str:
        """Wait for the steps and files that a step needs; return the first that will not come, or an empty string."""
        for need in find_needs(turn):
            with self.lock:
                self.waiting += 1
            found = self.await_file(need) if "*" in need else self.await_step(need)
            with self.lock:
                self.waiting -= 1
            if not found:
                return need
        return ""

    def await_step(self, need: str) -> bool:
        if need not in self.ended:
            return (self.root / need / DONE).is_file()
        while not self.ended[need].wait(0.2):
            if self.stop.is_set():
                return False
        return self.good.get(need, False)

    def await_file(self, need: str) -> bool:
        """Wait for a file as long as another lane works, which may make it, and time is left."""
        while not glob.glob(str(self.root / need)):
            alive = sum(thread.is_alive() for thread in self.threads)
            if self.stop.is_set() or self.waiting >= alive:
                return False
            time.sleep(0.2)
        return True

    def run_lane(self, lane: Lane) -> None:
        for number, turn in enumerate(lane.turns):
            lacking = self.lacks(turn)
            if self.stop.is_set():
                self.left |= {one.step for one in lane.turns[number:]}
                break
            fine = False
            if lacking:
                self.say(f"{turn.step}: left out, as {lacking} is not there")
            else:
                try:
                    fine = self.do(lane, turn)
                except Exception as error:  # noqa: BLE001 - the other lanes go on
                    self.say(f"{turn.step}: {type(error).__name__}: {error}")
            if fine:
                self.good[turn.step] = True
            else:
                self.left.add(turn.step)
            self.ended[turn.step].set()
        for turn in lane.turns:
            self.ended[turn.step].set()

    # --- the whole

    def send(self, number: signal.Signals) -> None:
        with self.lock:
            for ran in self.running:
                with suppress(ProcessLookupError):
                    os.killpg(ran.pid, number)

    def run(self) -> bool:
        """Run all lanes until they end or the time is up; return whether all steps ended well."""
        shares = ", ".join(f"{lane.name} {lane.share:.0%}" for lane in self.lanes)
        self.say(f"begun, {self.size}, {self.minutes:g} minutes; at most of the GPU's memory: {shares}")
        for thread in self.threads:
            thread.start()
        end, packed = self.begun + 60 * self.minutes, time.monotonic()
        while any(thread.is_alive() for thread in self.threads) and not self.stop.is_set():
            time.sleep(0.2)
            if time.monotonic() - packed > self.every:
                self.pack()
                packed = time.monotonic()
            if time.monotonic() > end:
                self.stop.set()
        if self.stop.is_set():
            with self.room:
                self.room.notify_all()
            self.say("time is up: what is running is interrupted")
            self.send(signal.SIGINT)
            last = time.monotonic() + self.grace
            while any(thread.is_alive() for thread in self.threads) and time.monotonic() < last:
                time.sleep(0.2)
            self.send(signal.SIGKILL)
        for thread in self.threads:
            thread.join(10)
        left = [step for step in self.ended if step in self.left or step not in self.good]
        done = [step for step in self.good if step not in left]
        self.say(f"ended; done: {', '.join(done) or 'nothing'}; left: {', '.join(left) or 'nothing'}")
        self.pack()
        return not left


def prepare(out: Path, size: str, payload: Path | None) -> None:
    """Set the environment that the commands read: data, cache, paths and threads."""
    paths = [ROOT, ROOT / "masked-lm"]
    if payload is not None:
        os.environ |= {"MALAPROP_DATA": str(payload / "data"), "MALAPROP_CACHE": str(payload / "cache")}
        paths.append(payload / "site")
    sys.path += [str(path) for path in paths]
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    names = ("MALAPROP_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "OMP_NUM_THREADS", "PYTHONUNBUFFERED")
    os.environ |= dict.fromkeys(names, "1") | {"TOKENIZERS_PARALLELISM": "false"}
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "garbage_collection_threshold:0.7"  # what is not used goes back sooner
    if size == "tiny":
        cut_data(Path(os.environ["MALAPROP_DATA"]), out / _DATA)
        os.environ["MALAPROP_DATA"] = str(out / _DATA)


def stand_in(out: Path, lanes: Sequence[Lane], kept: Path = ROOT / "docs/measured/claims/full") -> None:
    """Copy kept transfer studies and their ensembles that a lane needs and no lane of this call makes.

    Other steps are needed for their weights, which are not kept. Results of an earlier call in `out` stay.
    """
    made = {turn.step for lane in lanes for turn in lane.turns}
    for need in {need for lane in lanes for turn in lane.turns for need in find_needs(turn)} - made:
        step = home_of(need)
        done = out / "steps" / need / DONE
        if step.startswith("transfer/") and (kept / step).is_dir() and not done.is_file():
            shutil.copytree(kept / step, out / "steps" / step, dirs_exist_ok=True)
            done.parent.mkdir(parents=True, exist_ok=True)
            done.write_text("[]\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("full", "tiny"), required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--board", action="store_true", help="the lanes of the leaderboard, not those of reproduce")
    parser.add_argument("--published", action="store_true", help="the lanes with the papers' settings, run later")
    parser.add_argument("--lanes", default="", help="with commas; all if not given")
    parser.add_argument("--weights", default="", help="steps that are packed with their weights, with commas")
    parser.add_argument("--every", type=float, default=30, help="seconds between two archives of results")
    parser.add_argument("--memory", type=float, default=_ROOM, help="of the GPU's, up to which parts may add up")
    parser.add_argument("--processes", type=int, default=_CLIENTS, help="at most so many at a time")
    parser.add_argument("--payload", type=Path, help="what unpack.py restored; else the environment says where data is")
    parser.add_argument("--machine", default="one GPU, lanes side by side", help="for times.json")
    asked = parser.parse_args()
    if asked.payload is None and not os.environ.get("MALAPROP_DATA"):
        parser.error("where is the data? give --payload, or set MALAPROP_DATA")
    out = asked.out.absolute()
    prepare(out, asked.size, asked.payload.absolute() if asked.payload else None)
    board = [*list_board(), *list_valid()] if asked.board else []
    made = board or (list_published() if asked.published else list_lanes(asked.size))
    lanes = choose_lanes(made, asked.lanes)
    stand_in(out, lanes)
    driver = Driver(lanes, out, asked.minutes, asked.size, asked.machine, every=asked.every, memory=asked.memory)
    driver.clients = asked.processes
    driver.weights = [step for step in asked.weights.split(",") if step]
    if unknown := set(driver.weights) - set(driver.ended):
        parser.error(f"--weights: no lane makes {', '.join(sorted(unknown))}")
    for number in (signal.SIGINT, signal.SIGTERM):  # a background shell ignores the first, and so would commands
        signal.signal(number, lambda *_: driver.stop.set())
    return 0 if driver.run() else 1


if __name__ == "__main__":
    sys.exit(main())
