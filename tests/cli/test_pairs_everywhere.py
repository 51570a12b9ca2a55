"""Pairs through every command: what is true of the hypothesis in one is so in all."""

from __future__ import annotations

import csv
import json

import pytest
from toy import predict
from typer.testing import CliRunner

from malaprop.cli.main import app
from malaprop.core.errors import DataError, SettingError, VictimError

VICTIM = "toy:predict"


@pytest.fixture(autouse=True)
def assets(tiny_assets):
    """Synonyms from a small list."""


@pytest.fixture
def pairs(tmp_path):
    """TextFooler's format: a premise that says little, and a hypothesis that says more."""
    rows = [
        (f"the fine film of number {n}", f"a {word} film of {n}") for n in range(8) for word in ("good", "bad", "great")
    ]
    lines = [f"{int(predict([row])[0][1] > 0.5)}\t{row[0]}\t{row[1]}\n" for row in rows]
    path = tmp_path / "snli"
    path.write_text("".join(lines))
    return str(path)


def run(*arguments: str):
    return CliRunner().invoke(app, [*arguments], catch_exceptions=True)


def done(*arguments: str):
    result = run(*arguments, "--json", "--quiet")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout.splitlines()[-1])


def outcomes(folder):
    return [json.loads(line) for path in folder.rglob("outcomes.jsonl") for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("fields", "changed"), [(None, {"hypothesis"}), ("premise", {"premise"}), ("both", None)])
def test_attack_changes_the_fields_asked_for(tmp_path, pairs, fields, changed):
    words = ["attack", "deepwordbug", "--victim", VICTIM, "--data", pairs, "--out", str(tmp_path / "o")]
    done(*words, *(["--fields", fields] if fields else []))
    found = outcomes(tmp_path / "o")
    assert len(found) == 24
    assert {e["field"] for o in found for e in o["edits"]} == (changed or {"premise", "hypothesis"})


def test_a_run_is_not_resumed_with_other_fields(tmp_path, pairs):
    words = ["attack", "typos", "--victim", VICTIM, "--data", pairs, "--out", str(tmp_path / "o"), "--quiet"]
    assert run(*words).exit_code == 0
    result = run(*words, "--resume", "--fields", "both")
    assert "a study with fields = None, and here it is 'both'" in str(result.exception)


def test_audit_and_report_show_both_fields(tmp_path, pairs):
    out = tmp_path / "o"
    done(
        "audit",
        "--validity",
        "paper",
        "--victim",
        VICTIM,
        "--data",
        pairs,
        "--attacks",
        "pwws,typos",
        "--n",
        "6",
        "--out",
        str(out),
    )
    page = (out / "report.html").read_text()
    assert "the fine film of number" in page
    assert '"hypothesis"' in page
    done("report", str(out))


def test_transfer_works_on_pairs(tmp_path, pairs):
    out = tmp_path / "o"
    victims = f"{VICTIM},pair_victim:predict"
    found = done("transfer", "--victims", victims, "--data", pairs, "--no-base", "--out", str(out), "--device", "cpu")
    assert found["texts"] == 24
    assert {e["field"] for o in outcomes(out) for e in o["edits"]} <= {"hypothesis"}


def test_rules_are_put_to_the_hypothesis(tmp_path, pairs):
    rule = tmp_path / "rules.csv"
    rule.write_text("label,from,to,salience\n1,good,fine,2\n1,film,movie,1\n")
    out, other = tmp_path / "changed.csv", tmp_path / "other.csv"
    done("rules", "apply", str(rule), "--data", pairs, "--share", "1", "--out", str(out))
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert any("fine movie" in row["hypothesis"] for row in rows)
    assert all(row["premise"].startswith("the fine film of number") for row in rows)
    done("rules", "apply", str(rule), "--data", pairs, "--share", "1", "--fields", "premise", "--out", str(other))
    with other.open() as file:
        rows = list(csv.DictReader(file))
    assert any(row["premise"].startswith("the fine movie") for row in rows)
    assert all("film" in row["hypothesis"] for row in rows)
    done("rules", "show", str(rule), "--data", pairs, "--split", "all")
    done("attack", "rules", "--set", f"file={rule}", "--victim", VICTIM, "--data", pairs, "--out", str(tmp_path / "r"))
    assert {e["field"] for o in outcomes(tmp_path / "r") for e in o["edits"]} == {"hypothesis"}


