"""The strict form of attacks on words: what it keeps out, and which attacks have one."""

from __future__ import annotations

import pytest
import toy
from toy import listed, only

from malaprop.attacks.attack import try_in_turn
from malaprop.attacks.candidates.chars import Homoglyphs
from malaprop.attacks.candidates.combined import Agreeing, Filtered, Union
from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.constraints.meaning import InContext, KeepNames, NotOpposed, Related
from malaprop.attacks.quality import FLOOR, RULES, set_quality, tighten
from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.trial import Trial
from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.engine.drive import drive
from malaprop.frame.runs.make_attack import recipe

pytestmark = pytest.mark.usefixtures("tiny_assets")
TABLE = {"great": ("good", "awful", "fine"), "film": ("movie", "films"), "paris": ("london",), "good": ("not good",)}


def offered(candidates, text: str, tags=toy.tags) -> dict[str, list[str]]:
    """The replacements of each word of a text."""
    origin = Text.of(text, Words())
    trial = Trial(listed(candidates=candidates), Example("id", {"text": text}, 1), origin, 0, "?")
    services = toy.toy_services(toy.victim()) | {"tags": toy.FunctionService(tags)}
    ((_, found),) = drive([(0, trial.space())], services, width=1)
    strings = origin.table.strings
    return {
        origin.strings[slot]: [strings[w] for w in words.tolist()]
        for slot, words in zip(found.slots.tolist(), found.words, strict=True)
    }


def test_each_rule_takes_out_what_it_is_for():
    text, nouns = "a great film paris good", lambda texts: [["NOUN"] * text.slots for text in texts]
    assert offered(Filtered(of=Listed(table=TABLE)), text)["great"] == ["awful", "fine", "good"]
    assert offered(Filtered(of=Listed(table=TABLE), rules=(NotOpposed(),)), text)["great"] == ["fine", "good"]
    assert offered(Filtered(of=Listed(table=TABLE), rules=(NotOpposed(),)), text)["good"] == []  # a negation put in
    assert offered(Filtered(of=Listed(table=TABLE), rules=(Related(),)), text)["paris"] == []
    named = offered(Filtered(of=Listed(table=TABLE), rules=(KeepNames(),)), text, nouns)
    assert (named["paris"], named["film"], named["good"]) == ([], ["films", "movie"], []), "what is behind a name stays"
    near = offered(Filtered(of=Listed(table=TABLE), rules=(InContext(times=3, least=0),)), text)
    assert near["film"] == ["films", "movie"]
    assert offered(Filtered(of=Listed(table=TABLE), rules=(InContext(times=2, least=0),)), text)["film"] == []
    assert offered(Filtered(of=Listed(table=TABLE), rules=(InContext(least=0.01),)), text)["film"] == []


def test_replacements_have_the_part_and_the_form_of_the_word():
    table = {"films": ("movie", "good"), "good": ("fine", "movie")}
    found = offered(Agreeing(of=Listed(table=table)), "films good", lambda _: [["NOUN", "ADJ"]])
    assert found == {"films": ["movies"], "good": ["fine"]}
    table = {"good": ("awful", "fine")}
    assert offered(Agreeing(of=Listed(table=table)), "a good", lambda _: [["DET", "ADJ"]])["good"] == ["fine"]


def test_only_sources_of_words_are_tightened():
    words, chars = Listed(table=TABLE), Homoglyphs()
    both = tighten(listed(candidates=Union(of=(words, chars)), name="both"))
    assert both.name == "both:strict"
    assert both.candidates == Union(of=(Filtered(of=Agreeing(of=words), rules=RULES), chars))
    assert both.constraints[-1].floor == FLOOR
    assert tighten(both) == both, "a strict attack is strict already"
    alone = listed(candidates=chars)
    assert tighten(alone) == alone
    with pytest.raises(SettingError, match="toy: quality strict is for recipes that put words"):
        set_quality(alone, "strict")
    with pytest.raises(SettingError, match="'loose'"):
        set_quality(alone, "loose")


def test_of_attacks_in_turn_those_on_words_are_tightened():
    words, chars = listed(name="words"), listed(name="chars", candidates=Homoglyphs())
    made = tighten(try_in_turn("all", [chars, words]).but(budget=9))
    assert [stage.name for stage in made.stages] == ["chars", "words:strict"]
    assert (made.name, made.budget) == ("all:strict", 9)


@pytest.mark.parametrize("name", ["pwws", "textfooler", "genetic", "beam", "bae", "bert-attack", "list", "strongest"])
def test_recipes_on_words_have_a_strict_form_by_name_or_setting(name):
    assert recipe(f"{name}:strict") == recipe(name, quality="strict")
    assert recipe(f"{name}:strict").name == f"{name}:strict"
    assert recipe(name, quality="paper") == RECIPES[name]()


def test_a_strict_attack_takes_the_synonym_and_not_the_antonym():
    table = {"fine": ("poor", "okay")}
    example = "a fine bad film"  # 1 - 2: the victim says bad; less fine is worse, poor is worse still
    assert only(listed(table), "a fine film").adversarial.text == "a poor film"
    assert only(tighten(listed(table)), "a fine film").status == "failed"
    assert only(tighten(listed(table)), example).status == "failed"


STRICT = [name for name in RECIPES if ":" not in name and tighten(RECIPES[name]()).name != name]


@pytest.mark.parametrize("name", STRICT)
def test_every_recipe_on_words_runs_in_its_strict_form(name):
    strict = tighten(RECIPES[name]()).but(budget=60)
    found = toy.attack_all(strict, toy.examples(["a great film", "the awful plot, a good film"]))
    assert {one.status for one in found} <= {"success", "failed", "skipped"}, [one.reason for one in found]


def test_what_is_no_word_for_a_word_has_no_strict_form():
    assert {"pwws", "textfooler", "bae", "bert-attack", "genetic", "beam", "list", "strongest"} <= set(STRICT)
    assert not {"deepwordbug", "typos", "homoglyph", "trigger", "hotflip-char"} & set(STRICT)
