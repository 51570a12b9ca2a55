"""A service that remembers queries: what it answers an attack, and attacks that know of it."""

from __future__ import annotations

import numpy as np
import pytest
import small_victims
import toy

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import REJECTED
from malaprop.features.defending.evaluation_figures import take_worst
from malaprop.features.defending.evasion import ThroughDisguise, ThroughSurrogate
from malaprop.features.defending.stateful import QueryMemory
from malaprop.frame.runs.local import run
from malaprop.frame.runs.make_attack import make_attack
from malaprop.frame.runs.victims import victim
from malaprop.frame.runs.wrap import defend_by_spec, remembers_queries

pytestmark = pytest.mark.usefixtures("tiny_assets")
NAMES = ("negative", "positive")
TEXT = "gripping story told with warmth wit clever dialogue stunning desert photography"
WORDS = TEXT.split()


def by_words(weights: dict[str, float]):
    """A victim that adds up words, asked by strings; what it was asked is in `seen`."""
    seen: list[str] = []

    def predict(texts):
        seen.extend(texts)
        chances = [1 / (1 + np.exp(-sum(weights.get(word, 0.0) for word in text.split()))) for text in texts]
        return [[1 - chance, chance] for chance in chances]

    made = victim(predict)
    made.label_names = NAMES
    return made, seen


def service(weights, limit: int = 4):
    inner, seen = by_words(weights)
    return defend_by_spec(f"stateful:limit={limit}", inner), seen


LINEAR = dict.fromkeys(WORDS, 1.0) | {f"{word}{n}": 1.0 - n for word in WORDS for n in range(1, 4)}
TABLE = {word: tuple(f"{word}{n}" for n in range(1, 4)) for word in WORDS}


def attack_text(target, text: str = TEXT, label: int = 1, table=None):
    return toy.only(toy.listed(table or TABLE), text, target, label=label)


def test_an_attack_that_breaks_the_model_is_stopped_by_the_memory_in_front_of_it():
    plain, _ = by_words(LINEAR)
    assert attack_text(plain).status == "success"
    target, seen = service(LINEAR)
    ended = attack_text(target)
    assert ended.status == "failed"
    assert len(set(seen)) == 4
    assert ended.queries.asked > 4


def test_a_success_within_the_limit_counts():
    weights = {**LINEAR, "wit1": -50.0}
    target, _ = service(weights, limit=40)
    ended = attack_text(target)
    assert ended.status == "success"
    assert ended.adversarial.prediction == 0


def test_an_original_is_never_rejected_for_another_text():
    target, _ = service(LINEAR, limit=1)
    rows = toy.examples([TEXT, TEXT.replace("wit", "humour"), TEXT.upper()], label=1)
    assert {one.status for one in toy.attack_all(toy.listed(TABLE), rows, target)} <= {"failed", "skipped"}


@pytest.mark.parametrize("kind", ["plain", "surrogate", "disguise"])
def test_outcomes_are_the_same_at_any_width(kind):
    rows = toy.some_examples(16)
    inner = victim(toy.predict)
    inner.label_names = NAMES
    target = defend_by_spec("stateful:limit=3", inner)
    target = {
        "plain": target,
        "surrogate": ThroughSurrogate(defended=target, own=inner),
        "disguise": ThroughDisguise(defended=target),
    }[kind]
    found = [
        [
            (one.status, one.adversarial, one.queries.asked)
            for one in toy.attack_all(toy.listed(), rows, target, width=width)
        ]
        for width in (1, 3, 64)
    ]
    assert found[0] == found[1] == found[2]


def test_a_function_without_names_has_numbers_or_takes_the_names_of_the_data():
    from malaprop.data.matching import names_of
    from malaprop.frame.runs.victims import name_labels

    bare = defend_by_spec("stateful", victim(toy.predict))
    assert bare.label_names == ("0", "1", REJECTED)
    assert names_of(bare) == ()
    name_labels(bare, NAMES)
    assert names_of(bare) == bare.label_names
    assert bare.label_names == (*NAMES, REJECTED)


def test_a_model_that_rejects_texts_itself_keeps_its_label():
    inner, _ = by_words(LINEAR)
    inner.label_names = ("positive", REJECTED)
    made = defend_by_spec("stateful", inner)
    assert made.label_names == ("positive", REJECTED)
    assert made.predict(["gripping"]).shape == (1, 2)


def test_answers_are_the_models_where_nothing_was_asked_before():
    inner = small_victims.words()
    made = defend_by_spec("stateful", inner)
    texts = ["the good film", "a bad one"]
    np.testing.assert_allclose(made.predict(texts)[:, :-1], inner.predict(texts), atol=1e-6)
    assert not made.predict(texts)[:, -1].any()


@pytest.mark.parametrize("spec", ["fuse(stateful)", "stateful(stateful)", "purify:spell(stateful:limit=2)"])
def test_it_stands_outermost(spec):
    with pytest.raises(SettingError, match="stateful must be the outermost"):
        defend_by_spec(spec, small_victims.words())


@pytest.mark.parametrize("wrong", ["stateful:limit=0", "stateful:limit=-1", "stateful:most=3"])
def test_bad_settings_are_one_line(wrong):
    with pytest.raises(SettingError) as said:
        defend_by_spec(wrong, small_victims.words())
    assert "\n" not in str(said.value)


