"""One-word attacks on the toy victim, whose answers, attention and vectors can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import toy
from toy import attack_all, listed, only

from malaprop.attacks.ranking.order import ByAttention, LeaveOneOut, LeftToRight, ZeroVector
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.search.greedy import FirstFound
from malaprop.attacks.search.oneword import Sweep
from malaprop.attacks.search.sampling import Random
from malaprop.core.capability import Capability
from malaprop.core.errors import CapabilityError, SettingError
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.summary import Totals
from malaprop.frame.runs.local import run

ALL = frozenset({Capability.ATTENTION, Capability.EMBEDDINGS, Capability.PADDING})
ANYTHING = ("awful", "bad", "great", "okay", "poor", "x", "longer")
VOCABULARY = dict.fromkeys(("good", "fine", "nice", "great", "film", "the"), ANYTHING)


def sweep(**settings):
    return listed(VOCABULARY, search=Sweep(**settings), wants=ALL)


def changed(outcome):
    return [(edit.slot, edit.before, edit.after) for edit in outcome.edits]


@pytest.mark.parametrize(
    ("rank", "slot"),
    [
        (ZeroVector(), 2),  # great, 3 of 4.25, is what the answer hangs on
        (LeaveOneOut(), 2),
        (ByAttention(), 2),
        (ByAttention(least=True), 1),  # film weighs nothing
    ],
)
def test_the_ranking_chooses_the_one_slot_that_is_swept(rank, slot):
    outcome = only(sweep(rank=rank), "fine film great okay")
    assert {edit.slot for edit in outcome.edits} == {slot}
    assert (outcome.status == "success") == (slot == 2)


def test_the_first_that_works_in_the_order_of_the_seed_ends_it():
    found = {}
    for seed in range(30):
        outcome = only(sweep(rank=ZeroVector()), "good film", seed=seed)
        assert outcome.status == "success"
        ((slot, _, new),) = changed(outcome)
        assert slot == 0
        assert new in ("awful", "bad", "poor")  # below nothing; okay, x and longer do not turn the label
        found[new] = found.get(new, 0) + 1
    assert set(found) == {"awful", "bad", "poor"}, "each comes first under some seed"


def test_with_nearest_it_is_the_one_that_moves_the_vector_least():
    """good to poor: 3 + 0; to bad: 4 + 0.1; to awful: 5 + 0.1."""
    for seed in range(5):
        outcome = only(sweep(rank=ZeroVector(), nearest=True), "good film", seed=seed)
        assert changed(outcome) == [(0, "good", "poor")]


def test_more_words_may_change_where_one_does_not_do():
    text = "great good good film"
    one = only(sweep(rank=ZeroVector()), text)
    assert one.status == "failed"
    assert changed(one) == [(0, "great", "awful")], "the strongest attempt is kept"
    two = only(sweep(rank=ZeroVector(), words=2, nearest=True), text)
    assert two.status == "success"
    # awful, good, good is 1: of what turns it, okay moves from the original least
    assert changed(two)[0] == (0, "great", "awful")
    assert changed(two)[1][1:] == ("good", "okay")


def test_what_is_asked_counts_and_a_peek_saves_the_rest():
    """The original, a probe a slot, then the sweep: `peek` of it, and the rest where that did not do."""
    whole = only(sweep(rank=ZeroVector(), nearest=True), "good film")
    assert whole.queries.asked == 1 + 2 + len(ANYTHING)
    for seed in range(8):
        little = only(sweep(rank=ZeroVector(), peek=2), "good film", seed=seed)
        all_of_it = only(sweep(rank=ZeroVector(), peek=100), "good film", seed=seed)
        assert little.queries.asked in (1 + 2 + 2, 1 + 2 + len(ANYTHING))
        assert changed(little) == changed(all_of_it), "the peek changes the cost alone"


@pytest.mark.parametrize("budget", range(1, 14))
def test_the_budget_holds_and_what_was_found_is_kept(budget):
    outcome = only(sweep(rank=ZeroVector()).but(budget=budget), "good film nice")
    assert outcome.queries.asked <= budget
    assert outcome.status in ("success", "failed")


def test_settings_that_make_no_sense_are_refused():
    for make in (
        lambda: Sweep(words=0),
        lambda: Sweep(peek=0),
        lambda: ByAttention(direction="paid"),
        lambda: FirstFound(rank=LeftToRight(), words=0),
        lambda: RECIPES["gs-gr"](probe="guess"),
    ):
        with pytest.raises(SettingError):
            make()


@pytest.mark.usefixtures("tiny_assets")
@pytest.mark.parametrize(
    ("name", "missing"), [("gs-gr", "padding"), ("gs-ec", "embeddings, padding"), ("asmax-gr", "attention")]
)
def test_a_victim_that_shows_too_little_is_refused_with_what_to_do(name, missing):
    with pytest.raises(CapabilityError, match=f"{name} needs {missing}, which toy does not offer.*leave-out"):
        next(run(RECIPES[name](), toy.victim(), toy.examples(["good film"])))


@pytest.mark.usefixtures("tiny_assets")
def test_greedy_select_does_with_scores_alone_where_told():
    for probe in ("leave-out", "unknown"):
        attack = RECIPES["gs-gr"](probe=probe)
        assert Capability.PADDING not in attack.needs
        (outcome,) = run(attack, toy.victim(), toy.examples(["good film"]))
        assert outcome.status == "success"


# --- random


def test_random_counts_the_share_of_its_trials_that_work():
    """One slot can change, and 3 of its 7 replacements turn the label."""
    attack = listed({"good": ANYTHING}, search=Random(trials=4000, block=300, stop=False))
    outcome = only(attack, "good x", seed=1)
    assert outcome.status == "success"
    assert outcome.queries.asked == 1 + 4000
    assert outcome.queries.unique == 1 + len(ANYTHING)
    assert outcome.measures["hit_share"] == pytest.approx(3 / 7, abs=0.03)


def test_a_text_that_holds_has_a_share_of_nothing_and_counts_in_the_mean():
    attack = listed({"good": ANYTHING, "great": ("fine",)}, search=Random(trials=500, stop=False))
    outcomes = attack_all(attack, toy.examples(["good x", "great x"]))
    assert [o.status for o in outcomes] == ["success", "failed"]
    assert outcomes[1].measures == {"hit_share": 0.0}
    share = Totals(outcomes).summary().measures["hit_share"].mean
    assert share == pytest.approx(outcomes[0].measures["hit_share"] / 2)


def test_random_that_stops_does_not_go_on():
    attack = listed({"good": ANYTHING}, search=Random(trials=4000, block=10))
    outcome = only(attack, "good x")
    assert outcome.queries.asked < 100
    assert outcome.measures == {}


# --- list


def test_the_list_with_two_words_keeps_the_best_of_the_first_round():
    attack = listed(search=FirstFound(rank=LeftToRight(), words=2))
    outcome = only(attack, "fine fine")
    assert outcome.status == "success"
    assert sorted(edit.after for edit in outcome.edits) == ["poor", "poor"]
    assert only(listed(search=FirstFound(rank=LeftToRight())), "fine fine").status == "failed"


# --- all of them


@pytest.mark.usefixtures("tiny_assets")
@pytest.mark.parametrize("name", ["gs-gr", "gs-ec", "asmax-gr", "asmin-gr", "asmax-ec", "asmin-ec", "list"])
@pytest.mark.parametrize("words", [1, 3])
def test_no_more_words_change_than_were_asked_for(name, words, toy_examples):
    attack = RECIPES[name](words=words)
    outcomes = attack_all(attack, toy_examples)
    assert max(len(o.edits) for o in outcomes) <= words
    wide = attack_all(attack, toy_examples[::-1], width=3)[::-1]
    assert [compare_key(o) for o in outcomes] == [compare_key(o) for o in wide]


@pytest.mark.usefixtures("tiny_assets")
def test_the_two_replacements_break_the_same_texts(toy_examples):
    """Both try every word in the same slot, so one finds something where the other does."""
    for kind in ("gs", "asmax", "asmin"):
        one, two = (attack_all(RECIPES[f"{kind}-{end}"](), toy_examples) for end in ("gr", "ec"))
        assert [o.status for o in one] == [o.status for o in two]


@pytest.mark.usefixtures("tiny_assets")
def test_of_a_pair_the_hypothesis_changes():
    pair = {"premise": "good film", "hypothesis": "good the"}
    for name in ("gs-gr", "asmax-ec"):
        outcome = only(RECIPES[name](), pair, label=1, editable=("hypothesis",))
        assert {edit.field for edit in outcome.edits} == {"hypothesis"}


def test_the_distance_is_measured_where_asked():
    attack = sweep(rank=ZeroVector(), nearest=True).but(measures=("distance",))
    assert Capability.EMBEDDINGS in attack.needs
    assert only(attack, "good film").measures == {"distance": pytest.approx(3.0)}


def test_mistakes_of_grammar_are_counted_by_the_checker_that_is_there(monkeypatch):
    import sys
    from types import ModuleType, SimpleNamespace

    from malaprop.assets.measures import open_checker
    from malaprop.core.errors import AssetError
    from malaprop.engine.service import FunctionService

    monkeypatch.setitem(sys.modules, "language_tool_python", None)
    monkeypatch.setitem(sys.modules, "harper", None)
    with pytest.raises(AssetError, match="harper-py, or language_tool_python"):
        open_checker()

    class Linter:
        def lint(self, text):
            return [SimpleNamespace(lint_kind=kind) for kind in ["Agreement"] * text.count("poor") + ["Formatting"]]

    monkeypatch.setitem(sys.modules, "harper", SimpleNamespace(Linter=Linter))
    assert open_checker().mistakes(["a poor film .", "a film ."]) == [1, 0], "where there is no LanguageTool"

    class Tool:
        def __init__(self, language):
            assert language == "en-US"

        def check(self, text):
            kinds = ["GRAMMAR"] * text.count("poor") + ["TYPOGRAPHY"]
            return [SimpleNamespace(category=kind) for kind in kinds]

    fake = ModuleType("language_tool_python")
    fake.LanguageTool = Tool
    monkeypatch.setitem(sys.modules, "language_tool_python", fake)
    target = toy.White(toy.victim())
    services = {**toy.toy_services(target), "grammar": FunctionService(open_checker().mistakes)}
    attack = sweep(rank=ZeroVector(), nearest=True).but(measures=("grammar",))
    outcome = only(attack, "good film", target, services=services)
    assert outcome.measures == {"grammar_before": 0.0, "grammar": 1.0}


def test_fewer_examples_are_in_flight_where_an_attack_says_so(toy_examples):
    attack = sweep(rank=ZeroVector())
    seen = []

    def asked(looks):
        seen.append(len(looks))
        return toy.Insides().blanked(looks)

    target = toy.White(toy.victim())
    services = toy.toy_services(target)
    services["padding"].answer = asked
    from dataclasses import replace

    list(run(replace(attack, abreast=2), target, toy_examples, services=services, width=64))
    assert max(seen) == 2
    assert np.sum(seen) > 10
