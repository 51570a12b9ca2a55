"""The judge of meaning in an attack: what it reads, what it refuses, and what outcomes and summaries say of it."""

from __future__ import annotations

import pytest
import toy
from toy import attack_all, examples, listed, only, toy_services

from malaprop.attacks.attack import REFUSED, Fallback, try_in_turn
from malaprop.attacks.constraints.edits import MaxShare, MaxWords
from malaprop.attacks.constraints.language import KnownWords, PerplexityRatio
from malaprop.attacks.goals.goal import Kept
from malaprop.attacks.judge import Judge, is_legible
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.validity import set_validity
from malaprop.core.errors import SettingError
from malaprop.core.judgement import JUDGE, verdict
from malaprop.engine.service import FunctionService
from malaprop.frame.records.outcome import from_json, to_json
from malaprop.frame.records.summary import Rate, Summary

pytestmark = pytest.mark.usefixtures("tiny_assets")
TABLE = {"good": ("bad", "nice"), "fine": ("okay", "nice"), "great": ("bad", "film")}


@pytest.mark.parametrize("search", [Greedy(), Greedy(nearest=True), Beam(), Genetic(size=8, rounds=5)])
def test_an_attack_goes_on_to_a_text_that_the_judge_allows(search):
    """Without a judge *bad* wins at once; the judge allows *great* to become *film* alone."""
    text = "a great good poor awful film"
    plain = only(listed(TABLE, search=search), text)
    assert plain.status == "success"
    assert plain.meaning is None
    assert plain.validity is None
    kept = only(listed(TABLE, search=search, judge=Judge()), text)
    assert kept.status == "success"
    assert kept.validity == "kept"
    assert kept.meaning == pytest.approx(0.9)
    assert {edit.after for edit in kept.edits} <= toy.HARMLESS


def test_a_text_that_only_refused_changes_flip_fails_and_counts_the_flips():
    table = {"good": ("awful", "bad")}
    found = only(listed(table, judge=Judge()), "a good film")
    assert (found.status, found.reason) == ("failed", REFUSED)
    assert found.flips == 2
    assert found.meaning is None


def test_a_rater_leaves_the_attack_as_it_is_and_rates_the_success():
    plain, rated = (only(listed(TABLE, rater=rater), "a good film") for rater in (None, Judge()))
    assert (rated.adversarial, rated.queries) == (plain.adversarial, plain.queries)
    assert rated.validity == "changed"
    assert rated.flips == 0


def test_a_fallback_and_the_stages_are_judged_too():
    second = Fallback(candidates=listed(TABLE).candidates, search=Greedy())
    assert only(listed({"film": ("awful",)}, judge=Judge(), fallback=second), "a great bad film").validity == "kept"
    both = try_in_turn("both", [listed({"film": ("awful",)}), listed(TABLE)])
    found = only(set_validity(both, "paper"), "a good film")
    assert found.by
    assert found.validity == "changed"


def test_both_ways_are_asked_and_the_smaller_number_counts():
    def one_way(asked):
        return [0.9 if "good" in one.original else 0.2 for one in asked]

    services = toy_services(toy.victim()) | {JUDGE: FunctionService(one_way)}
    rated = only(listed(TABLE, rater=Judge(both=True)), "a good film", services=services)
    assert rated.meaning == pytest.approx(0.2)


def test_the_judge_reads_the_field_that_changes_and_the_name_of_the_label():
    seen = []

    def note(asked):
        seen.extend(asked)
        return [0.9] * len(asked)

    services = toy_services(toy.victim()) | {JUDGE: FunctionService(note)}
    row = {"premise": "a great plot", "hypothesis": "good"}
    attack = listed({"good": ("awful",), "great": ("awful",)}, rater=Judge().for_labels(("no", "yes")))
    attack_all(attack, examples([row], editable=("premise",)), services=services)
    assert seen
    assert (seen[0].original, seen[0].context, seen[0].label) == ("a great plot", "good", "yes")
    assert Judge().for_labels(("0", "1")).labels == ()


