"""Attacks that rewrite whole sentences: what they ask, what they leave alone, and what they make of bad answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import toy
from toy import attack_all, examples, listed, only, toy_services

from malaprop.attacks.attack import Own, try_in_turn
from malaprop.attacks.constraints.positions import parse_keep
from malaprop.attacks.judge import Judge
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.sentences import FromBest, Sentences
from malaprop.attacks.sentences.distract import ASIDES, TAILS, Distract, strip_asides
from malaprop.attacks.sentences.parse import rewrite_by_parse
from malaprop.attacks.sentences.rewriters import PACKAGED_TRANSLATORS, PACKAGED_WRITER, BackTranslation, Paraphrase
from malaprop.attacks.sentences.style import keep_rewrites, list_sentences, write_as_prose, write_like
from malaprop.attacks.sentences.syntax import Syntax
from malaprop.attacks.sentences.templates import rewrite_by_templates
from malaprop.attacks.validity import set_validity
from malaprop.core.ask import TRANSLATOR, WRITER, Leaf
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.judgement import JUDGE
from malaprop.engine.service import FunctionService
from malaprop.frame.records.outcome import compare_key, from_json, to_json
from malaprop.frame.runs.make_attack import recipe

WRITES = f"{WRITER}:{PACKAGED_WRITER}"
THERE = f"{TRANSLATOR}:{PACKAGED_TRANSLATORS[0]}"

pytestmark = pytest.mark.usefixtures("tiny_assets")


def rewriting(*rewriters, **more):
    return listed(candidates=Own(), search=Sentences(rewriters=rewriters), **more)


def with_translator(translate, **more):
    return {**toy_services(toy.victim()), THERE: FunctionService(translate), **more}


# --- style


def test_sentences_are_cut_behind_their_marks_and_not_behind_titles():
    found = list_sentences({"text": 'Mr. Smith came. "Did he?" he asked ! ... Yes'}, ["text"])
    assert [one.text for one in found] == ["Mr. Smith came.", '"Did he?"', "he asked !", "... Yes"]
    assert [(one.first, one.last) for one in found] == [(True, False), (False, False), (False, False), (False, True)]


def test_a_rewrite_is_written_as_the_original_is():
    assert write_as_prose("it 's ( not ) bad , i think .") == "It's (not) bad, I think."
    assert write_like("It isn't bad, I think", "a film , at last .") == "it isn't bad , i think ."
    assert write_like("the film rose 3.5 percent.", "Oil rose") == "The film rose 3.5 percent"


def test_the_same_words_nothing_and_rambling_are_no_rewrites():
    assert keep_rewrites(["", "...", "A FINE film!", "fine film", "film " * 20], "a fine film") == ["fine film"]


# --- the search


def test_the_sentences_that_gain_are_put_in_until_the_label_turns():
    """Each *great*, of weight 3, becomes *nice*, of weight 1; the text weighs 4.25, so all three have to."""
    outcome = only(rewriting(BackTranslation()), "A great film. Great great bad awful poor bad. Okay great film!")
    assert outcome.status == "success"
    assert outcome.adversarial.text == "A nice film. Great nice bad awful poor bad. Okay nice film!"
    assert [(edit.before, edit.after) for edit in outcome.edits] == [("great", "nice")] * 3
    assert from_json(to_json(outcome)) == outcome


def test_where_marks_change_the_record_is_one_edit_of_the_field():
    services = {
        **toy_services(toy.victim()),
        f"{WRITER}:causal:smollm2": FunctionService(lambda p: [("bad, film",)] * len(p)),
    }
    outcome = only(rewriting(Paraphrase()), "good film", services=services)
    (edit,) = outcome.edits
    assert (edit.op, edit.slot, edit.before, edit.after) == ("rewrite", 0, "good film", "bad, film")
    assert from_json(to_json(outcome)) == outcome


def test_protected_words_and_closed_fields_stay():
    keeping = rewriting(BackTranslation(), constraints=(parse_keep("great"),))
    assert only(keeping, "great bad film").status == "failed"
    (row,) = toy.examples([{"premise": "great bad", "hypothesis": "great"}], label=1, editable=("hypothesis",))
    (outcome,) = attack_all(rewriting(BackTranslation()), [row])
    assert outcome.adversarial.fields["premise"] == "great bad"


def test_work_is_pooled_over_examples():
    calls = []

    def translate(sentences):
        calls.append(len(sentences))
        return toy.translate(sentences)

    rows = examples([f"a great poor film {i}" for i in range(20)], label=1)
    attack_all(rewriting(BackTranslation()), rows, services=with_translator(translate))
    assert calls == [40]  # each as prose, and as it stands


# --- the second level

WORDS = listed({"film": ("awful",), "nice": ("bad",), "great": ("film",)}, name="words")


def test_words_of_the_best_rewrite_change_where_the_rewrite_is_not_enough():
    """*great* (3) to *nice* (1) leaves 2.25; of the original *awful* alone leaves 1.25: both levels are needed."""
    text = "okay great fine good film"
    first = rewriting(BackTranslation(), name="sentences")
    onward = replace(WORDS, search=FromBest(of=Greedy()), name="words on the rewrite")
    outcome = only(try_in_turn("both", [first, onward]), text)
    assert outcome.status == "success"
    assert outcome.by == "words on the rewrite"
    assert "bad" in outcome.adversarial.text.split()  # which only *nice* becomes
    assert only(first, text).status == "failed"


def test_from_best_refuses_searches_that_fetch_the_words_of_the_original():
    with pytest.raises(SettingError, match="fetches"):
        FromBest(of=Greedy(fetch="there"))


# --- bad answers


def test_a_translator_that_returns_nothing_leaves_nothing_to_change():
    rows = examples(["a great bad awful film", "bad film"])
    found = attack_all(rewriting(BackTranslation()), rows, services=with_translator(lambda s: [""] * len(s)))
    assert [(o.status, o.reason) for o in found] == [("failed", "nothing to change")] * 2


def test_a_text_on_which_the_translator_fails_is_an_error_and_the_others_go_on():
    def translate(sentences):
        if any("awful" in one for one in sentences):
            raise VictimError("no such word")
        return toy.translate(sentences)

    rows = examples(["a great bad film", "awful film", "good film"])
    found = attack_all(rewriting(BackTranslation()), rows, services=with_translator(translate))
    assert [o.status for o in found] == ["success", "error", "failed"]
    assert found[1].reason == "no such word"


def test_a_model_that_repeats_the_text_or_answers_nothing_leaves_nothing_to_change():
    services = toy_services(toy.victim())
    for answer in ("good film", "", "\n\n", "Sure, here it is:\nGood film."):
        services[WRITES] = FunctionService(lambda prompts, a=answer: [(a, a)] * len(prompts))
        outcome = only(rewriting(Paraphrase()), "good film", services=services)
        assert (outcome.status, outcome.reason) == ("failed", "nothing to change")


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(SettingError, match="where the sentence belongs"):
        Paraphrase(prompt="Rewrite it.")
    with pytest.raises(SettingError, match="count of at least 1"):
        Paraphrase(count=0)
    with pytest.raises(SettingError, match="two translators"):
        BackTranslation(there=" ")
    with pytest.raises(SettingError, match="cannot be read"):
        recipe("paraphrase", prompt="@no-such-file.txt")
    with pytest.raises(SettingError, match="sentences are some of"):
        recipe("sentence-then-words", sentences="poems")


# --- a neutral sentence


def test_distract_changes_no_word_and_the_judge_reads_only_the_text():
    """The victim counts letters here; the toy judge would refuse any word that is new."""
    attack = replace(rewriting(Distract()), judge=Judge())
    target = toy.victim(lambda texts: [[0.1, 0.9] if len(text) < 20 else [0.9, 0.1] for text in texts])
    (outcome,) = attack_all(attack, examples(["a good film ."], label=1), target)
    assert outcome.status == "success"
    assert outcome.meaning == 1.0
    assert "a good film" in outcome.adversarial.text
    mine = replace(attack, search=Sentences(rewriters=(Distract(asides=("The rest of it is awful.",)),)))
    (outcome,) = attack_all(mine, examples(["a good film ."], label=1), target)
    assert (outcome.status, outcome.flips > 0) == ("failed", True)


def test_asides_are_taken_off_wherever_they_stand():
    text = "a good film ."
    for one in ASIDES:
        assert strip_asides(text, f"{text} {one.lower()}") == text
        assert strip_asides(text, f"{one} {text}") == text
    for tail in TAILS:
        assert strip_asides(text, f"a good film {tail} .") == text
    assert strip_asides(text, f"a bad film . {ASIDES[0]}") == "a bad film ."
    assert strip_asides(ASIDES[0], ASIDES[0] + " bad") == ASIDES[0] + " bad"


def test_validity_puts_the_judge_before_rewrites_too():
    refusing = {**toy_services(toy.victim()), JUDGE: FunctionService(lambda asked: [0.1] * len(asked))}
    text = "a great bad film"
    assert only(rewriting(BackTranslation()), text).status == "success"
    kept = only(set_validity(rewriting(BackTranslation()), "valid"), text, services=refusing)
    assert (kept.status, kept.flips > 0) == ("failed", True)


# --- syntax


def test_templates_move_clauses_and_swap_contractions():
    made = list(rewrite_by_templates("It's long, but it is funny."))
    assert "although it's long, it is funny." in made
    assert "it is funny, although it's long." in made
    assert "It is long, but it is funny." in made
    assert "It's long, but it's funny." in made
    assert "the film works although it is slow." in rewrite_by_templates("Although it is slow, the film works.")
    assert list(rewrite_by_templates("A funny, but slow film.")) == []


def tree(*rows):
    return [Leaf(text, text not in ("book",), lemma, tag, role, head) for text, lemma, tag, role, head in rows]


def forms(lemma):
    return {"write": {"s": "writes", "ed": "wrote", "en": "written", "": "write"}}[lemma]


def test_rules_over_a_parse_exchange_active_and_passive():
    active = tree(
        ("She", "she", "PRP", "nsubj", 1), ("wrote", "write", "VBD", "ROOT", 1), ("the", "the", "DT", "det", 3),
        ("book", "book", "NN", "dobj", 1), (".", ".", ".", "punct", 1),
    )  # fmt: skip
    assert list(rewrite_by_parse(active, forms)) == ["the book was written by her."]
    passive = tree(
        ("Books", "book", "NNS", "nsubjpass", 2), ("are", "be", "VBP", "auxpass", 2),
        ("written", "write", "VBN", "ROOT", 2),
        ("by", "by", "IN", "agent", 2), ("him", "he", "PRP", "pobj", 3), (".", ".", ".", "punct", 2),
    )  # fmt: skip
    assert list(rewrite_by_parse(passive, forms)) == ["he writes books."]


def test_joined_words_swap_unless_they_share_an_article():
    funny = tree(
        ("a", "a", "DT", "det", 4), ("moving", "moving", "VBG", "amod", 4), ("and", "and", "CC", "cc", 1),
        ("funny", "funny", "JJ", "conj", 1), ("book", "book", "NN", "ROOT", 4),
    )  # fmt: skip
    assert list(rewrite_by_parse(funny, forms)) == ["a funny and moving book"]
    plot = tree(
        ("the", "the", "DT", "det", 1), ("plot", "plot", "NN", "ROOT", 1), ("and", "and", "CC", "cc", 1),
        ("cast", "cast", "NN", "conj", 1),
    )  # fmt: skip
    assert list(rewrite_by_parse(plot, forms)) == []


def test_another_language_has_no_syntax_and_no_asides():
    german = replace(rewriting(Syntax(), Distract(), BackTranslation()), languages=("de",))
    (outcome,) = attack_all(german, examples(["ein great bad film"], label=1))
    assert (outcome.status, outcome.reason) == ("failed", "nothing to change")


# --- recipes


@pytest.mark.parametrize("name", ["back-translation", "paraphrase", "syntax", "distract", "sentence-then-words"])
def test_recipes_give_the_same_at_any_width(name, tiny_assets):
    rows = examples(["a great bad film. It's good, but it is awful.", "good film", "fine, great! okay awful"])
    made = recipe(name)
    alone = [compare_key(o) for o in attack_all(made, rows, width=1)]
    assert [compare_key(o) for o in attack_all(made, rows[::-1], width=8)][::-1] == alone
