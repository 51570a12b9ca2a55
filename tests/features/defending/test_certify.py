"""Certificates against brute force: on models small enough to ask about every copy and every changed text."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import predict

from malaprop.core.errors import SettingError
from malaprop.core.example import number_rows
from malaprop.core.text import Text, Words
from malaprop.features.defending.certify import Certifier, bound, lower_bound, radius
from malaprop.features.defending.lost_words import Masks, RanMask, share_touched
from malaprop.features.defending.safer import Sets, Swaps, make_sets
from malaprop.frame.runs.wrap import defend_by_spec
from malaprop.models.victims.strings import StringVictim

VOCABULARY = ("a", "b", "c")


@pytest.mark.parametrize(
    ("hits", "total", "alpha", "bound"),
    [(10, 10, 0.05, 0.05 ** (1 / 10)), (1, 1, 0.05, 0.05), (0, 10, 0.05, 0.0), (1, 10, 0.05, 1 - 0.95 ** (1 / 10))],
)
def test_bound_where_it_has_a_closed_form(hits, total, alpha, bound):
    assert lower_bound(hits, total, alpha) == pytest.approx(bound, abs=1e-9)


@given(st.integers(1, 60), st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_bound_is_wrong_as_seldom_as_it_says(total, chance):
    """Over all that can be drawn: the bound is above the true chance with a chance of at most alpha."""
    wrong = sum(
        comb(total, hits) * chance**hits * (1 - chance) ** (total - hits)
        for hits in range(total + 1)
        if lower_bound(hits, total, 0.05) > chance
    )
    assert wrong <= 0.05 + 1e-9


def chances(copies, answers):
    """Of each label, over copies that are equally likely."""
    found = np.zeros(3)
    for copy in copies:
        found[answers[copy]] += 1 / len(copies)
    return found


def masked(words, kept):
    return [
        tuple(word if place in chosen else "_" for place, word in enumerate(words))
        for chosen in combinations(range(len(words)), kept)
    ]


@given(st.integers(0, 1 << 30), st.sampled_from([0.2, 0.3, 0.5]))
@settings(max_examples=40, deadline=None)
def test_no_changed_text_contradicts_a_masking_certificate(seed, keep):
    """A random function of copies, every copy asked: within the radius no text of four words has another label."""
    rng, noise = np.random.default_rng(seed), Masks(keep=keep)
    favourite = int(rng.integers(3))
    spaces = product((*VOCABULARY, "_"), repeat=4)
    answers = {copy: favourite if rng.random() < 0.85 else int(rng.integers(3)) for copy in spaces}
    words = tuple(rng.choice(VOCABULARY, 4))
    text = Text.of(" ".join(words), Words())
    before = chances(masked(words, noise.kept(4)), answers)
    certified = radius(noise, text, *map(float, np.sort(before)[:-3:-1]))
    if certified is None:
        return
    for other in product(VOCABULARY, repeat=4):
        if sum(a != b for a, b in zip(words, other, strict=True)) <= certified:
            after = chances(masked(other, noise.kept(4)), answers)
            assert after.argmax() == before.argmax()


def test_of_several_labels_what_counts_is_the_lead_over_the_next():
    hits = np.asarray([520, 200, 160, 120])
    lower, upper = bound(hits, 0, 0.01)
    assert 0.45 < lower < 0.5  # no majority is sure
    assert 0.2 < upper < 0.26
    text = Text.of(" ".join("abcdefghij"), Words())
    assert radius(Masks(keep=0.1), text, lower) is None
    assert radius(Masks(keep=0.1), text, lower, upper) == 1  # the lead is above 0.2, and a word moves each by 0.1
    assert bound(hits[:2], 0, 0.01) == (lower_bound(520, 720, 0.01), 1 - lower_bound(520, 720, 0.01))


def test_masking_certificates_do_reach_a_word():
    """Else the test above could pass by never certifying anything."""
    text = Text.of(" ".join("abcdefghij"), Words())
    assert radius(Masks(keep=0.2), text, 0.85) == 1  # 1 - C(9,2)/C(10,2) = 0.2, and two words would be 0.378
    assert radius(Masks(keep=0.1), text, 1.0) == 4
    assert radius(Masks(keep=0.1), text, 0.5) is None


@pytest.mark.parametrize("changed", range(6))
def test_share_touched_is_what_counting_gives(changed):
    hits = sum(bool(set(chosen) & set(range(changed))) for chosen in combinations(range(5), 2))
    assert share_touched(5, 2, changed) == pytest.approx(hits / 10)


def random_sets(rng):
    """Six words, joined at random, and sets of both kinds over them."""
    words = list("uvwxyz")
    joints = [(float(rng.random()), a, b) for a, b in combinations(range(6), 2) if rng.random() < 0.5]
    matrix = rng.normal(size=(6, 3)).astype(np.float32)
    return words, [make_sets(words, joints, matrix, kind, most) for kind, most in (("classes", 3), ("nearest", 4))]


@given(st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_no_synonyms_contradict_a_certificate(seed):
    """A random function of three words, every copy asked: within the radius no choice of synonyms has another label."""
    rng = np.random.default_rng(seed)
    words, both = random_sets(rng)
    favourite = int(rng.integers(3))
    answers = {copy: favourite if rng.random() < 0.85 else int(rng.integers(3)) for copy in product(words, repeat=3)}
    here = tuple(rng.choice(words, 3))
    for sets in both:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("malaprop.features.defending.safer.open_sets", lambda *_, sets=sets: sets)
            noise, table = Swaps(), Words()
            text = Text.of(" ".join(here), table)
            before = chances(list(product(*(sets.drawn(w) for w in here))), answers)
            certified = radius(noise, text, *map(float, np.sort(before)[:-3:-1]))
            if certified is None:
                continue
            for other in product(words, repeat=3):
                changed = Text.of(" ".join(other), table)
                changes = noise.distance(text, changed)
                if changes is not None and changes <= certified:
                    after = chances(list(product(*(sets.drawn(w) for w in other))), answers)
                    assert after.argmax() == before.argmax()


def test_classes_are_apart_and_bounded():
    joints = [(0.95, 0, 1), (0.9, 1, 2), (0.85, 3, 4)]
    sets = make_sets(["a", "b", "c", "d", "e"], joints, np.eye(5, dtype=np.float32), "classes", 2)
    assert [sets.drawn(word) for word in "abcde"] == [("a", "b"), ("a", "b"), ("c",), ("d", "e"), ("d", "e")]
    assert sets.overlap("a") == sets.overlap("c") == 1.0
    assert "c" not in sets.synonyms


def test_nearest_sets_overlap_by_part():
    joints = [(0.9, 0, 1), (0.9, 1, 2), (0.9, 2, 3)]
    matrix = np.asarray([[1, 0], [0.9, 0.4], [0.4, 0.9], [0, 1]], np.float32)
    sets = make_sets(["a", "b", "c", "d"], joints, matrix, "nearest", 2)
    assert sets.synonyms["b"] == {"a", "c"}
    assert set(sets.drawn("a")) == {"a", "b"}
    assert set(sets.drawn("b")) == {"a", "b"}
    assert sets.overlap("a") == 1.0
    assert sets.overlap("b") == 0.0  # c draws from c and d


def test_a_case_of_its_own_is_not_covered(monkeypatch):
    sets = Sets({"good": frozenset({"fine"}), "fine": frozenset({"good"})}, lambda _: ("good", "fine"))
    monkeypatch.setattr("malaprop.features.defending.safer.open_sets", lambda *_: sets)
    table, noise = Words(), Swaps()
    origin = Text.of("Good film", table)
    assert noise.distance(origin, Text.of("Fine film", table)) == 1
    assert noise.distance(origin, Text.of("fine film", table)) is None
    assert noise.distance(origin, Text.of("Bad film", table)) is None
    assert noise.distance(origin, Text.of("Fine film!", table)) is None
    copies = noise.draw(origin, 50, "unk", np.random.default_rng(0))[0].texts()
    assert {str(copy) for copy in copies} == {"Good film", "Fine film"}


def test_copies_keep_as_many_words_as_they_say():
    text = Text.of("one two three four five", Words())
    copies = Masks(keep=0.4).draw(text, 30, "unk", np.random.default_rng(0))[0].texts()
    assert {sum(word != "unk" for word in copy.strings) for copy in copies} == {2}
    assert len({str(copy) for copy in copies}) > 5
    assert [
        str(c) for c in Masks(keep=0.4).draw(Text.of("...", Words()), 2, "unk", np.random.default_rng(0))[0].texts()
    ] == ["..."] * 2


def test_answers_are_shares_of_votes_that_hang_on_text_and_seed_alone():
    victim = StringVictim(call=predict)
    texts = [("a good film that is fine",), ("an awful thing",), ("nothing here",)]
    whole = defend_by_spec("ranmask:keep=0.5:samples=20", victim)
    answers = whole.predict(texts)
    assert np.allclose(answers.sum(1), 1)
    assert np.allclose(answers * 20, np.round(answers * 20), atol=1e-4)
    assert (defend_by_spec("ranmask:keep=0.5:samples=20", victim).predict(texts[1:2]) == answers[1:2]).all()
    assert answers[0, 1] > 0.5 > answers[1, 1]
    assert (whole.at(7).predict(texts) != answers).any()


def test_certificates_of_a_victim():
    examples = list(number_rows([({"text": "a good film , great and fine , good great"}, 1), ({"text": "dull"}, 1)]))
    noise = RanMask(keep=0.5).noise
    found = list(Certifier(samples=400, select=50).certify(StringVictim(call=predict), noise, examples))
    first, second = found
    assert (first.prediction, first.words, first.right) == (1, 8, True)
    assert first.lower > 0.97
    assert first.radius == 0  # one word of eight is kept half of the time: half of the votes may go
    assert first.holds(0)
    assert not first.holds(1)
    assert not second.right  # what says nothing goes to the first label
    again = list(Certifier(samples=400, select=50).certify(StringVictim(call=predict), noise, examples[1:]))
    assert again == [second]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("ranmask:keep=0", "above 0 and below 1"),
        ("ranmask:samples=1", "one sample"),
        ("safer:sets=all", "'classes' or 'nearest'"),
        ("safer:most=1", "at least 2 words"),
        ("safer:vote=loudest", "majority"),
    ],
)
def test_bad_settings(spec, said):
    with pytest.raises(SettingError, match=said):
        defend_by_spec(spec, StringVictim(call=predict))


def test_bad_alpha():
    with pytest.raises(SettingError, match="alpha"):
        Certifier(alpha=0)


def test_a_certificate_speaks_of_the_plain_answers():
    """A fast path of fewer bits may be off, so votes are not taken there."""

    class Rounded(StringVictim):
        rounding = 0.1

        def finish(self, begun):
            return StringVictim.finish(self, begun)[:, ::-1]  # as wrong as can be

    plain, rounded = (kind(call=predict) for kind in (StringVictim, Rounded))
    texts = list(number_rows([({"text": "a good great film"}, 1), ({"text": "a bad awful film"}, 0)]))
    certifier = Certifier(samples=50, select=20)
    found = [list(certifier.certify(victim, Masks(keep=0.9), texts)) for victim in (plain, rounded)]
    assert found[0] == found[1]
