"""Each search and ranking on cases that can be followed by hand."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import toy
from toy import attack_all, listed, only, victim

from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.constraints.edits import MaxCharacters, MaxWords, OncePerSlot
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.ranking.order import AnyOrder, LeaveOneOut, LeftToRight, Saliency, UnknownWord
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.greedy import FirstFound, Greedy
from malaprop.attacks.search.sampling import Exhaustive, Random
from malaprop.attacks.trial import Trial
from malaprop.core.errors import SettingError
from malaprop.core.text import Text, Words
from malaprop.engine.drive import drive


def by_table(scores: dict[str, float], rest: float = 0.9, **settings):
    """A victim that gives label 1 the listed probability."""
    calls = toy.Calls(lambda texts: [[1 - scores.get(t, rest), scores.get(t, rest)] for t in texts])
    return victim(calls, unknown="?", **settings)


def order_of(rank, text: str, target, table: dict[str, tuple[str, ...]]):
    """The slots in the order of a ranking, with the words left in them."""
    attack = listed(table, search=Greedy(rank=rank))
    (row,) = toy.examples([text], label=1)

    def steps():
        trial = Trial(attack, row, Text.of(row.fields, Words()), 0, target.unknown)
        start = trial.start((yield from trial.first()))
        space = yield from trial.space()
        plan = yield from rank.order(trial, start, space)
        strings = trial.origin.table.strings
        return plan.slots.tolist(), [[strings[w] for w in words.tolist()] for words in plan.words]

    ((_, found),) = drive([(0, steps())], toy.toy_services(target), width=1)
    return found


TABLE = {"a": ("d",), "b": ("e", "f"), "c": ("g",)}


def test_leave_one_out_puts_the_words_that_matter_first():
    target = by_table({"b c": 0.6, "a c": 0.3, "a b": 0.8})
    assert order_of(LeaveOneOut(), "a b c", target, TABLE)[0] == [1, 0, 2]


def test_leave_one_out_with_shift_adds_what_the_new_label_gained():
    def call(texts):
        scores = {"a b": [0.1, 0.6, 0.3], "b": [0.45, 0.3, 0.25], "a": [0.05, 0.25, 0.7]}
        return [scores.get(text, [0.0, 1.0, 0.0]) for text in texts]

    # without "b": 0.75 + (0.7 - 0.3); without "a": 0.7 + (0.45 - 0.1)
    moves = {"a": ("x",), "b": ("y",)}
    assert order_of(LeaveOneOut(shift=True), "a b", victim(call), moves)[0] == [1, 0]
    close = {"a b": [0.0, 0.6, 0.4], "b": [0.5, 0.3, 0.2], "a": [0.0, 0.25, 0.75]}
    target = victim(lambda texts: [close.get(t, [0.0, 1.0, 0.0]) for t in texts])
    # the plain order is by 0.75 and 0.7; what the new label gained is 0.35 and 0.5, and turns it round
    assert order_of(LeaveOneOut(), "a b", target, moves)[0] == [1, 0]
    assert order_of(LeaveOneOut(shift=True), "a b", target, moves)[0] == [0, 1]


def test_unknown_word_asks_the_victims_own():
    target = by_table({"? b c": 0.5, "a ? c": 0.7, "a b ?": 0.2})
    assert order_of(UnknownWord(), "a b c", target, TABLE)[0] == [2, 0, 1]
    assert {"? b c", "a ? c", "a b ?"} <= set(target.call.texts)


def test_left_to_right_and_any_order():
    target = by_table({})
    assert order_of(LeftToRight(), "a b c", target, TABLE)[0] == [0, 1, 2]
    assert sorted(order_of(AnyOrder(), "a b c", target, TABLE)[0]) == [0, 1, 2]
    table = dict.fromkeys("abcdefgh", ("x",))
    assert order_of(AnyOrder(), "a b c d e f g h", target, table)[0] != list(range(8))


PWWS = {"a b c": 0.9, "? b c": 0.8, "a ? c": 0.5, "a b ?": 0.7, "d b c": 0.6, "a e c": 0.8, "a f c": 0.7, "a b g": 0.75}


def test_pwws_order_by_hand():
    """Saliencies 0.1, 0.4, 0.2; best gains 0.3 (d), 0.2 (f), 0.15 (g)."""
    weights = np.exp([0.1, 0.4, 0.2]) / np.exp([0.1, 0.4, 0.2]).sum()
    by_hand = np.argsort(-weights * np.asarray([0.3, 0.2, 0.15])).tolist()
    assert by_hand == [0, 1, 2]
    assert order_of(Saliency(), "a b c", by_table(PWWS), TABLE) == ([0, 1, 2], [["d"], ["f"], ["g"]])
    strong = PWWS | {"a ? c": 0.0}  # saliency 0.9 of the second word outweighs its smaller gain
    assert math.exp(0.9) * 0.2 > math.exp(0.1) * 0.3
    assert order_of(Saliency(), "a b c", by_table(strong), TABLE)[0] == [1, 0, 2]


@pytest.mark.parametrize("peer", [False, True])
def test_saliency_tells_gains_apart_in_a_long_text(peer):
    """A softmax over 40 words made a difference of 2e-5 in gain smaller than rounding, and the first word won."""
    words = [f"w{i}" for i in range(40)]
    table = {"w3": ("early",), "w30": ("late",)}
    scores = {
        " ".join(words).replace("w3 ", "early "): 0.9 - 1e-3,
        " ".join(words).replace("w30", "late"): 0.9 - 1e-3 - 2e-5,
    }
    order, _ = order_of(Saliency(peer=peer), " ".join(words), by_table(scores), table)
    assert order[:2] == [30, 3]


def test_pwws_as_the_peer_has_it():
    """By the value reached (0.4, 0.3, 0.25) times the weights, with every replacement still open."""
    slots, words = order_of(Saliency(peer=True), "a b c", by_table(PWWS), TABLE)
    reached = np.asarray([0.4, 0.3, 0.25]) * np.exp([0.1, 0.4, 0.2])
    assert slots == np.argsort(-reached).tolist()
    assert words == [[["d"], ["e", "f"], ["g"]][s] for s in slots]


def test_pwws_takes_every_step_and_greedy_only_gains():
    scores = PWWS | {"d f c": 0.7, "d f g": 0.65, "d e c": 0.65, "d b g": 0.55}
    always = only(listed(TABLE, search=Greedy(rank=Saliency(), always=True)), "a b c", by_table(scores), label=1)
    assert always.status == "failed"
    assert always.adversarial.text == "d b c"  # the strongest seen, though the walk went on to d f g
    gains = only(listed(TABLE, search=Greedy(rank=LeftToRight())), "a b c", by_table(scores), label=1)
    assert gains.adversarial.text == "d b g"


def test_greedy_ends_with_the_surest_or_with_the_nearest():
    scores = {"film": 0.9, "filn": 0.4, "xyz": 0.1}
    table = {"film": ("filn", "xyz")}
    target = by_table(scores)
    assert only(listed(table), "film", target, label=1).adversarial.text == "xyz"
    assert only(listed(table, search=Greedy(nearest=True)), "film", target, label=1).adversarial.text == "filn"
    strict = listed(table, search=Greedy(nearest=True), constraints=(SentenceCosine(floor=0.99),))
    assert only(strict, "film", target, label=1).adversarial.text == "film"


def test_first_found_restores_earlier_words():
    scores = {"d b": 0.6, "a e": 0.4, "d e": 0.1}
    table = {"a": ("d",), "b": ("e",)}
    attack = listed(table, search=FirstFound(rank=LeftToRight()))
    assert only(attack, "a b", by_table(scores), label=1).adversarial.text == "a e"
    failed = only(attack, "a b", by_table({"d b": 0.6, "a e": 0.7, "d e": 0.1}), label=1)
    assert (failed.status, failed.adversarial.text) == ("failed", "d b")


TRAP = {"a b": 0.9, "x b": 0.6, "y b": 0.7, "a z": 0.8, "x z": 0.65, "y z": 0.1}


def test_beam_gets_out_of_a_trap_that_holds_greedy():
    table = {"a": ("x", "y"), "b": ("z",)}
    greedy = only(listed(table, search=Greedy(rank=LeftToRight())), "a b", by_table(TRAP), label=1)
    assert (greedy.status, greedy.adversarial.text) == ("failed", "x b")
    narrow = only(listed(table, search=Beam(width=1)), "a b", by_table(TRAP), label=1)
    assert narrow.status == "failed"
    wide = only(listed(table, search=Beam(width=2)), "a b", by_table(TRAP), label=1)
    assert (wide.status, wide.adversarial.text) == ("success", "y z")
    assert only(listed(table, search=Beam(width=2, depth=1)), "a b", by_table(TRAP), label=1).status == "failed"


def test_beam_counts_a_text_once_by_whichever_way_it_came():
    table = {"a": ("x",), "b": ("y",), "c": ("z",)}
    target = by_table({})
    outcome = only(listed(table, search=Beam(width=20, depth=9)), "a b c", target, label=1)
    assert outcome.queries.unique == 8
    assert outcome.queries.asked == 1 + 3 + 3 * 2 + 3 * 1
    with pytest.raises(SettingError, match="width and depth"):
        Beam(width=0)


def least_changes(text: str, table: dict[str, tuple[str, ...]], label: int) -> int | None:
    words = text.split()
    options = [[w, *table.get(w, ())] for w in words]
    hits = [
        sum(a != b for a, b in zip(made, words, strict=True))
        for made in itertools.product(*options)
        if int(toy.weigh(" ".join(made)) > 0) != label and toy.weigh(" ".join(made)) != 0
    ]
    return min(hits, default=None)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_exhaustive_changes_as_little_as_can_be(block):
    texts = ["fine film good", "fine fine film", "fine good awful great film", "great good", "fine fine fine film"]
    rows = [r for r in toy.examples(texts) if r.label == int(toy.weigh(r.fields["text"]) > 0)]
    attack = listed(search=Exhaustive(block=block))
    for row, outcome in zip(rows, attack_all(attack, rows), strict=True):
        least = least_changes(row.fields["text"], toy.SYNONYMS, row.label)
        assert outcome.status == ("failed" if least is None else "success")
        if least is not None:
            assert len(outcome.edits) == least


def test_exhaustive_and_random_keep_their_limits():
    assert only(listed(search=Exhaustive(limit=3)), "a fine good film").queries.asked == 1 + 3
    outcome = only(listed(search=Random(trials=25, block=10)), "great good film")
    assert outcome.queries.asked == 1 + 25
    two = only(listed(search=Random(trials=30, changes=2)), "great good awful")
    assert len(two.edits) in (0, 2)
    many = only(listed(search=Random(trials=5, changes=99)), "great good")
    assert many.status == "failed"
    for wrong in (lambda: Exhaustive(block=0), lambda: Exhaustive(limit=0), lambda: Random(trials=0)):
        with pytest.raises(SettingError, match="at least 1"):
            wrong()


# --- genetic


LONG = "good great film fine good great film fine good great"


def gently(texts):
    """Probabilities that a single word moves far enough to be seen, also in a long text."""
    good = [1 / (1 + math.exp(-toy.weigh(text) / 20 - 0.5)) for text in texts]
    return [[1 - p, p] for p in good]


class Watched:
    """A victim that notes how many words of each text it is asked differ from the first one."""

    def __init__(self, call=gently) -> None:
        self.calls = toy.Calls(call)

    def changes(self) -> list[int]:
        first, *rest = (text.split() for text in self.calls.texts)
        return [sum(a != b for a, b in zip(first, other, strict=True)) for other in rest]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.2, 0.35, 0.5, 1.0])
def test_genetic_never_exceeds_the_share(share):
    watched = Watched()
    outcome = only(listed(search=Genetic(size=8, rounds=6, share=share)), LONG, victim(watched.calls))
    most = max(1, math.floor(share * 10 + 1e-9))
    assert max(watched.changes()) <= most
    assert len(outcome.edits) <= most


def test_genetic_children_of_the_peer_may_exceed_the_share():
    watched = Watched()
    only(listed(search=Genetic(size=10, rounds=8, share=0.2, peer=True)), LONG, victim(watched.calls))
    assert max(watched.changes()) > 2


def test_genetic_finds_what_needs_several_words():
    outcome = only(listed(search=Genetic(size=10, rounds=10, share=1.0)), "fine film fine film fine")
    assert outcome.status == "success"
    assert len(outcome.edits) >= 2


def test_genetic_is_the_better_the_more_rounds_it_has():
    short, long = (
        only(listed(search=Genetic(size=6, rounds=rounds, share=1.0)), LONG, victim(gently)) for rounds in (1, 12)
    )
    assert long.adversarial.scores[0] > short.adversarial.scores[0]


def test_genetic_takes_scores_of_any_size():
    """Logits are scores too: no step may overflow, and warnings are errors here."""
    for factor in (1e3, -1e3, 1e30):
        target = victim(lambda texts, f=factor: [[f * p for p in row] for row in toy.predict(texts)])
        (row,) = toy.examples([LONG], label=1 if factor > 0 else 0)
        for peer in (False, True):
            attack = listed(search=Genetic(size=6, rounds=4, peer=peer))
            (outcome,) = attack_all(attack, [row], target)
            assert outcome.status in ("failed", "success"), outcome.reason


@pytest.mark.parametrize("rules", [(MaxWords(count=2),), (MaxCharacters(count=9),), (OncePerSlot(),)])
@pytest.mark.parametrize("peer", [False, True])
def test_genetic_keeps_constraints_that_refuse_some_children(rules, peer):
    attack = listed(search=Genetic(size=8, rounds=6, share=1.0, peer=peer), constraints=rules)
    watched = Watched()
    outcome = only(attack, LONG, victim(watched.calls))
    assert outcome.status == "failed"
    assert outcome.adversarial.scores[0] > outcome.original.scores[0]
    if isinstance(rules[0], MaxWords):
        assert max(watched.changes()) == 2


def test_genetic_members_keep_their_own_weights_when_children_are_refused(monkeypatch):
    """A slot that a member has changed is closed to it; so every member's closed slots are its changed ones."""
    from malaprop.attacks.search import genetic

    seen = []
    breed = genetic._People.breed

    def watched(self):
        yield from breed(self)
        origin = self.trial.origin.words
        for words, weights in zip(self.rows, self.weights, strict=True):
            changed = (words != origin)[self.space.slots]
            seen.append(changed.sum())
            assert (weights[changed] == 0).all()

    monkeypatch.setattr(genetic._People, "breed", watched)
    rules = (MaxWords(count=3), SentenceCosine(floor=0.9))
    outcome = only(listed(search=Genetic(size=12, rounds=8, share=1.0), constraints=rules), LONG, victim(gently))
    assert outcome.status == "failed", outcome.reason
    assert max(seen) == 3


