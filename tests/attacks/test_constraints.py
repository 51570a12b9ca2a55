"""What each constraint lets through."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
import toy
from hypothesis import given
from hypothesis import strategies as st
from toy import attack_all, listed, only

from malaprop.attacks.constraints.edits import (
    MaxCharacters,
    MaxCharacterShare,
    MaxShare,
    MaxWords,
    OncePerSlot,
    levenshtein,
)
from malaprop.attacks.constraints.language import LikelyInPlace, LikelyNext, PerplexityRatio
from malaprop.attacks.constraints.positions import FirstWords, KeepStopWords, LongWords, parse_keep
from malaprop.attacks.constraints.similarity import (
    BleuFloor,
    ChrfFloor,
    NoNewMistakes,
    SentenceCosine,
    TokenSimilarity,
    match_tokens,
)
from malaprop.attacks.constraints.words import MeanVector, SamePart, SameTag, WordCosine
from malaprop.attacks.goals.goal import Doubtful
from malaprop.attacks.judge import Judge
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.search.sampling import Exhaustive
from malaprop.attacks.trial import Trial
from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.engine.drive import drive
from malaprop.models import bleu


def trial(text: str, *rules, **parts) -> Trial:
    attack = listed(constraints=rules, **parts)
    return Trial(attack, Example("id", {"text": text}, 1), Text.of(text, Words()), 0, "?")


def space(text: str, *rules, table=None) -> dict[str, list[str]]:
    here = trial(text, *rules, **({"candidates": toy.Listed(table=table)} if table else {}))
    ((_, found),) = drive([(0, here.space())], toy.toy_services(toy.victim()), width=1)
    strings = here.origin.table.strings
    return {
        here.origin.strings[s]: [strings[w] for w in words.tolist()]
        for s, words in zip(found.slots.tolist(), found.words, strict=True)
    }


def test_stop_words_stay():
    assert list(space("the Good film of it", KeepStopWords())) == ["Good", "film"]
    assert list(space("the Good film", KeepStopWords(extra=("GOOD",)))) == ["film"]
    assert only(listed(constraints=(KeepStopWords(),)), "the of it", label=0).status == "failed"


def test_long_words():
    assert list(space("a bad film", LongWords(least=3))) == ["bad", "film"]
    assert list(space("a bad film", LongWords(least=4))) == ["film"]
    with pytest.raises(SettingError, match="at least 1"):
        LongWords(least=0)


def test_protected_words_phrases_and_spans_stay(tmp_path):
    text = "The New York film of 2,007 was good, Good film!"
    kept = parse_keep(["GOOD", "new  york", r"re:\d{1,3},\d+"])
    assert list(space(text, kept)) == ["The", "film", "of", "was"]
    assert list(space("goodness, re-good", parse_keep("good,of"))) == ["goodness"]
    assert parse_keep(r"of, the ,re:\d{1,3}").items == ("of", "the", r"re:\d{1,3}")
    (tmp_path / "words.txt").write_text("film\n\nre:^The\n")
    assert list(space(text, parse_keep(f"@{tmp_path / 'words.txt'},was"))) == [
        "New",
        "York",
        "of",
        "2",
        "007",
        "good",
        "Good",
    ]
    for wrong, said in [
        ("re:[", "is not a regular expression"),
        ("@missing.txt", "cannot be read"),
        ("", "nothing to keep"),
    ]:
        with pytest.raises(SettingError, match=said):
            parse_keep(wrong)


def test_spans_that_cover_all_end_failed_and_say_so():
    kept = listed(constraints=(parse_keep("re:.*"),))
    outcome = only(kept, "a good film", label=1)
    assert (outcome.status, outcome.reason) == ("failed", "nothing to change: every word is protected")
    assert outcome.queries.asked == 1
    assert only(listed(constraints=(parse_keep("film"),)), "a good film", label=1).status == "failed"
    assert only(listed(constraints=(parse_keep("a"),)), "a fine film", label=1).status == "success"


def test_the_first_words_of_each_field():
    assert list(space("a good film of it", FirstWords(count=2))) == ["a", "good"]
    rule, pair = FirstWords(count=1), {"premise": "a good film", "hypothesis": "bad film"}
    here = Trial(listed(), Example("id", pair, 1), Text.of(pair, Words()), 0, "?")
    assert rule.slots(here, np.arange(5)).tolist() == [True, False, False, True, False]


def test_overlap_with_the_original():
    here = trial("a good film with a plot")
    texts = [here.origin.put(1, word) for word in ("good", "goof", "terrible")]
    answers = [
        next(iter(drive([(0, rule.texts(here, texts))], {}, width=1)))[1].tolist()
        for rule in (BleuFloor(floor=60), BleuFloor(floor=0), ChrfFloor(floor=75), ChrfFloor(floor=100))
    ]
    assert answers == [[True, False, False], [True] * 3, [True, True, False], [True, False, False]]


def test_chrf_is_sacrebleus():
    metric = pytest.importorskip("sacrebleu").CHRF()
    for one, two in [
        ("a good film", "a fine film"),
        ("ab", "abcdefg"),
        ("x", "y"),
        ("", "y"),
        ("Ünï cödé", "Unï code!"),
    ]:
        assert bleu.chrf(one, two) == pytest.approx(metric.sentence_score(one, [two]).score)


def test_character_edits_as_a_share():
    here = trial("good film")  # eight characters
    edits = Variants.at(here.origin, 0, here.origin.table.ids(["goods", "goof", "gods", "bad"]))
    assert MaxCharacterShare(share=0.125).edits(here, edits).tolist() == [True, True, False, False]
    assert MaxCharacterShare(share=0.01).edits(here, edits).tolist() == [True, True, False, False]
    assert MaxCharacterShare(share=0.25).edits(here, edits).tolist() == [True, True, True, False]


def test_word_cosine(tiny_assets):
    """The stand-in: 1 minus a quarter of the difference of the weights; good is 2, fine and nice are 1."""
    table = {"good": ("fine", "bad", "unheard"), "plot": ("good",)}
    assert space("good plot", WordCosine(floor=0.7), table=table) == {"good": ["fine"], "plot": []}
    assert space("good", WordCosine(floor=-1.0), table=table) == {"good": ["bad", "fine"]}
    with pytest.raises(SettingError, match="must lie in"):
        WordCosine(floor=1.5)


def test_same_part(tiny_assets):
    table = {"film": ("movie", "okay", "bad", "unheard"), "good": ("nice", "movie"), "the": ("a", "bad")}
    found = space("film good the", SamePart(), table=table)
    assert found == {"film": ["movie", "okay"], "good": ["nice"], "the": ["a"]}


def test_same_tag_reads_the_changed_text():
    attack = listed({"fine": ("bad", "film")}, constraints=(SameTag(),))
    assert only(attack, "fine", toy.victim()).adversarial.text == "bad"
    refused = listed({"fine": ("poor",)}, constraints=(SameTag(),))  # the stand-in tags poor X
    assert only(refused, "fine").status == "failed"
    assert SameTag(nouns_for_verbs=True)._same("NOUN", "VERB")
    assert not SameTag()._same("NOUN", "VERB")
    assert SameTag()._same("AUX", "VERB")


def flags(rule, text: str, base: list[tuple[int, str]], edits: list[list[tuple[int, str]]]) -> list[bool]:
    here = trial(text, rule)
    start = here.origin
    for slot, word in base:
        start = start.put(slot, word)
    others = []
    for row in edits:
        other = start
        for slot, word in row:
            other = other.put(slot, word)
        others.append(other)
    many = rule.edits(here, Variants.between(start, others)).tolist()
    singles = [e[0] for e in edits if len(e) == 1]
    if len(singles) == len(edits):
        slots = np.asarray([s for s, _ in singles], np.int64)
        one = rule.edits(here, Variants(start, slots, here.origin.table.ids(w for _, w in singles))).tolist()
        assert one == many
    return many


def test_share_and_number_of_words():
    text = "a b c d e f g h i j"
    edits = [[(0, "x")], [(0, "x"), (1, "y")], [(0, "x"), (1, "y"), (2, "z")], []]
    assert flags(MaxShare(share=0.2), text, [], edits) == [True, True, False, True]
    assert flags(MaxWords(count=1), text, [], edits) == [True, False, False, True]
    assert flags(MaxShare(share=0.2), text, [(0, "q"), (1, "q")], [[(1, "x")], [(2, "x")], [(1, "b")]]) == [
        True,
        False,
        True,
    ]
    assert flags(MaxShare(share=0.1), "a b", [], [[(0, "x")], [(0, "x"), (1, "y")]]) == [True, False]
    assert flags(MaxShare(share=0.3), text, [], [[(s, "x") for s in range(3)]]) == [True]  # 0.3 * 10 rounds below 3
    for wrong in (lambda: MaxShare(share=0), lambda: MaxShare(share=1.1), lambda: MaxWords(count=0)):
        with pytest.raises(SettingError, match="must"):
            wrong()


def test_a_slot_changes_once():
    assert flags(OncePerSlot(), "a b", [(0, "x")], [[(0, "y")], [(1, "y")], [(0, "x")], [(0, "a")]]) == [
        False,
        True,
        True,
        False,
    ]


def test_characters_are_counted_over_the_text():
    edits = [[(0, "gold")], [(1, "flim")], [(0, "gold"), (1, "flim")], [(0, "")]]
    assert flags(MaxCharacters(count=2), "good film", [], edits) == [True, True, False, False]
    assert flags(MaxCharacters(count=2), "good film", [(0, "gooda")], [[(1, "fil")], [(1, "fi")], [(0, "good")]]) == [
        True,
        False,
        True,
    ]
    with pytest.raises(SettingError, match="at least 1"):
        MaxCharacters(count=0)


def naive(one: str, two: str) -> int:
    if not one or not two:
        return len(one) + len(two)
    return min(naive(one[1:], two) + 1, naive(one, two[1:]) + 1, naive(one[1:], two[1:]) + (one[0] != two[0]))


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_levenshtein_against_a_naive_one(one, two):
    assert levenshtein(one, two) == naive(one, two) == levenshtein(two, one)


def test_sentence_similarity_is_against_the_original():
    """Two small steps may add up to one large one: the second is compared with the first text, not with the last."""
    table = {"aaaa": ("aabb",), "cccc": ("ccdd",)}
    scores = {"aaaa cccc": 0.9, "aabb cccc": 0.8, "aaaa ccdd": 0.8, "aabb ccdd": 0.1}
    target = toy.victim(lambda texts: [[1 - scores.get(t, 0.9), scores.get(t, 0.9)] for t in texts])
    one, both = (
        float(a @ b)
        for a, b in [
            toy.encode(["aaaa cccc", "aabb cccc"]),
            toy.encode(["aaaa cccc", "aabb ccdd"]),
        ]
    )
    assert both < one
    strict = listed(table, search=Greedy(), constraints=(SentenceCosine(floor=(one + both) / 2),))
    loose = listed(table, search=Greedy(), constraints=(SentenceCosine(floor=both - 0.01),))
    assert only(strict, "aaaa cccc", target, label=1).status == "failed"
    assert only(loose, "aaaa cccc", target, label=1).status == "success"
    with pytest.raises(SettingError, match="must lie in"):
        SentenceCosine(floor=-2)


def test_what_needs_a_service_is_put_only_to_texts_that_would_win():
    asked: list[str] = []
    services = toy.toy_services(toy.victim())
    services["encoder/rough"].function = lambda items: asked.extend(items) or toy.encode(items)
    attack = listed(constraints=(SentenceCosine(floor=0.1),))
    only(attack, "a fine film", services=services)
    assert asked == ["a fine film", "a poor film"]


@pytest.mark.parametrize(("floor", "plain"), [(0.9, []), (0.502, ["a fine film", "a poor film"])])
def test_a_quick_cosine_near_the_floor_is_settled_by_the_plain_one(floor, plain):
    """Quick vectors may be off by rounding: far from the floor they decide, near it the plain encoder does."""
    asked: list[str] = []

    def vectors(items, shift=0.0):
        return [np.asarray([1.0, 0.0] if "fine" in t else [0.5 + shift, 0.0], np.float32) for t in items]

    services = toy.toy_services(toy.victim())
    services["encoder/rough"].function = lambda items: vectors(items, 0.004)  # 0.504 in place of 0.5
    services["encoder"].function = lambda items: asked.extend(items) or vectors(items)
    outcome = only(
        listed({"fine": ("poor",)}, constraints=(SentenceCosine(floor=floor),)), "a fine film", services=services
    )
    assert outcome.status == "failed"  # 0.5 is under either floor
    assert asked == plain


def test_short_texts_are_not_compared():
    services = toy.toy_services(toy.victim())
    services["encoder/rough"].function = lambda items: pytest.fail(f"asked for {items}")
    attack = listed(constraints=(SentenceCosine(floor=1.0, least=4),))
    assert only(attack, "a fine film", services=services).status == "success"
    with pytest.raises(SettingError, match="least must be at least 0"):
        SentenceCosine(least=-1)


def test_words_that_a_language_model_finds_much_less_likely_are_left_out():
    # the toy model loses half a unit a character
    table = {"good": ("bad", "extraordinary", "g")}
    rows = toy.examples(["a good film"], label=1)
    seen: dict[str, set[str]] = {}
    for name, rule in (("window", LikelyInPlace(most=1.0)), ("next", LikelyNext(most=1.0))):
        calls = toy.Calls()
        attack_all(listed(table, constraints=(rule,), search=Exhaustive()), rows, toy.victim(calls))
        seen[name] = {text.split()[1] for text in calls.texts}
    assert seen["window"] == seen["next"] == {"good", "bad", "g"}
    (first,) = attack_all(listed(table, constraints=(LikelyNext(most=0.0),)), toy.examples(["good"], label=1))
    assert first.queries.asked > 2  # before the first word there is nothing to go by


def test_perplexity_may_rise_to_a_multiple_of_the_original_only():
    rows = toy.examples(["good"], label=1)
    table = {"good": ("bad" + "d" * 20, "bad")}
    (outcome,) = attack_all(listed(table, constraints=(PerplexityRatio(most=1.5),), goal=Doubtful(ceiling=0.85)), rows)
    assert outcome.status == "success"
    assert outcome.adversarial.text == "bad"


def test_the_mean_of_the_words_vectors_stays_near(tiny_assets):
    # the toy's vectors are the words' weights: good 2, nice 1, awful -3; of two words the mean moves by half of that
    rows = toy.examples(["good good"], label=1)
    calls = toy.Calls()
    rule = MeanVector(most=0.5)
    attack_all(listed({"good": ("nice", "awful")}, constraints=(rule,), search=Exhaustive()), rows, toy.victim(calls))
    assert set(calls.texts) == {"good good", "nice good", "good nice"}


def test_tokens_are_matched_with_the_nearest_of_the_other_text():
    one, two = np.eye(3, dtype=np.float32)[:2], np.eye(3, dtype=np.float32)[[0, 2, 0]]
    # recall: one of two is found; precision: two of three
    assert match_tokens(one, two) == pytest.approx(2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3))
    assert match_tokens(one, one) == 1
    assert match_tokens(one, one[:0]) == 0
    assert only(listed(constraints=(TokenSimilarity(floor=0.5),)), "a fine film").status == "success"
    assert only(listed(constraints=(TokenSimilarity(floor=0.999),)), "a fine film").status == "failed"
    with pytest.raises(SettingError, match="floor"):
        TokenSimilarity(floor=2)


def test_a_text_has_no_more_mistakes_than_the_original():
    table = {"fine": ("piece", "poor")}  # the toy checker finds one in every "ie"
    assert only(listed(table, constraints=(NoNewMistakes(),)), "a fine film").adversarial.text == "a poor film"
    table = {"fine": ("poorie",), "good": ("badie",)}
    victim = toy.victim(lambda texts: toy.predict([text.replace("ie", "") for text in texts]))
    assert only(listed(table), "a fine film", victim).status == "success"
    assert only(listed(table, constraints=(NoNewMistakes(),)), "a fine film", victim).status == "failed"
    assert only(listed(table, constraints=(NoNewMistakes(more=1),)), "a fine film", victim).status == "success"
    with pytest.raises(SettingError, match="more"):
        NoNewMistakes(more=-1)


@dataclass(frozen=True)
class EndsWith:
    """Allows texts that end with a word, and notes how many it was asked about at a time."""

    word: str
    asked: list[int] = field(default_factory=list, compare=False)
    stage: ClassVar[str] = "text"

    def texts(self, trial, texts):
        yield from ()
        self.asked.append(len(texts))
        return np.asarray([str(text).endswith(self.word) for text in texts], np.bool_)


@pytest.mark.usefixtures("tiny_assets")
@pytest.mark.parametrize("judge", [None, Judge(floor=0.0)])
def test_refused_texts_are_followed_by_more_at_a_time_but_not_before_a_judge(judge):
    table = {"good": ("awful", "bad", "poor", "film", "okay", "nice", "fine")}  # by what they do to the label
    rule = EndsWith("film")
    found = only(listed(table, constraints=(rule,), judge=judge), "a very good")
    assert found.adversarial.text == "a very film"
    assert rule.asked == ([1, 2, 4] if judge is None else [1, 1, 1, 1])
