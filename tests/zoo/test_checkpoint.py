"""Checkpoints: whole or not at all, and a wrong one says why in one line."""

import json

import pytest
import torch

from malaprop.core.errors import SettingError, VictimError
from malaprop.models.tokens.vocab import Vocab
from malaprop.training.card import Card
from malaprop.training.folder import write_folder
from malaprop.zoo import checkpoint
from malaprop.zoo.names import ZooSpec, network, shape

SPEC = ZooSpec(encoder="CNN", embedding="Random")


@pytest.fixture
def saved(tmp_path):
    vocab = Vocab.build(["a b c"])
    settings = {**shape(SPEC, 4), "filters": 3}
    model = network(SPEC, len(vocab), 2, settings)
    card = Card(
        spec=SPEC.plain(),
        shape=settings,
        labels=("no", "yes"),
        limit=512,
        data="toy",
        data_fingerprint="f",
        seed=3,
        figures={"test_accuracy": 0.5},
    )
    checkpoint.save(tmp_path / "m", card, model, vocab)
    return tmp_path / "m", card, model, vocab


def test_there_and_back(saved):
    folder, card, model, vocab = saved
    again, loaded, words = checkpoint.load(folder)
    assert again == card
    assert words.words == vocab.words
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name])
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "model.json", "model.safetensors", "vocab.txt"]
    assert [p.name for p in folder.parent.iterdir()] == ["m"]


def test_the_fingerprint_follows_the_weights_and_the_settings(saved):
    folder, card, model, vocab = saved
    first = checkpoint.fingerprint(folder)
    checkpoint.save(folder, card, model, vocab)
    assert checkpoint.fingerprint(folder) == first
    with torch.no_grad():
        model.head.bias += 1
    checkpoint.save(folder, card, model, vocab)
    assert checkpoint.fingerprint(folder) != first


def changed(folder, **entries):
    raw = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**raw, **entries}))


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda f: (f / "model.json").unlink(), "is not a text classifier: no model.json"),
        (lambda f: (f / "model.json").write_text("{"), "is damaged"),
        (lambda f: (f / "model.json").write_text("[]"), "has format none"),
        (lambda f: changed(f, format=99), "has format 99, this version reads 2 and 3"),
        (lambda f: changed(f, seed="three"), "seed: expected `int`, got `str`"),
        (lambda f: changed(f, spec={"encoder": "CNN", "units": "atoms"}), "names no model of the zoo"),
        (lambda f: changed(f, shape={"sizes": 3}), "damaged or cut short"),
        (lambda f: changed(f, labels=["a", "b", "c"]), "damaged or cut short"),
        (lambda f: (f / "model.safetensors").unlink(), "damaged or cut short"),
        (lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-5]), "cut short"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), "cut short"),
        (lambda f: (f / "vocab.txt").unlink(), "cannot be read as a vocabulary"),
        (lambda f: (f / "vocab.txt").write_text("<pad>\n<unk>\n<sep>\na\n"), "damaged or cut short"),
    ],
)
def test_a_wrong_checkpoint_says_why(saved, break_it, message):
    break_it(saved[0])
    with pytest.raises(VictimError, match=message) as error:
        checkpoint.load(saved[0])
    assert "\n" not in str(error.value)


def test_a_failed_save_leaves_the_old_one(saved):
    folder = saved[0]
    before = checkpoint.fingerprint(folder)

    def half():
        with write_folder(folder) as made:
            (made / "model.json").write_text("{}")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert checkpoint.fingerprint(folder) == before
    assert [p.name for p in folder.parent.iterdir()] == ["m"]


def test_a_folder_with_other_things_is_not_replaced(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="is not a text classifier"), write_folder(tmp_path):
        pass
    with pytest.raises(SettingError, match="cannot write"), write_folder(tmp_path / "notes.txt" / "m"):
        pass
