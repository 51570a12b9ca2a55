from __future__ import annotations

import random
import re
import shutil

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from malaprop.assets.inflection import add, find_slips, inflect_each, list_forms
from malaprop.assets.wordnet import NEITHER, PARTS, convert, open_wordnet
from malaprop.attacks.candidates.combined import agree
from malaprop.core.errors import AssetError, SettingError


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory):
    return tiny.wordnet(tmp_path_factory.mktemp("wordnet"))


@pytest.mark.parametrize(
    ("word", "pos", "expected"),
    [
        ("film", None, ("cinema", "movie", "shoot")),
        ("film", "n", ("cinema", "movie")),
        ("Films", "n", ("cinema", "film", "movie")),
        ("film", "v", ("shoot",)),
        ("filming", "v", ("film", "shoot")),
        ("film", "a", ()),
        ("good", "a", ("nice",)),
        ("good", None, ("nice", "well")),
        ("better", "a", ("good", "nice")),
        ("went", None, ("go", "run")),
        ("dog", None, ()),
        ("unheard-of", None, ()),
        ("", None, ()),
    ],
)
def test_synonyms(wordnet, word, pos, expected):
    assert wordnet.synonyms(word, pos) == expected


def test_several_words_only_if_asked_for(wordnet):
    assert wordnet.synonyms("movie", multiword=True) == ("film", "motion picture")
    assert wordnet.synonyms("motion picture") == ("film", "movie")


def test_peer_synonyms_keep_the_word_in_another_case(wordnet):
    assert wordnet.peer_synonyms(["paris", "film", "paris"])[::2] == [("Paris",)] * 2
    assert wordnet.synonyms("paris") == ()
    assert wordnet.peer_synonyms(["good"]) == [("nice", "well")]
    assert wordnet.peer_synonyms([]) == []


def test_parts_lemmas_and_counts(wordnet):
    assert wordnet.parts("films") == {"n", "v"}
    assert wordnet.parts("oxen") == {"n"}
    assert wordnet.parts("zzz") == frozenset()
    assert wordnet.lemma("oxen", "n") == "ox"
    assert wordnet.lemma("films", "v") == "film"
    assert wordnet.lemma("films", "a") is None
    assert wordnet.frequency("films") == {"n": 9, "v": 1}
    assert wordnet.frequency("nice") == {"a": 4}
    assert wordnet.irregular("go", "v") == ("went",)


def test_pairs(wordnet):
    assert wordnet.antonyms() == [("bad", "good")]
    assert ("film", "movie") in wordnet.synonym_pairs()
    assert ("cinema", "film") in wordnet.synonym_pairs("n")
    assert ("cinema", "film") not in wordnet.synonym_pairs("n", senses=1)
    assert ("film", "shoot") not in wordnet.synonym_pairs("n")


def test_a_part_of_speech_that_is_none(wordnet):
    with pytest.raises(SettingError, match="'NOUN'"):
        wordnet.synonyms("film", "NOUN")


def test_broken_files_are_said_to_be_so(tmp_path):
    from io import BytesIO

    broken = tiny.files() | {"index.noun": b"film n x\n"}
    with pytest.raises(AssetError, match="cannot be read"):
        convert({name: (lambda data=data: BytesIO(data)) for name, data in broken.items()}, tmp_path)


@given(st.sampled_from(["film", "movie", "cinema", "shoot", "run", "go", "good", "nice", "well", "dog", "ox"]))
def test_synonyms_of_base_forms_go_both_ways(wordnet, word):
    for pos in PARTS:
        if word in wordnet.bases(word, pos):
            assert all(word in wordnet.synonyms(other, pos) for other in wordnet.synonyms(word, pos))


@given(st.text(max_size=12), st.sampled_from([None, *PARTS]))
def test_any_string_has_sorted_synonyms_without_itself(wordnet, word, pos):
    found = wordnet.synonyms(word, pos)
    assert list(found) == sorted(set(found))
    assert word.lower() not in {name.lower() for name in found}


