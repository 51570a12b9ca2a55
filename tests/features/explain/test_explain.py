"""malaprop explain, as a user types it."""

from __future__ import annotations

import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from malaprop.core.errors import AssetError, DataError, SettingError
from malaprop.features.explain.command import explain

app = typer.Typer()
app.command()(explain)

VICTIM = "toy:predict"


@pytest.fixture(autouse=True)
def assets(tiny_assets):
    """Synonyms from a small list."""


def run(*arguments: str):
    return CliRunner().invoke(app, [*arguments], catch_exceptions=True)


def test_prints_the_text_and_the_words_that_matter():
    result = run("a good, bad film", "--victim", VICTIM)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("toy:predict: label ")
    assert lines[1] == "a good, bad film"
    assert {"good", "bad", "film"} <= {line.split()[0] for line in lines[3:]}


def test_the_last_line_is_json_and_the_folder_holds_the_heat_map(tmp_path):
    out = tmp_path / "heat"
    result = run(
        "a great film", "--victim", f"{VICTIM}, {VICTIM}", "--label", "1", "--out", str(out), "--json", "--quiet"
    )
    assert result.exit_code == 0, result.output
    assert len(result.stdout.strip().splitlines()) == 1
    summary = json.loads(result.stdout)
    assert summary["command"] == "explain"
    assert [v["label"] for v in summary["victims"]] == [1, 1]
    words = summary["victims"][0]["fields"][0]["words"]
    assert [w["word"] for w in words] == ["a", "great", "film"]
    assert [s["word"] for s in words[1]["substitutes"]] == ["fine", "good"]
    assert (out / "heat.html").is_file()
    assert (out / "heat.svg").is_file()


def test_many_texts_tell_over_how_many_words_importance_is_spread(tmp_path):
    data = tmp_path / "few.csv"
    data.write_text("text,label\na good film,1\nbad bad film,0\n")
    result = run("--data", str(data), "--victim", VICTIM, "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout.splitlines()[-1])
    assert summary["spread"] == {VICTIM: [pytest.approx(1 / 3, abs=1e-3), pytest.approx(2 / 3, abs=1e-3)]}
    assert summary["strongest"] == {VICTIM: [[0, 1, 2], [0, 1, 2]]}
    shown = run("--data", str(data), "--victim", VICTIM)
    assert shown.stdout.startswith(f"{VICTIM}: spread over ")
    assert not run("--data", str(data), "--victim", VICTIM, "--quiet").stdout
    for words in (("--victim", VICTIM), ("a film", "--data", str(data), "--victim", VICTIM)):
        assert isinstance(run(*words).exception, SettingError)


NAMED = """
import toy

from malaprop.models.victims.strings import StringVictim

plain = StringVictim(call=toy.predict, name="plain", label_names=("bad", "good"))
turned = lambda texts: [row[::-1] for row in toy.predict(texts)]
odd = StringVictim(call=turned, name="odd", label_names=("Good", "Bad"))
"""


@pytest.fixture
def named(tmp_path, monkeypatch):
    (tmp_path / "named_victims.py").write_text(NAMED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "named_victims", raising=False)
    yield "named_victims:plain,named_victims:odd"
    sys.modules.pop("named_victims", None)


def test_a_label_by_name_is_the_same_for_victims_that_number_them_otherwise(named):
    result = run("a great film", "--victim", named, "--label", "good", "--json", "--no-substitutes")
    assert result.exit_code == 0, result.output
    one, two = json.loads(result.stdout.splitlines()[-1])["victims"]
    assert (one["label"], two["label"]) == (1, 0)
    assert one["fields"] == two["fields"]
    assert "different labels" not in result.stderr


@pytest.mark.parametrize(
    ("victim", "label", "says"),
    [
        (None, "fine", "plain has the labels bad, good; --label takes one of them or a number, got 'fine'"),
        (VICTIM, "good", "toy:predict has no names for its labels; --label takes a number from 0, got 'good'"),
        (VICTIM, "-1", "--label takes a number from 0, got '-1'"),
    ],
)
def test_labels_that_no_victim_has_are_refused(named, victim, label, says):
    result = run("a great film", "--victim", victim or named, "--label", label)
    assert isinstance(result.exception, SettingError)
    assert says in str(result.exception)


def test_pairs_by_premise():
    result = run("a bad film", "--premise", "so good", "--victim", VICTIM, "--json", "--no-substitutes")
    fields = json.loads(result.stdout.splitlines()[-1])["victims"][0]["fields"]
    assert [f["name"] for f in fields] == ["premise", "hypothesis"]
    assert not any(w["substitutes"] for f in fields for w in f["words"])


def test_goes_on_without_wordnet(monkeypatch):
    def missing():
        raise AssetError("wordnet is not there")

    monkeypatch.setattr("malaprop.assets.wordnet.open_wordnet", missing)
    result = run("good", "--victim", VICTIM)
    assert result.exit_code == 0
    assert "synonyms are left out: wordnet is not there" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("...", "--victim", VICTIM), DataError),
        (("good", "--victim", " , "), SettingError),
        (("good", "--victim", VICTIM, "--label", "7"), SettingError),
        (("good", "--victim", VICTIM, "--out", __file__), SettingError),
    ],
)
def test_wrong_input_is_one_clear_error(arguments, error):
    result = run(*arguments)
    assert isinstance(result.exception, error)
    assert "\n" not in str(result.exception)
