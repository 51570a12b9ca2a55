"""A whole attack on one example: endings, budgets, verification."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import toy
from hypothesis import given
from hypothesis import strategies as st
from toy import attack_all, examples, listed, only, victim

from malaprop.attacks.attack import Attack, Fallback
from malaprop.attacks.candidates.chars import Homoglyphs
from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.constraints.edits import MaxWords
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.goals.goal import LabelOnly, Targeted, Untargeted
from malaprop.attacks.ranking.order import LeftToRight, Saliency, UnknownWord
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.greedy import FirstFound, Greedy
from malaprop.attacks.search.sampling import Exhaustive, Random
from malaprop.core.capability import Capability
from malaprop.core.errors import AssetError, CapabilityError, SettingError, TextError
from malaprop.core.example import Example
from malaprop.frame.records.summary import Rate, Summary
from malaprop.frame.runs.make_attack import goal as goal_typed

SEARCHES = {
    "greedy": Greedy(),
    "greedy left": Greedy(rank=LeftToRight()),
    "pwws": Greedy(rank=Saliency(), always=True),
    "first": FirstFound(rank=UnknownWord()),
    "beam": Beam(width=3),
    "genetic": Genetic(size=5, rounds=4, share=1.0),
    "random": Random(trials=50, block=8),
    "exhaustive": Exhaustive(block=5),
}
FLIP = {"fine": ("okay", "poor"), "film": ("movie", "picture")}


def test_a_success_has_the_text_the_scores_and_the_edits():
    outcome = only(listed(), "a fine film.")
    assert (outcome.status, outcome.reason) == ("success", None)
    assert outcome.adversarial.text == "a poor film."
    assert (outcome.original.prediction, outcome.adversarial.prediction) == (1, 0)
    assert outcome.adversarial.scores == pytest.approx(toy.predict(["a poor film"])[0], abs=1e-6)
    assert [(e.slot, e.op, e.before, e.after) for e in outcome.edits] == [(1, "replace", "fine", "poor")]
    assert outcome.changed_share == pytest.approx(1 / 3, abs=1e-6)
    assert outcome.queries.asked == 1 + 3 + 2  # the text, three holes, two replacements of the first slot


def test_a_failure_has_the_strongest_attempt():
    outcome = only(listed(), "a great good film")
    assert outcome.status == "failed"
    assert outcome.adversarial.text == "a fine fine film"
    assert outcome.adversarial.prediction == 1


def test_nothing_that_gains_leaves_the_text_as_it_was():
    outcome = only(listed({"film": ("movie",)}), "a good film")
    assert outcome.status == "failed"
    assert outcome.adversarial.text == "a good film"
    assert outcome.edits == ()


def test_a_text_without_candidates_costs_one_query():
    outcome = only(listed({"plot": ("story",)}), "a good film")
    assert (outcome.status, outcome.queries.asked) == ("failed", 1)


def test_wrong_already_is_skipped():
    outcome = only(listed(), "an awful film", label=1)
    assert (outcome.status, outcome.adversarial, outcome.queries.asked) == ("skipped", None, 1)
    assert outcome.original.prediction == 0


@pytest.mark.parametrize("text", ["", " ", "...!", "\x00", "👍"])
def test_a_text_of_no_words_holds_or_is_wrong_as_any_other(text):
    held = only(listed(), text, label=0)
    assert (held.status, held.reason, held.adversarial.text) == ("failed", "no words to change", text)
    assert only(listed(), text, label=1).status == "skipped"
    summary = Summary.of([held, only(listed(), text, label=1)])
    assert (summary.clean, summary.nothing_to_change) == (Rate(1, 2), 1)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_text_of_one_word(search):
    outcome = only(listed(search=search), "fine")
    assert (outcome.status, outcome.adversarial.text) == ("success", "poor")
    assert only(listed(search=search), "film", label=0).status == "failed"


@pytest.mark.parametrize("label", [2, 7, -1, -2])
@pytest.mark.parametrize("goal", [Untargeted(), LabelOnly(), Targeted(target=1)])
def test_a_label_the_victim_does_not_have_is_an_error_with_the_reason(label, goal):
    outcome = only(listed(goal=goal), "a good film", label=label)
    assert outcome.status == "error"
    assert outcome.reason == f"label {label} is not among the victim's 2 labels"
    assert outcome.queries.asked == 1


def test_a_surrogate_is_an_error_of_its_example_alone():
    rows = [Example("bad", {"text": "a \ud800"}, 1), *toy.examples(["fine"])]
    bad, good = attack_all(listed(), rows)
    assert (bad.status, good.status) == ("error", "success")
    assert "lone surrogate" in bad.reason


def test_a_bug_in_a_part_is_an_error_of_its_example_alone():
    class Buggy:
        def words(self, trial, slots):
            yield from ()
            if "plot" in trial.origin.strings:
                raise ZeroDivisionError("one over nothing")
            return [trial.origin.table.ids(["bad"]) for _ in slots]

    bad, good = attack_all(listed(candidates=Buggy()), toy.examples(["a good plot", "fine"]))
    assert (bad.status, bad.reason) == ("error", "ZeroDivisionError: one over nothing")
    assert good.status == "success"


# --- goals


@pytest.mark.parametrize("main", ["en", "es"])
def test_an_asset_that_only_a_few_texts_need_is_missing_for_these_alone(main):
    class NoSpanish(Listed):
        def words(self, trial, slots):
            if "película" in trial.origin.strings:
                raise AssetError("stop-words is not in the cache")
            return (yield from super().words(trial, slots))

    attack = replace(listed(), candidates=NoSpanish(table=FLIP), languages=(main, "en", "es"))
    rows = examples(["es una película muy buena que vale la pena ver por su fine film", "a fine film."])
    if main == "es":
        with pytest.raises(AssetError, match="stop-words"):
            attack_all(attack, rows)
    else:
        outcomes = attack_all(attack, rows)
        assert [outcome.status for outcome in outcomes] == ["error", "success"]
        assert outcomes[0].reason == "in Spanish: stop-words is not in the cache"


def test_targeted_ends_at_its_label_alone():
    scores = {"a": [0.6, 0.3, 0.1], "b": [0.1, 0.8, 0.1], "c": [0.3, 0.2, 0.5]}
    target = victim(lambda texts: [scores[text] for text in texts])
    moves = {"a": ("b", "c")}
    attack = listed(moves, search=Greedy(rank=LeftToRight()))
    for wanted, text in [(1, "b"), (2, "c")]:
        outcome = only(listed(moves, search=attack.search, goal=Targeted(target=wanted)), "a", target, label=0)
        assert (outcome.status, outcome.adversarial.text) == ("success", text)
    assert only(attack, "a", target, label=0).adversarial.text == "b"


def test_targeted_skips_what_has_the_target():
    outcome = only(listed(goal=Targeted(target=1)), "a good film")
    assert outcome.status == "skipped"
    assert outcome.reason == "its label is the target already"


def test_a_target_the_victim_does_not_have_ends_the_run():
    with pytest.raises(SettingError, match="target 2 is not among the victim's 2 labels"):
        only(listed(goal=Targeted(target=2)), "a good film")
    with pytest.raises(SettingError, match="at least 0"):
        Targeted(target=-1)


@pytest.mark.parametrize(("margin", "status"), [(0.0, "success"), (0.4, "success"), (0.9, "failed")])
def test_a_target_may_have_to_win_by_a_margin(margin, status):
    # from good to poor: 0.73 to 0.27, a lead of 0.46
    attack = listed({"good": ("fine", "poor")}, goal=Targeted(target=0, margin=margin))
    assert only(attack, "a good film").status == status
    assert goal_typed(f"targeted:0,{margin}") == attack.goal


def test_label_only_sees_no_confidence():
    hidden = victim(lambda texts: [[0.0, 1.0] if toy.weigh(t) > 0 else [1.0, 0.0] for t in texts])
    attack = listed(goal=LabelOnly(), search=Greedy(rank=LeftToRight()))
    plain, blind = only(attack, "a fine film"), only(attack, "a fine film", hidden)
    assert plain.adversarial.text == blind.adversarial.text == "a poor film"
    assert only(attack, "a great good film").edits == ()  # no step falls the label, so none is taken


def test_an_attack_says_what_it_needs_before_the_first_query():
    calls = toy.Calls()
    labels = victim(calls, offers=frozenset({Capability.LABELS}))
    with pytest.raises(CapabilityError, match="toy needs scores, which toy does not offer"):
        only(listed(), "a fine film", labels)
    assert calls.texts == []
    assert only(listed(goal=LabelOnly()), "a fine film", labels).status == "success"


def test_a_tie_is_no_success():
    tied = victim(lambda texts: [[0.5, 0.5] if "poor" in t else [0.1, 0.9] for t in texts])
    assert only(listed({"fine": ("poor",)}), "fine", tied).status == "failed"
    level = victim(lambda texts: [[0.5, 0.5] for _ in texts])  # it gives the first label
    assert [only(listed(), "fine", level, label=label).status for label in (0, 1)] == ["failed", "skipped"]


# --- pairs


PAIR = {"premise": "a fine film", "hypothesis": "a good fine film"}


def test_only_the_editable_field_changes():
    outcome = only(listed(), PAIR, editable=("hypothesis",))
    assert outcome.adversarial.fields["premise"] == "a fine film"
    assert outcome.adversarial.fields["hypothesis"] != PAIR["hypothesis"]
    assert {e.field for e in outcome.edits} == {"hypothesis"}
    both = only(listed(), PAIR)
    assert {e.field for e in both.edits} == {"premise", "hypothesis"}


def test_an_editable_field_of_no_words_holds():
    outcome = only(listed(), {"premise": "a fine film", "hypothesis": "..."}, editable=("hypothesis",))
    assert (outcome.status, outcome.reason) == ("failed", "no words to change")


def test_an_editable_field_that_does_not_exist_is_an_error():
    outcome = only(listed(), PAIR, editable=("hypotesis",))
    assert outcome.status == "error"
    assert outcome.reason == "no field is called 'hypotesis'; the example has premise, hypothesis"


# --- budgets


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@given(budget=st.integers(1, 30))
def test_no_more_is_asked_than_the_budget(search, budget):
    for text in ("a great good film", "fine awful good great film", "fine"):
        calls = toy.Calls()
        free = only(listed(search=search), text)
        outcome = only(listed(search=search, budget=budget), text, victim(calls))
        assert outcome.queries.asked <= budget
        assert len(set(calls.texts)) <= budget + 1  # and the one that verifies
        if free.queries.asked <= budget:
            assert (outcome.status, outcome.adversarial) == (free.status, free.adversarial)
        else:
            assert outcome.queries.asked == budget


def test_a_budget_of_one_is_the_text_itself():
    outcome = only(listed(budget=1), "a fine film")
    assert (outcome.status, outcome.queries.asked, outcome.adversarial.text) == ("failed", 1, "a fine film")
    with pytest.raises(SettingError, match="at least 1 query"):
        listed(budget=0)
    assert listed().but(budget=5).budget == 5
    assert listed(budget=3).but(budget=None).budget == 3


def test_a_success_inside_the_ask_that_is_cut_short_is_found():
    attack = listed({"fine": ("bad", "poor", "x", "y")}, search=Greedy(rank=LeftToRight()))
    assert only(attack.but(budget=2), "fine").adversarial.text == "bad"
    assert only(attack.but(budget=2), "fine").status == "success"


def test_a_success_that_a_ranking_has_seen_is_found_when_the_budget_ends():
    attack = listed(FLIP, search=Greedy(rank=Saliency(), always=True))
    free = only(attack, "a fine film")
    assert free.queries.asked == 1 + 2 + 4 + 1
    for budget in range(5, 8):  # the text, two unknown words, okay, poor
        outcome = only(attack.but(budget=budget), "a fine film")
        assert (outcome.status, outcome.adversarial.text) == ("success", "a poor film"), budget
    assert only(attack.but(budget=4), "a fine film").adversarial.text == "a okay film"


def test_what_a_ranking_has_seen_must_keep_the_constraints():
    attack = listed(
        FLIP, search=Greedy(rank=Saliency(), always=True), constraints=(SentenceCosine(floor=0.999),), budget=7
    )
    outcome = only(attack, "a fine film")
    assert (outcome.status, outcome.adversarial.text) == ("failed", "a fine film")


def test_more_budget_is_never_worse():
    order = {"failed": 0, "success": 1}
    for search in (SEARCHES["greedy"], SEARCHES["pwws"], SEARCHES["beam"], SEARCHES["exhaustive"]):
        got = [only(listed(search=search, budget=b), "a fine good film") for b in range(1, 25)]
        ranks = [(order[o.status], o.adversarial.scores[0]) for o in got]
        assert all(b[0] >= a[0] for a, b in pairwise(ranks))


# --- verification


def test_every_success_is_asked_again_afresh():
    calls = toy.Calls()
    outcome = only(listed(), "a fine film", victim(calls))
    assert outcome.status == "success"
    assert calls.texts.count("a poor film") == 2
    assert calls.texts[-1] == "a poor film"
    assert outcome.queries.asked == len(set(calls.texts))
    assert outcome.queries.forwarded == len(calls.texts)


def test_a_victim_that_changes_its_answer_is_found_out():
    seen: set[str] = set()

    def moody(texts):
        out = [[0.9, 0.1] if "poor" in t and t not in seen else [0.1, 0.9] for t in texts]
        seen.update(texts)
        return out

    outcome = only(listed(), "a fine film", victim(moody))
    assert outcome.status == "error"
    assert outcome.reason == "victim is not deterministic: it answered label 0, then 1, for the same text"
    assert outcome.adversarial is None


def test_constraints_hold_for_every_outcome(toy_examples):
    for search in SEARCHES.values():
        attack = listed(search=search, constraints=(MaxWords(count=1), SentenceCosine(floor=0.9)))
        for outcome in attack_all(attack, toy_examples):
            if outcome.adversarial is not None:
                assert len(outcome.edits) <= 1
                one, two = toy.encode([outcome.original.text, outcome.adversarial.text])
                assert one @ two >= 0.9 - 1e-5


def test_candidates_of_ones_own_are_checked():
    assert only(listed({"Fine": ("bad",)}), "FINE").adversarial.text == "BAD"
    with pytest.raises(SettingError, match=r"Listed\.table maps a word to several"):
        Listed(table={"fine": "bad"})
    with pytest.raises(TextError, match="lone surrogate"):
        Listed(table={"fine": ("b\udfffd",)})


@pytest.mark.parametrize(
    ("recipe", "text", "reason"),
    [
        (listed({"plot": ("story",)}), "a good film", "nothing to change"),
        (listed({"good": ("great",)}), "a good film", None),  # it was tried, and did not help
        (listed({"plot": ("story",)}, budget=1), "a good film", None),  # it could not have been tried
        (Attack(name="homoglyph", candidates=Homoglyphs(), search=Greedy()), "一部好电影", "nothing to change"),
    ],
)
def test_a_text_in_which_nothing_can_change_says_so(recipe, text, reason):
    outcome = only(recipe, text, victim(lambda texts: [[0.1, 0.9] for _ in texts]), label=1)
    assert (outcome.status, outcome.reason) == ("failed", reason)


def test_a_targeted_attack_leaves_clean_accuracy_as_it_is():
    rows = [*examples(["a good film", "a bad film", "an awful plot"]), *examples(["a fine film"], label=0)]
    plain, targeted = (Summary.of(attack_all(listed(**goal), rows)) for goal in ({}, {"goal": Targeted(target=1)}))
    assert targeted.clean == plain.clean == Rate(3, 4)
    assert (targeted.target_already, plain.target_already) == (1, 0)
    assert targeted.success.total == 2
    assert targeted.to_dict()["target_already"] == 1
    assert targeted.apart == "1 the target already"


FIRST = {"good": ("nice",)}  # which does not break it
SECOND = Fallback(candidates=Listed(table={"good": ("bad",), "fine": ("poor",)}), search=Greedy())


def test_a_fallback_is_tried_where_the_attack_fails_and_its_queries_count():
    alone, both = (only(listed(FIRST, fallback=f), "a good fine film") for f in (None, SECOND))
    assert (alone.status, both.status) == ("failed", "success")
    assert "bad" in both.adversarial.text
    assert both.queries.asked > alone.queries.asked


def test_a_fallback_keeps_the_constraints_and_the_budget_of_the_attack():
    one = only(listed(FIRST, fallback=SECOND, constraints=(MaxWords(count=1),)), "a good fine good film")
    assert len(one.edits) <= 1
    spent = only(listed(FIRST, fallback=SECOND, budget=4), "a good fine film")
    assert spent.queries.asked <= 4
    assert spent.status == "failed"


def test_a_fallback_is_not_asked_where_the_attack_succeeds():
    table = {"good": ("bad",)}
    alone, both = (only(listed(table, fallback=f), "a good film") for f in (None, SECOND))
    assert (alone.status, alone.queries) == (both.status, both.queries)


def test_the_strongest_attempt_of_both_is_kept_where_the_fallback_fails_too():
    weak = Fallback(candidates=Listed(table={"film": ("movie",)}), search=Greedy())
    found = only(listed({"great": ("fine",)}, fallback=weak), "a great good film")
    assert found.status == "failed"
    assert found.adversarial.text == "a fine good film"
