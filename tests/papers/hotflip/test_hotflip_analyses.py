"""What a HotFlip study counts: operations, characters, confidences, neighbours."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import SettingError
from malaprop.core.text import Text, Words
from malaprop.frame.records import Outcome, Queries, Side, edits_between
from malaprop.frame.study.selection import Selection
from malaprop.models.tokens.vocab import Vocab
from malaprop.papers.hotflip.study import HotFlip
from malaprop.papers.hotflip.summary import (
    PLAIN,
    VARIANTS,
    HotFlipDesign,
    changed_characters,
    confidence,
    curve,
    find_edited_words,
    neighbours,
    of_outcome,
    operations,
    success_at,
)
from malaprop.training.card import Card
from malaprop.zoo import checkpoint
from malaprop.zoo.names import ZooSpec
from malaprop.zoo.special_models import SPECIAL_MODELS


def outcome(before, after, *, status="success", label=0, scores=(0.2, 0.8)):
    table = Words()
    fields = {"text": before}, {"text": after}
    origin, final = (Text.of(f, table, 0) for f in fields)
    best = max(range(len(scores)), key=scores.__getitem__)
    return Outcome(
        id=before,
        status=status,
        label=label,
        original=Side(fields[0], label, (0.9, 0.1)),
        adversarial=None if status == "skipped" else Side(fields[1], best, scores),
        edits=edits_between(origin, final),
        queries=Queries(1, 1, 1),
        changed_share=0.5,
        seconds=0.0,
        seed=0,
        reason=None,
    )


@pytest.mark.parametrize(
    ("before", "after", "flips", "inserts", "deletes"),
    [
        ("mood", "mooP", 1, 0, 0),
        ("past", "pas!t", 0, 1, 0),
        ("actor", "actr", 0, 0, 1),
        ("local", "loral", 1, 0, 0),
        ("film", "film", 0, 0, 0),
        ("ab", "ba", 2, 0, 0),  # as few as one deletion and one insertion, and more flips
        ("", "ab", 0, 2, 0),
        ("abc", "", 0, 0, 3),
    ],
)
def test_operations_of_a_word(before, after, flips, inserts, deletes):
    found = operations(before, after)
    assert (found["flip"], found["insert"], found["delete"]) == (flips, inserts, deletes)


words = st.text("abc", max_size=7)


@given(words, words, words)
def test_they_are_a_distance(a, b, c):
    def far(x, y):
        return operations(x, y).total()

    assert far(a, b) == far(b, a)
    assert (far(a, b) == 0) == (a == b)
    assert far(a, c) <= far(a, b) + far(b, c)
    found = operations(a, b)
    assert len(a) + found["insert"] - found["delete"] == len(b)


def test_changed_characters_leave_white_space_out():
    one = outcome("a good film", "a goxd fiilm")
    assert of_outcome(one) == {"flip": 1, "insert": 1}
    assert changed_characters(one) == 2 / 9


SURE, UNSURE = outcome("a b", "a c", scores=(0.1, 0.9)), outcome("c d", "c e", scores=(0.4, 0.6))
HELD = outcome("e f", "e g", status="failed", scores=(0.7, 0.3))
NEARLY = outcome("g h", "g i", status="failed", scores=(0.45, 0.55))


def test_confidence_is_that_of_the_wrong_answer():
    assert [confidence(o) for o in (SURE, UNSURE, HELD, NEARLY)] == [0.9, 0.6, 0.0, 0.55]
    everything = [SURE, UNSURE, HELD, NEARLY, outcome("x", "x", status="skipped")]
    assert (success_at(everything, 0.0).hits, success_at(everything, 0.0).total) == (3, 4)
    assert success_at(everything, 0.6).hits == 2


def test_a_point_is_read_from_the_run_that_went_on_just_far_enough():
    runs = {0.0: [UNSURE, HELD], 0.9: [SURE, NEARLY]}
    points = dict(curve("beam", runs, (0.0, 0.5, 0.9, 0.95)).points)
    assert {at: rate.hits for at, rate in points.items()} == {0.0: 1, 0.5: 2, 0.9: 1}


def test_a_plan_has_every_search_at_every_confidence_and_flips_on_every_model():
    cells = list(HotFlipDesign(methods=("hotflip", "miyato"), confidences=(0.0, 0.9), exact=3).cells())
    assert {c.name for c in cells if c.model == "hotflip"} == {"flips"}
    assert {c.name for c in cells if c.model == PLAIN} == {
        *(
            "few",
            "few-exact",
            "few-edits",
            "few-edits-exact",
            "flips",
            "greedy-flips",
            "beam-0",
            "beam-0.9",
            "greedy-0",
            "greedy-0.9",
            "key-star-0",
            "key-star-0.9",
        )
    }
    assert len({c.folder(checkpoint.Path("x")) for c in cells}) == len(cells)


@pytest.fixture
def reader(tmp_path):
    """A model of single filters whose word vector is which of the letters x, y and z it holds."""
    spec = ZooSpec(encoder="CharCNN-LSTM", units="character", embedding="Random", depth=2)
    shape = {"char_dim": 3, "filters": 3, "width": 3, "highways": 0, "hidden": 2}
    vocab = Vocab.build(["xx xxx", "yy", "zz zzz zzzz zzzzz zzzzzz", "xy"])
    model = SPECIAL_MODELS["CharCNN-LSTM"].network(len(vocab), 2, **shape)
    open_ = model.embedding.open_to(vocab)
    with torch.no_grad():
        for parameter in model.embedding.parameters():
            parameter.zero_()
        for place, letter in enumerate("xyz"):
            model.embedding.embedding.weight[open_.sign[letter], place] = 1
            model.embedding.convs[0].weight[place, place, :] = 1
    card = Card(
        spec=spec.plain(),
        shape={**SPECIAL_MODELS["CharCNN-LSTM"].shape, **shape},
        labels=("a", "b"),
        limit=9,
        data="toy",
        data_fingerprint="",
        seed=0,
        figures={},
    )
    checkpoint.save(tmp_path / "model", card, model, vocab)
    return tmp_path / "model"


def test_neighbours_before_and_after_an_edit(reader):
    found, moved = neighbours(reader, [("xx", "xz"), ("xxx", "xxz"), ("yy", "zz"), ("new", "xx")])
    assert (moved.hits, moved.total) == (1, 3)  # yy has become zz, and there are five of that kind
    assert found[0].word == "yy"
    assert set(found[0].after) == {"zz", "zzz", "zzzz", "zzzzz", "zzzzzz"}
    assert found[0].before[0] == "xy"


def test_words_that_became_something_else_come_by_frequency():
    both = [outcome("Good film", "goad film"), outcome("good idea", "goad idxea"), HELD]
    assert find_edited_words(both) == [("good", "goad"), ("idea", "idxea")]


def test_every_attack_of_a_study_that_closes_characters_can_be_made():
    from malaprop.frame.runs.make_attack import recipe

    for cell in HotFlipDesign(methods=("hotflip",), closes="character", exact=2, vary=tuple(VARIANTS)).cells():
        assert recipe(cell.recipe, **cell.settings).name


@pytest.mark.parametrize("name", ["beam-one-a-word", "beam-two-a-word", "beam-flips-two-a-word"])
def test_variants_that_bound_the_edits_of_a_word_need_edits_that_lock_a_character(name):
    """With --closes word each word is edited once, so these variants are the plain searches."""
    rows = [("a good film", 1), ("a bad film", 0)] * 10
    given = HotFlip(model="CNN-C-Random-1", vary=("beam-wide", name), texts=Selection(data=rows, split="all"))
    with pytest.raises(SettingError, match=f"--vary {name} needs --closes character"):
        given.check()
    replace(given, closes="character").check()
    replace(given, vary=("beam-wide", "beam-neighbours")).check()
