"""Every one of the 63, and the special models, in small: trained, written, loaded as a victim and asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tiny_pretraining as tiny

from malaprop.assets import store, vectors
from malaprop.assets.vectors import Vectors
from malaprop.core.errors import MalapropError, SettingError
from malaprop.core.example import number_rows
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.data import of
from malaprop.frame.runs.load_victim import load
from malaprop.training.splits import splits
from malaprop.zoo import checkpoint
from malaprop.zoo import names as zoo
from malaprop.zoo import start_vectors as starts
from malaprop.zoo.names import ZooSpec
from malaprop.zoo.pretrain.job import pretrain
from malaprop.zoo.special_models import SPECIAL_MODELS
from malaprop.zoo.train import TrainingInput, WordRows, check_settings, train

TEXTS = [
    (f"the {w} dog {'bone' if i % 3 else 'sea'} {w} .", y) for i in range(26) for y, w in enumerate(("ship", "rain"))
]
SMALL = {"epochs": 1, "batch": 16, "hidden": 6, "filters": 4, "inner": 8, "heads": 2, "depth": 1}
NETWORKS = [spec.name for spec in zoo.grid() if not spec.fine_tuned]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A cache with tiny encoders in it."""
    folder = tmp_path_factory.mktemp("zoo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MALAPROP_CACHE", str(folder / "cache"))
        text = tiny.write(folder, 60)
        for kind in ("elmo", "roberta", "albert"):
            pretrain(
                kind, data=text, read=tiny.no_dataset, steps=2, settings=tiny.PLANS[kind], quiet=True, device="cpu"
            )
        (folder / "bert").mkdir()
        tiny.tiny_bert(folder / "bert")
        made = Vectors(["ship", "rain", "dog"], np.random.default_rng(0).normal(size=(3, 7)).astype(np.float32))
        patch.setattr(vectors, "open_vectors", lambda name="glove": made)
        patch.setattr(store, "key", lambda name: "key")
        patch.setattr(starts, "_train", lambda kind, data, how: (["ship", "rain"], np.eye(2, 5, dtype=np.float32)))
        patch.setattr(starts, "_need_gensim", lambda kind, data: None)
        yield folder


@pytest.fixture(scope="module")
def parts():
    return splits(lambda spec, split: of(TEXTS, name=spec), "toy")


@pytest.fixture(scope="module")
def rows(parts):
    return WordRows.of(parts)


def settings(spec):
    own = {k: v for k, v in SMALL.items() if k != "depth"}
    return {**own, "dim": 8} if spec.special and not spec.vectors and spec.units == "word" else own


def agrees(victim):
    """The fast path and whole texts give the same scores, for empty texts and new words too."""
    table = Words()
    base = Text.of("The ship, dog bone rain.", table)
    pool = Pool([Variants.at(base, 1, table.ids(["rain", "", "shipp", "zzz"])), Variants.itself(Text.of("", table))])
    fast = victim.finish(victim.begin(pool, np.arange(pool.size)))
    whole = victim.predict([t.values() for t in pool.texts(np.arange(pool.size))])
    assert np.allclose(fast, whole, atol=1e-5)
    return whole


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_the_grid(name, place, parts, rows, tmp_path):
    spec = ZooSpec.of(name)
    card = train(spec, parts, tmp_path / "m", given=TrainingInput(settings=settings(spec), words=rows), quiet=True)
    assert ZooSpec.from_card(card) == spec
    assert card.figures["parameters"] > 0
    victim = load(tmp_path / "m")
    assert victim.name == name
    whole = agrees(victim)
    unseen_differ = not np.allclose(whole[2], whole[3], atol=1e-6)
    assert unseen_differ == (spec.units != "word")  # a word model reads any unknown word as one and the same
    assert not (tmp_path / ".m.unfinished").exists()


@pytest.mark.parametrize("name", ["BERT", "RoBERTa", "ALBERT"])
def test_a_fine_tuned_one(name, place, parts, tmp_path):
    given = TrainingInput(settings={"epochs": 1}, start=str(place / "bert") if name == "BERT" else None)
    card = train(ZooSpec.of(name), parts, tmp_path / "m", given=given, quiet=True)
    assert ("stand-in" in card.about) == (name != "BERT")
    victim = load(tmp_path / "m")
    assert victim.name == name
    agrees(victim)
    assert victim.predict([("dog " * 100_000,)]).shape == (1, 2)


@pytest.mark.parametrize("name", SPECIAL_MODELS)
def test_a_special_one(name, place, parts, rows, tmp_path):
    spec = ZooSpec.of(name)
    given = TrainingInput(settings=settings(spec))
    if SPECIAL_MODELS[name].reads == "words of a pair":
        pairs = of(number_rows(({"premise": "a dog", "hypothesis": t}, y) for t, y in TEXTS), name="pairs")
        train(spec, splits(lambda s, split: pairs, "pairs"), tmp_path / "m", given=given, quiet=True)
        assert load(tmp_path / "m").predict([("a dog", "ship"), ("", "")]).shape == (2, 2)
    else:
        train(spec, parts, tmp_path / "m", given=replace(given, words=rows), quiet=True)
        agrees(load(tmp_path / "m"))