def test_genetic_settings():
    for wrong in ({"size": 1}, {"rounds": 0}, {"heat": 0.0}, {"share": 0.0}, {"share": 1.5}):
        with pytest.raises(SettingError, match="Genetic needs"):
            Genetic(**wrong)


def test_searches_see_only_allowed_words(toy_examples):
    for search in (Greedy(), Beam(), Genetic(size=4, rounds=2), Random(trials=20), Exhaustive(limit=50)):
        for outcome in attack_all(listed(candidates=Listed(table=toy.SYNONYMS), search=search), toy_examples):
            for edit in outcome.edits:
                assert edit.after.lower() in toy.SYNONYMS[edit.before.lower()]


@pytest.mark.parametrize("peer", [False, True])
@pytest.mark.parametrize("ahead", [1, 3, 20])
def test_guesses_change_rounds_and_what_is_forwarded_alone(peer, ahead):
    rows = toy.some_examples(20)
    search = Greedy(rank=Saliency(peer=peer), always=not peer)
    plain, guessing = (attack_all(listed(search=s), rows) for s in (search, replace(search, ahead=ahead)))
    for one, two in zip(plain, guessing, strict=True):
        assert (one.status, one.adversarial, one.queries.asked) == (two.status, two.adversarial, two.queries.asked)
        assert one.queries.unique == two.queries.unique
        assert one.queries.forwarded <= two.queries.forwarded


