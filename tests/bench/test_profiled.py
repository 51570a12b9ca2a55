"""Profiles of several victims on two samples: what they are put together from, and what the page says of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import toy
from malaprop_bench import profiled

import malaprop as mp
from malaprop.core.codec import encode
from malaprop.core.errors import RecordError

DOCS = Path(__file__).parents[2] / "docs"
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


def steady(texts):
    """The same answer for every text."""
    return [(0.2, 0.8) for _ in texts]


@pytest.fixture
def held(tmp_path):
    """Profiles of a brittle victim, and of a calm one as its hardened twin."""
    for seed, kind in enumerate(profiled.KINDS[:2]):
        settings = {"attack": "deepwordbug", "n": 0, "validity": "paper", "seed": seed}
        mp.profile([brittle, calm], PAIRS, out=tmp_path / kind, **settings)
        profiled.add(tmp_path / "profile.json", tmp_path / kind, kind, {"calm": "quiet"}, {"quiet": "brittle"})
    return profiled.read(tmp_path / "profile.json")


@pytest.mark.filterwarnings("ignore:using a short list of common misspellings")
def test_profiles_are_kept_text_by_text(held):
    scores = [profiled.scores(run) for run in held.samples]
    for run, scored in zip(held.samples, scores, strict=True):
        for name, areas in run.areas.items():
            both = [(a + b) / 2 for a, b in zip(areas["noise"], areas["attack"], strict=True)]
            assert len(both) == len(PAIRS)
            assert sum(both) / len(both) == pytest.approx(scored[name], abs=0.01)

        assert run.successes == {"deepwordbug": 4}

    gap = profiled.differ(held, "quiet", "brittle")
    assert gap.value == pytest.approx(sum(one["quiet"] - one["brittle"] for one in scores) / 2, abs=0.01)
    assert gap.low > 0
    assert profiled.decided(held) == [("quiet", "brittle", True)]
    assert [row[:2] for row in profiled.twin_rows(encode(held))] == [["quiet", "brittle"]]

    again = replace(held, runs=(*held.runs, replace(held.runs[0], kind=profiled.KINDS[2])))
    assert [(row[0], row[1] == row[3]) for row in profiled.rows(encode(again))] == [
        ("1. quiet", True),
        ("2. brittle", True),
    ]
    assert len(ElementTree.fromstring(profiled.draw(held)).findall(".//{*}path[@class='line']")) == 4


@pytest.mark.filterwarnings("ignore:using a short list of common misspellings")
def test_further_victims_join_a_run_on_the_same_copies(tmp_path, held):
    settings = {"attack": "deepwordbug", "n": 0, "validity": "paper", "seed": 0}
    mp.profile([steady], PAIRS, out=tmp_path / "more", **settings)
    profiled.add(tmp_path / "profile.json", tmp_path / "more", "first", {}, {}, more=True)
    joined = profiled.read(tmp_path / "profile.json")
    first = joined.of("first")
    assert set(first.areas) == {"quiet", "brittle", "steady"}
    assert first.profile.changed == held.of("first").profile.changed
    ranked = first.profile.entries
    assert [one.score.value for one in ranked] == sorted((one.score.value for one in ranked), reverse=True)
    for one, below in pairwise(ranked):
        assert one.gap.value == pytest.approx(one.score.value - below.score.value, abs=0.01)
    assert ranked[-1].gap is None
    assert joined.of("other texts") == held.of("other texts")
    assert profiled.differ(joined, "quiet", "brittle") == profiled.differ(held, "quiet", "brittle")

    mp.profile([steady], PAIRS, out=tmp_path / "seed", **{**settings, "seed": 9})
    with pytest.raises(RecordError, match="differ in seed"):
        profiled.add(tmp_path / "profile.json", tmp_path / "seed", "first", {}, {}, more=True)


def test_rank_correlation_known_by_hand():
    one = {"a": 3.0, "b": 2.0, "c": 1.0}
    assert profiled.tau(one, {"a": 9.0, "b": 5.0, "c": 4.0, "d": 0.0}) == 1
    assert profiled.tau(one, {"a": 9.0, "b": 4.0, "c": 5.0}) == pytest.approx(1 / 3)
    assert profiled.tau(one, {"a": 1.0, "b": 2.0, "c": 3.0}) == -1


def test_larger_samples_agree_better():
    areas = {name: (50.0 + gap, 51.0 + gap, 90.0, 0.0) for name, gap in (("a", 0.0), ("b", 1.5), ("c", 3.0))}
    areas["d"] = (0.0, 90.0, 51.0, 50.0)
    some = {name: {"noise": mine, "attack": mine} for name, mine in areas.items()}
    runs = [profiled.ProfileRun(kind=kind, profile=None, areas=some, successes={}) for kind in profiled.KINDS[:2]]
    few, many = (profiled.expect_tau(profiled.Profiles(runs=tuple(runs)), texts) for texts in (2, 2000))
    assert few < many


def test_another_file_is_said_in_one_line(tmp_path):
    (tmp_path / "profile.json").write_text('{"runs": 1}')
    with pytest.raises(RecordError, match="does not hold profiles"):
        profiled.read(tmp_path / "profile.json")


def test_what_the_pages_say_of_a_thousand_texts():
    held = profiled.read(DOCS / "measured/profile-large.json")
    first, again = (profiled.scores(held.of(kind)) for kind in ("first", "other seed"))
    page, appendix = (
        " ".join((DOCS / name).read_text(encoding="utf-8").split()) for name in ("profile.md", "appendix/attacks.md")
    )
    assert held.of("first").profile.texts == 1000
    assert f"(Kendall's tau {profiled.tau(first, again):.2f})" in page
    assert f"| two seeds, the same texts | 1,000 | {profiled.tau(first, again):.2f} |" in appendix
    halves = profiled.halve(held.of("first"))
    assert f"| every second text with the others | 500 each | {profiled.tau(*halves):.2f} |" in appendix
    assert f"on one half (500 texts) and on the other have a tau of {profiled.tau(*halves):.2f}" in page
    for name, words in (("MiniLM", "MiniLM by {} points"), ("LSTM", "an LSTM by {}"), ("CNN", "a CNN by {}")):
        gap = profiled.differ(held, f"{name}+misspelt", name)
        assert gap.low > 0
        assert words.format(f"{gap.value:.1f}") in page
        assert f"({gap.low:.1f} to {gap.high:.1f})" in page
    counts = held.of("first").successes
    spelt, total = counts["deepwordbug"], sum(counts.values())
    assert f"Of the {total:,} successes {spelt:,} are misspellings and {total - spelt} swap synonyms" in appendix
    assert profiled.draw(held) == (DOCS / "profile.svg").read_text(encoding="utf-8")


def test_what_the_guide_says_of_training_against_typos():
    held = profiled.read(DOCS / "measured/profile-large.json")
    first = held.of("first")
    page = " ".join((DOCS / "hardening.md").read_text(encoding="utf-8").split())
    names = {"augment": "misspelt", "reject": "attacked", "swaps": "swaps"}

    def told(victim: str) -> str:
        entry = next(one for one in first.profile.entries if one.victim == victim)
        found = entry.worst_at(0.2)
        return str(found).replace(f"{found.hits}/{found.total}, ", "")

    for model, other in (("MiniLM", "reject"), ("LSTM", "swaps"), ("CNN", "swaps")):
        methods = ("augment", other)
        said = ", ".join(f"with `{one}` {told(f'{model}+{names[one]}')}" for one in methods)
        assert f"- {model} {told(model)}, {said}" in page
    assert first.successes["deepwordbug"] / sum(first.successes.values()) == pytest.approx(0.9, abs=0.01)
    assert "(nine of ten misspell)" in page
    lost = {name: profiled.differ(held, plain, name, ("noise",)) for name, plain in held.twins.items()}
    spelt = {name: loss for name, loss in lost.items() if "misspelt" in name}
    assert all((loss.low > 0) == (name not in spelt) for name, loss in lost.items())
    assert all(3 <= round(loss.value) <= 4 for name, loss in lost.items() if name not in spelt)
    assert f"`augment` at most {max(loss.value for loss in spelt.values()):.1f}, within chance" in page


def test_what_the_pages_say_of_profiles():
    held = profiled.read(DOCS / "measured/profile.json")
    first, other = (profiled.scores(run) for run in held.samples)
    again = profiled.scores(held.of("other seed"))
    pages = [
        " ".join((DOCS / name).read_text(encoding="utf-8").split()) for name in ("profile.md", "appendix/attacks.md")
    ]
    assert len(first) == len(other) == 14
    assert "100 texts of MR, fourteen victims" in pages[0]
    for page in pages:
        assert f"{profiled.tau(first, again):.2f}" in page
        assert f"{profiled.tau(first, other):.2f}" in page
    assert f"| the same texts, another seed | {len(again)} | {profiled.tau(first, again):.2f} |" in pages[1]
    assert f"| other texts | {len(other)} | {profiled.tau(first, other):.2f} |" in pages[1]
    expected = [f"{profiled.expect_tau(held, texts):.2f}" for texts in (100, 200, 500, 1000, 2000)]
    assert f"| Kendall's tau | {' | '.join(expected)} |" in pages[1]
    apart = profiled.decided(held)
    assert f"Of {14 * 13 // 2} pairs of victims {len(apart)} differ beyond chance" in pages[1]
    assert all("lexicon" in pair[:2] and pair[2] for pair in apart)
    assert len(apart) == 13
    assert all(profiled.differ(held, name, plain).low <= 0 for name, plain in held.twins.items())
    counts = sum((Counter(run.successes) for run in held.samples), Counter())
    spelt = counts["deepwordbug"]
    assert (
        f"Of {counts.total():,} successes on both samples {spelt:,} are misspellings, and {counts.total() - spelt} swap"
        in pages[1]
    )
    rows = json.loads((DOCS / "measured/profile-read.json").read_text(encoding="utf-8"))["rows"]
    for drawn, name in (("all", "all successes"), ("synonyms", "swapped synonyms")):
        said = Counter(row["verdict"] for row in rows if row["drawn"] == drawn)
        assert f"| {name} | {said['kept']} | {said['unclear']} | {said['changed']} |" in pages[1]
