"""Commands on language models: the prompt, the labels' words and worked examples come from options and data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_causal

from malaprop.core.errors import MalapropError
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.study.prompt_options import Prompting, draw_shots, names_language_model
from malaprop.frame.study.selection import Selection

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own
PROMPT = "Say {labels}.\n\nText: {text}\nAnswer:"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_causal.folder(tmp_path_factory.mktemp("lm") / "llama", "llama", chat=True)


@pytest.fixture
def films(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    rows = [
        f'"a {word} film, number {i}",{label}' for i in range(30) for word, label in (("good", "pos"), ("bad", "neg"))
    ]
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    return path


def test_attack_with_a_prompt_file_and_worked_examples(
    command: Callable[..., int], folder: Path, films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(PROMPT + "\n")
    out = tmp_path / "out"
    given = ("--victim", f"causal:{folder}", "--data", films, "--prompt", prompt, "--label-words", "awful,great")
    assert command("attack", "typos", *given, "--shots", 2, "--n", 3, "--out", out, "--json", "--quiet") == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["victim"] == "llama"
    assert said["labels"] == ["neg", "pos"]
    assert said["split"] == "test"  # the worked examples are of the rest
    assert len(read_outcomes(out)) == 3
    assert command("attack", "typos", *given, "--shots", 4, "--n", 3, "--out", out, "--resume", "--quiet") == 2
    assert "a study with shots = 2, and here it is 4" in capsys.readouterr().err


@pytest.mark.usefixtures("tiny_assets")
def test_audit_as_it_is_and_behind_a_defence(
    command: Callable[..., int], folder: Path, films: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    victims = f"causal:{folder},safer:samples=2(causal:{folder})"
    given = ("--data", films, "--attacks", "typos", "--n", 2, "--budget", 6, "--out", out, "--quiet")
    assert command("audit", "--validity", "paper", "--victim", victims, "--prompt", PROMPT, *given) == 0
    found = list(out.glob("*/typos"))
    assert len(found) == 2
    assert all(len(read_outcomes(run)) == 2 for run in found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--victim", "my:predict", "--prompt", PROMPT), "--prompt, --shots and --label-words are for causal:"),
        (("--victim", "causal:FOLDER", "--prompt", "Is it good?\n"), "has no {text}"),
        (("--victim", "causal:FOLDER", "--labels", "good,bad"), "neg"),
        (("--victim", "causal:FOLDER", "--label-words", "good"), "names 1 words, the labels are 2"),
        (("--victim", "causal:FOLDER", "--shots", "4000"), "more than the"),
        (("--victim", "causal:nowhere"), "no causal model at 'nowhere'"),
        (("--victim", "openai:tiny"), "openai:MODEL@http://host/v1"),
    ],
)
def test_bad_input_is_one_line(
    command: Callable[..., int], folder: Path, films: Path, capsys: pytest.CaptureFixture[str], words: Any, said: str
) -> None:
    made = [word.replace("FOLDER", str(folder)) for word in words]
    assert command("attack", "typos", *made, "--data", films, "--n", 2, "--quiet") == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]


def test_worked_examples_are_drawn_by_seed_with_the_labels_in_turn(films: Path) -> None:
    texts = Selection(data=str(films), n=5)
    attacked = texts.examples(trains=True)
    first, again, other = (draw_shots(s, attacked, 4) for s in (texts, texts, Selection(data=str(films), n=5, seed=1)))
    assert first == again != other
    assert [label for _, label in first] == ["neg", "pos", "neg", "pos"]
    assert not {fields for fields, _ in first} & {tuple(e.fields.values()) for e in attacked}


def test_labels_that_are_numbers_tell_a_language_model_nothing() -> None:
    texts = Selection(data=[("a film", 0), ("a man", 1)], n=0)
    with pytest.raises(MalapropError, match=r"calls its labels 0, 1.*--labels negative,positive"):
        Prompting().equip("causal:x", texts, texts.examples())
    assert names_language_model("five(causal:x)")
    assert not names_language_model("my:causal")
