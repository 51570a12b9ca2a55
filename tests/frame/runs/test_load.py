"""Victims by what a user types, and from Python objects."""

import socket
import sys

import numpy as np
import pytest
import torch
import toy
from torch import nn

from malaprop.core.errors import MalapropError, SettingError, VictimError
from malaprop.frame.runs.load_victim import _KINDS_OF_NAMES, _Named, load, wrap
from malaprop.models.victims.strings import StringVictim


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("mine_"):
            del sys.modules[name]


def test_module_and_attribute(here):
    (here / "mine_good.py").write_text(
        "def predict(texts):\n    return [[0.2, 0.8]] * len(texts)\n"
        "class Holder:\n    @staticmethod\n    def score(texts):\n        return [[1, 0]] * len(texts)\n"
    )
    victim = load("mine_good:predict")
    assert victim.name == "mine_good:predict"
    assert np.allclose(victim.predict([("a",)]), [[0.2, 0.8]])
    assert load("mine_good:Holder.score").predict([("a",)]).tolist() == [[1, 0]]
    with pytest.raises(VictimError, match="is a class"):
        load("mine_good:Holder")
    with pytest.raises(VictimError, match="did you mean predict"):
        load("mine_good:predic")


def test_a_function_may_import_its_neighbours_when_it_is_called(here):
    (here / "mine_lazy.py").write_text(
        "def predict(texts):\n    from mine_neighbour import SCORES\n    return [SCORES] * len(texts)\n"
    )
    (here / "mine_neighbour.py").write_text("SCORES = [0.2, 0.8]\n")
    assert np.allclose(load("mine_lazy:predict").predict(["a"]), [[0.2, 0.8]])
    load("mine_lazy:predict")
    assert sys.path.count(str(here)) == 1


@pytest.mark.parametrize("typed", ["models/typo", "modelz/mine"])
def test_a_folder_that_is_not_there_is_said_at_once(here, typed, monkeypatch):
    (here / "models" / "typos").mkdir(parents=True)
    monkeypatch.setattr(
        "malaprop.models.victims.hf.load_transformers", lambda *_, **__: pytest.fail("the hub was asked for a folder")
    )

    def no_net(*_: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.delenv("MALAPROP_OFFLINE")  # then the hub is not looked for
    monkeypatch.setattr(socket, "getaddrinfo", no_net)
    monkeypatch.setattr("malaprop.models.victims.options.getproxies", dict)
    with pytest.raises(VictimError, match=f"no such folder: {typed}") as error:
        load(typed)
    assert ("did you mean models/typos?" in str(error.value)) == (typed == "models/typo")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("typed", ["hub:org/name", "org/name"])
def test_the_hub_is_asked_where_it_is_meant(here, typed, monkeypatch):
    asked = []

    def answer(name, **_):
        asked.append(name)
        return toy.victim()

    monkeypatch.setattr("malaprop.models.victims.hf.load_transformers", answer)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [])
    load(typed)
    assert asked == ["org/name"]


def test_modules_that_do_not_import(here):
    (here / "mine_bad.py").write_text("import not_there_at_all\n")
    (here / "mine_worse.py").write_text("raise ValueError('two\\nlines')\n")
    with pytest.raises(VictimError, match="no module is called 'mine_none'"):
        load("mine_none:x")
    with pytest.raises(VictimError, match=r"mine_bad cannot be imported: .*not_there_at_all"):
        load("mine_bad:x")
    with pytest.raises(VictimError, match="mine_worse cannot be imported: ValueError: two lines"):
        load("mine_worse:x")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("./none", "no such folder or file"),
        ("/no/such/folder", "no such folder or file"),
        ("LSTM-W-GloVe-3", r"did you mean .*LSTM-W-GloVe-1"),
        ("nothing", "or give a folder, module:attribute"),
        ("empty", "is not a model: it holds neither model.json"),
        ("weights.pt", "holds weights alone"),
        ("notes.txt", "is not a victim"),
        ("CNN-W-GloVe-1", "pass read=malaprop.data.load"),
    ],
)
def test_what_is_no_victim_says_so_in_one_line(here, spec, message):
    (here / "empty").mkdir()
    (here / "weights.pt").write_bytes(b"")
    (here / "notes.txt").write_text("")
    with pytest.raises(MalapropError, match=message) as error:
        load(spec)
    assert "\n" not in str(error.value)
    assert isinstance(error.value, (VictimError, SettingError))


