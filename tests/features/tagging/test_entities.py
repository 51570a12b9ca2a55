"""Entities out of tags, F1 against counts made by hand, and when an attack's goal is reached."""

from __future__ import annotations

import numpy as np
import pytest

from malaprop.core.errors import SettingError
from malaprop.features.tagging.entities import (
    Entity,
    count_entities,
    f1_lost,
    f1_of,
    f1_with_interval,
    find_odd_tag,
    read_entities,
    tags_of,
)
from malaprop.features.tagging.victim import GOALS, TagGoal, Target

TAGS = tags_of(("LOC", "PER"))


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        ("O O", []),
        ("I-PER I-PER O", [(0, 2, "PER")]),
        ("B-PER B-PER", [(0, 1, "PER"), (1, 2, "PER")]),
        ("B-PER I-LOC", [(0, 1, "PER"), (1, 2, "LOC")]),
        ("O I-LOC B-LOC I-LOC", [(1, 2, "LOC"), (2, 4, "LOC")]),
        ("U-PER B-LOC L-LOC S-PER", [(0, 1, "PER"), (1, 3, "LOC"), (3, 4, "PER")]),
        ("PER PER O LOC", [(0, 2, "PER"), (3, 4, "LOC")]),
    ],
)
def test_entities_are_read_as_conlleval_does(tags, entities):
    assert read_entities(tags.split()) == tuple(Entity(*one) for one in entities)


def test_which_tags_data_may_hold():
    alike = (("O", "B-PER", "L-geo", "S-LOC"), ("O", "person-actor", "art"), ("PER", "WORK_OF_ART"), ())
    assert not any(map(find_odd_tag, alike))
    assert find_odd_tag(("O", "B-PER", "banana")) == "banana"


# true tags, predicted tags, and by hand: right, found, there
BY_HAND = [
    ("B-PER I-PER O B-LOC", "B-PER I-PER O B-LOC", (2, 2, 2)),
    ("B-PER I-PER O B-LOC", "B-PER O O B-LOC", (1, 2, 2)),  # cut
    ("B-PER I-PER O B-LOC", "B-LOC I-LOC O B-LOC", (1, 2, 2)),  # mislabelled
    ("B-PER I-PER O B-LOC", "O O O O", (0, 0, 2)),  # missed
    ("O O O", "O B-PER O", (0, 1, 0)),  # invented
]


def test_f1_agrees_with_counts_made_by_hand():
    made = [count_entities(gold.split(), found.split()) for gold, found, _ in BY_HAND]
    assert made == [counts for _, _, counts in BY_HAND]
    counts = np.asarray(made, np.float64)
    assert f1_of(counts.sum(0)) == pytest.approx(100 * 2 * 4 / (7 + 8))
    assert count_entities(BY_HAND[2][0].split(), BY_HAND[2][1].split(), "LOC") == (1, 2, 1)
    assert count_entities(BY_HAND[2][0].split(), BY_HAND[2][1].split(), "PER") == (0, 0, 1)
    found = f1_with_interval(counts, 0)
    assert found.value == pytest.approx(160 / 3, abs=1e-3)
    assert found.low < found.value < found.high
    assert f1_lost(counts, counts, 0).high == 0
    assert f1_of(np.zeros(3)) == 0


GOLD = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
REACHED = {
    "B-PER I-PER O O B-LOC O": set(),
    "O O O O O O": {"any", "missed"},
    "B-LOC I-LOC O O B-PER O": {"any", "mislabelled"},
    "B-PER O O O B-LOC I-LOC": {"any", "cut"},
    "B-PER I-PER I-PER O B-LOC I-LOC": {"any", "cut"},
    "B-PER B-PER O O O O": {"any"},  # one is cut, one is missed
    "B-PER I-PER O B-LOC I-LOC O": set(),  # one of two is found longer
    "B-PER I-PER O B-LOC B-LOC O": {"invented"},
}


def one_hot(tags):
    out = np.full((1, len(tags), len(TAGS)), 0.01, np.float32)
    for place, tag in enumerate(tags):
        out[0, place, TAGS.index(tag)] = 0.9
    return out


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("tags", REACHED)
def test_what_each_goal_takes_for_a_success(goal, tags):
    target = Target(TagGoal(kind=goal), TAGS, GOLD, GOLD)
    kept, reached = target.answer(one_hot(tags.split()))[0].tolist()
    assert kept + reached == pytest.approx(1)
    assert (reached > kept) == (goal in REACHED[tags])


def test_a_share_of_the_entities_is_enough():
    half = Target(TagGoal(share=0.5), TAGS, GOLD, GOLD)
    assert half.answer(one_hot(["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O"]))[0, 1] > 0.5
    with pytest.raises(SettingError, match="--share"):
        TagGoal(share=0)


def test_a_score_rises_as_the_tags_weaken():
    target = Target(TagGoal(), TAGS, GOLD, GOLD)
    firm = one_hot(GOLD)
    weak = firm.copy()
    weak[0, 1, TAGS.index("I-PER")] = 0.4
    weak[0, 1, 0] = 0.3
    assert 0.5 > target.answer(weak)[0, 1] > target.answer(firm)[0, 1]


def test_only_entities_that_were_found_are_aimed_at():
    assert Target(TagGoal(), TAGS, GOLD, ["B-PER", "I-PER", "O", "O", "O", "O"]).aims == [Entity(0, 2, "PER")]
    assert "finds none" in Target(TagGoal(), TAGS, GOLD, ["O"] * 6).reason
    assert "no entity" in Target(TagGoal(), TAGS, ["O"] * 6, ["O"] * 6).reason
    assert "already" in Target(TagGoal(kind="invented"), TAGS, ["O"] * 6, ["B-PER", *["O"] * 5]).reason