def test_right_guesses_save_calls_of_the_victim():
    """Every step but the last lowers the score by as much as it did alone, so all guesses are right."""
    calls = {}
    for ahead in (0, 8):
        watched = toy.Calls()
        attack = listed(search=Greedy(rank=Saliency(), always=True, ahead=ahead))
        only(attack, "good great good great good", victim(watched))
        calls[ahead] = watched.batches
    assert calls[8] < calls[0]
    with pytest.raises(SettingError, match="at least 0"):
        Greedy(ahead=-1)


def test_a_short_text_ends_with_the_surest_flip_and_asks_no_encoder():
    services = toy.toy_services(victim())
    for name in ("encoder", "encoder/rough"):
        services[name].function = lambda items: pytest.fail(f"asked for {items}")
    table = {"fine": ("poor", "awful")}
    found = only(listed(table, search=Greedy(nearest=True, least=4)), "a fine film", services=services)
    assert found.adversarial.text == "a awful film"
    with pytest.raises(SettingError, match="least"):
        Greedy(least=-1)


@pytest.mark.parametrize(("among", "ends"), [(None, "a vile film"), (2, "a bad film"), (1, "a awful film")])
def test_the_most_similar_is_chosen_among_the_surest_flips(among, ends):
    """Surest first: awful, bad, vile; by the encoder vile is most like the original, then bad, then awful."""
    angles = {"awful": 1.0, "bad": 0.5, "vile": 0.1}
    asked: list[str] = []

    def encode(items):
        turns = [next((angle for word, angle in angles.items() if word in text), 0.0) for text in items]
        asked.extend(items)
        return [np.asarray([math.cos(turn), math.sin(turn)], np.float32) for turn in turns]

    scores = {"a awful film": 0.1, "a bad film": 0.2, "a vile film": 0.3}
    services = toy.toy_services(target := by_table(scores))
    for name in ("encoder", "encoder/rough"):
        services[name].function = encode
    attack = listed({"fine": ("awful", "bad", "vile")}, search=Greedy(nearest=True, among=among))
    (row,) = toy.examples(["a fine film"], label=1)
    (found,) = attack_all(attack, [row], target, services=services)
    assert found.adversarial.text == ends
    assert len(set(asked)) <= (among or 3) + 1
    with pytest.raises(SettingError, match="among"):
        Greedy(among=0)
