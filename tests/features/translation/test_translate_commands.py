"""malaprop train nmt-... and malaprop translate as a user types them."""

from __future__ import annotations

import json
import re
import sys

import pytest

from malaprop.cli.main import main
from malaprop.features.translation.record import TranslationRecord
from tests.features.translation.small_translators import PAIRS

SMALL = [
    word
    for pair in ("dim=16", "units=16", "epochs=2", "vocab=100", "tokens=256", "limit=24")
    for word in ("--set", pair)
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Pairs, a function that translates them, and a probe."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    monkeypatch.delenv("MALAPROP_DATA", raising=False)
    rows = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    (tmp_path / "pairs.tsv").write_text("src\ttgt\n" + rows)
    (tmp_path / "mine.py").write_text(
        "from tests.features.translation.small_translators import word_by_word\n"
        "def go(texts):\n    return [word_by_word(text) for text in texts]\n"
        "def fails(texts):\n    raise RuntimeError('asleep')\n"
        "def no_fish(source, output):\n    return 'Fisch' not in output\n"
    )
    monkeypatch.setattr(
        "malaprop.assets.lexicon.misspellings", lambda: {"cat": ("kat",), "dog": ("dgo",), "sees": ("seas",)}
    )
    return tmp_path


@pytest.fixture
def type_in(monkeypatch, capsys):
    def run(*words, code=0):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        ended = 0
        try:
            main()
        except SystemExit as end:
            ended = int(end.code or 0)
        out, err = capsys.readouterr()
        assert ended == code, err
        return out if code == 0 else err

    return run


def last(out):
    return json.loads(out.strip().splitlines()[-1])


def test_train_then_attack_and_report(here, type_in):
    trained = last(type_in("train", "nmt-lstm", "--data", "pairs.tsv", "--out", "m", "--json", *SMALL))
    assert trained["train_pairs"] + trained["test_pairs"] < len(PAIRS)
    done = last(type_in("translate", "attack", "--victim", "m", "--data", "pairs.tsv", "--keyword", "Hund,Katze",
                        "--n", 3, "--tries", 4, "--out", "a", "--json"))  # fmt: skip
    assert [run["attack"] for run in done["runs"]] == ["keyword Hund", "keyword Katze"]
    page = (here / "a" / "report.html").read_text()
    assert "Translation" in page
    assert "keyword Hund" in page
    won = sum(run["success"]["hits"] for run in done["runs"])
    assert page.count("Attention of a translation before and after</title>") == len(
        TranslationRecord.read(here / "a").sights
    )
    assert bool(TranslationRecord.read(here / "a").sights) == bool(won)
    type_in("report", "a", "--out", "again.html")
    assert "keyword Katze" in (here / "again.html").read_text()
    assert len(TranslationRecord.read(here / "a").runs) == 2
    again = type_in("translate", "attack", "--victim", "m", "--data", "pairs.tsv", "--keyword", "Hund,Katze", "--n", 3,
                    "--tries", 4, "--out", "a", "--json", "--resume")  # fmt: skip
    assert last(again)["runs"] == done["runs"]


def test_typos_probe_bleu_and_run(here, type_in):
    victim = ("--victim", "mine:go", "--data", "pairs.tsv")
    (typos,) = last(type_in("translate", "typos", *victim, "--out", "t", "--json"))["runs"]
    assert typos["bleu"]["after"]["value"] < typos["bleu"]["before"]["value"] == pytest.approx(100)
    (probed,) = last(type_in("translate", "probe", *victim, "--probe", "mine:no_fish", "--out", "p", "--json"))["runs"]
    assert probed["success"]["hits"] > 0
    (gone,) = last(
        type_in("translate", "probe", *victim, "--probe", "translation-disappears:cat", "--out", "d", "--json")
    )["runs"]
    assert gone["success"]["hits"] == 0  # word by word, a word that stays is always translated
    (fell,) = last(type_in("translate", "attack", *victim, "--goal", "bleu", "--drop", 0.3, "--out", "b", "--json"))[
        "runs"
    ]
    assert fell["success"]["hits"] > 0
    scored = last(type_in("translate", "run", *victim, "--out", "r", "--json"))
    assert scored["bleu"]["value"] == pytest.approx(100)
    assert len((here / "r" / "translations.jsonl").read_text().splitlines()) == len(PAIRS)
    assert type_in("translate", "run", "--victim", "mine:go", "--text", "a dog runs").startswith("ein Hund rennt.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("attack", "--victim", "mine:go", "--data", "pairs.tsv"), "needs a word"),
        (("attack", "--victim", "mine:go", "--data", "pairs.tsv", "--goal", "blue"), "bleu"),
        (("attack", "--victim", "mine:go", "--data", "one.csv", "--keyword", "x"), "source,target"),
        (("attack", "--victim", "mine:go", "--data", "empty.csv", "--keyword", "x"), "no rows"),
        (("attack", "--victim", "mine:go", "--data", "texts.csv", "--keyword", "x"), "source,target"),
        (("attack", "--victim", "mine:gone", "--data", "pairs.tsv", "--keyword", "x"), "go"),
        (("attack", "--victim", "nowhere", "--data", "pairs.tsv", "--keyword", "x"), "no translation model"),
        (("attack", "--victim", "mine:go", "--data", "pairs.tsv", "--keyword", "x", "--replace", "y"), "vocabulary"),
        (("probe", "--victim", "mine:go", "--data", "pairs.tsv", "--probe", "word-apears:x"), "word-apears"),
        (("run", "--victim", "mine:go"), "--source"),
        (("attack", "--victim", "mine:fails", "--data", "pairs.tsv", "--goal", "bleu"), "ended in an error.*asleep"),
        (("typos", "--victim", "mine:fails", "--data", "pairs.tsv"), "ended in an error.*asleep"),
    ],
)
def test_bad_input_is_said_in_one_line(here, type_in, words, said):
    (here / "one.csv").write_text("source\na b\n")
    (here / "empty.csv").write_text("")
    (here / "texts.csv").write_text("text,label\na,0\nb,1\n")
    err = type_in("translate", *words, code=2).strip()
    assert re.search(said, err)
    assert err.startswith("malaprop: ")
    assert len(err.splitlines()) == 1


def test_a_keyword_the_model_cannot_spell(here, type_in):
    type_in("train", "nmt-lstm", "--data", "pairs.tsv", "--out", "m", "--quiet", *SMALL)
    err = type_in("translate", "attack", "--victim", "m", "--data", "pairs.tsv", "--keyword", "日本", code=2)
    assert "cannot spell" in err
    err = type_in("train", "nmt-lstm", "--data", "pairs.tsv", "--set", "epoch=2", code=2)
    assert "epochs" in err
