"""Toy tasks: numbers that are doubled, counted and added up; some of them kill their worker."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from malaprop.core.errors import DataError
from malaprop.core.example import Example
from malaprop.frame.records.outcome import Outcome, Side
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.study.agreement import lock
from malaprop.frame.tasks.executor import Execution
from malaprop.frame.tasks.outputs import JsonFile, Note, OwnFolder, RunFolder, Several, Skipped
from malaprop.frame.tasks.task import Plan, Share, Task, plan_of
from malaprop.frame.tasks.worker_context import Place, WorkerContext
from malaprop.frame.tasks.workers.job import ThisProcess
from malaprop.frame.tasks.workers.processes import Processes

MANY = 80


@dataclass(frozen=True, slots=True)
class Number:
    value: int


def examples(inputs) -> list[Example]:
    return [Example(id=f"id{number}", fields={"text": f"text {number}"}, label=0) for number in range(MANY)]


def lines(context: WorkerContext, inputs, share: Share) -> Iterator[object]:
    """A line an item; the folder's files `kill-ID` say whose worker dies: once, or whenever it is taken up."""
    (context.place.root / f"worker-{os.getpid()}").touch()
    yield Run(recipe="toy", victim="v", data="d", n=len(share.whole), seed=7, labels=("a", "b"))
    for item in share.items:
        mark = context.place.root / f"kill-{item.id}"
        if mark.exists():
            if mark.read_text() == "once":
                mark.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
        yield Outcome(id=item.id, status="skipped", label=0, original=Side(dict(item.fields)), seed=7)


def model(context: WorkerContext, inputs) -> Iterator[object]:
    """A folder that the task writes itself, in two steps."""
    yield Note("training")
    context.folder.mkdir(parents=True, exist_ok=True)
    (context.folder / "half").write_text("half")
    (context.folder / "model.json").write_text("{}")


def two(context: WorkerContext, inputs) -> Iterator[object]:
    about = Run(recipe="toy", victim="v", data="d", n=3, seed=7, labels=("a", "b"))
    for name in ("left", "right"):
        yield name, about
        for number in range(3):
            if f"id{number}" not in context.before[name]:
                yield name, Outcome(id=f"id{number}", status="skipped", label=0, original=Side({"text": name}))


def count_lines(context: WorkerContext, inputs) -> Iterator[Number]:
    """Of run folders that are given by their paths, which here are no longer the driver's."""
    folders = inputs["pair"].values()
    assert not any(folder.is_relative_to(context.place.root) for folder in folders)
    yield Number(sum(len(read_outcomes(folder)) for folder in folders))


def broken(context: WorkerContext, inputs) -> Iterator[object]:
    yield Note("on its way")
    raise DataError("a column is missing")


def impossible(context: WorkerContext, inputs) -> Iterator[object]:
    yield Skipped("shows no gradient")


def spend(context: WorkerContext, inputs) -> Iterator[object]:
    """Asks for ten queries at a time, for as long as it may."""
    assert context.budget_client is not None
    while True:
        context.budget_client.draw(10)
        yield Note("ten more")


def dies(context: WorkerContext, inputs) -> Iterator[object]:
    yield Note("soon")
    os.kill(os.getpid(), signal.SIGKILL)


def alone(context: WorkerContext, inputs) -> Iterator[Number]:
    """How many others run at the same time."""
    mark = context.place.root / f"running-{os.getpid()}"
    mark.write_text("")
    time.sleep(0.3)
    others = len(list(context.place.root.glob("running-*"))) - 1
    mark.unlink()
    yield Number(others)


def cramped(context: WorkerContext, inputs) -> Iterator[Number]:
    """Too little memory for two side by side."""
    (found,) = alone(context, inputs)
    if found.value or (context.place.root / "never").exists():
        raise MemoryError("cannot hold 40 GB")
    yield found


def look(context: WorkerContext, inputs) -> Iterator[Number]:
    """Whether the model's folder has come, and is not the driver's own."""
    yield Number(int((inputs["model"] / "half").is_file() and not inputs["model"].is_relative_to(context.place.root)))


def read_number(context: WorkerContext, inputs) -> Iterator[Number]:
    """What the environment says."""
    yield Number(int(os.environ.get("TOY_NUMBER", "0")))


class Stubborn:
    """An object that cannot be sent."""

    def __reduce__(self):
        raise TypeError("it stays here")


def unsendable(context: WorkerContext, inputs) -> Iterator[Number]:
    yield Number(1)


def plan(*more: Task) -> Plan:
    return plan_of(
        [
            Task(name="model", work=model, output=OwnFolder()),
            Task(name="lines", work=lines, output=RunFolder(), items=examples, after=("model",)),
            Task(name="runs/two", work=two, output=Several({"left": RunFolder(), "right": RunFolder()})),
            Task(name="impossible", work=impossible, output=RunFolder()),
            Task(name="behind it", work=dies, output=JsonFile(Number), after=("impossible",), follows=True),
            Task(name="sum", work=add, output=JsonFile(Number), after=("lines", "runs/two", "impossible")),
            *more,
        ]
    )


def add(context: WorkerContext, inputs) -> Iterator[Number]:
    assert inputs["impossible"] == Skipped("shows no gradient")
    yield Number(len(inputs["lines"]) + len(inputs["runs/two"]["left"]))


def execute(root: Path, workers=None, *more: Task, listen=()) -> dict[str, Exception]:
    with lock(root):
        return dict(Execution(plan(*more), root, workers or ThisProcess(Place(root=root)), listen).run())


if __name__ == "__main__":
    try:
        root, jobs = Path(sys.argv[1]), int(sys.argv[2])
        execute(root, Processes(jobs, Place(root=root), preload=()) if jobs > 1 else None)
    except KeyboardInterrupt:
        sys.exit(130)
