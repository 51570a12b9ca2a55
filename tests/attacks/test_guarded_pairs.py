"""Pairs that read as adversarial and were not: what the guards refuse and let through, with the real resources."""

from __future__ import annotations

import pytest

from malaprop.assets.polarity import open_polarity
from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.constraints.guards import SamePolarity
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.trial import Trial
from malaprop.attacks.validity import guards
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.engine.drive import drive

REFUSED = [  # of the successes of recipes as published; the sentence, its word, what was put in
    ("a worthwhile documentary about the war", "worthwhile", "predictable"),
    ("this is a film that deserves an audience", "deserves", "lacks"),
    ("a beautiful and moving story of two brothers", "beautiful", "little"),
    ("an entertainingly nasty satire of the trade", "entertainingly", "tediously"),
    ("the scenes are magnificently acted and shot", "magnificently", "crudely"),
    ("a terribly sad story of a family at war", "terribly", "undeniably"),
    ("a wasted chance to tell a good story", "wasted", "overwhelming"),
    ("a mediocre thriller with a silly plot", "mediocre", "fresher"),
    ("a light comedy that never takes itself seriously", "light", "igniter"),
    ("the director makes films about the poor", "makes", "crap"),
    ("the best film of the year so far", "film", "celluloid"),
]
KEPT = [
    ("the best film of the year so far", "film", "movie"),
    ("a funny and clever comedy for the whole family", "funny", "humorous"),
    ("the firm bought a rival for two billion dollars", "bought", "purchased"),
    ("officials hope to end the bloody uprising this week", "uprising", "revolt"),
    ("the kids are bored and so are we", "kids", "children"),
    ("the film uses shifting points of view", "uses", "employs"),
    ("it is not that funny , and it is long", "funny", "hilarious"),
    ("scientists say the huge star will explode", "huge", "enormous"),
]
MISSED = [  # good ones too, but the words have many senses, and none is clear enough; if one passes, it belongs to KEPT
    ("officials began talks on a new treaty", "began", "started"),
    ("smart science fiction for grown-ups with few false steps", "smart", "intelligent"),
    ("at ninety minutes the movie is short", "short", "brief"),
    ("a sad story of a family at war", "story", "tale"),
]


@pytest.mark.parametrize(
    ("word", "other"), [(w, o) for _, w, o in REFUSED if w in ("worthwhile", "magnificently", "wasted", "mediocre")]
)
def test_valence_alone_refuses_some(word, other):
    valence = open_polarity().valence
    assert not SamePolarity().agree(valence(word), valence(other))


@pytest.mark.assets
def test_pairs_that_the_guards_refuse_and_pass(real_asset):
    real_asset("wordnet", "minilm", "masked-lm")
    from malaprop.frame.runs.services import shared

    def steps(sentence: str, word: str, other: str):
        attack = Attack(name="pair", candidates=Listed(table={word: (other,)}), search=Greedy(), constraints=RULES)
        return Trial(attack, Example(sentence, {"text": sentence}, 1), Text.of(sentence, Words()), 0, "?").space()

    RULES = guards("synonyms")
    pairs = [*REFUSED, *KEPT, *MISSED]
    found = dict(drive([(pair, steps(*pair)) for pair in pairs], shared(), width=len(pairs)))
    passed = {pair for pair, space in found.items() if len(space.able().slots)}
    assert not passed & {*REFUSED}
    assert passed == {*KEPT}
