"""What a user sees of a study's tasks while they run."""

from __future__ import annotations

import pytest

from malaprop.core.errors import DataError
from malaprop.frame.command.watch import TerminalListener, watch
from malaprop.frame.records.outcome import Outcome, Side
from malaprop.frame.records.store import EncodedLine
from malaprop.frame.tasks.events import PieceWritten, StudyPlanned, TaskEnded, TaskNote, TaskStarted, WorkerLost

SIDE = Side({"text": "t"})
HAPPENINGS = [
    StudyPlanned(5, 3),
    TaskStarted("runs/m/typos", items=3, before=1),
    PieceWritten("runs/m/typos", Outcome(id="a", status="success", label=0, original=SIDE, adversarial=SIDE)),
    PieceWritten("runs/m/typos", Outcome(id="b", status="failed", label=0, original=SIDE, adversarial=SIDE)),
    TaskNote("models/m", "epoch 1: loss 0.5 [red]x[/red]"),
    WorkerLost("runs/m/typos", "killed by signal 9"),
    TaskEnded("runs/m/typos", "done", 1.25),
    TaskEnded("runs/m/hotflip", "skipped", 0.0, "needs gradients"),
    TaskEnded("runs/n/typos", "not begun", 0.0, "models/n failed"),
]
LINES = [
    "2 of 5 parts are done already, or not needed",
    "models/m: epoch 1: loss 0.5 [red]x[/red]",
    "runs/m/typos: a worker was lost (killed by signal 9); its unfinished items are done again",
    "runs/m/typos: attack success 50.0% (1/2, 9.5-90.5) of the new texts, done, 1.2 s",
    "runs/m/hotflip: skipped (needs gradients), 0.0 s",
]


def test_a_line_for_each_task_where_nobody_watches_a_bar(capsys):
    with watch(quiet=False) as listen:
        for one in HAPPENINGS:
            listen(one)
    assert capsys.readouterr().err.splitlines() == LINES


def test_successes_that_the_judge_refuses_are_told_from_those_that_count(capsys):
    """The tables of taggers and readers count both, those of classifiers the latter."""
    pieces = [
        Outcome(id=f"{i}", status="success", label=0, original=SIDE, adversarial=SIDE, meaning=meaning)
        for i, meaning in enumerate((0.99, 0.0, 0.0))
    ]
    for how in ("done", "budget"):
        with watch(quiet=False) as listen:
            listen(TaskStarted("pwws", items=4, before=0))
            for piece in (pieces[0], EncodedLine.of(pieces[1]), pieces[2]):
                listen(PieceWritten("pwws", piece))
            listen(TaskEnded("pwws", how, 1.0))
    assert capsys.readouterr().err.splitlines() == [
        "pwws: goal reached 3 of 3, meaning kept 33.3% (1/3, 6.1-79.2), done, 1.0 s",
        "pwws: goal reached 3 of 3, meaning kept 1 of 3, budget, 1.0 s",
    ]


def test_quiet_says_nothing(capsys):
    with watch(quiet=True) as listen:
        for one in HAPPENINGS:
            listen(one)
    assert capsys.readouterr() == ("", "")


def test_bars_count_parts_and_items_of_what_runs():
    from io import StringIO

    from rich.console import Console
    from rich.progress import Progress

    out = StringIO()
    bar = Progress(console=Console(file=out, width=200, force_terminal=False))
    listener = TerminalListener(bar)
    for one in HAPPENINGS[:4]:
        listener(one)
    shown = [(task.description, task.completed, task.total) for task in bar.tasks]
    assert shown == [("parts", 0, 3), ("runs/m/typos", 3, 3)]
    for one in HAPPENINGS[4:]:
        listener(one)
    assert [(task.description, task.completed) for task in bar.tasks] == [("parts", 3)]
    assert out.getvalue().splitlines() == LINES


def test_a_failure_that_ends_the_study_is_said_once(capsys):
    """By whoever shows the error; other failures have their lines."""

    def conduct():
        with watch(quiet=False) as listen:
            listen(TaskEnded("clean/a", "failed", 0.0, "it is broken"))
            listen(TaskEnded("clean/b", "failed", 0.0, "no such file: x.csv"))
            listen(TaskEnded("runs/b/typos", "not begun", 0.0, "clean/b failed"))
            raise DataError("no such file: x.csv")

    with pytest.raises(DataError):
        conduct()
    assert capsys.readouterr().err.splitlines() == ["clean/a: failed (it is broken), 0.0 s"]
    with watch(quiet=False) as listen:
        listen(TaskEnded("clean/a", "failed", 0.0, "it is broken"))
    assert capsys.readouterr().err.splitlines() == ["clean/a: failed (it is broken), 0.0 s"]