def test_rules_are_mined_from_the_hypothesis(tmp_path, pairs):
    mined = tmp_path / "mined"
    done(
        "rules", "mine", "--victims", VICTIM, "--data", pairs, "--split", "all", "--out", str(mined), "--device", "cpu"
    )
    with (mined / "rules.csv").open() as file:
        words = {row["from"] for row in csv.DictReader(file)}
    assert "good" in words
    made = done("rules", "pmi", "--data", pairs, "--split", "all", "--out", str(tmp_path / "pmi"))
    assert made["texts"] == 24


def test_people_are_shown_pairs(tmp_path, pairs):
    out = tmp_path / "o"
    done("attack", "deepwordbug", "--victim", VICTIM, "--data", pairs, "--out", str(out))
    tasks = tmp_path / "tasks.json"
    words = ["humans", "export", str(out), "--ask", "label", "--out", str(tmp_path / "s.db"), "--json-file", str(tasks)]
    assert run(*words, "--quiet").exit_code == 0
    assert "the fine film of number" in tasks.read_text()


def test_a_pair_model_is_trained_and_attacked(tmp_path, pairs):
    name = "Pair-Transformer"
    rows = (tmp_path / "snli").read_text() * 8
    (tmp_path / "many").write_text(rows)
    model = tmp_path / "m"
    small = ["--set", "epochs=1", "--set", "dim=24", "--set", "inner=24"]
    figures = done("train", name, "--data", str(tmp_path / "many"), "--out", str(model), "--device", "cpu", *small)
    assert figures["train_rows"] > 100
    done("attack", "typos", "--victim", str(model), "--data", pairs, "--out", str(tmp_path / "o"), "--device", "cpu")
    assert len(outcomes(tmp_path / "o")) == 24
    (tmp_path / "single.csv").write_text("text,label\na good film,1\na bad film,0\n")
    words = ["--victim", str(model), "--data", str(tmp_path / "single.csv"), "--out", str(tmp_path / "x"), "--quiet"]
    result = run("attack", "typos", *words)
    assert isinstance(result.exception, VictimError)
    assert f"{name} reads a premise and a hypothesis" in str(result.exception)
    (tmp_path / "many.csv").write_text("text,label\n" + "".join(f"a film of {n},{n % 2}\n" for n in range(200)))
    result = run("train", name, "--data", str(tmp_path / "many.csv"), "--out", str(tmp_path / "y"), "--quiet")
    assert isinstance(result.exception, DataError)
    assert "reads a premise and a hypothesis, many.csv has text; give pairs" in str(result.exception)


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        ("premise\na man\n", DataError, "has the columns premise; expected"),
        ("premise,hypothesis,label\na man,,1\n,a dog,0\n", VictimError, "all 2 examples ended in an error"),
    ],
)
def test_half_pairs(tmp_path, content, error, said):
    (tmp_path / "x.csv").write_text(content)
    words = ["--victim", VICTIM, "--data", str(tmp_path / "x.csv"), "--out", str(tmp_path / "o"), "--quiet"]
    result = run("attack", "typos", *words)
    assert isinstance(result.exception, error)
    assert said in str(result.exception)


def test_a_field_that_is_not_there(tmp_path, pairs):
    words = ["--victim", VICTIM, "--data", pairs, "--out", str(tmp_path / "o"), "--fields", "text", "--quiet"]
    result = run("attack", "typos", *words)
    assert isinstance(result.exception, SettingError)
    assert "has no field 'text'; it has premise, hypothesis, or say both" in str(result.exception)
