"""A user's own transformers classifier trained further against attacks, and our texts in the library's own Trainer."""

from __future__ import annotations

import csv
import json

import pytest
import torch

import malaprop as mp
from malaprop.core.errors import MalapropError

transformers = pytest.importorskip("transformers")
import tiny_folders as tiny  # noqa: E402 - it needs the library

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own


def write_rows(path, names=("negative", "positive"), count=160):
    good, bad = ["good", "great", "moving", "funny"], ["bad", "dull", "poor", "never"]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        for i in range(count):
            words = (good if i % 2 else bad)[i // 2 % 4]
            rows.writerow([f"the {words} film is a {words} story number {i} .", names[i % 2]])
    return path


def own_folder(tmp_path, kind, names):
    folder = tiny.folder(tmp_path / kind, kind, labels=len(names))
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {str(i): name for i, name in enumerate(names)}
    config["label2id"] = {name: i for i, name in enumerate(names)}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(("kind", "method"), [("distilbert", "blackbox"), ("roberta", "miyato"), ("gpt2", "blackbox")])
def test_the_folder_stays_what_it_was(tmp_path, kind, method):
    names = ("positive", "negative")  # not the order in which the data has them
    folder = own_folder(tmp_path, kind, names)
    data = write_rows(tmp_path / "rows.csv")
    out = tmp_path / "hard"
    card = mp.harden(
        str(folder),
        method=method,
        data=data,
        out=out,
        device="cpu",
        settings={"epochs": 12, "rate": 5e-3, "patience": 12, "batch": 16},
    )
    assert card.labels == names
    assert card.figures["test_accuracy"] > 0.8
    model, report = transformers.AutoModelForSequenceClassification.from_pretrained(out, output_loading_info=True)
    before = transformers.AutoConfig.from_pretrained(folder)
    assert not report["missing_keys"]
    assert type(model).__name__ == f"{tiny.KINDS[kind].name}ForSequenceClassification"
    assert model.config.id2label == before.id2label
    own, was = (transformers.AutoTokenizer.from_pretrained(place) for place in (out, folder))
    assert own("the Good film, isn't it?")["input_ids"] == was("the Good film, isn't it?")["input_ids"]
    assert own.model_max_length == was.model_max_length
    victim = mp.victim(str(out), device="cpu")
    assert victim.label_names == names
    assert victim.predict([("the good film is a good story",)]).argmax(1).tolist() == [0]


def test_from_a_model_in_hand_which_stays_as_it_is(tmp_path):
    folder = own_folder(tmp_path, "distilbert", ("negative", "positive"))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    data = write_rows(tmp_path / "rows.csv")
    card = mp.harden(model, tokenizer, data=data, out=tmp_path / "hard", device="cpu", settings={"epochs": 1})
    assert card.name == "distilbert+blackbox"
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_what_cannot_be_hardened_says_why(tmp_path):
    folder = own_folder(tmp_path, "distilbert", ("a", "b", "c"))
    data = write_rows(tmp_path / "rows.csv")
    with pytest.raises(MalapropError, match="labels negative, positive, the model knows a, b, c"):
        mp.harden(str(folder), data=data, out=tmp_path / "x", device="cpu")
    with pytest.raises(MalapropError, match="reads words or pieces"):
        mp.harden(
            str(own_folder(tmp_path, "bert", ("negative", "positive"))),
            method="hotflip",
            data=data,
            out=tmp_path / "x",
            device="cpu",
        )
    headless = tmp_path / "headless"
    tokenizer = tiny.tokenizer_of("bert")
    tokenizer.save_pretrained(headless)
    tiny.classifier("bert", len(tokenizer), 2).bert.save_pretrained(headless)
    with pytest.raises(MalapropError, match="no trained classifier"):
        mp.harden(str(headless), data=data, out=tmp_path / "x", device="cpu")
    assert not (tmp_path / "x").exists()
    with pytest.raises(MalapropError, match="with its tokenizer"):
        mp.harden(object(), data=data, out=tmp_path / "x")


@pytest.mark.parametrize("method", ["attack", "typos"])
def test_in_the_librarys_own_trainer(tmp_path, method):
    from malaprop.features.hardening.trainer_callback import AdversarialSet

    folder = tiny.folder(tmp_path / "m", "roberta", labels=2)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = list(csv.DictReader(write_rows(tmp_path / "rows.csv", count=24).open()))
    texts, labels = [row["text"] for row in rows], [int(row["label"] == "positive") for row in rows]

    train = AdversarialSet(texts, labels, tokenizer, method=method, share=0.25, budget=60)
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(str(tmp_path / "out"), num_train_epochs=2, report_to=[], use_cpu=True),
        train_dataset=train,
        data_collator=transformers.DataCollatorWithPadding(tokenizer),
        callbacks=[train.callback],
    )
    first = [train[i]["input_ids"] for i in range(24, 30)]
    before = model.classifier.out_proj.weight.detach().clone()
    trainer.train()
    assert len(train) == 30
    assert [train[i]["input_ids"] for i in range(24, 30)] != first
    assert train[0]["input_ids"] == tokenizer(texts[0])["input_ids"]
    assert not torch.equal(model.classifier.out_proj.weight, before)
    if method == "attack":
        assert 0 <= train.found <= 6
        train.renew(model)
        wrong = [i for i in range(6) if train._copies[i] not in [(text,) for text in texts]]
        assert wrong  # at least one text was changed


def test_a_set_refuses_what_makes_no_sense():
    from malaprop.features.hardening.trainer_callback import AdversarialSet

    with pytest.raises(MalapropError, match="as many labels as texts"):
        AdversarialSet(["a"], [0, 1], None)
    with pytest.raises(MalapropError, match="share and r"):
        AdversarialSet(["a"], [0], None, share=0)
