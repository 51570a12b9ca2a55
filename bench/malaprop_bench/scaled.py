"""Run an attack on Ray, kill a worker now and then, and watch the driver; the tables of large runs.

python -m malaprop_bench.scaled texts.csv runs/large --workers 2 --kill-every 60 >> watched.jsonl

It needs Linux, and starts `malaprop attack deepwordbug` on a CNN in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

ATTACK = (
    "attack", "deepwordbug", "--victim", "CNN-W-GloVe-1", "--n", "all", "--split", "all", "--judge", "none",
    "--language", "en", "--device", "cpu", "--quiet", "--engine", "ray",
)  # fmt: skip
EVERY = 15.0  # seconds between two looks that are kept
RAY = ("texts", "workers", "of them killed", "driver, us a text", "driver, most MB", "outcomes equal to one process")
SIMULATED = (
    "texts", "workers", "a worker killed every", "killed", "virtual seconds", "efficiency", "driver, us a text",
    "driver, most MB",
)  # fmt: skip


def processor(pid: int) -> float:
    """Return the processor time of a process, in seconds."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int, name: str = "VmRSS") -> float:
    """Return the megabytes of memory of a process: now, or the most so far (VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def parent(pid: int) -> int:
    """Return the parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def find_workers(driver: int) -> Iterator[int]:
    """Yield the Ray actors that attack for this driver, whose own child started them."""
    for path in Path("/proc").iterdir():
        with suppress(OSError):
            actor = path.name.isdigit() and (path / "cmdline").read_bytes().startswith(b"ray::RayWorker")
            if actor and parent(parent(int(path.name))) == driver:
                yield int(path.name)


@dataclass(slots=True)
class Watched:
    """What is seen of a run: rows of time, outcomes, the driver's processor time and memory, and kills."""

    rows: list[dict[str, float]] = field(default_factory=list)
    done: int = 0
    kills: int = 0
    first: dict[str, float] | None = None  # when the first outcome was there
    last: dict[str, float] = field(default_factory=dict)
    _at: int = 0

    def look(self, pid: int, lines: Path, seconds: float) -> None:
        """Count new outcomes and measure the driver."""
        if lines.exists():
            with lines.open("rb") as file:
                file.seek(self._at)
                block = file.read()
            self._at, self.done = self._at + len(block), self.done + block.count(b"\n")
        seen = {"seconds": round(seconds, 1), "done": self.done, "processor_s": processor(pid)}
        seen |= {"megabytes": round(memory(pid), 1), "most_megabytes": round(memory(pid, "VmHWM"), 1)}
        if self.done and self.first is None:
            self.first = seen
        if not self.rows or seconds - self.rows[-1]["seconds"] >= EVERY:
            self.rows.append(seen)
        self.last = seen


def watch(data: Path, out: Path, workers: int, kill_every: float) -> dict[str, Any]:
    """Run the attack and watch it; kill a worker after every `kill_every` seconds, 0 for never."""
    words = [sys.executable, "-m", "malaprop", *ATTACK, "--data", str(data), "--out", str(out), "--jobs", str(workers)]
    process = subprocess.Popen(words)  # noqa: S603 - this program
    seen, rng = Watched(), random.Random(5)
    began = killed = monotonic()
    while process.poll() is None:
        sleep(1.0)
        with suppress(OSError, StopIteration):  # it ended just now
            seen.look(process.pid, out / "outcomes.jsonl", monotonic() - began)
        killed = killed if seen.first else monotonic()
        if kill_every and monotonic() - killed > kill_every and (live := list(find_workers(process.pid))):
            os.kill(rng.choice(live), signal.SIGKILL)
            seen.kills, killed = seen.kills + 1, monotonic()
    return {
        "texts": seen.done, "workers": workers, "kills": seen.kills, "code": process.returncode,
        "seconds": round(monotonic() - began, 1), "first": seen.first, "last": seen.last,
        "rows": seen.rows,
    }  # fmt: skip


def cost(one: Mapping[str, Any]) -> float:
    """Return the driver's microseconds a text, from the first outcome on."""
    first, last = one["first"], one["last"]
    return float(1e6 * (last["processor_s"] - first["processor_s"]) / (last["done"] - first["done"]))


def ray_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each run on Ray."""
    return [
        [
            f"{one['texts']:,}", str(one["workers"]), str(one["kills"]), f"{cost(one):.0f}",
            f"{one['last']['most_megabytes']:,.0f}", f"{one['equal']:,} of {one['compared']:,}",
        ]
        for one in held["ray"]
    ]  # fmt: skip


def simulated_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each simulated run."""
    return [
        [
            f"{one['texts']:,}", str(one["workers"]), f"{one['kill_every']:g} s" if one["kill_every"] else "never",
            str(one["kills"]), f"{one['seconds']:.1f}", f"{one['efficiency']:.3f}", f"{one['driver_us']:.0f}",
            f"{one['most_megabytes']:,.0f}",
        ]
        for one in held["simulated"]
    ]  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.scaled", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-every", type=float, default=0.0, help="seconds")
    given = parser.parse_args(words)
    print(json.dumps(watch(given.data, given.out, given.workers, given.kill_every)))


if __name__ == "__main__":
    main()
