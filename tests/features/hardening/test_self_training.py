"""harden --unlabelled: texts that a teacher labels stand in the training part alone, and what cannot be is refused."""

from __future__ import annotations

import csv
import json

import pytest

import malaprop as mp
from malaprop.core.errors import MalapropError
from malaprop.core.victim import REJECTED
from malaprop.data.files import load_texts
from malaprop.features.hardening import self_training as selftraining
from malaprop.features.hardening.study import Harden
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.training.card import read_card
from malaprop.training.splits import Splits
from malaprop.zoo import train as zoo_train

NAMES = ("bad", "good")
SMALL = {"model": "CNN-W-Random-1", "device": "cpu", "quiet": True, "set": {"epochs": 1, "dim": 4, "filters": 2}}


def answer(texts, labels=2):
    """Good first, unlike the data; unsure of what is neither."""
    rows = [[0.95, 0.05] if "great" in text else [0.03, 0.97] if "awful" in text else [0.6, 0.4] for text in texts]
    return [[*row, *[0.0] * (labels - 2)] for row in rows]


def teach(call=answer, names=("Good", "Bad"), **more):
    return mp.victim(call, name="teacher", label_names=names, **more)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    rows = [f"the film {i} was {('awful', 'great')[i % 2]},{NAMES[i % 2]}" for i in range(120)]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    (tmp_path / "more.txt").write_text("an awful plot\na great cast\n\nA  GREAT cast\na plot\nThe film 7 was great\n")
    return tmp_path


def harden(**more):
    given = {"method": "blackbox", "data": "rows.csv", "unlabelled": "more.txt", "out": "hard", **SMALL}
    return conduct(build(Harden, {**given, **more}))


def test_only_the_training_part_grows_and_the_card_says_by_what(place, monkeypatch):
    seen: list[Splits] = []
    real = zoo_train.train
    monkeypatch.setattr(zoo_train, "train", lambda spec, data, *a, **k: seen.append(data) or real(spec, data, *a, **k))
    heard = []
    study = build(Harden, {"method": "blackbox", "data": "rows.csv", "unlabelled": "more.txt", "out": "hard", **SMALL,
                           "teacher": teach()})  # fmt: skip
    found = conduct(study, listen=[lambda one: heard.append(getattr(one, "text", ""))])
    plain = Selection(data="rows.csv").splits()
    (data,) = seen
    assert data._replace(train=plain.train, added=None) == plain
    added = [(one.id, one.fields["text"], NAMES[one.label]) for one in data.train[len(plain.train) :]]
    assert added == [("unlabelled-1", "an awful plot", "bad"), ("unlabelled-2", "a great cast", "good")]
    card = read_card(place / "hard")
    said = (
        "Added to the training part: 2 of 5 texts of more.txt, labelled by teacher with a probability of at least 90%"
    )
    assert said in card.about
    assert said in (place / "hard" / "README.md").read_text()
    assert said in found.record.models[0].about
    assert card.figures["added_rows"] == 2
    assert card.figures["train_rows"] == len(plain.train) + 2
    assert card.data_fingerprint == plain.fingerprint
    line = f"2 of 5 texts of more.txt were answered with at least 90%; they are added to {len(plain.train)} training"
    assert any(line in text for text in heard)
    assert Selection(data="rows.csv", n=0).whole(["hard"]).examples == tuple(plain.test)


