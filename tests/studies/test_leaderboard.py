"""The leaderboard: what counts as left under attack, and what costs a victim a cell."""

from __future__ import annotations

import toy

import malaprop as mp
from malaprop.records.summary import Rate
from malaprop.studies.leaderboard import body, terminal

PAIRS = [("a great film", 1), ("a good film", 1), ("a bad film", 0), ("an awful film", 1), ("it explodes , good", 1)]


def brittle(texts):
    """Any word that it does not know turns the answer."""
    known = {word for text, _ in PAIRS for word in text.split()}
    odd = [bool(set(text.split()) - known) for text in texts]
    return [pair[::-1] if strange else pair for pair, strange in zip(toy.predict(texts), odd, strict=True)]


def board(*victims, attacks=("deepwordbug", "hotflip-char")):
    return mp.study("leaderboard", victims=victims, attacks=attacks, data=PAIRS, n=0)


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
    assert "nothing" in str(body([found.record]))


def test_texts_on_which_an_attack_fails_are_left_out():
    def fails(texts):
        if any("film" not in text and "explodes" not in text for text in texts):
            raise RuntimeError("boom")
        return toy.predict(texts)

    (entry,) = board(fails, attacks=("deepwordbug",)).record.entries
    assert entry.clean == Rate(4, 5)
    assert entry.under_all.total < 5
    assert entry.under["deepwordbug"].total == entry.under_all.total