@pytest.mark.parametrize(
    ("base", "mark", "expected"),
    [
        ("movie", "s", "movies"),
        ("story", "s", "stories"),
        ("play", "s", "plays"),
        ("church", "s", "churches"),
        ("hope", "ed", "hoped"),
        ("stop", "ed", "stopped"),
        ("try", "ed", "tried"),
        ("lie", "ing", "lying"),
        ("see", "ing", "seeing"),
        ("show", "ing", "showing"),
        ("happy", "er", "happier"),
        ("big", "est", "biggest"),
        ("film", "", "film"),
    ],
)
def test_endings(base, mark, expected):
    assert add(base, mark) == expected


@pytest.mark.parametrize(
    ("lemma", "like", "pos", "expected"),
    [
        ("movie", "films", "n", "movies"),
        ("movie", "film", "n", "movie"),
        ("ox", "films", "n", "oxen"),
        ("shoot", "filming", "v", "shooting"),
        ("go", "filmed", "v", "went"),
        ("go", "films", "v", "goes"),
        ("film", "ran", "v", "filmed"),
    ],
)
def test_inflecting_like_another_word(wordnet, lemma, like, pos, expected):
    assert inflect_each(wordnet, lemma, like, pos)[0] == expected


@pytest.mark.parametrize(
    ("lemma", "pos", "irregular", "expected"),
    [
        ("go", "v", ("gone", "went"), ["go", "goes", "going", "went", "gone"]),
        ("sing", "v", ("sang", "singing", "sung"), ["sing", "sings", "singing", "sang", "sung"]),
        ("begin", "v", ("began", "beginning", "begun"), ["begin", "begins", "beginning", "began", "begun"]),
        ("commit", "v", ("committed", "committing"), ["commit", "commits", "committing", "committed", "committed"]),
        ("overcome", "v", ("overcame",), ["overcome", "overcomes", "overcoming", "overcame", "overcome"]),
        ("put", "v", ("putting",), ["put", "puts", "putting", "put", "put"]),
        ("show", "v", ("shown",), ["show", "shows", "showing", "showed", "shown"]),
        ("burn", "v", ("burnt",), ["burn", "burns", "burning", "burned", "burned"]),
        ("be", "v", ("am", "are", "been", "is", "was", "were"), ["be", "is", "being", "was", "been"]),
        ("bad", "a", ("worse", "worst"), ["bad", "worse", "worst"]),
        ("funny", "a", (), ["funny", "funnier", "funniest"]),
        ("spellbinding", "a", (), ["spellbinding"]),
        ("child", "n", ("children",), ["child", "children"]),
    ],
)
def test_all_forms_of_a_word(lemma, pos, irregular, expected):
    class Listed:
        def irregular(self, word, part):
            return irregular

    assert list(list_forms(Listed(), lemma, pos).values()) == expected


def test_a_form_that_may_be_past_or_participle_gives_both(wordnet):
    assert inflect_each(wordnet, "run", "filmed", "v") == ("ran", "run")
    assert inflect_each(wordnet, "run", "filming", "v") == ("running",)
    assert inflect_each(wordnet, "movie", "zzz", "n") == ("movie",)


@pytest.mark.assets
def test_the_real_one(real_asset):
    real_asset("wordnet")
    wordnet = open_wordnet()
    assert len(wordnet) == 147_306
    assert wordnet.synonyms("films", "n") == ("celluloid", "cinema", "film", "flick", "movie", "pic", "picture")
    assert ("bad", "good") in wordnet.antonyms()


@pytest.mark.assets
@pytest.mark.filterwarnings("ignore:The multilingual functions")
def test_the_same_as_nltk(real_asset, tmp_path, monkeypatch):
    reader = pytest.importorskip("nltk.corpus.reader.wordnet")
    monkeypatch.setattr("nltk.data.path", [str(tmp_path)])
    real_asset("wordnet")
    from malaprop.assets import store

    folder = shutil.copytree(store.locate("wordnet") / "wordnet", tmp_path / "corpora" / "wordnet")
    (folder / "index.sense").touch()  # NLTK opens it for other versions of WordNet
    try:
        theirs = reader.WordNetCorpusReader(str(folder), None)
    except Exception as error:  # versions differ in what they want beside the database
        pytest.skip(f"this NLTK does not read the folder: {error!r}")
    wordnet = open_wordnet()
    for word in [*random.Random(0).sample(list(wordnet), 300), "films", "went", "better", "running", "Movies", "zzz"]:
        for pos in (None, *PARTS):
            names = {name.replace("_", " ") for s in theirs.synsets(word, pos) for name in s.lemma_names()}
            expected = tuple(sorted(name for name in names if name.lower() != word.lower().replace("_", " ")))
            assert wordnet.synonyms(word.replace("_", " "), pos, multiword=True) == expected


