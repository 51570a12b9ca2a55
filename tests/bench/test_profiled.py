"""Profiles of several victims on two samples: what they are put together from, and what the page says of them."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
import toy
from malaprop_bench import profiled

import malaprop as mp
from malaprop.core.codec import encode
from malaprop.core.errors import RecordError

PAIRS = [
    ("a great film , really , one of the best of the year", 1),
    ("a good film of the year about a man and his dog", 1),
    ("a bad film that nobody in the house wants to see", 0),
    ("it explodes , good", 1),
]
KNOWN = {word for text, _ in PAIRS for word in text.split()}


def brittle(texts):
    """Any word that it does not know turns the answer."""
    odd = [bool(set(text.split()) - KNOWN) for text in texts]
    return [pair[::-1] if strange else pair for pair, strange in zip(toy.predict(texts), odd, strict=True)]


def calm(texts):
    return toy.predict(texts)


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """Profiles of a brittle victim, and of a calm one in its place as its hardened twin."""
    root = tmp_path_factory.mktemp("profiles")
    for seed in (0, 1):
        settings = {"attack": "deepwordbug", "n": 0, "validity": "paper", "seed": seed}
        mp.profile([brittle, calm], PAIRS, out=root / str(seed), **settings)
    profiled.add(root / "profile.json", [root / "0", root / "1"], {"brittle": "of paper"}, {"calm": "brittle"})
    return profiled.read(root / "profile.json")


def test_a_run_has_the_areas_of_its_texts(held):
    assert held.about == {"brittle": "of paper"}
    for run in held.runs:
        for one in run.profile.entries:
            areas = run.areas[one.victim]
            assert len(areas["noise"]) == len(areas["attack"]) == len(PAIRS)
            both = [(a + b) / 2 for a, b in zip(areas["noise"], areas["attack"], strict=True)]
            assert sum(both) / len(both) == pytest.approx(one.score.value, abs=0.01)


def test_a_hardened_victim_stands_beside_its_plain_twin(held):
    gap = profiled.differ(held, "calm", "brittle")
    scores = [{one.victim: one.score.value for one in run.profile.entries} for run in held.runs]
    assert gap.value == pytest.approx(sum(one["calm"] - one["brittle"] for one in scores) / 2, abs=0.01)
    assert gap.value > 0
    ((name, plain, *_),) = profiled.twin_rows(encode(held))
    assert (name, plain) == ("calm", "brittle")
    assert [row[0] for row in profiled.rows(encode(held))] == ["1. calm", "2. brittle"]


def test_rank_correlation_known_by_hand(held):
    one, other = (run.profile for run in held.runs)
    assert profiled.tau(one, other) == 1
    first, second = one.entries
    turned = replace(one, entries=(replace(first, victim="brittle"), replace(second, victim="calm")))
    assert profiled.tau(one, turned) == -1


def test_the_picture_is_a_file_of_its_own(held):
    drawn = ElementTree.fromstring(profiled.draw(held))
    assert drawn.tag.endswith("svg")
    assert len(drawn.findall(".//{*}path[@class='line']")) == 4


def test_another_file_is_said_in_one_line(tmp_path):
    (tmp_path / "profile.json").write_text('{"runs": 1}')
    with pytest.raises(RecordError, match="does not hold profiles"):
        profiled.read(tmp_path / "profile.json")
