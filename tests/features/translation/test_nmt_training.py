"""Training: pairs by heart, batches that lose nothing, the same weights after a kill, clear words for bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.data.packaged import tenth_of
from malaprop.features.translation.models import checkpoint
from malaprop.features.translation.models import train as training
from malaprop.features.translation.models.train import PairRows, pairs_of, parts, settings_of, train, words_of
from malaprop.models.padded_rows import Ragged
from malaprop.training.folder import check_target
from tests.features.translation.conftest import COMMON, SETTINGS, toy_parts
from tests.features.translation.small_translators import PAIRS, pairs


def test_pairs_are_learnt_by_heart(trained):
    card = checkpoint.read_card(trained)
    assert card.figures["test_bleu"] > 90
    assert card.figures["test_bleu_low"] <= card.figures["test_bleu"] <= card.figures["test_bleu_high"]
    assert (trained / "README.md").read_text().startswith(f"# {card.kind}")


def test_every_pair_is_in_one_batch_and_none_is_too_large():
    rows = PairRows(*(Ragged.of([[1] * n for n in (3, 9, 4, 4, 1, 7, 2)]) for _ in range(2)))
    found = training._batches(rows, 12, 0, 0)
    assert sorted(np.concatenate(found).tolist()) == list(range(7))
    assert all(len(part) == 1 or len(part) * rows.sources.size[part].max() <= 12 for part in found)
    assert [p.tolist() for p in found] == [p.tolist() for p in training._batches(rows, 12, 0, 0)]
    assert [p.tolist() for p in found] != [p.tolist() for p in training._batches(rows, 12, 0, 1)]


def test_a_killed_training_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    how = {**COMMON, **SETTINGS["nmt-transformer"], "epochs": 3, "look_from": 1, "dropout": 0.2}
    losses, taken = training.Translating.losses, []

    def counted(work, now):
        taken.append(now.step)
        return losses(work, now)

    def killed(work, now):
        if now.step == 4:
            raise KeyboardInterrupt
        return losses(work, now)

    monkeypatch.setattr(training.Translating, "losses", counted)
    train("nmt-transformer", toy_parts(), tmp_path / "whole", settings=how, quiet=True)
    whole, taken[:] = list(taken), []
    monkeypatch.setattr("malaprop.training.folder.EVERY", 0.0)
    monkeypatch.setattr(training.Translating, "losses", killed)
    with pytest.raises(KeyboardInterrupt):
        train("nmt-transformer", toy_parts(), tmp_path / "killed", settings=how, quiet=True)
    assert not (tmp_path / "killed").exists()
    monkeypatch.setattr(training.Translating, "losses", counted)
    train("nmt-transformer", toy_parts(), tmp_path / "killed", settings=how, quiet=True)
    assert taken == whole[4:]
    (_, one, *_), (_, two, *_) = (checkpoint.load(tmp_path / name) for name in ("whole", "killed"))
    for (name, a), (_, b) in zip(one.state_dict().items(), two.state_dict().items(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, msg=name)
    assert not (tmp_path / ".killed.unfinished").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epoch": 3}, "epochs"),
        ({"epochs": 0}, "1 or more"),
        ({"rate": -1}, "above 0"),
        ({"dim": "wide"}, "kind"),
        ({"units": 9}, "even"),
    ],
)
def test_settings_that_cannot_be(given, said):
    with pytest.raises(SettingError, match=said):
        settings_of("nmt-lstm", given)


def test_a_file_is_parted_by_its_sources():
    rows = [(f"sentence {i}", f"Satz {i}{k}") for i in range(60) for k in "ab"]
    made = parts(lambda spec, split: pairs(rows), "x")
    assert len(made.train) + len(made.held_out) + len(made.test) == 120
    assert not {p.source for p in made.train} & {p.source for p in made.test}
    assert {tenth_of(p.source) for p in made.test} == {0}
    assert not made.own


def test_too_few_pairs_and_the_wrong_kind():
    with pytest.raises(DataError, match="too few to have some to"):
        parts(lambda spec, split: pairs(PAIRS[:1]), "x")
    from malaprop.data.base import of

    with pytest.raises(DataError, match="source,target"):
        pairs_of(of([("a text", 0), ("another", 1)]))


def test_words_most_frequent_first():
    assert words_of(["a b b", "b, c a"]) == ["b", "a", "c"]


def test_damaged_folders_say_so(trained, tmp_path):
    import shutil

    with pytest.raises(VictimError, match="not a translation model"):
        checkpoint.load(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(trained, copy)
    (copy / "model.safetensors").write_bytes(b"\0" * 20)
    with pytest.raises(VictimError, match="damaged"):
        checkpoint.load(copy)
    card = json.loads((copy / "translator.json").read_text())
    (copy / "translator.json").write_text(json.dumps({**card, "format": 99}))
    with pytest.raises(VictimError, match="has format 99"):
        checkpoint.read_card(copy)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="not a translation model"):
        check_target(tmp_path / "other", "translator")
