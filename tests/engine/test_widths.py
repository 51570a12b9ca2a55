"""The same outcomes at any width, in any order, with any memory."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest
import toy
from toy import attack_all, listed

from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.constraints.words import SameTag
from malaprop.attacks.ranking.order import AnyOrder, LeaveOneOut, Saliency, UnknownWord
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.sampling import Exhaustive, Random
from malaprop.core.text import Words
from malaprop.frame.records.outcome import compare_key
from malaprop.models.victims.strings import StringVictim

ATTACKS = {
    "greedy": listed(),
    "pwws": listed(search=Greedy(rank=Saliency(), always=True)),
    "shift": listed(search=Greedy(rank=LeaveOneOut(shift=True))),
    "random order": listed(search=Greedy(rank=AnyOrder())),
    "budget": listed(budget=11),
    "drawn characters": listed(candidates=CharEdits(each=1), search=Greedy(rank=UnknownWord())),
    "homoglyphs": listed(candidates=Homoglyphs()),
    "services": listed(constraints=(SentenceCosine(floor=0.8), SameTag()), search=Greedy(nearest=True)),
    "beam": listed(search=Beam(width=3)),
    "genetic": listed(search=Genetic(size=6, rounds=3, share=0.5)),
    "genetic peer": listed(search=Genetic(size=6, rounds=3, peer=True)),
    "random": listed(search=Random(trials=20, changes=2, block=7)),
    "exhaustive": listed(search=Exhaustive(limit=200, block=30)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_outcomes_are_equal_at_any_width_order_and_memory(name, toy_examples):
    attack = ATTACKS[name]
    alone = [compare_key(o) for o in attack_all(attack, toy_examples, width=1)]
    assert {'"success"', '"failed"'} & {part.split(":")[-1] for line in alone for part in line.split(",")}
    for width, lanes in [(3, 1), (3, 2), (16, 1), (16, 2), (256, 1), (256, 2)]:
        together = [compare_key(o) for o in attack_all(attack, toy_examples, width=width, lanes=lanes)]
        assert together == alone, f"width {width}, lanes {lanes}"
    back = [compare_key(o) for o in attack_all(attack, toy_examples[::-1], width=5)][::-1]
    assert back == alone
    target = toy.victim()
    small = attack_all(attack, toy_examples, target, width=7, lanes=2, services=toy.toy_services(target, remember=10))
    assert [compare_key(o) for o in small] == alone


def rounding(texts):
    """The toy victim on a device whose last digits move with the batch."""
    batch = crc32("".join(texts).encode())
    noise = [(crc32(f"{batch} {text}".encode()) % 1000 / 500 - 1) * 2e-7 for text in texts]
    return [[p - n, q + n] for (p, q), n in zip(toy.predict(texts), noise, strict=True)]


@pytest.mark.parametrize("name", ATTACKS)
def test_the_rounding_of_a_batch_changes_no_text(name):
    attack, rows = ATTACKS[name], toy.some_examples(40, words=6, seed=4)
    plain = [compare_key(o, scores=False) for o in attack_all(attack, rows)]
    for width, batch in [(1, 64), (5, 3), (40, 64)]:
        moved = attack_all(attack, rows, toy.victim(rounding, batch=batch), width=width)
        assert [compare_key(o, scores=False) for o in moved] == plain, f"width {width}"


class CaseBlind(StringVictim):
    """Cannot tell upper from lower case, and says so."""

    def classes(self, table: Words):
        lower = [string.lower() for string in table.strings]
        first = {string: i for i, string in reversed(list(enumerate(lower)))}
        return np.asarray([first[string] for string in lower], np.int64)


@pytest.mark.parametrize("name", ATTACKS)
def test_merging_what_the_victim_cannot_tell_apart_changes_no_outcome(name, toy_examples):
    """The toy victim reads lower case alone."""
    attack = ATTACKS[name]
    if name == "greedy":
        attack = listed({word: (*others, *(o.upper() for o in others)) for word, others in toy.SYNONYMS.items()})
    plain = attack_all(attack, toy_examples)
    for width in (1, 24):
        merged = attack_all(attack, toy_examples, CaseBlind(call=toy.predict), width=width)
        assert [compare_key(o) for o in merged] == [compare_key(o) for o in plain]
        assert all(a.queries.forwarded <= b.queries.forwarded for a, b in zip(merged, plain, strict=True))
    if name == "greedy":
        assert sum(o.queries.forwarded for o in merged) < sum(o.queries.forwarded for o in plain)


def test_another_seed_draws_otherwise(toy_examples):
    attack = ATTACKS["drawn characters"]
    one, two = (attack_all(attack, toy_examples, seed=seed) for seed in (0, 1))
    assert [o.adversarial for o in one] != [o.adversarial for o in two]


def test_a_second_table_of_words_gets_no_answers_of_the_first(monkeypatch):
    """Ids begin anew with each shard, so equal ids of equal owners stand for other words."""
    rows = toy.examples(["a good film", "an awful plot", "some nice day", "one bad hour"])
    whole = attack_all(listed(), rows)
    monkeypatch.setattr("malaprop.frame.runs.local.SHARD", 1)
    assert [compare_key(o) for o in attack_all(listed(), rows)] == [compare_key(o) for o in whole]


def test_services_can_serve_a_second_run():
    target = toy.victim()
    services = toy.toy_services(target)
    (one,) = attack_all(listed(), toy.examples(["a good film"]), target, services=services)
    (two,) = attack_all(listed(), toy.examples(["an awful plot"]), target, services=services)
    assert (one.original.prediction, two.original.prediction) == (1, 0)
    assert two.original.scores == pytest.approx(toy.predict(["an awful plot"])[0], abs=1e-6)
