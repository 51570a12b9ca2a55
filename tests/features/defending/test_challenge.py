"""Certificates put to the test: every deletion, changed texts that find a wrong certificate, and curves."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
import toy
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import predict

from malaprop.attacks.constraints.edits import levenshtein
from malaprop.attacks.goals.goal import Confident
from malaprop.core.errors import SettingError
from malaprop.core.example import number_rows
from malaprop.core.text import Text, Words
from malaprop.features.defending.certified_record import Certificate
from malaprop.features.defending.certify import Certifier, radius
from malaprop.features.defending.challenge import challenge, draw_top, limit_words
from malaprop.features.defending.lost_words import Masks, WordDrops
from malaprop.features.defending.safer import Sets, Swaps
from malaprop.features.defending.smooth import answer_by_vote, cut_text
from malaprop.frame.records.outcome import Outcome, Side
from malaprop.frame.runs.defended import Counters
from malaprop.frame.runs.make_attack import make_attack
from malaprop.frame.runs.wrap import defend_by_spec
from malaprop.models.victims.strings import StringVictim

VOCABULARY = ("a", "b", "c")


def chance_of(label, words, delete, answers):
    """Of a label over all copies of a text, each weighed by how likely it is."""
    total = 0.0
    for many in range(len(words) + 1):
        weight = (1 - delete) ** many * delete ** (len(words) - many)
        total += sum(weight for kept in combinations(words, many) if answers[kept] == label)
    return total


@given(st.integers(0, 1 << 30), st.sampled_from([0.6, 0.8, 0.9]))
@settings(max_examples=25, deadline=None)
def test_no_edited_text_contradicts_a_deletion_certificate(seed, delete):
    """A random function of copies, every copy asked: within the radius no text of up to five words, made by whatever
    words replaced, added and deleted, has another label."""
    rng, noise = np.random.default_rng(seed), WordDrops(delete=delete)
    copies = [copy for size in range(6) for copy in product(VOCABULARY, repeat=size)]
    rare = rng.random() / 2
    answers = {copy: int(rng.integers(3)) if len(copy) > 2 or rng.random() < rare else 0 for copy in copies}
    words = tuple(rng.choice(VOCABULARY, int(rng.integers(1, 4))).tolist())
    first, *others = (chance_of(label, words, delete, answers) for label in range(3))
    certified = radius(noise, Text.of(" ".join(words), Words()), first, max(others))
    for other in copies if certified is not None else ():
        if levenshtein(words, other) <= certified:
            found = [chance_of(label, other, delete, answers) for label in range(3)]
            assert found[0] > max(found[1:])


def test_deletion_certificates_reach_as_far_as_the_bound_says():
    text = Text.of("a b c", Words())
    assert radius(WordDrops(delete=0.9), text, 1.0) == 6  # 0.9**6 is 0.531, 0.9**7 is 0.478
    assert radius(WordDrops(delete=0.9), text, 0.7) == 2  # 0.7 - (1 - 0.81) is above one half
    assert radius(WordDrops(delete=0.9), text, 0.6) == 0
    assert radius(WordDrops(delete=0.9), text, 0.5) is None


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("a b c", "a b c", 0), ("a b c", "a x c", 1), ("a b c", "b c", 1), ("a b", "a x y b", 2), ("", "a b", 2)],
)
def test_distance_counts_words_and_no_punctuation(one, other, edits):
    table, noise = Words(), WordDrops()
    assert noise.distance(Text.of(one, table), Text.of(other.replace(" ", ", "), table)) == edits


def test_copies_are_what_is_left_of_the_words():
    text = Text.of("One, two; three.", Words())
    drawn = WordDrops(delete=0.5).draw(text, 200, "unk", np.random.default_rng(0))
    found = Counter(str(copy.pick(0)) for copy in drawn)
    assert sum(found.values()) == 200
    kept = {" ".join(some) or "unk" for size in range(4) for some in combinations(("One", "two", "three"), size)}
    assert set(found) == kept
    pair = Text.of({"0": "one two", "1": "three"}, Words())
    sides = {copy.pick(0).values() for copy in WordDrops(delete=0.5).draw(pair, 60, "unk", np.random.default_rng(0))}
    assert sides == set(product(("one two", "one", "two", "unk"), ("three", "unk")))


def test_where_copies_are_few_all_are_asked_and_the_bound_is_the_chance():
    asked = Counter()

    def call(texts):
        asked.update(texts)
        return predict(texts)

    examples = list(number_rows([({"text": "a good film and a fine one"}, 1)]))
    (found,) = Certifier(samples=40, select=5).certify(StringVictim(call=call), Masks(keep=0.3), examples)
    assert found.exact
    assert found.lower == found.hits / 21
    assert sorted(asked.values()) == [1] * 21
    (drawn,) = Certifier(samples=20, select=5).certify(StringVictim(call=call), Masks(keep=0.3), examples)
    assert not drawn.exact
    assert drawn.lower < drawn.hits / 20


def test_a_copy_that_is_drawn_twice_is_asked_once_and_votes_twice():
    asked = Counter()

    def call(texts):
        asked.update(texts)
        return predict(texts)

    text = cut_text(("a good film",), Words())
    votes = answer_by_vote(StringVictim(call=call), Masks(keep=0.3), [text] * 2, 50, [0, 1], Counters())
    assert set(asked.values()) == {1}
    assert (np.abs(votes[:, 1] - 1 / 3) < 0.2).all()


def test_a_vote_is_by_as_many_copies_as_bound_a_certificate():
    """Not by the few that say which label to bound: three copies in ten have lost the word that counts."""
    victim = StringVictim(call=lambda texts: [[0.2, 0.8] if "good" in text else [0.8, 0.2] for text in texts])
    texts = [cut_text((f"good {number}",), Words()) for number in range(30)]
    found = [Certifier(samples=300, select=1).vote(victim, WordDrops(delete=0.3), [text])[0] for text in texts]
    assert found == [1] * 30


def test_a_vote_that_few_copies_turn_by_chance_contradicts_nothing():
    """The text has its label by a hair: 30 copies are often wrong about it, 600 are not."""
    victim = StringVictim(call=lambda texts: [[0.2, 0.8] if "good" in text else [0.8, 0.2] for text in texts])
    examples = list(number_rows([({"text": f"good {n}"}, 1) for n in range(20)]))
    line = Certificate(id="", label=1, prediction=1, hits=30, lower=0.9, words=2, changeable=None, radius=1)
    lines = [replace(line, id=example.id) for example in examples]

    class Still(WordDrops):
        def change(self, text, words, fresh, rng):
            return text.values()

    found = challenge(Certifier(samples=30), victim, Still(delete=0.42), examples, lines, 20)
    assert found.flipped > 0
    assert found.contradicted == 0


def wrong_certificates(texts):
    """Of texts of which the vote hangs on every word: each is said to stand any change."""
    examples = list(number_rows([({"text": text}, 1) for text in texts]))
    noise, certifier = Masks(keep=0.4), Certifier(samples=60, select=20)
    lines = list(certifier.certify(StringVictim(call=predict), noise, examples))
    return examples, noise, certifier, [replace(line, radius=line.words) for line in lines]


def test_a_wrong_certificate_is_found_and_right_ones_are_not():
    texts = [
        "good great fine good great fine good great fine good",
        "good fine great good fine great good fine good fine",
    ]
    examples, noise, certifier, wrong = wrong_certificates(texts)
    victim = StringVictim(call=predict)
    lines = list(certifier.certify(victim, noise, examples))
    found = challenge(certifier, victim, noise, examples, lines, 30)
    assert (found.texts, found.tries, found.contradicted) == (2, 30, 0)
    more = [*examples, *number_rows([({"text": "bad awful dull bad awful dull"}, 0)])]
    found = challenge(certifier, victim, noise, more, wrong, 40)
    assert found.flipped >= found.contradicted > 10
    assert challenge(certifier, victim, noise, examples, [replace(line, radius=0) for line in lines], 9).tries == 0


def attacked(example, text):
    before, after = (Side(fields={"text": t}, prediction=1, scores=(0.1, 0.9)) for t in (example.fields["text"], text))
    return Outcome(id=example.id, status="success", label=1, original=before, adversarial=after)


def test_what_an_attack_leaves_by_the_words_it_changed():
    texts = ["good great fine good great fine"] * 3
    examples, noise, certifier, wrong = wrong_certificates(texts)
    right = [replace(line, radius=0) for line in wrong]
    changed = ["bad awful dull bad great fine", "good great fine good great fine", "bad awful bad dull awful fine"]
    outcomes = [attacked(example, text) for example, text in zip(examples, changed, strict=True)]
    victim = StringVictim(call=predict)
    top = draw_top(certifier, victim, noise, right, outcomes, 5)
    # the second "success" is none when as many copies vote as certified the text
    assert [rate.hits for rate in top.accuracy] == [3, 3, 3, 3, 2, 1]
    assert (top.inside, top.contradicted) == (0, 0)
    assert draw_top(certifier, victim, noise, wrong, outcomes, 5).contradicted == 2


def test_attacks_stay_inside_what_certificates_speak_of(monkeypatch):
    sets = Sets({"good": frozenset({"fine"}), "fine": frozenset({"good"})}, lambda _: ("good", "fine"))
    monkeypatch.setattr("malaprop.features.defending.safer.open_sets", lambda *_: sets)
    attack = make_attack("deepwordbug", {})
    assert limit_words(Masks(), attack, 3, 100).constraints[-1].count == 3
    assert limit_words(Masks(), attack, 3, 100).goal == Confident(floor=0.6)
    assert all(s.constraints[-1].count == 3 for s in limit_words(Masks(), make_attack("strongest", {}), 3, 9).stages)
    few = limit_words(Swaps(), attack, 2, 100)
    assert few.candidates.noise == Swaps()
    table = Words()
    origin = Text.of("A good, good film", table)
    for seed in range(5):
        changed = Text.of(Swaps().change(origin, 1, ("bad",), np.random.default_rng(seed))[0], table)
        assert Swaps().distance(origin, changed) == 1
        edited = cut_text(WordDrops().change(origin, 2, ("bad",), np.random.default_rng(seed)), table)
        assert WordDrops().distance(origin, edited) <= 2


@pytest.mark.parametrize("delete", [0, 1, 1.5])
def test_a_chance_that_is_none(delete):
    with pytest.raises(SettingError, match=f"above 0 and below 1, got {delete}"):
        defend_by_spec(f"randel:delete={delete}", toy.victim())