@pytest.mark.parametrize("name", ["LSTM-W-Random-1", "CNN-C-Random-1", "LSTM-WC-ELMo-1"])
def test_texts_without_a_word_and_with_very_many(name, place, tmp_path):
    data = of([*TEXTS, ("", 0), ("rain " * 100_000, 1)], name="odd")
    odd = splits(lambda s, split: data, "odd")
    train(ZooSpec.of(name), odd, tmp_path / "m", given=TrainingInput(settings={"epochs": 1, "hidden": 4}), quiet=True)
    scores = load(tmp_path / "m").predict([("",), ("rain " * 100_000,), ("rain " * 512,)])
    assert np.allclose(scores[1], scores[2], atol=1e-6)  # read up to the limit, and no further


@pytest.mark.parametrize("name", ["LSTM-WC-ELMo-1", "CNN-WC-ELMo-1"])
def test_an_elmo_model_may_have_no_word_vectors_of_its_own(name, place, parts, rows, tmp_path):
    """Then it knows words by their characters alone, and a word that training never saw is read like any other."""
    shapes = {}
    for words in (0, 50):
        given = TrainingInput(settings={**SMALL, "words": words})
        train(ZooSpec.of(name), parts, tmp_path / str(words), given=replace(given, words=rows), quiet=True)
        card, model, _ = checkpoint.load(tmp_path / str(words))
        shapes[words] = card.shape
        assert ("embedding.words.weight" in model.state_dict()) == bool(words)
        agrees(load(tmp_path / str(words)))
    assert shapes[50]["dim"] - shapes[0]["dim"] == 50
    with pytest.raises(SettingError, match="width of the words' own vectors"):
        train(
            ZooSpec.of(name), parts, tmp_path / "m", given=TrainingInput(settings={"words": -1}, words=rows), quiet=True
        )
    with pytest.raises(SettingError, match="no setting is called 'words'"):
        check_settings({"words": 0}, [ZooSpec.of("LSTM-W-Random-1")])


def test_the_card_says_where_vectors_come_from(place, parts, rows, tmp_path):
    found = {}
    for name in ("CNN-W-Random-1", "CNN-W-GloVe-1", "CNN-W-W2vec-1", "CNN-WC-ELMo-1"):
        given = TrainingInput(settings={"epochs": 1})
        found[name] = train(
            ZooSpec.of(name), parts, tmp_path / name, given=replace(given, words=rows), quiet=True
        ).about
    assert "random" in found["CNN-W-Random-1"]
    assert "packaged GloVe, 7 dimensions. 3 of 10 words have one" in found["CNN-W-GloVe-1"]
    assert "word2vec, a stand-in for the published ones" in found["CNN-W-W2vec-1"]
    assert "A stand-in for ELMo" in found["CNN-WC-ELMo-1"]
    assert "stand-in" in (tmp_path / "CNN-W-W2vec-1" / "README.md").read_text()


def test_vectors_of_a_file_and_of_the_wrong_width(place, parts, rows, tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("ship 1 2 3\nrain 3 2 1\n")
    spec = ZooSpec.of("CNN-W-fastText-1")
    rates = {"epochs": 1, "rates": (("embedding", 0.0),)}
    card = train(spec, parts, tmp_path / "m", given=TrainingInput(vectors=path, settings=rates, words=rows), quiet=True)
    assert "mine.txt, 2 words, as given" in card.about
    _, model, vocab = checkpoint.load(tmp_path / "m")
    assert model.embedding.weight[vocab.index["ship"]].tolist() == [1, 2, 3]
    with pytest.raises(SettingError, match="should have 4 dimensions, but its vectors have 3"):
        train(spec, parts, tmp_path / "n", given=TrainingInput(vectors=path, settings={"dim": 4}, words=rows))
    with pytest.raises(SettingError, match="is not a file"):
        TrainingInput(vectors=tmp_path / "none.vec")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "mine.txt"]


def test_what_is_missing_is_said_with_the_command_that_makes_it(parts, rows, own_cache, tmp_path):
    for name, message in {
        "RoBERTa": "malaprop pretrain roberta",
        "ALBERT": "malaprop pretrain albert",
        "CNN-WC-ELMo-1": "malaprop pretrain elmo",
    }.items():
        with pytest.raises(MalapropError, match=message):
            train(ZooSpec.of(name), parts, tmp_path / "m", given=TrainingInput(words=rows))
    assert not (tmp_path / "m").exists()


def test_a_start_of_another_kind_is_refused(place, parts, tmp_path):
    with pytest.raises(MalapropError, match="is a bert, and ALBERT starts from a albert"):
        train(ZooSpec.of("ALBERT"), parts, tmp_path / "m", given=TrainingInput(start=str(place / "bert")))
    with pytest.raises(MalapropError, match="cannot start from"):
        train(ZooSpec.of("BERT"), parts, tmp_path / "m", given=TrainingInput(start=str(tmp_path / "none")))


def test_a_setting_that_no_model_has():
    check_settings({"hidden": 3, "epochs": 1}, [ZooSpec.of("LSTM-W-Random-1")])
    with pytest.raises(SettingError, match="did you mean hidden"):
        check_settings({"hiden": 3}, [ZooSpec.of("LSTM-W-Random-1")])
