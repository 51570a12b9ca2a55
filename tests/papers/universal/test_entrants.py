"""Who takes part: names, folders, seconds, and the order of the paper's table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from malaprop.core.errors import SettingError
from malaprop.papers.universal import study_models as entrants
from malaprop.papers.universal.study_models import choose_models, expand_names
from malaprop.training.card import Card
from malaprop.zoo import checkpoint
from malaprop.zoo.names import ZooSpec, parse


@pytest.fixture
def cards(monkeypatch, tmp_path):
    """Folders that pass for models, named after what they hold."""

    def read(folder: Path) -> Card:
        spec, seed = parse(folder.name)
        return Card(
            spec=spec.plain(),
            shape={},
            labels=("a", "b"),
            limit=9,
            data="d",
            data_fingerprint="f",
            seed=seed,
            figures={},
        )

    monkeypatch.setattr(checkpoint, "is_checkpoint", lambda folder: (Path(folder) / "model.json").is_file())
    monkeypatch.setattr(entrants, "read_card", read)

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.json").touch()
        return folder

    return make


def test_a_users_own_classifier_that_was_hardened_has_no_place_in_the_table(monkeypatch, cards):
    spec = ZooSpec(encoder="transformers", units="piece", embedding="mine", depth=0)
    card = entrants.read_card(Path("BERT"))
    monkeypatch.setattr(entrants, "read_card", lambda folder: replace(card, spec=spec.plain(), hardened=folder.name))
    found = choose_models([str(cards("reject")), str(cards("swaps"))], lambda _: {})
    assert [(e.name, e.number, e.traits) for e in found] == [("mine+reject", None, None), ("mine+swaps", None, None)]


def test_names_get_their_seconds_and_the_order_of_the_table(cards):
    asked: list[str] = []

    def ensure(names):
        asked.extend(names)
        return {name: cards(name) for name in names}

    found = choose_models(["BERT", "my.model:predict", "CNN-W-Random-1", "LSTM-W-GloVe-1"], ensure)
    assert [e.name for e in found] == ["LSTM-W-GloVe-1", "CNN-W-Random-1", "BERT", "my.model:predict"]
    assert [e.number for e in found] == [2, 37, 61, None]
    assert [e.second.name if e.second else None for e in found] == [
        "LSTM-W-GloVe-1#2",
        "CNN-W-Random-1#2",
        "BERT#2",
        None,
    ]
    assert sorted(asked) == sorted([e.name for e in found[:3]] + [f"{e.name}#2" for e in found[:3]])
    assert found[3].traits is None
    assert found[0].traits == entrants.traits(ZooSpec.of("LSTM-W-GloVe-1"))


def test_without_base_rates_nothing_else_is_trained(cards):
    found = choose_models(["CNN-W-Random-1", "LSTM-W-GloVe-1"], lambda names: {n: cards(n) for n in names}, base=False)
    assert [e.second for e in found] == [None, None]


def test_a_folder_of_folders_stands_for_all_of_them(cards, tmp_path):
    for name in ("CNN-W-Random-1", "CNN-W-Random-1#2", "LSTM-W-Random-1"):
        cards(name)
    found = choose_models([str(tmp_path)], lambda names: {})
    assert [(e.name, e.second.name if e.second else None) for e in found] == [
        ("LSTM-W-Random-1", None),
        ("CNN-W-Random-1", "CNN-W-Random-1#2"),
    ]


def test_a_folder_has_its_second_beside_it(cards):
    folders = [cards(name) for name in ("CNN-W-Random-1", "CNN-W-Random-1#2", "LSTM-W-Random-1")]
    found = choose_models([str(folders[0]), str(folders[2])], lambda names: {})
    assert [e.second.name if e.second else None for e in found] == [None, "CNN-W-Random-1#2"]


def test_all63():
    assert len(expand_names(["all63"])) == 63
    assert expand_names(["CNN-W-Random-1", "all63", "BERT"])[0] == "CNN-W-Random-1"
    assert len(expand_names(["CNN-W-Random-1", "all63", "BERT"])) == 63


def test_bad_lists(cards, tmp_path):
    with pytest.raises(SettingError, match="at least two victims, got none"):
        choose_models([], lambda names: {})
    (tmp_path / "empty").mkdir()
    with pytest.raises(SettingError, match="holds no model, nor folders of models"):
        expand_names([str(tmp_path / "empty")])
    one = cards("CNN-W-Random-1")
    with pytest.raises(SettingError, match="two victims are called CNN-W-Random-1"):
        choose_models([str(one), "CNN-W-Random-1"], lambda names: dict.fromkeys(names, one))
