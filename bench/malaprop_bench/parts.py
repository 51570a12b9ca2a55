"""Where the time of `malaprop audit` goes: processor seconds of each service that attacks ask, and of the rest.

python -m malaprop_bench.parts OUT.jsonl NAME=TREE ... [--victim A,B] [--attack A,B] [--validity paper] [--n 100]

Each turn audits the victims once with every source tree, in a process of its own. The victims must be in the cache.
Without --attack and --validity these are the tree's own defaults.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from statistics import median_low
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from malaprop.engine.service import Service

OPENERS = ("_tagger", "_encoder", "_language_model", "_masked_lm", "_judge")  # functions that load a service's model
LOADING, REST = "loading of these models", "search, candidates, victims' loading, files"
SHOWN = {
    "victim": "victim, batched queries",
    "verify": "victim, confirming queries",
    "tags": "tagger",
    "encoder": "sentence encoder, fp32",
    "encoder/rough": "sentence encoder, fast",
    "masked-lm": "masked language model",
    "judge": "judge of meaning",
    "language-model": "language model",
}


@dataclass(slots=True)
class Clock:
    """Processor seconds, calls and items of each part; loading inside a call counts as loading."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    items: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time counted under a name, without that of loading."""

        def run(*args: Any, **given: Any) -> Any:
            began, loaded = process_time(), self.seconds[LOADING]
            try:
                return function(*args, **given)
            finally:
                inside = 0.0 if name == LOADING else self.seconds[LOADING] - loaded
                self.seconds[name] += process_time() - began - inside

        return run


@dataclass(slots=True)
class Clocked:
    """A service whose time is counted."""

    inner: Service
    name: str
    clock: Clock

    def begin(self, asks: Sequence[Sequence[Any]]) -> Any:
        self.clock.calls[self.name] += 1
        self.clock.items[self.name] += sum(map(len, asks))
        return self.clock.timed(self.name, self.inner.begin)(asks)

    def finish(self, pending: Any) -> list[list[Any]]:
        found: list[list[Any]] = self.clock.timed(self.name, self.inner.finish)(pending)
        return found


def audit(victims: Sequence[str], n: int, **settings: Any) -> dict[str, Any]:
    """Audit victims in this process with clocks in all services; return seconds by part and a hash of the outcomes."""
    import malaprop as mp
    from malaprop.frame.records.outcome import Outcome
    from malaprop.frame.runs import services as module

    clock, known = Clock(), dict[str, Clocked]()
    plain = module.Services.get

    def get(self: Any, name: str, default: Any = None) -> Any:
        found = plain(self, name, default)
        if found is None or name == "victim":
            return found if found is None else Clocked(found, name, clock)  # every victim has its own
        if name not in known or known[name].inner is not found:
            known[name] = Clocked(found, name, clock)
        return known[name]

    vars_ = vars(module)
    vars_["Services"].get = get
    for name in OPENERS:
        vars_[name] = clock.timed(LOADING, vars_[name])
    began, spent = perf_counter(), process_time()
    result = mp.audit(list(victims), n=n, jobs=1, **settings)
    seconds, wall = process_time() - spent, perf_counter() - began
    found: list[Outcome] = list(result.outcomes)
    ended = [[o.id, o.status, o.adversarial and o.adversarial.text, o.queries.asked] for o in found]
    digest = blake2b(json.dumps(ended, default=str).encode(), digest_size=8).hexdigest()
    parts = [
        {"part": name, "seconds": round(took, 3), "calls": clock.calls[name], "items": clock.items[name]}
        for name, took in clock.seconds.items()
    ]
    return {
        "seconds": round(seconds, 2),
        "wall": round(wall, 2),
        "parts": parts,
        "outcomes": digest,
        "ends": len(found),
    }


def measure(
    trees: Mapping[str, Path], victims: str, n: int, turns: int, settings: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return for each source tree its middle run; the trees take turns."""
    options = [word for name, value in settings.items() for word in (f"--{name}", _words(value))]
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
    for _ in range(turns):
        for name, tree in trees.items():
            places = os.pathsep.join((str(tree), str(Path(__file__).parents[1])))
            done = subprocess.run(  # noqa: S603 - this program
                [sys.executable, "-P", "-m", "malaprop_bench.parts", "--child", victims, "--n", str(n), *options],
                env=os.environ | {"PYTHONPATH": places, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(done.stderr[-800:])
            runs[name].append(json.loads(done.stdout.splitlines()[-1]))
    out = []
    for name, found in runs.items():
        seconds = [run["seconds"] for run in found]
        middle = found[seconds.index(median_low(seconds))]
        out.append({"version": name, "victims": victims.split(","), "n": n, **settings, "runs": seconds, **middle})
    return out


def _words(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def rows(records: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return head and rows of a table: each part, with the processor seconds of every version and its items."""
    held = [{part["part"]: part for part in one["parts"]} for one in records]
    named = sorted(
        {name for parts in held for name in parts}, key=lambda name: -held[0].get(name, {"seconds": 0})["seconds"]
    )
    head = ("part", *(f"{one['version']}, processor s" for one in records), "answers asked for")
    out = []
    for name in named:
        cells = [f"{parts[name]['seconds']:.2f}" if name in parts else "-" for parts in held]
        asked = held[-1].get(name, {"items": 0})["items"]
        out.append([SHOWN.get(name, name), *cells, f"{asked:,}" if asked else "-"])
    rest = [one["seconds"] - sum(part["seconds"] for part in one["parts"]) for one in records]
    out.append([REST, *(f"{value:.2f}" for value in rest), "-"])
    out.append(["together", *(f"{one['seconds']:.1f}" for one in records), "-"])
    return head, out


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.parts", description=__doc__)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("trees", nargs="*", metavar="NAME=TREE")
    parser.add_argument("--victim", default="LSTM-W-GloVe-1")
    parser.add_argument("--attack")
    parser.add_argument("--validity")
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    settings = {"attack": given.attack.split(",")} if given.attack else {}
    settings |= {"validity": given.validity} if given.validity else {}
    if given.child:
        print(json.dumps(audit(given.child.split(","), given.n, **settings)))
        return
    if given.out is None or not given.trees:
        parser.error("give a file to write, and a source tree as NAME=TREE")
    trees = {name: Path(tree).resolve() for name, _, tree in (one.partition("=") for one in given.trees)}
    found = measure(trees, given.victim, given.n, given.turns, settings)
    given.out.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")


if __name__ == "__main__":
    main()