def test_options_of_a_function(here, monkeypatch):
    (here / "mine_labels.py").write_text(
        "sizes = []\ndef predict(texts):\n    sizes.append(len(texts))\n"
        "    return ['spam' if 'win' in t else 'ham/eggs' for t in texts]\n"
        "class Fitted:\n    classes_ = ['a', 'b']\n    def predict(self, texts): return texts\nfitted = Fitted()\n"
    )
    victim = load("mine_labels:predict#label_names=ham%2Feggs/Spam:batch=2")
    assert victim.label_names == ("ham/eggs", "Spam")
    assert victim.predict(["win", "hello", "win win"]).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert sys.modules["mine_labels"].sizes == [2, 1]
    assert "labels alone" in victim.notes[0]
    assert load("mine_labels:predict#label_names=ham%2Feggs/spam:name=mine").name == "mine"
    with pytest.raises(SettingError, match="of mine_labels:predict is called 'device'; known: answers, batch"):
        load("mine_labels:predict#device=cpu")
    with pytest.raises(SettingError, match="is called 'labls'; did you mean labels or label_names"):
        load("mine_labels:predict#labls=3")
    with pytest.raises(SettingError, match="mine_labels:fitted is not a function"):
        load("mine_labels:fitted#batch=3")
    (here / "empty").mkdir()
    with pytest.raises(SettingError, match="other takes no options \\(batch\\): functions and addresses do"):
        load("other#batch=3")
    assert wrap("mine_labels:predict", label_names=("ham/eggs", "spam")).predict(["win"]).tolist() == [[0, 1]]
    with pytest.raises(SettingError, match="no setting of predict is called 'bach'; did you mean batch"):
        wrap(sys.modules["mine_labels"].predict, bach=3)


def test_functions_and_victims():
    def halves(texts):
        return np.full((len(texts), 2), 0.5)

    victim = wrap(halves, batch=3)
    assert isinstance(victim, StringVictim)
    assert (victim.name, victim.batch) == ("halves", 3)
    assert wrap(victim) is victim
    for thing in (3, None, [1]):
        with pytest.raises(VictimError, match="is not a victim"):
            wrap(thing)


class Bag(nn.Module):
    """Adds up embeddings of letters."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.randn(30, 3, generator=torch.Generator().manual_seed(0)))

    def forward(self, ids):
        return self.table(ids).sum(1)


def letters(strings):
    return [[ord(c) - 97 for c in s.lower() if "a" <= c <= "z"] for s in strings]


def test_a_torch_module_with_its_tokenizer():
    module = Bag()
    victim = wrap(module, letters)
    assert victim.labels == 3
    texts = ["abc", "a film", "z", "good a"]
    alone = [module(torch.tensor(letters([t]))).softmax(-1)[0].tolist() for t in texts]
    assert np.allclose(victim.predict([(t,) for t in texts]), alone, atol=1e-6)
    with pytest.raises(VictimError, match="needs a tokenizer"):
        wrap(module)


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("mine_good.py:predict", r"is a file, expected a module; write mine_good:predict"),
        ("mine_good.py", r"as mine_good:predict"),
        ("mine_good", r"name its function too, as mine_good:predict"),
        ("./mine_good:predict", r"a function of your own is written module:attribute"),
        ("mine_good:predict,BERT", r"names several victims, expected one"),
        ("mine_script:predict", r"ends the program when it is imported; .*__main__"),
        ("qqqqqqq", r"known: ALBERT.*\.\.\. \(\d+ in all\)"),
    ],
)
def test_what_was_nearly_right_is_answered_with_what_is(here, typed, reason):
    (here / "mine_good.py").write_text("def predict(texts):\n    return [[0.2, 0.8]] * len(texts)\n")
    (here / "mine_script.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(VictimError, match=reason):
        load(typed)


def test_a_function_that_ends_the_program_is_a_victims_error():
    def leaves(texts):
        raise SystemExit(0)

    with pytest.raises(VictimError, match="raised SystemExit"):
        wrap(leaves).predict([("a",)])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("causal:folder", "a language model"),
        ("openai:model@http://localhost:1", "a language model"),
        ("http://localhost:1/predict", "an address"),
        ("mine:predict", "a Python object at module:attribute"),
        ("mine:predict.py", "a folder"),
        ("ensemble:mr/a+mr/b", "an ensemble"),
        ("LSTM-W-GloVe-1", "a zoo model"),
        ("CNN-W-GloVe-1", "a folder"),
        ("model.onnx", "an ONNX file"),
        ("model.skops", "a file"),
        ("notes.txt", "a file"),
        ("org/name", "a model of the Hugging Face hub"),
        ("hub:name", "a model of the Hugging Face hub"),
        ("nothing", "any other name"),
    ],
)
def test_the_first_kind_that_recognises_a_name(here, name, kind):
    for folder in ("mine:predict.py", "CNN-W-GloVe-1"):  # a folder goes before a name of the same letters
        (here / folder).mkdir()
    (here / "notes.txt").touch()
    named = _Named(name, {}, {}, "cpu", "fp32", "mr", None, 0, quiet=True)
    assert next(row.what for row in _KINDS_OF_NAMES if row.recognises(named)) == kind


@pytest.mark.parametrize(
    ("typed", "options", "kind"),
    [
        ({"label": "toxic"}, {}, "one label of a classifier"),
        ({}, {"label": 0}, "one label of a classifier"),
        ({}, {"label": None}, "any other name"),
        ({"label": "toxic"}, {"batch": 3}, "any other name with options"),
        ({}, {"batch": 3}, "any other name with options"),
    ],
)
def test_a_label_or_other_options_decide_the_kind(here, typed, options, kind):
    named = _Named("nothing", typed, options, "cpu", "fp32", "mr", None, 0, quiet=True)
    assert next(row.what for row in _KINDS_OF_NAMES if row.recognises(named)) == kind
