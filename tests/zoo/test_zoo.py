"""Names of the zoo, and training one of them to a folder that loads as a victim."""

import re

import numpy as np
import pytest

from malaprop.assets import store, vectors
from malaprop.assets.vectors import Vectors
from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import number_rows
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.data import of
from malaprop.training.splits import splits
from malaprop.zoo import checkpoint
from malaprop.zoo import names as zoo
from malaprop.zoo.cache import find_or_train, listing
from malaprop.zoo.names import ZooSpec
from malaprop.zoo.special_models import SPECIAL_MODELS
from malaprop.zoo.train import TrainingInput, train
from malaprop.zoo.training import Training
from malaprop.zoo.victim import zoo_victim

WORDS = {1: ["good", "fine", "great"], 0: ["bad", "dull", "poor"]}
TEXTS = [(f"the {w} film number {i} is {w}", y) for i in range(40) for y, ws in WORDS.items() for w in ws]


def toy_read(spec, *, split):
    if split == "validation":
        raise DataError("no split validation")
    return of([t for i, t in enumerate(TEXTS) if (i % 5 == 0) == (split == "test")], name=spec)


@pytest.fixture
def glove(monkeypatch):
    rng = np.random.default_rng(0)
    words = ["good", "bad", "film", "the", "unk"]
    made = Vectors(words, rng.normal(size=(5, 7)).astype(np.float32))
    monkeypatch.setattr(vectors, "open_vectors", lambda name="glove": made)
    monkeypatch.setattr(store, "key", lambda name: "key")
    return made


def test_names_and_specs_agree():
    names = zoo.names()
    assert len(names) == len(set(names)) == 63 + 1 + len(SPECIAL_MODELS)  # MPNet is not in the paper's table
    assert len(list(zoo.grid())) == 63
    assert all(ZooSpec.of(name).name == name for name in names)
    assert ZooSpec.of("lstm-w-glove-1") == ZooSpec(encoder="LSTM")
    with pytest.raises(SettingError, match=r"did you mean .*LSTM-W-GloVe-1"):
        ZooSpec.of("LSTM-W-Glove-3")


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (1, "LSTM-W-Random-1"),
        (6, "LSTM-WC-ELMo-1"),
        (17, "LSTM-C-Random-4"),
        (22, "BiLSTM-W-fastText-1"),
        (37, "CNN-W-Random-1"),
        (45, "CNN-W-W2vec-2"),
        (60, "CNN-WC-ELMo-6"),
        (61, "BERT"),
        (62, "RoBERTa"),
        (63, "ALBERT"),
    ],
)
def test_numbers_are_those_of_the_paper(number, name):
    assert zoo.number(name) == number
    assert [spec.name for spec in zoo.grid()][number - 1] == name


def test_a_second_model_of_one_name():
    assert zoo.parse("lstm-w-random-1#2") == (ZooSpec.of("LSTM-W-Random-1"), 1)
    assert zoo.parse("BERT", 4) == (ZooSpec.of("BERT"), 4)
    assert zoo.name_with_seed(ZooSpec.of("BERT"), 0) == "BERT"
    assert zoo.name_with_seed(ZooSpec.of("BERT"), 1) == "BERT#2"
    assert zoo.is_name("BERT#2")
    assert not zoo.is_name("BERT#0")
    with pytest.raises(SettingError, match="has no number"):
        zoo.number("Kim-CNN")


def test_a_label_that_training_lacks():
    rows = [(f"t {i}", i % 2) for i in range(100)]
    parts = {"train": rows, "test": [*rows, ("odd", 2)]}

    def read(spec, *, split):
        if split == "validation":
            raise DataError("none")
        return of(parts[split], name=spec)

    with pytest.raises(DataError, match="the label '2' in its test part and not in its training part"):
        splits(read, "x")


def test_splits_are_made_where_they_are_missing():
    made = splits(toy_read, "toy")
    assert made.own
    assert len(made.train) + len(made.held_out) == 192
    assert 5 < len(made.held_out) < 40
    assert len(made.test) == 48
    whole = splits(lambda spec, split: of(TEXTS, name=spec), "file.csv")
    ids = [e.id for part in (whole.train, whole.held_out, whole.test) for e in part]
    assert not whole.own
    assert len(ids) == len(set(ids)) == 240
    with pytest.raises(DataError, match="fewer than two labels"):
        splits(lambda spec, split: of([(f"t {i}", 1) for i in range(99)], name=spec), "x")
    with pytest.raises(DataError, match="too few"):
        splits(lambda spec, split: of([(f"t {i}", i % 2) for i in range(4)], name=spec), "x")


def test_a_training_part_of_one_label_is_told_from_a_file_of_one_label():
    errors = []
    for lone in range(20):  # the only row of its label; where it is held out, none is left to train on
        try:
            splits(lambda spec, split, lone=lone: of([(f"t {i}", int(i == lone)) for i in range(20)], name=spec), "x")
        except DataError as error:
            errors.append(str(error))
    assert errors
    for error in errors:
        assert re.fullmatch(
            r"x has 20 rows of two labels or more, but the 1\d of them to train on have one label; training needs 100 "
            "rows or more, with several of each label",
            error,
        )


