"""A finished model is never trained over: the same training finds it done, another one is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from papers.natural.small_images import write_bars
from papers.natural.small_sentences import SMALL, write_texts

from malaprop.cli.main import main

ROWS = [f"the {('good', 'great', 'bad', 'awful')[i % 4]} film {i},{int(i % 4 < 2)}" for i in range(120)]


@pytest.fixture
def type_in(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("text,label\n" + "\n".join(ROWS) + "\n")
    Path("more.csv").write_text("text,label\n" + "\n".join([*ROWS, "a poor end,0"]) + "\n")
    Path("pairs.csv").write_text("source,target\n" + "".join(f"a man {i},ein Mann {i}\n" for i in range(60)))
    write_bars(tmp_path / "bars.npz", many=200)
    write_texts(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words), "--device", "cpu"])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), *capsys.readouterr()

    return run


def held(folder: Path) -> dict[str, tuple[int, bytes]]:
    """The model's own files: those of the study around it say when it was looked at last."""
    own = (p for p in folder.iterdir() if p.is_file() and p.name not in ("study.toml", "tasks.jsonl", "trained.json"))
    return {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in own}


LSTM = ["train", "LSTM-W-Random-1", "--data", "rows.csv", "--set", "epochs=1"]
MLP = ["train", "mlp", "--data", "bars.npz", "--set", "epochs=1"]
SMALLEST = [f"--set={name}={value}" for name, value in SMALL.items()]
ARAE = ["train", "arae", "--data", "small.txt", "--set", "steps=3", *SMALLEST]
NMT = ["--set", "epochs=1", "--set", "dim=8", "--set", "units=8", "--set", "vocab=60"]


@pytest.mark.parametrize(
    ("words", "other", "said"),
    [
        (LSTM, ["--seed", "1"], "seed = 0, and here it is 1"),
        (LSTM, ["--set", "epochs=2"], "set epochs = 1, and here it is 2"),
        (LSTM, ["--data", "more.csv"], "data = 'rows.csv', and here it is 'more.csv'"),
        (
            ["harden", "blackbox", "--model", "LSTM-C-Random-1", "--data", "rows.csv", "--set", "epochs=1"],
            ["--r", "0.3"],
            "r = None, and here it is 0.3",
        ),
        (MLP, ["--set", "epochs=2"], "set epochs = 1, and here it is 2"),
        (MLP, ["--set", "widths=8"], "set widths = None, and here it is 8"),
        (ARAE, ["--set", "pull=0.5"], "set pull = None, and here it is 0.5"),
        (["train", "nmt-lstm", "--data", "pairs.csv", *NMT], ["--seed", "3"], "seed = 0, and here it is 3"),
        (
            ["train", "vae", "--data", "bars.npz", "--set", "steps=2", "--set", "width=2", "--set", "dim=3"],
            ["--set", "steps=3"],
            "set steps = 2, and here it is 3",
        ),
    ],
    ids=lambda value: value[1] if isinstance(value, list) and value[0] in ("train", "harden") else None,
)
def test_the_same_is_found_done_and_another_is_refused(type_in, words, other, said):
    code, out, err = type_in(*words, "--out", "model", "--json")
    assert code == 0, err
    before = held(Path("model"))
    code, again, err = type_in(*words, "--out", "model", "--json")
    assert code == 0, err
    assert json.loads(again.splitlines()[-1]) == json.loads(out.splitlines()[-1])
    assert held(Path("model")) == before
    code, _, err = type_in(*words, *other, "--out", "model")
    assert code == 2
    assert f"model holds a study with {said}" in err
    assert held(Path("model")) == before
    Path("model/study.toml").unlink()  # as of a model that was trained before there were studies
    code, _, err = type_in(*words, *other, "--out", "model")
    assert code == 2
    assert "model holds a finished model" in err
    assert held(Path("model")) == before
    assert not Path("model/study.toml").exists()
    assert type_in(*words, "--out", "model")[0] == 0


def test_a_model_that_does_not_say_how_it_was_trained_is_kept(type_in):
    words = ["train", "LSTM-W-Random-1", "--data", "rows.csv", "--set", "epochs=1", "--out", "model"]
    assert type_in(*words)[0] == 0
    Path("model/training.json").unlink()
    Path("model/study.toml").unlink()
    code, _, err = type_in(*words)
    assert code == 2
    assert "does not say how it was trained" in err
