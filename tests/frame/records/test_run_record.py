"""run.toml: there and back, and which runs may be joined."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from malaprop.core.errors import RecordError
from malaprop.frame.records import Run

RUN = Run(
    recipe="pwws",
    victim="LSTM-W-GloVe-1",
    data="mr",
    n=100,
    seed=3,
    width=16,
    labels=("negative", "positive \U0001f600"),
    parts={
        "search": {"kind": "Greedy", "rank": {"kind": "Saliency", "floor": 0.5}},
        "constraints": ({"kind": "Stop"},),
    },
    fingerprints={"victim": "ab12", "data": "cd34"},
)


@pytest.mark.parametrize("budget", [None, 500])
def test_what_is_read_is_what_was_written(tmp_path: Path, budget: int | None) -> None:
    run = replace(RUN, budget=budget)
    run.write(tmp_path)
    assert Run.read(tmp_path) == run
    assert [p.name for p in tmp_path.iterdir()] == ["run.toml"]


def test_versions_are_noted_without_loading_anything() -> None:
    assert {"malaprop", "python"} <= set(RUN.versions)
    assert ("torch" in RUN.versions) <= ("torch" in sys.modules)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"width": 256, "started": "later"}, None),
        ({"versions": {**RUN.versions, "numpy": "9"}}, None),
        ({"versions": {"malaprop": "9.9"}}, "malaprop is '0.1.0' here and '9.9' there"),
        ({"seed": 4}, "seed is 3 here and 4 there"),
        ({"budget": 10}, "budget is None here and 10 there"),
        ({"n": 5}, "n is 100 here and 5 there"),
        ({"fingerprints": {"victim": "zz", "data": "cd34"}}, "fingerprints.victim is 'ab12' here and 'zz' there"),
        ({"parts": {**RUN.parts, "search": {"kind": "Beam"}}}, "parts.search.kind is 'Greedy' here and 'Beam' there"),
        ({"parts": {**RUN.parts, "extra": 1}}, "parts.extra is None here and 1 there"),
    ],
)
def test_same_work_names_the_first_difference(change: dict[str, object], says: str | None) -> None:
    if says is not None:
        says = says.replace("0.1.0", RUN.versions["malaprop"])
    assert RUN.same_work(replace(RUN, **change)) == says  # type: ignore[arg-type]


def test_same_work_holds_after_a_round_trip(tmp_path: Path) -> None:
    RUN.write(tmp_path)
    assert RUN.same_work(Run.read(tmp_path)) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "is not a run folder"),
        ("= 3", "is not TOML"),
        ("recipe = 'pwws'", "lacks victim, data, n"),
        ("recipe = 'a'\nvictim = 'b'\ndata = 'c'\nn = 'many'", "n must be int, got 'many'"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "run.toml").write_text(text)
    with pytest.raises(RecordError, match=says):
        Run.read(tmp_path)
