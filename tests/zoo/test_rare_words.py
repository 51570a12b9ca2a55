"""Which words a training knows: those seen `least` times or more, with or without their capitals."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from malaprop.core.errors import SettingError
from malaprop.core.example import number_rows
from malaprop.frame.runs.load_victim import load
from malaprop.models.tokens.vocab import UNK
from malaprop.training.splits import Splits
from malaprop.zoo import checkpoint
from malaprop.zoo import names as zoo
from malaprop.zoo.gradients.character_edits import edit_word
from malaprop.zoo.gradients.characters import flip_gains, symbols
from malaprop.zoo.train import TrainingInput, WordRows, change_training, check_settings, train


@pytest.fixture
def data():
    rows = [({"text": f"the {('good', 'bad')[i % 2]} film{i}"}, i % 2) for i in range(40)]
    parts = list(number_rows(rows))
    return Splits(
        name="small", train=parts[:30], held_out=parts[30:35], test=parts[35:], labels=("a", "b"), fingerprint="f",
        own=False,
    )  # fmt: skip


def test_rare_words_are_unknown_in_training(data):
    every, often = WordRows.of(data), WordRows.of(data, least=2)
    assert "film0" in every.vocab.index
    assert "film0" not in often.vocab.index
    assert UNK not in list(every.closed(9)[0].tokens[0])
    assert [row[2] for row in often.closed(9)[0].tokens] == [UNK] * 30


def test_what_stands_for_unknown_words_is_learnt(data, tmp_path):
    spec = zoo.ZooSpec.of("LSTM-W-Random-1")
    moved = {}
    for least in (1, 2):
        folder = tmp_path / str(least)
        given = TrainingInput(settings={"least": least, "epochs": 3, "decay": 0.0})
        train(spec, data, folder, given=given, quiet=True)
        _, model, vocab = checkpoint.load(folder)
        start = train(spec, data, tmp_path / f"{least}-start", quiet=True, given=TrainingInput(
            settings={"least": least, "epochs": 1, "rate": 1e-12, "decay": 0.0}))  # fmt: skip
        assert start.seed == 0
        _, fresh, _ = checkpoint.load(tmp_path / f"{least}-start")
        table, before = (m.get_submodule("embedding").weight.detach() for m in (model, fresh))
        moved[least] = float((table[UNK] - before[UNK]).abs().max())
        assert len(vocab) < 10 or least == 1
    assert moved[1] == pytest.approx(0, abs=1e-6)
    assert moved[2] > 1e-3


def test_a_cased_model_reads_capitals_and_edits_them(data, tmp_path):
    shout = [replace(one, fields={"text": one.fields["text"].replace("good", "Good")}) for one in data.train]
    small = {"cased": True, "epochs": 1, "filters": 4, "hidden": 4, "depth": 1}
    folders = tmp_path / "cased", tmp_path / "lower"
    for folder, settings in zip(folders, (small, {**small, "cased": False}), strict=True):
        given = TrainingInput(settings=settings)
        train(zoo.ZooSpec.of("CharCNN-LSTM"), data._replace(train=shout), folder, given=given, quiet=True)
    (_, model, cased), (_, _, lower) = (checkpoint.load(folder) for folder in folders)
    assert {"Good", "bad"} <= set(cased.closed.words)
    assert cased.numbers("Good") != cased.numbers("good")
    assert lower.numbers("Good") == lower.numbers("good")
    assert symbols(cased)[cased.sign["G"]]
    ids = torch.tensor([cased.numbers("the food")])
    found = flip_gains(model, ids, torch.tensor([2]), torch.tensor([0]))
    assert found.flips[0, 1, 1, cased.sign["G"]].isfinite()
    assert edit_word("food", 0, 0, 0, "G", cased=True) == ("Good", "Good")
    assert edit_word("Good", 0, 3, 2, "", cased=True) == ("Goo", "Goo")


def test_a_cased_model_is_trained_on_cased_rows_though_lower_cased_ones_are_shared(tmp_path):
    parts = list(number_rows([({"text": f"the {('Good', 'good')[i % 2]} film"}, i % 2) for i in range(120)]))
    data = Splits(
        name="capitals", train=parts[:80], held_out=parts[80:100], test=parts[100:], labels=("a", "b"),
        fingerprint="f", own=False,
    )  # fmt: skip
    settings = {"cased": True, "epochs": 6, "rate": 0.01, "filters": 8, "hidden": 8, "depth": 1, "dropout": 0.0}
    given = TrainingInput(settings=settings, words=WordRows.of(data))
    card = train(zoo.ZooSpec.of("CharCNN-LSTM"), data, tmp_path / "model", given=given, quiet=True)
    answers = load(tmp_path / "model").predict([tuple(one.fields.values()) for one in data.test]).argmax(1)
    assert card.figures["test_accuracy"] == (answers == [one.label for one in data.test]).mean() == 1


@pytest.mark.parametrize("least", [0, "two"])
def test_wrong_values_are_refused(least):
    with pytest.raises(SettingError, match="least"):
        check_settings({"least": least}, [zoo.ZooSpec.of("LSTM-W-Random-1")])


def test_a_transformer_has_no_such_setting():
    with pytest.raises(SettingError, match="least"):
        check_settings({"least": 2}, [zoo.ZooSpec.of("BERT")])


def test_how_much_is_read_and_what_stays_frozen_can_be_set():
    specs = [zoo.ZooSpec.of("LSTM-W-Random-1")]
    check_settings({"limit": 256}, specs)
    with pytest.raises(SettingError, match="limit is how many tokens"):
        check_settings({"limit": 2}, specs)
    with pytest.raises(SettingError, match="frozen"):
        check_settings({"frozen": False}, specs)
    bert = zoo.ZooSpec.of("BERT")
    check_settings({"frozen": False}, [bert])
    usual = zoo.training(bert)
    assert usual.rates
    assert change_training(usual, {"frozen": False, "epochs": 3}).rates == ()
    assert change_training(usual, {"epochs": 3}).rates == usual.rates
