"""FACT: other wordings stand behind each text in its batch, with its label, drawn anew at every step."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import toy

from malaprop.cli.main import main
from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.example import number_rows
from malaprop.features.hardening.model_in_training import append_rows
from malaprop.papers.firebert.fact import Fact
from malaprop.training.card import read_card
from malaprop.training.seeds import seeded
from malaprop.training.splits import Splits
from malaprop.zoo import names as zoo
from malaprop.zoo.train import TrainingInput, _job
from malaprop.zoo.training import Batch, fit

WORDS = ("great", "good", "fine", "bad", "awful", "film")


@pytest.fixture(autouse=True)
def _small(tiny_assets, monkeypatch):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)


def data(many: int = 60) -> Splits:
    texts = [f"the {('good', 'bad')[i % 2]} {('film', 'movie', 'fine')[i % 3]} {i % 7}" for i in range(many)]
    rows = tuple(number_rows(({"text": text}, i % 2) for i, text in enumerate(texts)))
    return Splits("rows", rows, rows[:20], rows[:20], ("bad", "good"), "rows", own=False)


def job(name: str = "LSTM-W-Random-1", rows: Splits | None = None):
    spec, seed = zoo.parse(name)
    return _job(spec, rows or data(), seed, TrainingInput(settings={"dim": 8, "hidden": 8}), 1)


def a_batch(made, rows=(0, 1, 2)) -> Batch:
    tokens = [made.parts[0].tokens[row] for row in rows]
    ids = torch.zeros(len(rows), max(map(len, tokens)), dtype=torch.long)
    for line, row in zip(ids, tokens, strict=True):
        line[: len(row)] = torch.tensor(list(row))
    lengths, labels = torch.tensor([len(row) for row in tokens]), torch.tensor([row % 2 for row in rows])
    return Batch(ids, lengths, labels, np.asarray(rows))


def read(made, batch: Batch) -> list[str]:
    words = made.vocab.words
    return [
        " ".join(words[i] for i in row[:size])
        for row, size in zip(batch.ids.tolist(), batch.lengths.tolist(), strict=True)
    ]


def test_other_wordings_stand_behind_the_texts_with_their_labels():
    made = job()
    hook = Fact(alternatives=3, words=1).hooks(made, data()).batch
    before = a_batch(made)
    with seeded(1):
        after = hook(before)
    assert len(after.labels) == 3 + 9
    assert torch.equal(after.ids[:3, : before.ids.shape[1]], before.ids)
    assert after.labels.tolist() == [0, 1, 0] + [0] * 3 + [1] * 3 + [0] * 3
    assert after.rows.tolist() == [0, 1, 2] + [0] * 3 + [1] * 3 + [2] * 3
    texts = read(made, after)
    for text, row in zip(texts[3:], after.rows[3:].tolist(), strict=True):
        changes = sum(one != two for one, two in zip(text.split(), texts[row].split(), strict=True))
        assert changes == 1
    with seeded(1):
        assert torch.equal(hook(before).ids, after.ids)
    with seeded(2):
        assert not torch.equal(hook(before).ids, after.ids)


def test_a_text_that_cannot_be_switched_stands_alone():
    made = job()
    batch = a_batch(made, (0,))
    assert append_rows(batch, [[5, 6, 7, 8, 9, 10, 11]], np.asarray([0]), 0).ids.shape == (2, 7)
    hook = Fact(words=1).hooks(made, data()._replace(train=tuple(number_rows([({"text": "the of"}, 0)])))).batch
    assert hook(batch) is batch
    assert hook.counters.fallbacks == 1


def test_a_ranker_is_asked_once_a_text(monkeypatch):
    asked = []

    def weighed(texts):
        asked.extend(texts)
        return toy.predict(texts)

    monkeypatch.setattr("malaprop.frame.runs.victims.victim", lambda *_, **__: toy.victim(weighed))
    made = job()
    hook = Fact(ranker="some", words=2).hooks(made, data()).batch
    hook(a_batch(made))
    many = len(asked)
    hook(a_batch(made))
    assert len(asked) == many > 0


@pytest.mark.parametrize("name", ["LSTM-W-Random-1", "CNN-C-Random-1"])
def test_training_with_it_learns(name):
    made = job(name)
    how = zoo.training(zoo.parse(name)[0], 60)
    from dataclasses import replace

    hooks = Fact(alternatives=2, words=1).hooks(made, data())
    found = fit(made.model, made.parts[0], made.parts[1], replace(how, epochs=6, rate=0.02, batch=16), hooks=hooks)
    assert found.accuracy > 0.9
    assert found.epochs[0].loss < 2  # a mean over texts, however many stand behind each


def test_settings_are_those_of_switch():
    with pytest.raises(SettingError, match="words must be a whole number"):
        Fact(words=0)
    assert "4 other wordings of each text, up to 9 words" in str(Fact())


def test_models_without_gradients_of_their_own_ask_for_a_ranker(monkeypatch):
    made = job()
    monkeypatch.setattr("malaprop.papers.firebert.fact.token_gradients", lambda _: None)
    with pytest.raises(CapabilityError, match="fact:ranker=LSTM-W-GloVe-1"):
        Fact().hooks(made, data())


@pytest.fixture
def type_in(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    rows = [f"the {WORDS[i % 5]} film {i % 9} was here,{int(i % 5 < 3)}" for i in range(160)]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


SMALL = ("--set", "dim=8", "--set", "hidden=8", "--set", "epochs=2", "--device", "cpu")


def test_fact_as_it_is_typed(type_in, tmp_path):
    words = ("harden", "fact:words=2:alternatives=2", "--model", "LSTM-W-Random-1", "--data", "rows.csv")
    code, out, err = type_in(*words, "--out", "hard", "--json", *SMALL)
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["name"] == "LSTM-W-Random-1+fact"
    assert "2 other wordings of each text, up to 2 words switched" in read_card(tmp_path / "hard").about
    words = ("attack", "pwws", "--victim", "hard", "--defence", "five:noise=0.5:samples=2", "--data", "rows.csv")
    code, out, err = type_in(*words, "--n", 4, "--out", "run", "--json", "--device", "cpu")
    assert code == 0, err
    assert json.loads(out.splitlines()[-1])["victim"] == "five:noise=0.5:samples=2(LSTM-W-Random-1+fact)"
    assert "passes of the victim for" in err
    code, _, err = type_in("harden", "five:noise=2", "--data", "rows.csv")
    assert code == 2
    assert "give --victim 'five:noise=2(MODEL)'" in err
    code, _, err = type_in("attack", "textfooler", "--victim", "hard", "--defence", "sieve")
    assert code == 2
    assert "no defence is called 'sieve'" in err
    code, _, err = type_in("attack", "pwws", "--victim", "hard", "--defence", "five:seed=fresh", "--cache", "c.db",
                           "--data", "rows.csv")  # fmt: skip
    assert code == 2
    assert "leave out --cache or seed=fresh" in err


def test_augment_as_it_is_typed(type_in, tmp_path, monkeypatch):
    encoder = SimpleNamespace(encode=lambda texts: np.asarray(toy.encode(texts), np.float32))
    monkeypatch.setattr("malaprop.papers.firebert.switch.encoder", lambda _: encoder)
    words = ("harden", "fact:words=1:alternatives=1", "--model", "LSTM-W-Random-1", "--data", "rows.csv")
    assert type_in(*words, "--out", "plain", *SMALL)[0] == 0
    code, out, err = type_in("augment", "--method", "switch:words=1", "--data", "rows.csv", "--victim", "plain",
                             "--copies", 2, "--n", 10, "--out", "more.csv", "--json", "--device", "cpu")  # fmt: skip
    assert code == 0, err
    told = json.loads(out.splitlines()[-1])
    lines = (tmp_path / "more.csv").read_text().splitlines()
    assert lines[0] == "text,label,source"
    assert len(lines) == 1 + told["rows"]
    assert told["texts"] == 10
    from malaprop.data.base import load

    assert len(load("more.csv")) == told["rows"]
    for method, word in (("keyboard:r=0.2", "more.jsonl"), ("blackbox", "more.tsv")):
        command = ("augment", "--method", method, "--data", "rows.csv", "--no-originals", "--copies", 1)
        code, out, err = type_in(*command, "--out", word)
        assert code == 0, err
        first = (tmp_path / word).read_bytes()
        assert type_in(*command, "--out", word)[0] == 2  # what is there is kept
        (tmp_path / word).unlink()
        assert type_in(*command, "--out", word)[0] == 0
        assert (tmp_path / word).read_bytes() == first
        assert len(load(word)) == 160
    for command, said in (
        (("--method", "swich", "--out", "a.csv"), "did you mean switch"),
        (("--method", "switch:wrods=2", "--out", "a.csv"), "did you mean words"),
        (("--method", "keyboard:r=2", "--out", "a.csv"), "above 0 and up to 1"),
        (("--method", "keyboard", "--out", "a.parquet"), "should end in .csv"),
        (("--method", "keyboard", "--out", "./rows.csv"), "rows.csv is the data itself; give another file"),
    ):
        code, _, err = type_in("augment", *command, "--data", "rows.csv")
        assert code == 2
        assert said in err
