"""One class of settings: values by flat names from anywhere, refused in one line that names the option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import malaprop as mp
from malaprop.core.errors import RecordError, SettingError
from malaprop.frame.study.settings import build, flat, lasting, opt, options


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A group."""

    n: int = opt(10, "How many.", min=1, words={"all": 0})
    out: Path | None = opt(None, "Folder.", free=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """A toy of settings."""

    spec: str = opt(help="What is trained.", argument=True)
    models: tuple[str, ...] = opt(("a", "b"), "Models.")
    floors: tuple[float, ...] = opt((0.0,), "Floors.")
    kind: str = opt("one", "Which kind.", choices=("one", "two"))
    training: Mapping[str, Any] = opt({}, "A setting.", name="set")
    thing: Any = opt(None, "An object, in Python.")
    loud: bool = opt(False, "Whether it is loud.")
    drawn: Drawn = Drawn(n=100)


def test_a_class_gives_its_groups_other_defaults():
    assert build(Toy, {"spec": "x"}) == Toy(spec="x", drawn=Drawn(n=100))
    assert {option.name: option.default for option in options(Toy)}["n"] == 100


def test_values_may_come_as_words_or_as_values():
    words = {"spec": "x", "models": "a, c", "floors": "0,0.5", "set": ["e=3", "f=g"], "n": "7", "loud": "true"}
    values = {"spec": "x", "models": ["a", "c"], "floors": [0, 0.5], "training": {"e": 3, "f": "g"}, "n": 7.0}
    made = build(Toy, words)
    assert made == build(Toy, {**values, "loud": True})
    assert (made.models, made.floors, made.training, made.drawn.n) == (("a", "c"), (0.0, 0.5), {"e": 3, "f": "g"}, 7)
    assert build(Toy, flat(made)) == made
    assert build(Toy, {"spec": "x", "n": "all"}).drawn.n == 0
    assert build(Toy, {"spec": "x", "out": "here"}).drawn.out == Path("here")
    assert build(Toy, {"spec": "x", "thing": len}).thing is len


def test_a_regular_expression_in_a_list_may_hold_commas():
    assert build(Toy, {"spec": "x", "models": r"a, b,re:\d{1,3}"}).models == ("a", "b", r"re:\d{1,3}")
    assert build(Toy, {"spec": "x", "models": ["a, b"]}).models == ("a, b",)


def test_what_is_free_does_not_bind_a_folder():
    assert "out" not in lasting(build(Toy, {"spec": "x", "out": "here"}))
    assert lasting(build(Toy, {"spec": "x"}))["n"] == 100


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "SPEC is missing: what is trained."),
        ({"spec": "x", "n": 0}, "--n must be at least 1, got 0"),
        ({"spec": "x", "n": "many"}, "--n takes a whole number or all, got 'many'"),
        ({"spec": "x", "n": 1.5}, "--n takes a whole number or all, got 1.5"),
        ({"spec": "x", "n": True}, "--n takes a whole number or all, got True"),
        ({"spec": 3}, "SPEC takes a word, got 3"),
        ({"spec": "x", "floors": "a"}, "--floors takes a number, got 'a'"),
        ({"spec": "x", "models": 3}, "--models takes several values, got 3"),
        ({"spec": "x", "set": "e"}, "--set takes name=value, got 'e'"),
        ({"spec": "x", "loud": "maybe"}, "--loud takes true or false, got 'maybe'"),
        ({"spec": "x", "kind": "three"}, "--kind takes one, two; got 'three'"),
        ({"spec": "x", "modles": "a"}, "no setting is called 'modles'; did you mean models?"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_that_names_the_option(values, said):
    with pytest.raises(SettingError) as error:
        build(Toy, values)
    assert str(error.value) == said


def test_the_same_files_may_be_named_in_another_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("text,label\na good film,1\na bad film,0\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "other.csv").write_text("text,label\na good film,1\na bad film,0\n")
    given = {"victims": ["toy:predict"], "attacks": ["keyboard"], "validity": "paper", "n": 0}
    given |= {"out": tmp_path / "out", "quiet": True}
    mp.study("leaderboard", data="rows.csv", **given)
    for name in ("./rows.csv", "inner/../rows.csv", str(tmp_path / "rows.csv")):
        mp.study("leaderboard", data=name, **given)
    with pytest.raises(RecordError, match=r"holds a study with data = '.*rows.csv', and here it is 'other.csv'"):
        mp.study("leaderboard", data="other.csv", **given)
    with pytest.raises(RecordError, match="holds a study with victim = "):
        mp.study("leaderboard", data="rows.csv", **{**given, "victims": ["toy:weigh"]})
