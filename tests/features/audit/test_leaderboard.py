"""The leaderboard: what counts as left under attack, and what costs a victim a cell."""

from __future__ import annotations

import sys

import pytest
import toy

import malaprop as mp
from malaprop.cli.main import main
from malaprop.features.audit.leaderboard import body, terminal
from malaprop.frame.records.summary import Rate

PAIRS = [("a great film", 1), ("a good film", 1), ("a bad film", 0), ("an awful film", 1), ("it explodes , good", 1)]


def brittle(texts):
    """Any word that it does not know turns the answer."""
    known = {word for text, _ in PAIRS for word in text.split()}
    odd = [bool(set(text.split()) - known) for text in texts]
    return [pair[::-1] if strange else pair for pair, strange in zip(toy.predict(texts), odd, strict=True)]


def board(*victims, attacks=("deepwordbug", "hotflip-char")):
    return mp.study("leaderboard", victims=victims, attacks=attacks, data=PAIRS, n=0, validity="paper")


def test_the_ranking_counts_texts_that_no_attack_has_broken():
    found = board(brittle, toy.predict)
    first, second = found.record.entries
    assert (first.victim, second.victim) == ("predict", "brittle")
    assert first.clean == second.clean == Rate(4, 5)
    assert second.under_all == Rate(0, 5)
    assert second.under == {"deepwordbug": Rate(0, 5)}
    assert second.not_run == {"hotflip-char": "needs characters and gradients"}
    assert "1. predict" in terminal(found.record)
    assert [row["rank"] for row in found.rows] == [1, 2]


def test_a_victim_that_cannot_be_loaded_costs_its_row_alone(tmp_path):
    found = board(toy.predict, str(tmp_path / "nothing"), attacks=("deepwordbug",))
    last = found.record.entries[-1]
    assert (last.clean, last.under_all) == (None, None)
    assert "nothing" in last.reason
    assert [row["reason"] for row in found.view.summary["ranking"]] == [None, last.reason]
    assert "nothing" in str(body([found.record]))


def test_texts_on_which_an_attack_fails_are_left_out():
    def fails(texts):
        if any("film" not in text and "explodes" not in text for text in texts):
            raise RuntimeError("boom")
        return toy.predict(texts)

    found = board(fails, attacks=("deepwordbug",))
    (entry,) = found.record.entries
    assert "boom" in entry.errors["deepwordbug"]
    assert "texts ended in an error" in found.view.notes[0]
    assert "boom" in str(body([found.record]))
    assert entry.clean == Rate(4, 5)
    assert entry.under_all == entry.under["deepwordbug"]


def test_a_missing_file_is_said_once_and_before_any_victim(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = "study leaderboard --victims toy:predict,toy:weigh --attacks typos --data gone.csv --out board"
    monkeypatch.setattr(sys, "argv", ["malaprop", *line.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("malaprop: no such file: gone.csv; give a file that exists")
    assert not (tmp_path / "board").exists()


def test_labels_name_the_answers_of_a_function_that_gives_names_alone(tmp_path, monkeypatch):
    """Where they are not named behind the function itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("malaprop.frame.tasks.workers.processes.PRELOAD", ())
    (tmp_path / "naming.py").write_text(
        "import toy\n\ndef name(texts):\n    return ['good' if b > a else 'bad' for a, b in toy.predict(texts)]\n"
    )
    rows = [f"a {word} film {n},{label}" for n in range(3) for word, label in (("great", "good"), ("awful", "bad"))]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    given = {"victims": ["naming:name"], "attacks": ["typos"], "data": "rows.csv", "n": 0, "validity": "paper"}
    for more in ({"labels": ["good", "bad"]}, {"labels": "bad,good", "jobs": 2}):
        (entry,) = mp.study("leaderboard", **given, **more).record.entries
        assert entry.clean == Rate(6, 6), entry.reason
    (entry,) = mp.study("leaderboard", **given).record.entries  # the data name them too
    assert entry.clean == Rate(6, 6)
