"""malaprop study attention, and explain before and after, as a user types them, on models with fresh weights."""

from __future__ import annotations

import json

import pytest
from small_attentive import saved
from typer.testing import CliRunner

from malaprop.cli.main import app
from malaprop.core.errors import CapabilityError, DataError, SettingError
from malaprop.core.example import Example
from malaprop.features.explain.attention import edit_one_word
from malaprop.features.explain.record import AttentionRecord
from malaprop.frame.runs.load_victim import load

SENTENCES = ["a good film and a bad one", "nobody sleeps", "the man is not asleep", "a dog runs", "an animal moves"]


@pytest.fixture(autouse=True)
def assets(tiny_assets):
    """A small vocabulary."""


def run(*arguments: str):
    return CliRunner().invoke(app, [*arguments], catch_exceptions=True)


@pytest.fixture
def models(tmp_path):
    return [str(saved(tmp_path / name, name)) for name in ("BiLSTM-Attention", "Transformer-3")]


@pytest.fixture
def rows(tmp_path, models):
    """Texts labelled as both models answer, and some that they do not agree on."""
    texts = [f"{one} {two}" for one in SENTENCES for two in (*SENTENCES, "film", "one dog", "bad", "not")] * 4
    texts = [f"{text} {'good ' * (n % 4)}" for n, text in enumerate(texts)]
    answers = load(models[0]).predict([(text,) for text in texts]).argmax(1)
    lines = [{"text": text, "label": int(n % 2 if n % 3 == 0 else answers[n])} for n, text in enumerate(texts)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_the_study_writes_record_figures_and_report(tmp_path, models, rows):
    out = tmp_path / "out"
    words = ["study", "attention", "--models", ",".join(models), "--data", rows, "--n", "6", "--recipe", "random"]
    words += ["--set", "trials=40", "--draws", "3", "--device", "cpu", "--out", str(out), "--json", "--quiet"]
    result = run(*words)
    assert result.exit_code == 0, result.exception
    summary = json.loads(result.stdout)
    assert [(m["name"], m["edits"]) for m in summary["models"]] == [
        ("BiLSTM-Attention", "random"),
        ("BiLSTM-Attention", "a random word"),
        ("Transformer-3", "random"),
        ("Transformer-3", "a random word"),
    ]
    record = AttentionRecord.read(out)
    assert record.texts == summary["texts"] > 0
    shared = [model for model in record.models if model.edits == "a random word"]
    assert all(model.texts == record.texts for model in shared)
    assert [len(model.layers) for model in shared] == [2, 4]
    assert [b.where for b in record.bounds][-1] == "Transformer-3"
    assert record.bounds[0].where == "sphere, Gaussian"
    page = (out / "report.html").read_text()
    assert "Attention study" in page
    assert (out / "figures" / "theorem.svg").is_file()
    again = run(*words)  # goes on with what is there
    assert json.loads(again.stdout) == summary
    (out / "report.html").unlink()
    assert run("report", str(out), "--quiet").exit_code == 0
    assert "Attention study" in (out / "report.html").read_text()


def test_every_text_gets_one_other_word_of_another_text():
    examples = [Example(str(n), {"text": text}, 0) for n, text in enumerate(SENTENCES)]
    pairs = edit_one_word(examples, 3)
    assert len(pairs) == len(examples)
    assert all(len(final.changed(origin)) == 1 for origin, final in pairs)
    words = {word for text in SENTENCES for word in text.split()}
    assert {final.strings[int(final.changed(origin)[0])] for origin, final in pairs} <= words
    assert [str(final) for _, final in pairs] == [str(final) for _, final in edit_one_word(examples, 3)]
    assert [str(final) for _, final in pairs] != [str(final) for _, final in edit_one_word(examples, 4)]
    pair = Example("p", {"premise": "a dog runs", "hypothesis": "an animal moves"}, 0, ("hypothesis",))
    assert all(edit_one_word([pair], seed)[0][1].fields["premise"] == "a dog runs" for seed in range(8))


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (["--models", " , "], SettingError, "--victim names no model"),
        (["--recipe", "gs-ce"], SettingError, "did you mean"),
        (["--models", "toy:predict"], CapabilityError, "study attention needs states"),
        (["--fields", "premise"], SettingError, "has no field 'premise'"),
    ],
)
def test_wrong_settings_of_the_study(tmp_path, models, rows, words, error, said):
    models = [] if "--models" in words else ["--models", models[0]]
    result = run("study", "attention", "--data", rows, *models, "--out", str(tmp_path / "o"), "--quiet", *words)
    assert isinstance(result.exception, error)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)


