"""Which words share a sense and which say the contrary, in a WordNet of a dozen words."""

from __future__ import annotations

import pytest
import tiny

from malaprop.assets.relations import Relations

SYNSETS = {
    "noun": [
        ("00000001", "n", ["happiness"], [("00000002", "n", 1, 1)]),
        ("00000002", "n", ["sadness"], [("00000001", "n", 1, 1)]),
        ("00000003", "n", ["plot", "storyline"], []),
        ("00000004", "n", ["plot", "conspiracy"], []),
        ("00000005", "n", ["Paris", "French_capital"], []),
        ("00000006", "n", ["Bond"], []),
        ("00000007", "n", ["bond", "alliance"], []),
    ],
    "verb": [
        ("00000001", "v", ["amuse"], [("00000003", "a", 1, 1, "+")]),
        ("00000002", "v", ["grow"], [("00000003", "v", 1, 1)]),
        ("00000003", "v", ["shrink"], []),
        ("00000004", "v", ["decline"], [("00000003", "v", 0, 0, "@")]),
    ],
    "adj": [
        ("00000001", "a", ["humorous"], [("00000002", "a", 1, 1), ("00000003", "a", 0, 0, "&")]),
        ("00000002", "a", ["humorless"], [("00000001", "a", 1, 1), ("00000004", "a", 0, 0, "&")]),
        ("00000003", "s", ["funny", "amusing"], [("00000001", "a", 0, 0, "&")]),
        ("00000004", "s", ["unfunny"], [("00000002", "a", 0, 0, "&")]),
        ("00000005", "s", ["hilarious"], [("00000001", "a", 0, 0, "&")]),
        ("00000006", "a", ["strange", "unusual"], []),
        ("00000007", "a", ["usual"], []),
        ("00000008", "a", ["odd"], []),
    ],
    "adv": [("00000001", "r", ["hilariously"], [("00000005", "a", 1, 1, "\\")])],
}  # fmt: skip


@pytest.fixture(scope="module")
def relations(tmp_path_factory) -> Relations:
    folder = tmp_path_factory.mktemp("related")
    return Relations(tiny.wordnet(folder, SYNSETS), folder / "wordnet")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("happiness", "sadness"),
        ("humorous", "humorless"),
        ("funny", "unfunny"),  # over the senses that theirs are similar to
        ("unfunny", "hilariously"),  # and over the root of an adverb
        ("humorless", "amuse"),
        ("usual", "unusual"),  # by its prefix alone
        ("odd", "unusual"),
        ("plot", "counterplot"),  # a word and the same with a prefix, though WordNet lacks the second
        ("humour", "humourless"),
        ("hopeful", "hopelessly"),
        ("atypical", "typical"),
        ("grow", "decline"),  # a kind of shrinking
    ],
)
def test_words_that_say_the_contrary(relations, one, two):
    assert relations.are_opposed(one, two)
    assert relations.are_opposed(two, one)


@pytest.mark.parametrize(("one", "two"), [("funny", "hilarious"), ("strange", "unusual"), ("plot", "conspiracy")])
def test_words_that_do_not(relations, one, two):
    assert not relations.are_opposed(one, two)
    assert relations.are_related(one, two)


@pytest.mark.parametrize(("one", "two"), [("valuable", "invaluable"), ("live", "alive"), ("shrink", "decline")])
def test_words_that_only_look_reversed(relations, one, two):
    assert not relations.are_opposed(one, two)


def test_words_of_no_shared_sense(relations):
    assert not relations.are_related("plot", "happiness")
    assert not relations.are_related("storyline", "conspiracy"), "a word of two senses does not make them one"
    assert not relations.are_related("plot", "zzz")
    assert relations.are_related("Amusing", "hilariously")


def test_names_are_written_with_a_capital_alone(relations):
    named = relations.wordnet.is_name
    assert (named("paris"), named("bond"), named("plot"), named("zzz")) == (True, False, False, False)


def test_words_of_one_root(relations):
    assert relations.share_root("hilariously", "hilarious")
    assert relations.share_root("hilarious", "Hilariously")
    assert not relations.share_root("funny", "hilarious")
    assert not relations.share_root("plot", "counterplot"), "WordNet lacks the second"