def test_readers_see_the_word_in_a_misspelling(monkeypatch):
    monkeypatch.setattr("malaprop.assets.lexicon.is_known", {"god", "food", "sad", "off", "bear"}.__contains__)
    for after in ("terible", "terribel", "t\u0435rrible", "ter rible", "t3rrible", "TERRIBLE", "ter\u200brible"):
        assert is_legible("terrible", after), after
    for before, after in (
        ("good", "god"),
        ("mood", "food"),
        ("bad", "sad"),
        ("film", "fxyz"),
        ("of", "off"),
        ("year's", "bear's"),
    ):
        assert not is_legible(before, after), after


def test_a_misspelling_is_judged_as_the_word_itself():
    def never(asked):
        raise AssertionError("nothing is left to judge")

    services = toy_services(toy.victim()) | {JUDGE: FunctionService(never)}
    found = only(listed({"good": ("g\u043eod",)}, rater=Judge()), "a good bad bad film", services=services, label=1)
    assert found.status == "skipped"
    found = only(listed({"good": ("g\u043eod",)}, judge=Judge()), "a good film", services=services)
    assert found.status == "failed" or found.meaning == 1


def test_outcomes_keep_the_verdict_and_summaries_count_it():
    rows = examples(["a good film", "a great good poor awful film", "fine okay bad"], label=1)
    found = attack_all(listed(TABLE, judge=Judge()), rows)
    for outcome in found:
        assert from_json(to_json(outcome)) == outcome
    assert '"validity":"kept"' in to_json(found[1])
    summary = Summary.of(found)
    assert summary.validity is not None
    assert summary.validity.flipped == Rate(2, 2)
    assert summary.validity.kept == Rate(1, 2)
    assert summary.robust == Rate(1, 3) == summary.under_attack
    assert summary.validity.sentence == "of 2 texts whose label flipped, the judge calls 1 valid"
    rated = Summary.of(attack_all(listed(TABLE, rater=Judge()), rows))
    assert rated.under_attack.hits < rated.robust.hits, "a success that changes the meaning is none"
    assert rated.to_dict()["validity"]["kept"] == rated.broken.hits


def test_what_means_to_change_a_text_is_not_judged():
    reducing = listed(goal=Kept())
    assert set_validity(reducing, "strict") == reducing
    with pytest.raises(SettingError, match="did you mean"):
        set_validity(listed(), "valld")


def test_strict_constraints_are_in_every_stage():
    made = set_validity(try_in_turn("both", [listed(TABLE), listed(TABLE, constraints=(MaxWords(count=1),))]), "strict")
    added = (KnownWords(), PerplexityRatio(most=2.0))
    assert [stage.constraints for stage in made.stages] == [added, (MaxWords(count=1), *added)]
    assert made.constraints == added


@pytest.mark.parametrize(
    ("name", "bounded"),
    [("deepwordbug", True), ("typos", True), ("textbugger", True), ("homoglyph", False), ("pwws", False)],
)
def test_valid_attacks_that_misspell_change_a_fifth_of_the_words_at_most(name, bounded):
    bound, paper = MaxShare(share=0.2), RECIPES[name]()
    assert bound not in set_validity(paper, "paper").constraints
    assert (bound in set_validity(paper, "valid").constraints) is bounded
    (stage,) = set_validity(try_in_turn("one", [paper]), "valid").stages
    assert (bound in stage.constraints) is bounded


def test_known_words(monkeypatch):
    monkeypatch.setattr("malaprop.assets.lexicon.is_known", lambda word: word in ("nice", "bad"))
    found = only(listed({"good": ("awful", "bad")}, constraints=(KnownWords(),)), "a good film")
    assert [edit.after for edit in found.edits] == ["bad"]


@pytest.mark.parametrize(("number", "said"), [(0.0, "changed"), (0.5, "unsure"), (0.7, "kept"), (1.0, "kept")])
def test_verdicts(number, said):
    assert verdict(number) == said