def test_what_remembers_is_known_by_its_name():
    assert remembers_queries("stateful")
    assert remembers_queries("stateful:limit=3(reject:weight=2)")
    assert not remembers_queries("fuse(fact)")
    assert not remembers_queries("none")


@pytest.mark.parametrize("text", ["wit", "", "\N{GRINNING FACE}", "wit wit"])
def test_tiny_texts_end_in_an_outcome(text):
    inner, _ = by_words(LINEAR)
    target = defend_by_spec("stateful:limit=1", inner)
    for one in (target, ThroughSurrogate(defended=target, own=inner), ThroughDisguise(defended=target)):
        assert attack_text(one, text).status in ("failed", "success", "skipped", "error")


def test_a_victim_that_raises_on_a_text_costs_that_text_alone():
    def predict(texts):
        if any("poison" in text for text in texts):
            raise ValueError("cannot read this")
        return [[0.1, 0.9] for _ in texts]

    inner = victim(predict)
    inner.label_names = NAMES
    rows = toy.examples([TEXT, f"poison {TEXT}", TEXT.upper()], label=1)
    for target in (defend_by_spec("stateful", inner), ThroughDisguise(defended=defend_by_spec("stateful", inner))):
        assert [one.status for one in toy.attack_all(toy.listed(TABLE), rows, target)] == ["failed", "error", "failed"]


# --- attacks that know of it


def test_a_surrogate_breaks_what_a_direct_attack_cannot():
    target, seen = service(LINEAR)
    own, _ = by_words({word: 0.9 * weight for word, weight in LINEAR.items()})
    ended = attack_text(ThroughSurrogate(defended=target, own=own))
    assert ended.status == "success"
    assert len(set(seen)) <= 4
    assert target.predict([ended.adversarial.fields["text"]])[0].argmax() == 0


def test_a_surrogate_may_give_any_scores():
    target, _ = service(LINEAR)
    by_chance, _ = by_words(LINEAR)
    own = victim(lambda texts: np.log(by_chance.predict(texts)) - 9)
    own.label_names = NAMES
    assert attack_text(ThroughSurrogate(defended=target, own=own)).status == "success"


def test_what_only_the_surrogate_believes_is_no_success():
    target, seen = service(dict.fromkeys(LINEAR, 9.0))  # nothing breaks it
    own, _ = by_words(LINEAR)
    ended = attack_text(ThroughSurrogate(defended=target, own=own))
    assert ended.status == "failed"
    assert len(set(seen)) <= 4


@pytest.mark.parametrize(("label", "status"), [(1, "failed"), (0, "skipped")])
def test_whether_the_original_is_right_is_for_the_service_to_say(label, status):
    target, _ = service(dict.fromkeys(LINEAR, 9.0))
    own, _ = by_words(dict.fromkeys(LINEAR, -1.0))  # wrong on every text
    assert attack_text(ThroughSurrogate(defended=target, own=own), label=label).status == status


def test_a_surrogate_with_other_labels_is_refused():
    target, _ = service(LINEAR)
    own, _ = by_words(LINEAR)
    own.label_names = ("no", "yes")
    with pytest.raises(VictimError, match="their labels are no, yes and negative, positive"):
        ThroughSurrogate(defended=target, own=own)


def test_a_disguised_search_is_answered_more_than_an_open_one():
    target, seen = service(LINEAR)
    attack_text(target)
    openly = len(set(seen))
    seen.clear()
    attack_text(ThroughDisguise(defended=target))
    assert len(set(seen)) > 3 * openly


def test_disguises_keep_what_the_search_changed_and_pass_the_memory():
    target, _ = service(LINEAR)
    table = Words()
    origin = Text.of({"text": TEXT}, table, 0)
    edited = Variants.at(origin, 3, table.ids(["warmth2"])).pick(0)
    copies = list(ThroughDisguise(defended=target, copies=60)._disguise(edited, origin))
    words = [copy.strings for copy in copies]
    assert all(one[3] == "warmth2" and len(one) == len(WORDS) for one in words)
    kept = np.mean([a == b for one in words for a, b in zip(one, edited.strings, strict=True)])
    assert 0.3 < kept < 0.5
    memory = QueryMemory(limit=5)
    assert sum(memory.admit(copy.values()) for copy in copies) > 20


def test_the_worst_of_several_runs_is_taken_text_by_text():
    rows = toy.some_examples(12)
    runs = [toy.attack_all(toy.listed(), rows, toy.victim()), toy.attack_all(toy.listed({}), rows, toy.victim())]
    worst = {one.id: one.status for one in take_worst(runs)}
    for one, other in zip(*runs, strict=True):
        assert worst[one.id] == ("success" if "success" in (one.status, other.status) else one.status)


def test_real_recipes_meet_it():
    target = defend_by_spec("stateful:limit=2", small_victims.words())
    rows = toy.examples(["the good film , a bad one", "well made and not so dull great movie"], label=0)
    for name in ("pwws", "deepwordbug"):
        assert len(list(run(make_attack(name, {}), target, rows))) == 2
