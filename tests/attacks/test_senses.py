"""The senses of words with their shares, in a WordNet of a dozen words."""

from __future__ import annotations

import pytest
from assets import tiny

from malaprop.attacks.constraints.senses import Senses


@pytest.fixture(scope="module")
def senses(tmp_path_factory) -> Senses:
    folder = tmp_path_factory.mktemp("senses")
    return Senses(tiny.wordnet(folder), folder / "wordnet")


def test_a_sense_has_its_share_of_the_words_uses(senses):
    movie, cinema = senses.of("Films", "n")  # 7 uses and half a one; 2 uses and a quarter
    assert (movie.share, cinema.share) == pytest.approx((7.5 / 9.75, 2.25 / 9.75))
    assert senses.wordnet.names(movie.synset)[:2] == ["film", "movie"]
    assert [sense.share for sense in senses.of("film", "v")] == [1]


def test_a_word_without_senses_of_that_part(senses):
    assert senses.of("film", "a") == senses.of("zzz", "n") == ()


def test_a_synset_is_described_by_its_words_and_gloss(senses):
    (movie, _) = senses.of("film", "n")
    assert senses.describe(movie.synset) == "film, movie, motion picture: a gloss ! 0101"