@pytest.mark.parametrize("name", ["LSTM-W-GloVe-1", "BiLSTM-W-Random-2", "CNN-W-GloVe-1", "CNN-W-Random-2"])
def test_train_save_load_score(name, glove, tmp_path):
    folder = tmp_path / "model"
    card = train(
        ZooSpec.of(name),
        splits(toy_read, "toy"),
        folder,
        given=TrainingInput(settings={"epochs": 5, "rate": 1e-2}),
        quiet=True,
    )
    assert card.figures["test_accuracy"] > 0.95
    assert "| test accuracy |" in (folder / "README.md").read_text()
    victim = zoo_victim(folder)
    assert victim.name == name
    assert victim.labels == 2
    assert victim.predict([("the good film",), ("the bad film",)]).argmax(1).tolist() == [1, 0]

    table = Words()
    base = Text.of("The good film number 3, is good.", table)
    words = table.ids(["bad", "dull", "", "not known at all", victim.unknown, "good"])
    pool = Pool([Variants.at(base, 1, words), Variants.itself(base)])
    scores = victim.finish(victim.begin(pool, np.arange(pool.size)))
    whole = victim.predict([t.values() for t in pool.texts(np.arange(pool.size))])
    assert np.allclose(scores, whole, atol=1e-5)


def test_words_without_a_number_are_one_class(glove, tmp_path):
    train(
        ZooSpec.of("CNN-W-Random-1"),
        splits(toy_read, "toy"),
        tmp_path / "m",
        given=TrainingInput(settings={"epochs": 1}),
    )
    victim = zoo_victim(tmp_path / "m")
    table = Words()
    zebra, okapi, unk, good, big = table.ids(["zebra", "okapi", victim.unknown, "good", "GOOD"]).tolist()
    classes = victim.classes(table)
    assert classes[zebra] == classes[okapi] == classes[unk] != classes[good] == classes[big]


def test_the_same_seed_trains_the_same_model(glove, tmp_path):
    prints = []
    for at, seed in enumerate((0, 0, 1)):
        folder = tmp_path / str(at)
        train(
            ZooSpec.of("CNN-W-GloVe-1"),
            splits(toy_read, "toy"),
            folder,
            seed=seed,
            given=TrainingInput(settings={"epochs": 1}),
        )
        prints.append(checkpoint.fingerprint(folder))
    assert prints[0] == prints[1] != prints[2]


def test_a_pair_is_read_with_a_separator(tmp_path):
    rows = [({"premise": "a man", "hypothesis": text}, y) for text, y in TEXTS]
    data = of(number_rows(rows), name="pairs")
    train(
        ZooSpec.of("CNN-W-Random-1"),
        splits(lambda spec, split: data, "pairs"),
        tmp_path / "m",
        given=TrainingInput(settings={"epochs": 3, "rate": 1e-2}),
        quiet=True,
    )
    victim = zoo_victim(tmp_path / "m")
    assert victim.predict([("a man", "good 1"), ("a man", "bad 2")]).argmax(1).tolist() == [1, 0]
    assert not np.allclose(victim.predict([("a good", "man")]), victim.predict([("a", "good man")]))


def test_trained_once_and_kept(glove, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path))
    monkeypatch.setattr(zoo, "training", lambda spec, rows=0: Training(epochs=1, rate=1e-2))
    first = find_or_train("cnn-w-glove-1", "toy", read=toy_read)
    assert "training CNN-W-GloVe-1 on toy (" in capfd.readouterr().err
    before = (first / "model.json").stat().st_mtime_ns
    assert find_or_train("CNN-W-GloVe-1", "toy", read=toy_read) == first
    assert (first / "model.json").stat().st_mtime_ns == before
    assert capfd.readouterr().err == ""
    assert find_or_train("CNN-W-GloVe-1", "toy", read=toy_read, seed=1, quiet=True) != first
    assert capfd.readouterr().err == ""
    rows = {row["name"]: row for row in listing()}
    assert list(rows) == [
        n for name in zoo.names() for n in ([name, f"{name}#2"] if name == "CNN-W-GloVe-1" else [name])
    ]
    assert rows["CNN-W-GloVe-1"]["state"] == "ready"
    assert rows["CNN-W-GloVe-1"]["reads"] == "words"
    assert rows["CNN-W-GloVe-1"]["MB"] > 0
    assert rows["CNN-C-Random-1"]["reads"] == "characters of words"
    assert rows["CNN-W-GloVe-1#2"]["date"].count("-") == 2
    assert rows["CNN-W-GloVe-1"]["data"] == "toy"
    assert rows["BERT"]["state"] == "on first use"