def test_explain_before_and_after(tmp_path, models):
    out = tmp_path / "heat"
    words = ["a good film", "--against", "a bad film", "--no-substitutes", "--device", "cpu", "--json"]
    result = run("explain", *words, "--victim", ",".join(models), "--out", str(out))
    assert result.exit_code == 0, result.exception
    first, second = json.loads(result.stdout.splitlines()[-1])["sights"]
    assert first["changed"] == second["changed"] == [1]
    assert (len(first["maps"]), len(second["maps"])) == (1, 2)
    assert (len(first["variation"]), len(second["variation"])) == (2, 4)
    assert first["variation"][0][0] == 0 < first["variation"][1][0]  # the LSTM's first word moves too
    assert "layer 1:" in result.stdout
    page = (out / "attention.html").read_text()
    assert page.count("<svg") == 4
    assert {p.name for p in out.glob("*.svg")} == {
        "heat.svg",
        *(f"{k}-{n}.svg" for k in ("attention", "states") for n in (0, 1)),
    }


def test_explain_by_an_attack_and_alone(models):
    words = ["explain", "a good film", "--no-substitutes", "--device", "cpu", "--json", "--victim", models[1]]
    (alone,) = json.loads(run(*words, "--attention").stdout.splitlines()[-1])["sights"]
    assert alone["before"] == alone["after"]
    result = run(*words, "--attack", "random", "--set", "trials=30")
    assert result.exit_code == 0, result.exception
    found = json.loads(result.stdout.splitlines()[-1])
    for sight in found.get("sights", []):
        assert len(sight["changed"]) == 1
    assert found.get("sights") or "finds no adversarial text" in result.stderr
    assert "sights" not in json.loads(run(*words).stdout.splitlines()[-1])


def test_explain_pairs_changes_the_hypothesis(tmp_path):
    model = str(saved(tmp_path / "p", "Pair-Transformer", ("entailment", "neutral", "contradiction")))
    words = ["a dog runs", "--premise", "an animal moves", "--against", "a man runs", "--no-substitutes"]
    result = run("explain", *words, "--victim", model, "--device", "cpu", "--json")
    (sight,) = json.loads(result.stdout.splitlines()[-1])["sights"]
    assert sight["before"] == ["an", "animal", "moves", "a", "dog", "runs"]
    assert sight["changed"] == [4]


@pytest.mark.parametrize(
    ("words", "victim", "error", "said"),
    [
        (["--attention"], "toy:predict", CapabilityError, "offers no attention, only labels, scores"),
        (["--against", "a bad film"], "toy:predict", CapabilityError, "offers neither attention nor states"),
        (["--against", "a bad film now"], None, DataError, "have 3 and 4 words"),
        (["--against", "a good film"], None, DataError, "the same words"),
        (["--against", "a b c", "--attack", "list"], None, SettingError, "choose one"),
        (["--premise", " "], None, DataError, "the premise is empty"),
        (["--attack", "gs-gr"], "toy:predict", CapabilityError, "neither attention nor states"),
    ],
)
def test_wrong_input_of_explain(models, words, victim, error, said):
    result = run("explain", "a good film", "--no-substitutes", "--victim", victim or models[1], *words)
    assert isinstance(result.exception, error)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)
