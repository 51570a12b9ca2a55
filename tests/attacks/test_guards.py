"""The guards of meaning: which replacements each takes out, by small stand-ins for WordNet and the lexicons."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import toy
from toy import listed

from malaprop.assets import lexicon
from malaprop.attacks.attack import WordRule
from malaprop.attacks.candidates.chars import CharEdits
from malaprop.attacks.candidates.combined import Agreeing, Filtered, Union
from malaprop.attacks.candidates.lookup import CloseSynonyms, Listed, NearWords, WordNetSynonyms
from malaprop.attacks.candidates.masked import Likely, MaskedWords
from malaprop.attacks.constraints.guards import KeepFunctionWords, KeepQuantities, SameForm, SamePolarity
from malaprop.attacks.constraints.meaning import InContext, KeepNames, Related
from malaprop.attacks.constraints.senses import FitsSense, Sense
from malaprop.attacks.trial import Trial
from malaprop.attacks.validity import KINDS, guard, guards
from malaprop.core.ask import MASKED_LM, Guesses
from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.engine.drive import drive

pytestmark = pytest.mark.usefixtures("tiny_assets")


def left(rule: WordRule, text: str, table: dict[str, tuple[str, ...]], tags: str = "", **models) -> dict:
    """The replacements of each word of a text that a guard leaves; `tags` by spaces, nouns where there are none."""
    origin = Text.of(text, Words())
    attack = listed(candidates=Listed(table=table), constraints=(rule,))
    trial = Trial(attack, Example("id", {"text": text}, 1), origin, 0, "?")
    named = tags.split() or ["NOUN"] * origin.slots
    services = toy.toy_services(toy.victim()) | {
        "tags": toy.FunctionService(lambda texts: [named for _ in texts]),
        "encoder": toy.FunctionService(models.get("encode", toy.encode)),
    }
    if "fill" in models:
        services[MASKED_LM] = toy.FunctionService(models["fill"])
    ((_, found),) = drive([(0, trial.space())], services, width=1)
    strings = origin.table.strings
    return {
        origin.strings[slot]: [strings[w] for w in words.tolist()]
        for slot, words in zip(found.slots.tolist(), found.words, strict=True)
        if len(words)
    }


def test_words_of_grammar_stay_and_none_comes_in():
    table = {"like": ("enjoy", "love"), "despite": ("notwithstanding", "scorn"), "film": ("who", "movie")}
    assert left(KeepFunctionWords(), "despite film", table) == {"film": ["movie"]}
    assert left(KeepFunctionWords(), "films like film", {"like": ("akin",)}, "NOUN ADP NOUN") == {}
    assert left(KeepFunctionWords(), "i dig film", {"dig": ("enjoy",)}, "PRON VERB NOUN") == {"dig": ["enjoy"]}
    assert left(KeepFunctionWords(), "film", {"film": ("the film",)}) == {"film": ["the film"]}, "an insertion"


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("few", "rare"),
        ("never", "ne'er"),
        ("beautiful", "little"),
        ("deserves", "lacks"),
        ("First", "maiden"),
        ("1980", "modern"),
        ("don't", "do"),
        ("good", "not good"),
        ("two-hour", "long"),
        ("may", "might"),
    ],
)
def test_no_number_quantity_or_negation_changes(word, other):
    assert left(KeepQuantities(), word, {word: (other,)}) == {}


def test_other_words_pass_the_guard_of_quantities():
    assert left(KeepQuantities(), "film", {"film": ("movie", "the film")}) == {"film": ["movie", "the film"]}
    assert not lexicon.is_quantity("fewness")
    assert lexicon.is_quantity("n\u2019t"), "a typographic apostrophe"


def test_a_replacement_has_the_form_of_the_word():
    table = {"film": ("movies", "movie", "good"), "films": ("movie", "picture")}
    assert left(SameForm(), "film films", table) == {"film": ["movie"]}
    assert left(SameForm(), "Good", {"good": ("fine", "better", "film")}, "ADJ") == {"Good": ["Fine"]}
    assert left(SameForm(), "film", {"film": ("movie",)}, "ADP") == {}, "a word of no such part of speech stays"


def test_polarity_stays(monkeypatch):
    table = {"good": ("great", "awful", "film"), "okay": ("film", "fine", "poor")}
    found = left(SamePolarity(), "good okay", table)
    assert found == {"good": ["great"], "okay": ["film", "fine", "poor"]}
    valences = {"good": 2.0, "film": 0.1, "movie": -0.1}
    monkeypatch.setattr("malaprop.assets.polarity.open_polarity", lambda: SimpleNamespace(valence=valences.get))
    unknown = {"good": ("swell",), "film": ("cinematograph", "a film", "good film", "movie"), "zzz": ("film", "good")}
    assert left(SamePolarity(), "good film zzz", unknown) == {"film": ["a film", "movie"], "zzz": ["film"]}


@pytest.mark.parametrize(
    ("one", "two", "near"),
    [
        (1.4, -0.6, False),  # worthwhile, predictable
        (2.9, -0.5, False),  # beautiful, little
        (-1.2, 1.4, False),  # mediocre, fresher
        (2.9, 1.9, True),
        (3.4, 0.6, False),  # of the same sign, and much weaker
        (0.4, -0.4, True),
    ],
)
def test_valences_that_are_near_enough(one, two, near):
    assert SamePolarity().agree(one, two) is near
    assert SamePolarity().agree(two, one) is near


SENSES = {
    "light": (Sense(1, 0.6), Sense(2, 0.3), Sense(3, 0.1)),
    "lightweight": (Sense(1, 1.0),),
    "lamp": (Sense(2, 1.0),),
    "crap": (Sense(1, 0.01), Sense(9, 0.99)),
    "heavy": (Sense(7, 1.0),),
    "frothy": (Sense(4, 1.0),),
}


@pytest.fixture
def senses(tiny_assets, monkeypatch) -> None:
    """Three senses of a word: of weight, of lamps, and a rare one; frothy is similar to the first."""
    relations = SimpleNamespace(
        similar_to=lambda sense: {4} if sense == 1 else set(),
        share_root=lambda one, two: two.startswith(one),
        wordnet=SimpleNamespace(senses=lambda word: [sense.synset for sense in SENSES.get(word, ())]),
    )
    told = SimpleNamespace(of=lambda word, part: SENSES.get(word, ()), describe=lambda synset: f"sense {synset}")
    monkeypatch.setattr("malaprop.assets.relations.open_relations", lambda: relations)
    monkeypatch.setattr("malaprop.attacks.constraints.senses.open_senses", lambda: told)


def read(texts):
    """Vectors: what speaks of weight, and the first sense, lie near each other; so do lamps and the second."""
    near = {"weight": (1, 0), "sense 1": (1, 0), "switch": (0, 1), "sense 2": (0, 1)}
    return [np.asarray(next((v for mark, v in near.items() if mark in text), (0.7, 0.7)), float) for text in texts]


@pytest.mark.usefixtures("senses")
def test_the_sense_that_fits_the_sentence():
    table = {"light": ("lightweight", "lamp", "crap", "heavy", "frothy")}
    assert left(FitsSense(), "a light weight", table, encode=read)["light"] == ["frothy", "heavy", "lightweight"]
    assert left(FitsSense(), "switch the light", table, encode=read)["light"] == ["heavy", "lamp"]
    assert left(FitsSense(weight=0), "switch the light", table)["light"] == ["frothy", "heavy", "lamp", "lightweight"]
    alone = left(FitsSense(unshared=False), "switch the light", {"light": ("heavy", "lamp", "a light")}, encode=read)
    assert alone["light"] == ["a light", "lamp"], "heavy shares no sense; an insertion passes"


@pytest.mark.usefixtures("senses")
def test_words_of_four_senses_are_replaced_more_surely(monkeypatch):
    def fill(clozes):
        return [Guesses(cloze.words, np.full(len(cloze.words), -3.0, np.float32)) for cloze in clozes]

    table = {"light": ("lightweight", "lamp")}
    sense, place = FitsSense(weight=0, ambiguous=0.5), InContext(ambiguous=0.1)  # exp(-3) is .05
    assert left(sense, "switch the light", table)["light"] == ["lamp", "lightweight"], "three senses"
    assert left(place, "switch the light", table, fill=fill)["light"] == ["lamp", "lightweight"]
    monkeypatch.setitem(SENSES, "light", (*SENSES["light"], Sense(5, 0.1)))
    assert left(sense, "switch the light", table)["light"] == ["lightweight"], "lamp is the sense in 3 of 11 uses"
    assert left(place, "switch the light", table, fill=fill) == {}
    assert left(InContext(ambiguous=0.01), "switch the light", table, fill=fill)["light"] == ["lamp", "lightweight"]


@pytest.mark.usefixtures("senses")
def test_glosses_and_windows_are_asked_for_in_one_batch():
    batches = []

    def encode(texts):
        batches.append(list(texts))
        return read(texts)

    left(FitsSense(window=1), "a light weight light switch", {"light": ("lamp",)}, encode=encode)
    assert [len(texts) for texts in batches] == [5], "two windows, and three glosses once"
    assert 'the meaning of "light" in: a light weight' in batches[0]


@pytest.mark.parametrize("kind", KINDS)
def test_guards_name_their_language_and_come_cheapest_first(kind):
    rules = guards(kind)
    assert {rule.language for rule in rules} == {"en"}
    assert {rule.stage for rule in rules} == {"word"}
    assert isinstance(rules[-1], InContext), "what asks a model comes last"
    assert not rules[-1].several, "a word whose chance the model cannot tell is refused"
    assert any(isinstance(rule, Related) for rule in rules) == (kind in ("neighbours", "masked"))
    assert any(isinstance(rule, KeepNames) for rule in rules)


def test_neighbours_give_way_to_the_table_of_synonyms():
    near = Filtered(of=Agreeing(of=CloseSynonyms(floor=0.45)), rules=guards("synonyms"))
    assert guard(NearWords(count=8)) == guard(WordNetSynonyms(part="any")) == near
    assert guard(Likely(of=NearWords(), keep=2)) == Likely(of=near, keep=2)
    own = CloseSynonyms(floor=0.6)
    assert guard(own) == replace(near, of=Agreeing(of=own))
    assert guard(Union(of=(CharEdits(), NearWords()))) == Union(of=(CharEdits(), near))
    table = Listed(table={"film": ("movie",)})
    assert guard(table) == Filtered(of=Agreeing(of=table), rules=guards("listed"))
    assert guard(MaskedWords()) == Filtered(of=Agreeing(of=MaskedWords()), rules=guards("masked"))


@pytest.mark.usefixtures("senses")
def test_words_that_share_no_sense_must_be_alike_and_of_another_root(monkeypatch):
    scores = {"heavy": 0.6, "lighting": 0.7}
    table = SimpleNamespace(score=lambda word, other: scores.get(other, 0.5))
    monkeypatch.setattr("malaprop.assets.synonyms.open_synonyms", lambda: table)
    offered = {"light": ("lamp", "heavy", "lighting", "swift", "a light")}
    found = left(FitsSense(alike=0.55), "switch the light", offered, encode=read)
    assert found == {"light": ["a light", "heavy", "lamp"]}, "lamp shares a sense"


def test_words_of_several_tokens_may_be_left_out():
    table = {"film": ("movie", "zzz")}
    told = {"movie": -3.0, "film": -1.0}

    def fill(clozes):
        none = -4.0, float("nan")  # hidden: scored token by token; read: not known
        logs = [[told.get(word, none[not cloze.hidden]) for word in cloze.words] for cloze in clozes]
        return [Guesses(cloze.words, np.asarray(row, np.float32)) for cloze, row in zip(clozes, logs, strict=True)]

    assert left(InContext(), "film", table, fill=fill) == {"film": ["movie", "zzz"]}
    assert left(InContext(several=False), "film", table, fill=fill) == {"film": ["movie"]}


def test_another_model_of_another_language_is_not_called_english():
    assert InContext(model="some-german-model").language == ""


@pytest.mark.parametrize(
    "make",
    [
        lambda: SamePolarity(most=0),
        lambda: FitsSense(least=2),
        lambda: FitsSense(alike=2),
        lambda: FitsSense(ambiguous=2),
        lambda: InContext(ambiguous=1),
        lambda: FitsSense(window=0),
        lambda: guards("x"),
    ],
)
def test_settings_that_make_no_sense(make):
    with pytest.raises(SettingError):
        make()


@pytest.mark.parametrize(
    ("text", "tags", "stay"),
    [
        ("The firm of Shift agreed", "DET NOUN ADP NOUN VERB", {"Shift"}),
        ("Plans change. Shift agreed", "NOUN VERB NOUN VERB", set()),
        ("Big Shift Agreed On Plans", "ADJ NOUN VERB ADP NOUN", set()),
        ("the shift agreed", "DET NOUN VERB", set()),
        ("james bond agreed", "PROPN NOUN VERB", {"james", "bond"}),
        ("a russian film", "DET ADJ NOUN", {"russian"}),
    ],
)
def test_names_by_tag_place_and_capital(text, tags, stay):
    table = {word.lower(): ("other",) for word in text.replace(".", "").split()}
    assert {*text.replace(".", "").split()} - {*left(KeepNames(), text, table, tags)} == stay
