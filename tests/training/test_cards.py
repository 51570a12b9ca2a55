"""One card for every kind of model; those that older versions wrote are still read."""

from __future__ import annotations

import json

import pytest

from malaprop.core.errors import MalapropError
from malaprop.training.card import FORMAT, ROLES, Card, holds, read_card, write_card

COMMON = {"data": "toy", "data_fingerprint": "f", "seed": 1, "figures": {"seconds": 2.5, "parameters": 7}}
OLD = {
    "classifier": {
        "spec": {"encoder": "CNN", "units": "word", "embedding": "Random", "depth": 1},
        "shape": {"filters": 3},
        "labels": ["no", "yes"],
        "limit": 512,
        "about": "",
        "made": "",
        "format": 2,
    },
    "encoder": {
        "kind": "elmo",
        "about": "An ELMo.",
        "settings": {"dim": 8},
        "shape": {"filters": [[1, 4]]},
        "start": None,
        "format": 1,
    },
    "translator": {"kind": "nmt-lstm", "shape": {"dim": 4}, "plan": {"epochs": 3}, "made": "2026", "format": 1},
    "image classifier": {"kind": "mlp", "image": [1, 8, 8], "classes": 4, "settings": {"widths": [4]}, "format": 1},
    "image generator": {
        "kind": "wgan",
        "shape": {"dim": 6},
        "plan": {"steps": 2},
        "curves": {"wgan critic": [[1, 0.5], [2, 0.25]], "inverter inverter": [[1, 3.0]]},
        "seconds": 4.0,
        "format": 1,
    },
    "sentence model": {
        "kind": "vae",
        "shape": {"code": 4},
        "how": {"rate": 0.1},
        "curves": [{"step": 20, "words": 1.5}],
        "samples": ["a cat."],
        "about": "",
        "made": "",
        "format": "sentences-1",
    },
}
SETTINGS = {"translator": {"epochs": 3}, "image generator": {"steps": 2}, "sentence model": {"rate": 0.1}}


@pytest.mark.parametrize("role", ROLES)
def test_older_cards_are_read_and_newer_ones_come_back(role, tmp_path):
    path = tmp_path / ROLES[role].file
    path.write_text(json.dumps({**COMMON, **OLD[role]}))
    card = read_card(tmp_path, role)
    assert (card.role, card.format, card.seed) == (role, FORMAT, 1)
    assert card.settings == SETTINGS.get(role, card.settings)
    assert card.seconds == (4.0 if role == "image generator" else 2.5)
    assert type(card.figures["parameters"]) is int
    assert holds(tmp_path, role)
    write_card(tmp_path, card)
    assert read_card(tmp_path, role) == card
    page = (tmp_path / "README.md").read_text()
    assert page.startswith(f"# {card.name}\n\nA")
    assert "A image" not in page
    for other in ROLES.keys() - {role}:
        with pytest.raises(MalapropError, match="make one with: malaprop") as said:
            read_card(tmp_path, other)
        assert "\n" not in str(said.value)


def test_what_older_cards_called_otherwise(tmp_path):
    for role, raw in OLD.items():
        (tmp_path / role).mkdir()
        (tmp_path / role / ROLES[role].file).write_text(json.dumps({**COMMON, **raw}))
    assert read_card(tmp_path / "image classifier", "image classifier").shape == {"image": [1, 8, 8], "classes": 4}
    curves = read_card(tmp_path / "image generator", "image generator").curves
    assert curves == (
        {"phase": "wgan", "step": 1, "critic": 0.5},
        {"phase": "wgan", "step": 2, "critic": 0.25},
        {"phase": "inverter", "step": 1, "inverter": 3.0},
    )
    assert read_card(tmp_path / "classifier").name == "CNN-W-Random-1#2"
    assert not holds(tmp_path / "classifier", "sentence model")


def test_every_card_in_the_cache_is_listed(tmp_path, monkeypatch):
    from malaprop.zoo.cache import listing

    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path))
    for role, raw in OLD.items():
        (tmp_path / "some" / role).mkdir(parents=True)
        (tmp_path / "some" / role / ROLES[role].file).write_text(json.dumps({**COMMON, **raw}))
    ready = {row["role"]: row["name"] for row in listing() if row["state"] == "ready"}
    assert ready.keys() == ROLES.keys()
    assert ready["translator"] == "nmt-lstm#2"


def test_a_card_says_what_is_wrong_with_it(tmp_path):
    write_card(tmp_path, Card(role="encoder", kind="elmo", **COMMON))
    raw = json.loads((tmp_path / "pretrained.json").read_text())
    for change, said in (
        ({"format": 9}, "format 9, this version reads 1 and 3"),
        ({"seed": "x"}, "seed: expected `int`"),
    ):
        (tmp_path / "pretrained.json").write_text(json.dumps(raw | change))
        with pytest.raises(MalapropError, match=said):
            read_card(tmp_path, "encoder")
