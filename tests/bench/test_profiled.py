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


@pytest.fixture
def held(tmp_path):
    """Profiles of a brittle victim, and of a calm one in its place as its hardened twin."""
    for seed in (0, 1):
        settings = {"attack": "deepwordbug", "n": 0, "validity": "paper", "seed": seed}
        mp.profile([brittle, calm], PAIRS, out=tmp_path / str(seed), **settings)
    profiled.add(
        tmp_path / "profile.json", [tmp_path / "0", tmp_path / "1"], {"brittle": "of paper"}, {"calm": "brittle"}
    )
    return profiled.read(tmp_path / "profile.json")


@pytest.mark.filterwarnings("ignore:using a short list of common misspellings")
def test_profiles_are_kept_text_by_text(held):
    assert held.about == {"brittle": "of paper"}
    scores = []
    for run in held.runs:
        scores.append({one.victim: one.score.value for one in run.profile.entries})
        for name, areas in run.areas.items():
            both = [(a + b) / 2 for a, b in zip(areas["noise"], areas["attack"], strict=True)]
            assert len(both) == len(PAIRS)
            assert sum(both) / len(both) == pytest.approx(scores[-1][name], abs=0.01)

    gap = profiled.differ(held, "calm", "brittle")
    assert gap.value == pytest.approx(sum(one["calm"] - one["brittle"] for one in scores) / 2, abs=0.01)
    assert gap.value > 0
    assert [row[:2] for row in profiled.twin_rows(encode(held))] == [["calm", "brittle"]]
    assert [row[0] for row in profiled.rows(encode(held))] == ["1. calm", "2. brittle"]

    one, other = (run.profile for run in held.runs)
    first, second = one.entries
    turned = replace(one, entries=(replace(first, victim="brittle"), replace(second, victim="calm")))
    assert (profiled.tau(one, other), profiled.tau(one, turned)) == (1, -1)

    drawn = ElementTree.fromstring(profiled.draw(held))
    assert len(drawn.findall(".//{*}path[@class='line']")) == 4


def test_another_file_is_said_in_one_line(tmp_path):
    (tmp_path / "profile.json").write_text('{"runs": 1}')
    with pytest.raises(RecordError, match="does not hold profiles"):
        profiled.read(tmp_path / "profile.json")
