"""Models that give several labels, or a number: what they answer, and attacks on them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import malaprop as mp
from malaprop.core.errors import MalapropError
from malaprop.models.victims.labelsets import joint, view_of

transformers = pytest.importorskip("transformers")
import tiny_folders as tiny  # noqa: E402 - it needs the library

from tests.models.tiny_onnx import write_config, write_onnx, write_tokenizer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own

NAMES = ("toxic", "insult", "threat")
SETS = (
    "none", "toxic", "insult", "insult+toxic", "threat", "threat+toxic", "insult+threat", "insult+threat+toxic",
)  # fmt: skip
TEXTS = tiny.texts(30, seed=3)


def several(at, kind="roberta", names=NAMES, **more):
    tokenizer = tiny.tokenizer_of(kind)
    tokenizer.save_pretrained(at)
    model = tiny.classifier(kind, len(tokenizer), len(names), problem_type="multi_label_classification", **more)
    model.config.id2label = dict(enumerate(names))
    model.config.label2id = {name: i for i, name in enumerate(names)}
    model.save_pretrained(at)
    return at


@torch.inference_mode()
def by_library(folder, texts=TEXTS):
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = [tokenizer(text, truncation=True, max_length=tiny.LIMIT, return_tensors="pt") for text in texts]
    return torch.cat([model(**row).logits for row in rows]).numpy()


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta", "gpt2", "mpnet", "bart"])
def test_the_answer_is_the_set_of_labels_over_a_half(tmp_path, kind):
    folder = several(tmp_path / "m", kind)
    victim = mp.victim(str(folder), device="cpu")
    assert victim.label_names == SETS
    scores, sure = victim.predict(TEXTS), torch.from_numpy(by_library(folder)).sigmoid().numpy()
    over = [SETS.index("+".join(sorted(NAMES[i] for i in np.flatnonzero(row > 0.5))) or "none") for row in sure]
    assert scores.argmax(1).tolist() == over
    np.testing.assert_allclose(scores.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(scores[:, 0], (1 - sure).prod(1), atol=1e-5)
    np.testing.assert_allclose(scores[:, 3], sure[:, 0] * sure[:, 1] * (1 - sure[:, 2]), atol=1e-5)


def test_one_label_and_a_model_in_hand(tmp_path):
    folder = several(tmp_path / "m")
    sure = torch.from_numpy(by_library(folder)).sigmoid().numpy()
    one = mp.victim(f"{folder}#label=Insult", device="cpu")
    assert one.label_names == ("not insult", "insult")
    np.testing.assert_allclose(one.predict(TEXTS)[:, 1], sure[:, 1], atol=1e-5)
    assert one.fingerprint != mp.victim(str(folder), device="cpu").fingerprint
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    held = mp.victim(model, tokenizer, device="cpu")
    assert held.labels == 8
    assert (model.config.num_labels, model.classifier.out_proj.out_features) == (3, 3)  # it stays as it was


def write_rows(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return path


def run(*words):
    from malaprop.cli.main import app

    done = CliRunner().invoke(app, [*map(str, words), "--quiet", "--json", "--device", "cpu"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])


def test_sets_are_attacked_from_a_file(tmp_path):
    folder = several(tmp_path / "m", "distilbert")
    victim = mp.victim(str(folder), device="cpu")
    assert "gradients" in victim.offers
    best = victim.predict(TEXTS).argmax(1)
    written = [SETS[label].replace("+", "|") for label in best]  # as others write sets
    data = write_rows(tmp_path / "rows.csv", [*zip(TEXTS[:20], written, strict=False)])
    words = ("--victim", folder, "--data", data, "--budget", 120, "--out", tmp_path / "out")
    found = run("attack", "deepwordbug", *words)
    assert found["clean_accuracy"]["value"] == 1
    assert found["counts"]["success"] > 0
    assert found["labels"] == list(SETS)


def test_what_cannot_be_is_one_line(tmp_path):
    many = several(tmp_path / "many", names=tuple(f"l{i}" for i in range(9)))
    with pytest.raises(MalapropError, match=r"9 labels.* choose one label, as many#label=l0"):
        mp.victim(str(many), device="cpu")
    assert mp.victim(f"{many}#label=l4", device="cpu").label_names == ("not l4", "l4")
    with pytest.raises(MalapropError, match="'l40'"):
        mp.victim(f"{many}#label=l40", device="cpu")
    plain = tiny.folder(tmp_path / "plain", "bert")
    with pytest.raises(MalapropError, match="gives one label a text"):
        mp.victim(f"{plain}#label=x", device="cpu")


def test_functions_pipelines_and_onnx_of_several_labels(tmp_path):
    def predict(texts):
        return [[0.9 if "bad" in text else 0.2, 0.7 if "film" in text else 0.1] for text in texts]

    victim = mp.victim(predict, multi_label=("toxic", "film"))
    assert victim.label_names == ("none", "toxic", "film", "film+toxic")
    np.testing.assert_allclose(victim.predict(["bad film"])[0], [0.03, 0.27, 0.07, 0.63], atol=1e-6)
    (outcome,) = mp.attack("deepwordbug", victim, [("a bad film", "toxic+film")])
    assert outcome.status == "success"
    with pytest.raises(MalapropError, match="must answer each text with 2 probabilities"):
        mp.victim(lambda texts: [[3.0, 1.0]] * len(texts), multi_label=("a", "b")).predict(["x"])
    write_tokenizer(tmp_path)
    write_config(tmp_path, problem_type="multi_label_classification")
    exported = mp.victim(str(write_onnx(tmp_path / "bag.onnx")), device="cpu")
    assert exported.label_names == ("none", "negative", "positive", "negative+positive")
    sure = 1 / (1 + np.exp([-1.5, 1.5]))  # of "bad"
    np.testing.assert_allclose(exported.predict(["bad"])[0], joint(sure[None], view_of("np", None, ""))[0], atol=1e-5)


def test_a_pipeline_of_several_labels_and_one_that_gives_a_number():
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    texts = ["bad film", "good film", "bad day", "good day"] * 5
    marks = np.asarray([[1, 1], [0, 1], [1, 0], [0, 0]] * 5)
    several = make_pipeline(CountVectorizer(), OneVsRestClassifier(LogisticRegression())).fit(texts, marks)
    assert mp.victim(several).label_names == ("none", "0", "1", "0+1")
    assert mp.victim(several).predict(["bad film"]).argmax() == 3
    rated = make_pipeline(CountVectorizer(), Ridge()).fit(texts, [1.0, 5.0, 1.0, 5.0] * 5)
    victim = mp.victim(rated)
    assert victim.predict(["good day"]).shape == (1, 1)
    (outcome,) = mp.attack("deepwordbug", victim, [("good film", "any")], goal="moved:1")
    assert outcome.status == "success"
    assert abs(outcome.adversarial.scores[0] - outcome.original.scores[0]) > 1


def number(at, kind="distilbert"):
    tokenizer = tiny.tokenizer_of(kind)
    tokenizer.save_pretrained(at)
    tiny.classifier(kind, len(tokenizer), 1).save_pretrained(at)
    return at


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_a_number_is_moved(tmp_path, kind):
    folder = number(tmp_path / "m", kind)
    victim, logits = mp.victim(str(folder), device="cpu"), by_library(folder)
    np.testing.assert_allclose(victim.predict(TEXTS), logits, atol=1e-5)
    bound = float(np.ptp(logits)) / 8
    rows = [
        (text, f"{score[0] + (9 if i == 0 else 0):.3f}")
        for i, (text, score) in enumerate(zip(TEXTS, logits, strict=True))
    ]
    data = write_rows(tmp_path / "rows.csv", rows[:20])
    words = (
        "attack",
        "deepwordbug",
        "--victim",
        folder,
        "--data",
        data,
        "--goal",
        f"moved:{bound:.4f}",
        "--budget",
        150,
    )
    found = run(*words, "--out", tmp_path / "out")
    assert found["counts"]["skipped"] == 1  # the one that is said to be 9 more
    assert found["counts"]["success"] > 3
    lines = [json.loads(line) for line in (tmp_path / "out" / "outcomes.jsonl").read_text().splitlines()]
    moved = [abs(o["adversarial"]["scores"][0] - o["original"]["scores"][0]) for o in lines if o["status"] == "success"]
    assert min(moved) > bound - 1e-4
    assert {o["original"]["prediction"] for o in lines} == {None}  # no label wins
    again = run(*words, "--width", 1, "--out", tmp_path / "alone")
    assert again["counts"] == found["counts"]


def test_a_number_needs_its_goal_and_the_goal_a_number(tmp_path):
    folder = number(tmp_path / "m")
    with pytest.raises(MalapropError, match=r"moved:0\.5"):
        mp.attack("pwws", mp.victim(str(folder), device="cpu"), [("a good film", 0)])
    with pytest.raises(MalapropError, match="victims that give one number"):
        mp.attack("pwws", mp.victim(lambda texts: [[0.2, 0.8]] * len(texts)), [("a film", 1)], goal="moved:0.5")
    for wrong in ("moved:x", "moved:0", "moved:-1"):
        with pytest.raises(MalapropError, match=r"BOUND|above 0"):
            mp.recipe("pwws", goal=wrong)
    with pytest.raises(MalapropError, match="answered 1 texts with 2 numbers"):
        mp.victim(lambda texts: [1.0, 2.0], answers="number").predict(["x"])
    with pytest.raises(MalapropError, match="computed in fp32"):
        mp.victim(str(folder), device="cpu", precision="bf16")
