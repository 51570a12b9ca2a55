"""One change for many texts: a prefix (`trigger`), or the instruction of a prompt (`--fields prompt`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_causal
import toy

from malaprop.attacks.attack import Attack, Together
from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.goals.goal import Moved
from malaprop.attacks.search.greedy import Greedy
from malaprop.core.errors import SettingError
from malaprop.core.victim import REJECTED
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.runs.load_victim import load
from malaprop.frame.runs.local import run
from malaprop.frame.runs.shared_change import apply_change, find_change
from malaprop.models.victims.strings import StringVictim

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own
PROMPT = "A good film gets the word good, a bad one the word bad: {labels}.\n\nText: {text}\nAnswer:"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_causal.folder(tmp_path_factory.mktemp("lm") / "llama", "llama")


def prefix(**more: Any) -> Attack:
    table = {"the": ("awful", "great", "film")}
    return Attack(
        name="listed prefix", candidates=Listed(table=table), search=Greedy(),
        together=Together(side="prefix", words=2, drop=1.0, **more),
    )  # fmt: skip


def test_one_prefix_is_found_on_a_panel_and_put_to_other_texts() -> None:
    victim = toy.victim()
    panel = toy.examples(["a good film", "a fine movie", "nice plot"])
    change = find_change(prefix(), victim, panel)
    assert find_change(prefix().but(budget=3), victim, panel).tried <= 3
    assert change.after == "awful awful"  # of the words that may come, the one that lowers the mean most, twice
    assert change.score_after < change.score_before
    wanted = np.mean([row[1] for row in toy.predict([f"awful awful {e.fields['text']}" for e in panel])])
    assert change.score_after == pytest.approx(wanted, abs=1e-5)
    others = toy.examples(["a great film", "good", "great , good , great , good , great", "a bad film"])
    found = {o.original.fields["text"]: o for o in apply_change(victim, change, others)}
    assert found["good"].status == "success"
    assert found["good"].adversarial.fields == {"text": "awful awful good"}
    assert found["good"].edits[0].op == "insert"
    assert found["great , good , great , good , great"].status == "failed"
    assert found["a bad film"].status == "failed"  # it was bad before, and still is


def test_a_prefix_that_is_rejected_is_not_what_is_looked_for() -> None:
    def call(texts: list[str]) -> list[list[float]]:
        rows = ([0.0, 0.0, 1.0] if "awful" in t else [*toy.predict([t])[0], 0.0] for t in texts)
        return [[float(number) for number in row] for row in rows]

    victim = StringVictim(call=call, name="r", labels=3, label_names=("no", "yes", REJECTED))
    attack = replace(prefix(), candidates=Listed(table={"the": ("awful", "bad", "film")}))
    assert find_change(attack, victim, toy.examples(["a good film", "nice plot"])).after == "bad bad"


def test_an_example_without_words_or_with_an_error_costs_no_other() -> None:
    victim = toy.victim(call=lambda texts: [[1 / 0] if "boom" in t else toy.predict([t])[0] for t in texts])
    change = find_change(prefix(), victim, toy.examples(["a good film"]))
    found = list(apply_change(victim, change, toy.examples(["good", "boom", "..."], label=1)))
    assert [o.status for o in found] == ["success", "error", "skipped"]
    (held,) = apply_change(victim, change, toy.examples(["..."], label=0))
    assert (held.status, held.reason) == ("failed", "no words to change")


def test_in_python_the_examples_are_their_own_panel_at_any_width() -> None:
    rows = toy.examples(["a good film", "a fine movie", "nice plot", "great"])
    one, other = ([(o.id, o.status) for o in run(prefix(), toy.victim(), rows, width=w)] for w in (1, 64))
    assert one == other
    assert {status for _, status in one} == {"success"}


def test_one_change_of_the_instruction_is_judged_by_all_texts(folder: Path) -> None:
    victim: Any = load(f"causal:{folder}", labels=("bad", "good"), prompt=PROMPT)
    panel = toy.examples(["a good film", "a bad film", "a fine movie", "awful"])
    attack = Attack(
        name="x", candidates=Listed(table={"film": ("movie", "picture"), "gets": ("takes", "never")}), search=Greedy(),
        together=Together(side="prompt", drop=1.0),
    )  # fmt: skip
    change = find_change(attack, victim, panel)
    assert change.before == "A good film gets the word good, a bad one the word bad: bad or good."
    assert change.after != change.before
    assert change.after.count("good") == change.before.count("good")  # the labels' words stay
    for text, score in ((change.before, change.score_before), (change.after, change.score_after)):
        whole = victim.with_instruction(text).predict([e.fields["text"] for e in panel])
        wanted = np.mean([row[e.label] for row, e in zip(whole, panel, strict=True)])
        assert score == pytest.approx(float(wanted), abs=1e-4)
    assert change.score_after < change.score_before
    outcome = next(iter(apply_change(victim, change, panel)))
    assert outcome.original.fields == {"prompt": change.before, "text": "a good film"}
    with pytest.raises(SettingError, match="has no prompt; --fields prompt is for causal: and openai: victims"):
        find_change(attack, toy.victim(), panel)


def test_a_goal_may_count_falling_alone() -> None:
    fall, rise = np.asarray([[0.2]], np.float32), np.asarray([[0.9]], np.float32)
    goal = Moved(bound=0.2, falls=True).from_original(np.asarray([0.5], np.float32))
    assert goal.reached(fall, 0).all()
    assert not goal.reached(rise, 0).any()


@pytest.fixture
def films(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    kinds = (("good", "good"), ("bad", "bad"))
    rows = [f'"a {word} film, number {i}",{label}' for i in range(30) for word, label in kinds]
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.usefixtures("tiny_assets")
def test_audit_reports_both_sides_and_a_trigger(
    command: Callable[..., int], folder: Path, films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    given = ("--victim", f"causal:{folder}", "--prompt", PROMPT, "--data", films, "--n", 3, "--budget", 12)
    words = ("--attacks", "typos,trigger", "--fields", "text,prompt", "--panel", 4, "--out", out, "--json")
    assert command("audit", "--validity", "paper", *given, *words) == 0
    said = capsys.readouterr()
    runs = {held["recipe"]: held for held in json.loads(said.out.splitlines()[-1])["runs"]}
    assert set(runs) == {"typos", "prompt:typos", "trigger"}
    assert all(sum(held["counts"].values()) == 3 for held in runs.values())
    (place,) = out.glob("*/prompt-typos/run.toml")
    assert any("the instruction became" in note for note in Run.read(place.parent).notes)
    assert (place.parent.parent / "prompt-typos.change.json").is_file()
    assert all(o.original.fields.keys() == {"prompt", "text"} for o in read_outcomes(place.parent))
    assert "the instruction became" in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("pwws", "--victim", "toy:predict", "--fields", "prompt"),
            "--fields prompt is for causal: and openai: victims",
        ),
        (("pwws", "--victim", "causal:x", "--fields", "text,prompt"), "malaprop audit takes --fields text,prompt"),
        (("trigger", "--victim", "toy:predict", "--set", "words=0"), "words and panel must be at least 1"),
    ],
)
def test_what_cannot_be_attacked_so_is_said(
    command: Callable[..., int], films: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert command("attack", *words, "--data", films, "--n", 2, "--quiet") == 2
    assert said in capsys.readouterr().err


def test_a_prompt_without_an_instruction_cannot_be_attacked(folder: Path) -> None:
    victim = load(f"causal:{folder}", labels=("bad", "good"), prompt="{text}\nAnswer:")
    attack = Attack(name="x", candidates=Listed(table={}), search=Greedy(), together=Together(side="prompt"))
    with pytest.raises(SettingError, match="no instruction before its text"):
        find_change(attack, victim, toy.examples(["a film"]))
