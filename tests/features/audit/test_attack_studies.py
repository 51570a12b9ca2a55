"""attack, audit and the defence test as studies: killed and resumed, from a file, from Python."""

from __future__ import annotations

import json
import sys

import pytest
import toy

import malaprop as mp
from malaprop.cli.main import main
from malaprop.core.errors import DataError, RecordError, SettingError, VictimError
from malaprop.features.audit.study import Audit
from malaprop.features.defending.evaluation_study import DefenceTest
from malaprop.frame.records.outcome import Outcome, Side, compare_key
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import EncodedLine, Writer, find_runs, read_outcomes
from malaprop.frame.study.attack_tasks import RunFigures
from malaprop.frame.study.commands import read_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.frame.tasks.events import PieceWritten


class Killed(BaseException):
    """As if by Ctrl-C."""


def killer(after: int):
    """A listener that ends the driver when so many outcomes are on disk."""
    left = iter(range(after - 1))

    def listen(happening):
        if (
            isinstance(happening, PieceWritten)
            and isinstance(happening.piece, EncodedLine)
            and next(left, None) is None
        ):
            raise Killed

    return listen


def keys(root):
    return {
        folder.relative_to(root).as_posix(): {compare_key(o) for o in read_outcomes(folder)}
        for folder in find_runs([root])
    }


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    lines = "".join(f'"{row.fields["text"]}",{row.label}\n' for row in toy.some_examples(30))
    (tmp_path / "rows.csv").write_text(f"text,label\n{lines}")
    return tmp_path


def asked(**more):
    given = {"victim": "toy:predict", "attacks": "keyboard,homoglyph", "data": "rows.csv", "device": "cpu"}
    return build(Audit, {**given, "quiet": True, "validity": "paper", **more})


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_audit_that_is_killed_goes_on_to_the_same(place, jobs):
    conduct(asked(out="calm"))
    for kill in (1, 17, 31):
        with pytest.raises(Killed):
            conduct(asked(out="storm", jobs=jobs), listen=[killer(kill)])
    assert not conduct(asked(out="storm", resume=True, jobs=jobs)).finished
    assert keys(place / "storm") == keys(place / "calm")
    calm, storm = (json.loads((place / name / "summary.json").read_text())["runs"] for name in ("calm", "storm"))
    assert [run["counts"] for run in calm] == [run["counts"] for run in storm]


def test_a_finished_run_is_compared_with_what_is_asked(place):
    conduct(asked(out="run"))
    for other, said in (
        ({"seed": 5}, "seed = 0, and here it is 5"),
        ({"attacks": "deepwordbug"}, r"here it is \['deepwordbug'\]"),
    ):
        with pytest.raises(RecordError, match=said):
            conduct(asked(out="run", **other))
    more = conduct(asked(out="run", attacks="keyboard,homoglyph,deepwordbug"))
    assert [row["recipe"] for row in more.rows] == ["keyboard", "homoglyph", "deepwordbug"]
    assert not more.finished
    assert conduct(asked(out="run", attacks="keyboard,homoglyph,deepwordbug", jobs=1, width=3)).finished


def test_a_wrong_victim_is_named_before_another_is_attacked(place):
    with pytest.raises(VictimError, match="no attribute of toy is called 'nobody'"):
        conduct(asked(out="run", victim="toy:predict,toy:nobody"))
    assert not (place / "run").exists()
    (place / "three.csv").write_text("text,label\na,x\nb,y\nc,z\n")
    with pytest.raises(DataError, match=r"3 labels \(x, y, z\), toy:predict scores 2"):
        conduct(asked(out="run", data="three.csv"))


def test_errors_are_counted_as_one_with_their_commonest_reasons(place):
    why = ["no room", "no room", "too long", "odd", "empty", "late"]
    about = Run(recipe="pwws", victim="v", data="d", n=15)
    with Writer(place / "run", about) as writer:
        for number in range(15):
            status, reason = ("error", why[number]) if number < len(why) else ("failed", None)
            held = Side({"text": "x"}, 0)
            changed = None if reason else held
            one = Outcome(id=str(number), status=status, label=0, original=held, adversarial=changed, reason=reason)
            writer.add(one)
    figures = RunFigures.of(place / "run")
    (note,) = figures.notes()
    assert note == "6 of 15 examples ended in an error: no room (2); too long (1); odd (1); other reasons (2)"
    row = figures.to_row()
    assert (row["robust_accuracy"], row["valid_success"]) == (row["under_attack"], row["success"]) == (1.0, 0.0)


def test_a_file_goes_on_with_an_attack(place, monkeypatch):
    words = ["attack", "keyboard", "--victim", "toy:predict", "--data", "rows.csv", "--out", "run", "--quiet"]
    monkeypatch.setattr(sys, "argv", ["malaprop", *words])
    with pytest.raises(SystemExit):
        main()
    whole = keys(place / "run")
    path = place / "run" / "outcomes.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:11]))
    found = conduct(read_study(place / "run" / "study.toml"))
    assert keys(place / "run") == whole
    assert found.rows[0]["n"] == 30
    assert not (place / "run" / "report.html").exists()


def test_from_python_with_objects_in_the_place_of_names(place):
    def reviewer(texts):
        return toy.predict(texts)

    pairs = [(row.fields["text"], row.label) for row in toy.some_examples(12)]
    found = mp.audit(reviewer, pairs, attacks=["keyboard", toy.listed()], n=0, validity="paper")
    assert [(row["victim"], row["recipe"], row["n"]) for row in found.rows] == [
        ("reviewer", "keyboard", 12),
        ("reviewer", toy.listed().name, 12),
    ]
    assert len(found.outcomes) == 24
    alone = mp.attack(toy.listed(), reviewer, pairs)
    assert {compare_key(o) for o in alone} == {compare_key(o) for o in found.outcomes[12:]}
    assert "reviewer, clean accuracy 100.0% (12/12" in found.text
    assert found.report().is_file()
    with pytest.raises(SettingError, match="no setting is called 'atack'; did you mean attack"):
        mp.audit(reviewer, pairs, atack="keyboard")


def test_a_defence_test_that_is_killed_goes_on_and_takes_more_defences(place):
    def test(out, defences="none", **more):
        given = {"victim": "toy:predict", "attacks": "keyboard", "data": "rows.csv", "n": 8, "device": "cpu"}
        given |= {"draws": 1, "fresh": 1, "samples": 0, "quiet": True}
        return conduct(
            build(DefenceTest, {**given, "validity": "paper", "out": out, "defences": defences, **more})
        ).record

    both = "none,ranmask:keep=0.5:samples=4(none)"
    whole = test("whole", both)
    assert [row.name for row in whole.rows] == both.split(",")
    first = test("steps")
    assert [row.name for row in first.rows] == ["none"]
    path = place / "steps" / "none" / "keyboard" / "outcomes.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))  # as a kill leaves it
    (place / "steps" / "none" / "row.json").unlink()
    second = test("steps", both)
    assert [(row.name, row.clean, row.worst) for row in second.rows] == [
        (row.name, row.clean, row.worst) for row in whole.rows
    ]
    with pytest.raises(RecordError, match="holds a study with fresh = 1, and here it is 3"):
        test("steps", both, fresh=3)
