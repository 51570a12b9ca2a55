"""HotFlip on a small trained model: its estimates, its outcomes, and texts that are hard to read."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from fuzz import fuzzed
from small_chars import BAD, GOOD, LIMIT, texts, victim

from malaprop.attacks.recipes.hotflip import hotflip_char, hotflip_char_greedy, hotflip_word, key_star
from malaprop.core.gradient import Aim, CharLook
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.data import of
from malaprop.frame.records.outcome import compare_key, from_json, to_json
from malaprop.frame.runs.local import run
from malaprop.zoo.gradients.character_edits import edit_word


def attacked(attack, rows, **more):
    found = {o.id: o for o in run(attack, victim(), rows, **more)}
    return [found[e.id] for e in rows]


def broken(outcomes) -> int:
    return sum(o.status == "success" for o in outcomes)


def all_edits(string, label):
    """Every allowed edit of a text as a variant, its estimated gain and its exact one."""
    text = Text.of(string, Words())
    asked = CharLook(text=text, aim=Aim(label=label), slots=np.arange(text.slots), most=None, new_words=False)
    (seen,) = victim().gradients.chars([asked])
    made = [(e, w) for e in range(len(seen)) if (w := seen.word(e))]
    kept = np.asarray([e for e, _ in made])
    pool = Pool([Variants(text, seen.slots[kept], text.table.ids([w for _, w in made]))])
    scores = victim().finish(victim().begin(pool, np.arange(pool.size)))
    return seen.gains[kept], np.log(seen.answer[label]) - np.log(scores[:, label]), seen


def test_estimates_agree_with_the_exact_loss_of_every_edit():
    agreed = []
    for example in texts(12, seed=1):
        estimate, change, seen = all_edits(example.fields["text"], example.label)
        assert len(estimate) > 0.9 * len(seen), "few edits turn out to be barred"
        one, two = (np.argsort(np.argsort(x)) for x in (estimate, change))
        agreed.append(np.corrcoef(one, two)[0, 1])
        best = change[np.argmax(estimate)]
        assert (change < best).mean() > 0.5, "what is estimated best is better than most"
    assert np.mean(agreed) > 0.4, agreed


def test_the_model_is_broken_by_new_words_within_the_budget():
    rows = texts(16, seed=2)
    outcomes = attacked(hotflip_char(), rows)
    known = victim().gradients.vocab.closed.index
    assert broken(outcomes) >= 8
    for outcome in outcomes:
        if outcome.status == "success":
            most = sum(not c.isspace() for c in outcome.original.text) // 10
            assert 1 <= len(outcome.edits) <= most
            assert all(e.after not in known for e in outcome.edits)
            (row,) = victim().predict([(outcome.adversarial.text,)])
            assert int(row.argmax()) == outcome.adversarial.prediction != outcome.label
    free = attacked(hotflip_char(new_words=False), rows)
    assert broken(free) >= broken(outcomes) - 1


def test_a_beam_beats_greed_and_greed_beats_chance():
    rows = texts(40, seed=3)
    beam, greedy, chance = (broken(attacked(a, rows)) for a in (hotflip_char(), hotflip_char_greedy(), key_star()))
    assert beam >= greedy > chance


@pytest.mark.parametrize("settings", [{}, {"anchored": True}, {"odds": True}, {"confidence": 0.9}])
def test_width_and_order_change_nothing(settings):
    rows = texts(8, seed=4)
    alone = [compare_key(o) for o in attacked(hotflip_char(width=4, **settings), rows, width=1)]
    assert [compare_key(o) for o in attacked(hotflip_char(width=4, **settings), rows[::-1], width=64)] == alone[::-1]


def test_words_can_be_swapped_by_the_same_model():
    attack = hotflip_word()
    from malaprop.attacks.candidates.lookup import Listed

    table = dict.fromkeys(GOOD, BAD) | dict.fromkeys(BAD, GOOD)
    made = attack.but(candidates=Listed(table=table), constraints=())
    outcomes = attacked(made, texts(10, seed=5))
    assert broken(outcomes) >= 5
    assert all(len(o.edits) <= 2 for o in outcomes)


HARD = {
    "one character": "x",
    "all marks": "?! ... -- ;",
    "emoji": "👍 good 👩‍👩‍👧 film 🎬🎬 great 🙂 lovely",
    "combining": "g\u0301o\u0308o\u0301d fi\u0301lm greát lovely ṡuperb",
    "foreign": "Отличный фильм 素晴らしい映画 lovely film",
    "long": "good lovely film and plot " * 400,
    "one long word": "g" + "o" * 10_000 + "d",
    "hyphens and quotes": "well-made 'n' don't o'clock good-good-good’s film",
    "cases": "GOOD İstanbul ﬁlm ẞuper Great ǅungla",
    "digits": "2 22 222 2222",
    "no letters of the alphabet": "ααα βββ γγγ",
}


@pytest.mark.parametrize("attack", [hotflip_char(width=3), hotflip_char_greedy(), key_star()], ids=lambda a: a.name)
def test_hard_texts_are_attacked_or_set_aside_with_a_reason(attack):
    rows = list(of([(text, label) for text in HARD.values() for label in (0, 1)]))
    for outcome in attacked(attack.but(budget=40), rows):
        if outcome.reason == "no words to change":
            assert outcome.status == "failed"
            assert outcome.original.text == HARD["all marks"]
        elif outcome.status == "skipped":
            assert outcome.reason == "the victim does not give the true label"
        else:
            assert outcome.status in ("success", "failed")
            assert outcome.adversarial is not None


def test_fuzzed_strings_end_in_valid_records():
    rng = random.Random(5)
    strings = dict.fromkeys(
        fuzzed(rng) + rng.choice(["", " good", " a lovely film", "\u0301", "great"]) for _ in range(60)
    )
    rows = list(of([(text, i % 2) for i, text in enumerate(strings)]))
    outcomes = attacked(hotflip_char(width=2).but(budget=8), rows)
    for outcome in outcomes:
        assert from_json(to_json(outcome)) == outcome
        assert outcome.status != "error", outcome.reason
    assert {"success", "skipped"} <= {o.status for o in outcomes}


def test_words_behind_the_limit_are_left_alone():
    text = Text.of("film " * (LIMIT + 5) + "good", Words())
    look = CharLook(text=text, aim=Aim(label=0), slots=np.arange(text.slots), most=None)
    (seen,) = victim().gradients.chars([look])
    assert set(seen.slots.tolist()) == set(range(LIMIT))


@pytest.mark.parametrize(
    ("word", "piece", "place", "kind", "char", "wanted"),
    [
        ("good", 0, 0, 0, "f", ("food", "food")),
        ("Good", 0, 0, 0, "f", ("Food", "food")),
        ("GOOD", 0, 4, 1, "s", ("GOODS", "goods")),
        ("good", 0, 3, 2, "", ("goo", "goo")),
        ("well-made", 1, 0, 0, "f", ("well-fade", "fade")),
        ("film's", 0, 3, 2, "", ("fil's", "fil")),
        ("don't", 0, 0, 1, "x", ("xdon't", "xdo")),
        ("don't", 0, 1, 0, "'", None),  # it would fall apart in another place
        ("İx", 0, 0, 2, "", None),
        ("good", 1, 0, 0, "f", None),
    ],
)
def test_edits_of_a_word_and_of_its_token(word, piece, place, kind, char, wanted):
    found = edit_word(word, piece, place, kind, char)
    if wanted is not None and word == "don't":
        assert found is not None
        assert found[0] == wanted[0]
    else:
        assert found == wanted or (wanted is None and (found is None or found[0] != word))


def test_what_the_gradient_saves():
    """Section 3.3: one pass for the L x |V| queries of the exact attack. Processor time, same process, same texts."""
    rows = texts(3, seed=6)
    took, hits = [], []
    for exact in (False, True):
        attacked(hotflip_char_greedy(exact=exact), rows[:1])  # what a process does once, it does here
        began = time.process_time()
        outcomes = attacked(hotflip_char_greedy(exact=exact), rows)
        took.append(time.process_time() - began)
        hits.append(sum(o.queries.asked for o in outcomes))
    assert hits[1] > 50 * hits[0]
    assert took[1] > 3 * took[0]