@pytest.mark.assets
def test_the_peers_synonyms_are_those_of_all_senses(real_asset):
    real_asset("wordnet")
    wordnet = open_wordnet()
    words = [*random.Random(1).sample(list(wordnet), 400), "Films", "went", "better", "ran", "feet", "Boxes", "zzz", ""]

    def slow(word: str) -> tuple[str, ...]:
        names = {name for synset in wordnet.senses(word) for name in wordnet.names(synset) if name != word}
        return tuple(sorted(n for n in names if "_" not in n and len(re.findall(r"[\w'*@-]+", n)) == 1))

    assert wordnet.peer_synonyms(words) == [slow(word) for word in words]


@pytest.mark.assets
def test_marks_are_the_parts_that_the_bases_give(real_asset):
    real_asset("wordnet")
    wordnet = open_wordnet()
    words = [w for w in wordnet if w.isalpha()][::200]
    for word in [*words, *(w + "s" for w in words), *(w + "ing" for w in words), "Better", "ran", "feet", "ice cream"]:
        slow = {pos for pos in "nvar" if wordnet.bases(word, pos)}
        assert wordnet.parts(word) == slow
        assert wordnet.marks(word) == sum(1 << "nvar".index(pos) for pos in slow)


def test_usual_parts_are_a_third_of_the_uses_or_more(wordnet):
    """film: 9 uses as a noun, 1 as a verb; good has no count as an adjective or adverb, so both are usual."""
    n, v, a, r = (1 << bit for bit in range(4))
    words = ("film", "Films", "filming", "good", "oxen", "went", "nice", "unheard-of")
    assert [wordnet.usual(word) for word in words] == [n, n, v, a | r, n, v, a, NEITHER]
    assert wordnet.marks("film") == n | v


@given(st.text("filmsgodnetrwxy ", max_size=8))
def test_marks_are_what_the_bases_say(wordnet, word):
    expected = sum(1 << bit for bit, pos in enumerate(PARTS) if wordnet.bases(word, pos))
    assert wordnet.marks(word) == expected


@pytest.mark.parametrize(
    ("option", "word", "part", "expected"),
    [
        ("movie", "films", "n", ["movies"]),
        ("went", "filming", "v", ["going"]),
        ("run", "Filmed", "v", ["Ran", "Run"]),  # past or participle
        ("movie", "film", "n", ["movie"]),
        ("nice", "films", "n", []),  # of another part of speech
        ("very film", "film", "n", ["very film"]),  # put in beside the word
    ],
)
def test_replacements_in_the_form_of_a_word(wordnet, option, word, part, expected):
    assert list(agree(wordnet, option, word, part)) == expected


@pytest.mark.parametrize(
    ("text", "slips"),
    [
        ("a film and an ox, an hour, a union", []),
        ("an film and a ox, a hour", [("an", "film"), ("a", "ox"), ("a", "hour")]),
        ("the the very very film film", [("the", "the"), ("film", "film")]),
        ("these dog, this dogs, many dogs, every dog", [("these", "dog"), ("this", "dogs")]),
        ("to went, to go, will going; he had go, had gone", [("to", "went"), ("had", "go")]),
        ("", []),
    ],
)
def test_slips_of_agreement(wordnet, text, slips):
    assert list(find_slips(wordnet, text)) == slips


def test_words_with_a_capital_alone(tmp_path):
    wordnet = tiny.wordnet(tmp_path)
    assert wordnet.is_proper("paris")
    assert not any(map(wordnet.is_proper, ("film", "good", "qqq")))
