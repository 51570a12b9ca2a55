"""SWITCH: which words give way, to what, and that draws depend on the seed and the text alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import toy
from hypothesis import given
from hypothesis import strategies as st
from small_victims import bert, words

from malaprop.core.errors import SettingError
from malaprop.core.gradient import Aim
from malaprop.core.text import Text, Words
from malaprop.frame.runs.defended import Counters, cut_up
from malaprop.papers.firebert.important import weigh
from malaprop.papers.firebert.switch import Switch
from malaprop.zoo.gradients.word_sizes import token_gradients, word_sizes

PLAIN = Switch(words=2, alternatives=8, multiplier=1, similarity="off")


@pytest.fixture(autouse=True)
def _small(tiny_assets, monkeypatch):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)


def switched(before: str, after: str) -> dict[str, str]:
    pairs = zip(before.split(), after.split(), strict=True)
    return {one: two for one, two in pairs if one != two}


def test_words_are_ranked_by_leaving_each_out_where_there_are_no_gradients():
    counters = Counters()
    (found,) = weigh(toy.victim(), cut_up([("the fine film is great",)]), counters)
    assert [found.text.strings[slot] for slot in found.slots] == ["great", "fine", "film"]  # stop words are out
    assert counters.left_out
    assert counters.inner == 1 + 3
    assert found.answer.argmax() == 1


def test_alternatives_switch_the_most_important_words_for_neighbours_of_their_part():
    (found,) = PLAIN.alternatives_of([("the fine film is great",)], toy.victim(), seed=3)
    assert len(found) == 8
    for (text,) in found:
        changes = switched("the fine film is great", text)
        assert set(changes) <= {"great", "fine"}
        assert changes["great"] in ("fine", "good")
        assert changes["fine"] == "poor"  # okay is a noun or a verb
    assert {switched("the fine film is great", text)["great"] for (text,) in found} == {"fine", "good"}


def test_any_part_of_speech_where_that_is_asked_for():
    (found,) = PLAIN.but(part="any").alternatives_of([("the fine film is great",)], toy.victim())
    assert {text.split()[1] for (text,) in found} == {"okay", "poor"}


def test_one_candidate_is_the_nearest_and_case_is_kept():
    (found,) = PLAIN.but(candidates=1, words=3).alternatives_of([("A GREAT Film , Good",)], toy.victim())
    assert set(found) == {("A FINE Movie , Fine",)}


def test_unknown_words_are_passed_over_for_the_next_important():
    (found,) = PLAIN.but(words=1).alternatives_of([("the poor film",)], toy.victim())
    assert {text.split()[1] for (text,) in found} == {"poor"}  # it weighs most, and has no neighbours of its part
    assert {text.split()[2] for (text,) in found} <= {"movie", "picture"}


def test_a_text_without_such_words_has_no_alternative():
    assert PLAIN.alternatives_of([("the of and",), ("",), ("good film",)], toy.victim())[:2] == [[], []]


def test_of_a_pair_the_last_field_is_switched_unless_all_are_asked_for():
    pair = ("good film", "bad film")
    (last,) = PLAIN.alternatives_of([pair], toy.victim(lambda texts: toy.predict([" ".join(t) for t in texts])))
    assert {one for one, _ in last} == {"good film"}
    assert "bad film" not in {two for _, two in last}
    both = PLAIN.but(side="all", words=4)
    (found,) = both.alternatives_of([pair], toy.victim(lambda texts: toy.predict([" ".join(t) for t in texts])))
    assert "good film" not in {one for one, _ in found}


@given(st.lists(st.sampled_from([e.fields["text"] for e in toy.some_examples(30)]), min_size=1, max_size=6), st.data())
def test_draws_depend_on_the_seed_and_the_text_alone(texts, data):
    seed = data.draw(st.integers(0, 5))
    together = PLAIN.alternatives_of([(t,) for t in texts], toy.victim(), seed=seed)
    alone = [PLAIN.alternatives_of([(t,)], toy.victim(), seed=seed)[0] for t in texts]
    assert together == alone


def test_another_seed_draws_others():
    text = [("good great awful bad film",)]
    draws = {tuple(Switch(words=5, alternatives=4, similarity="off").alternatives_of(text, toy.victim(), seed=s)[0])
             for s in range(6)}  # fmt: skip
    assert len(draws) > 1


class Letters:
    """An encoder for which a text is its letters; one word turns it round."""

    def encode(self, strings):
        found = np.asarray(toy.encode(strings), np.float32)
        found[["poor" in string for string in strings]] *= -1
        return found


@pytest.mark.parametrize("similarity", ["filter", "rank"])
def test_similarity_filters_or_ranks(monkeypatch, similarity):
    monkeypatch.setattr("malaprop.papers.firebert.switch.encoder", lambda _: Letters())
    how = Switch(words=2, alternatives=4, multiplier=5, similarity=similarity, part="any")
    assert how.count == 20
    (found,) = how.alternatives_of([("fine film",)], toy.victim(), seed=1)
    assert len(found) == 4
    assert not any("poor" in text for (text,) in found)
    (all_gone,) = how.but(part="same").alternatives_of([("fine film",)], toy.victim(), seed=1)
    assert len(all_gone) == (0 if similarity == "filter" else 4)  # ranked, even the worst are given


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"words": 0}, "words must be a whole number"),
        ({"candidates": 101}, "100 neighbours"),
        ({"alternatives": 1.5}, "whole number"),
        ({"alternatives": 4000, "multiplier": 2}, "do not fit in memory"),
        ({"similarity": "some"}, "off, rank, filter"),
        ({"floor": 2}, "cosine"),
        ({"side": "first"}, "last, all"),
    ],
)
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(SettingError, match=said):
        Switch(**settings)


@pytest.mark.parametrize("make", [words, bert])
def test_sizes_are_lengths_of_gradients_summed_over_the_tokens_of_a_word(make):
    victim = make()
    found = token_gradients(victim)
    table = Words()
    texts = [Text.of("the great film .", table, 0), Text.of("good", table, 1), Text.of("awful bad good film", table, 2)]
    sized = word_sizes(found, texts)
    for text, one in zip(texts, sized, strict=True):
        (alone,) = word_sizes(found, [text])
        assert alone.sizes == pytest.approx(one.sizes, rel=1e-3)
        assert victim.predict([text.values()])[0] == pytest.approx(one.answer, abs=1e-5)
        ids, lengths = torch.from_numpy(one.laid.row)[None], torch.tensor([len(one.laid.row)])
        slopes, _ = found.slopes(ids, lengths, [Aim(label=int(one.answer.argmax()), odds=True)])
        lengths_of = slopes[0].norm(dim=1)
        for slot, (start, many) in enumerate(zip(one.laid.start, one.laid.size, strict=True)):
            assert one.sizes[slot] == pytest.approx(float(lengths_of[start : start + many].sum()), rel=1e-3)
    assert max(one.laid.size.max() for one in sized) == (2 if make is bert else 1)


def test_words_beyond_what_the_victim_reads_are_not_important():
    (found,) = weigh(words(limit=2), cut_up([("good film bad great",)]), Counters())
    assert sorted(found.slots) == [0, 1]