def test_what_was_labelled_is_kept_and_another_setting_is_another_training(place, monkeypatch):
    harden(teacher="toy:predict", sure=0.5)
    weights = (place / "hard" / "model.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(selftraining, "label_texts", lambda *_, **__: pytest.fail("the teacher was asked again"))
        harden(teacher="toy:predict", sure=0.5)
    assert (place / "hard" / "model.safetensors").read_bytes() == weights
    for name, value in {"sure": 0.6, "teacher": "toy:other", "unlabelled": "rows.csv"}.items():
        with pytest.raises(MalapropError, match=f"holds a study with {name} = "):
            harden(**{"teacher": "toy:predict", "sure": 0.5, name: value})
    recipe = json.loads((place / "hard" / "training.json").read_text())
    assert "of more.txt, labelled by toy:predict with a probability of at least 50%" in recipe["added"]
    (place / "more.txt").write_text("another text\n")
    with pytest.raises(MalapropError, match=r"holds a study of another unlabelled: more\.txt"):
        harden(teacher="toy:predict", sure=0.5)


@pytest.mark.parametrize("third", [REJECTED, "fair"])
def test_a_text_that_is_rejected_or_of_no_label_of_the_data_is_not_added(place, third):
    rejecting = teach(lambda texts: [[0.0, 0.0, 1.0] if "plot" in text else [1.0, 0.0, 0.0] for text in texts],
                      ("good", "bad", third))  # fmt: skip
    data = Selection(data="rows.csv").splits()
    texts = load_texts(place / "more.txt")
    found = selftraining.label_texts(rejecting, data, texts, file="more.txt", teacher="t", sure=0.9)
    assert (found.rows, found.labels) == ((1,), (1,))


def test_texts_are_read_from_any_file_with_or_without_labels(tmp_path):
    for name, whole in {
        "a.csv": "Text,label\none,\ntwo,good\n",
        "b.jsonl": '{"text": "one"}\n{"text": "two", "label": null}\n',
        "c.txt": "one\r\ntwo\n",
    }.items():
        (tmp_path / name).write_bytes(whole.encode())
        assert load_texts(tmp_path / name) == ["one", "two"]
    (tmp_path / "d.tsv").write_text("id\treview\n1\tone\n2\t\n")
    assert load_texts(tmp_path / "d.tsv", text="review") == ["one", ""]
    (tmp_path / "e.jsonl").write_text('{"text": "one"}\n{"text": null}\n')
    assert load_texts(tmp_path / "e.jsonl") == ["one", ""]


def fail(texts):
    raise RuntimeError("no weights")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"teacher": None}, "--unlabelled needs a --teacher"),
        ({"unlabelled": None}, "--teacher has no use without --unlabelled"),
        ({"unlabelled": None, "teacher": None, "sure": 0.8}, "--sure has no use without --unlabelled"),
        ({"sure": 1.5}, "--sure is a probability above 0 and up to 1, got 1.5"),
        ({"sure": 0.0}, "--sure is a probability above 0 and up to 1, got 0"),
        ({"sure": 0.99}, "none of the 3 new texts of more.txt was answered by teacher with at least 99%; lower --sure"),
        ({"method": "auto"}, "--unlabelled is not an option of harden auto"),
        ({"unlabelled": "none.txt"}, "none.txt cannot be read: No such file"),
        ({"unlabelled": "none.csv"}, "no such file: none.csv"),
        ({"unlabelled": "empty.txt"}, "empty.txt holds no text"),
        ({"unlabelled": "blank.txt"}, "blank.txt holds no text"),
        ({"unlabelled": "rows.csv"}, "rows.csv holds no text that is not in rows.csv already"),
        ({"unlabelled": "pairs.csv"}, "pairs.csv has pairs of texts"),
        ({"data": "pairs.csv"}, "--unlabelled adds single texts, and pairs.csv has premise and hypothesis"),
        ({"teacher": teach(fail)}, "teacher raised RuntimeError: no weights"),
        ({"teacher": teach(names=("up", "down"))}, "the labels bad, good, the model knows up, down; give a --teacher"),
        ({"teacher": teach(lambda texts: [[9.0, -3.0]] * len(texts))}, "are not probabilities, by which --sure"),
        ({"teacher": teach(lambda texts: answer(texts, 3), ())}, "2 labels (bad, good), teacher scores 3; give"),
        ({"teacher": "models/none"}, "models/none"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(place, given, line):
    (place / "empty.txt").write_text("")
    (place / "blank.txt").write_text("\n \n")
    with (place / "pairs.csv").open("w", newline="") as file:
        rows = [(f"one {i}", f"two {i}", NAMES[i % 2]) for i in range(120)]
        csv.writer(file).writerows([("premise", "hypothesis", "label"), *rows])
    with pytest.raises(MalapropError) as said:
        harden(**{"teacher": teach(), **given})
    assert line in str(said.value)
    assert "\n" not in str(said.value)
    assert not (place / "hard").exists()


def test_a_classifier_of_ones_own_learns_from_them_too(place):
    pytest.importorskip("transformers")
    import tiny_folders as tiny

    folder = tiny.folder(place / "own", "distilbert", labels=2)
    config = json.loads((folder / "config.json").read_text())
    names = dict(enumerate(("good", "bad")))
    config |= {"id2label": {str(i): name for i, name in names.items()}, "label2id": {v: i for i, v in names.items()}}
    (folder / "config.json").write_text(json.dumps(config))
    card = mp.harden(
        str(folder), method="blackbox", data="rows.csv", out="hard", device="cpu", set={"epochs": 1},
        unlabelled="more.txt", teacher=teach(),
    )  # fmt: skip
    assert card.figures["added_rows"] == 2
    assert card.labels == ("good", "bad")
