"""Attacks over sentences: found, verified, the same at any width."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from malaprop.core.errors import DataError, SettingError
from malaprop.data.base import of
from malaprop.features.translation.attacks.goals import BleuDrop, Disappears, KeywordAppears, NonOverlap, Probe
from malaprop.features.translation.attacks.replacements import Typos, Vocabulary
from malaprop.features.translation.attacks.sweep import GreedySource, NaturalTypos, WordSweep
from malaprop.features.translation.run import check_pairs, run, summarize_run
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.run import Run
from tests.features.translation.small_translators import LEXICON, PAIRS, Toy, pairs, word_by_word

WORDS = Vocabulary(words=tuple(LEXICON))
CATS = pairs([pair for pair in PAIRS if "cat" in pair[0] and "dog" not in pair[0]])


def sweep(goal=None, **how):
    made = {"guided": True, "words": 1, "tries": 13, **how}
    return WordSweep(goal=goal or KeywordAppears(word="Hund"), replacements=WORDS, **made)


@pytest.mark.parametrize("guided", [True, False])
def test_a_keyword_is_brought_in_by_the_odd_word_alone(guided):
    toy = Toy(guides=guided)
    found = list(run(sweep(guided=guided), toy, CATS))
    won = [o for o in found if o.status == "success"]
    assert len(won) > len(found) / 2
    for outcome in won:
        assert len(outcome.edits) == 1
        assert outcome.edits[0].after.lower() == "odd"
        assert "Hund" in outcome.adversarial.fields["translation"]
        assert outcome.adversarial.fields["translation"] == word_by_word(outcome.adversarial.fields["source"])
        assert outcome.queries.forwarded == outcome.queries.unique + 1


def test_a_word_that_means_the_keyword_counts_only_if_free():
    dull = pairs([("the fish runs", "der Fisch rennt.")])
    (fair,) = run(sweep(), Toy(guides=True), dull)
    assert fair.status == "failed"
    (free,) = run(sweep(KeywordAppears(word="Hund", free=True)), Toy(guides=True), dull)
    assert free.status == "success"
    assert free.edits[0].after in ("dog", "puppy")


def test_what_is_there_already_is_skipped():
    (outcome,) = run(sweep(), Toy(guides=True), pairs([("the dog runs", "der Hund rennt.")]))
    assert (outcome.status, outcome.adversarial) == ("skipped", None)
    assert "already" in outcome.reason


def test_bad_sentences_end_alone():
    rows = [("the cat sees a ball.", "x"), ("explode the cat", "x"), ("...", "x"), ("a " * 200, "x")]
    outcomes = list(run(sweep(words=3), Toy(guides=True), pairs(rows)))
    found = {o.original.fields["source"]: o for o in outcomes}
    assert found[rows[0][0]].status == "success"
    assert [found[source].status for source, _ in rows[1:]] == ["error"] * 3
    assert "boom" in found[rows[1][0]].reason
    assert "no word" in found[rows[2][0]].reason
    assert "200 words" in found[rows[3][0]].reason
    told = summarize_run(Run(recipe="keyword", victim="toy", data="toy", split="", n=4, seed=0, width=4), outcomes)
    assert (told.errors, [count for _, count in told.reasons]) == (3, [1, 1, 1])


@pytest.mark.parametrize(
    "attack",
    [
        sweep(words=2, tries=4, sweep=6),
        sweep(words=2, tries=4, guided=False),
        sweep(Disappears(word="cat", translation="Katze"), words=2),
        sweep(BleuDrop(share=0.4), words=2, guided=False),
        sweep(Probe(name="p", call=lambda source, output: output.count("e") / 9), words=2, guided=False),
        NaturalTypos(replacements=WORDS),
    ],
)
def test_width_and_order_change_nothing(attack):
    toy = Toy(guides=True)
    alone = sorted(map(compare_key, run(attack, toy, CATS, width=1)))
    assert sorted(map(compare_key, run(attack, toy, reversed(CATS.examples), width=16))) == alone
    assert sorted(map(compare_key, run(attack, toy, CATS, width=16, seed=1))) != alone


@dataclass
class Wavering(Toy):
    """Says another thing the second time."""

    def translate(self, sources):
        found = super().translate(sources)
        return found if len(self.calls) < 5 else [text.replace("Hund", "") for text in found]


def test_what_a_fresh_translation_does_not_confirm_is_no_success():
    (outcome,) = run(sweep(guided=False), Wavering(), pairs([("the cat sees a ball.", "x")]))
    assert outcome.status == "failed"


def test_one_typo_a_sentence(monkeypatch):
    monkeypatch.setattr("malaprop.assets.lexicon.misspellings", lambda: {"cat": ("kat", "catt"), "ball": ("bal",)})
    found = list(run(NaturalTypos(), Toy(), pairs([("A cat runs", "ein Katze rennt."), ("it is", "es ist")])))
    assert [o.status for o in sorted(found, key=lambda o: o.status)] == ["skipped", "success"]
    won = next(o for o in found if o.status == "success")
    assert won.edits[0].after in ("kat", "catt")
    assert won.measures["bleu_after"] < won.measures["bleu_before"]
    assert Typos().of("Cat", None, 9) == ["Kat", "Catt"]


def test_several_typos_a_sentence(monkeypatch):
    monkeypatch.setattr("malaprop.assets.lexicon.misspellings", lambda: {"cat": ("kat",), "ball": ("bal",)})
    (outcome,) = run(NaturalTypos(typos=4), Toy(), pairs([("a cat sees a ball", "ein Katze sieht ein Ball.")]))
    assert sorted(edit.after for edit in outcome.edits) == ["bal", "kat"], "as many as can be misspelt"
    with pytest.raises(SettingError, match="at least 1, got 0"):
        NaturalTypos(typos=0)


def test_data_and_settings_that_cannot_be():
    with pytest.raises(DataError, match="source,target"):
        check_pairs(of([("a text", 0)]))
    with pytest.raises(SettingError, match="width"):
        list(run(sweep(), Toy(), CATS, width=0))
    with pytest.raises(SettingError, match="tries"):
        sweep(tries=0)
    with pytest.raises(SettingError, match="no words to sweep"):
        Vocabulary(words=()).of("a", None, 3)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Replacements of a few words."""

    words: tuple[tuple[str, tuple[str, ...]], ...]

    def of(self, word, rng, most):
        return [w for w in dict(self.words).get(word.lower(), ()) if w != word][:most]


PUT = Table(words=(("cat", ("dog", "ball")), ("runs", ("sees", "eats")), ("red", ("blue",)), ("the", ("a",))))


def test_every_word_of_the_output_becomes_another_one():
    toy = Toy(guides=False)
    (outcome,) = run(GreedySource(goal=NonOverlap(), replacements=PUT), toy, pairs([("red cat runs", "x")]))
    assert outcome.status == "success"
    assert outcome.adversarial.fields["source"] == "blue dog sees"
    assert outcome.adversarial.fields["translation"] == "blau Hund sieht."
    assert outcome.queries.asked == 1 + 3 + 1 + 2 + 2  # the source, the order, and the replacements of each word
    (few,) = run(GreedySource(goal=NonOverlap(), replacements=PUT, words=2), toy, pairs([("red cat runs", "x")]))
    assert (few.status, len(few.edits)) == ("failed", 2)
    (near,) = run(GreedySource(goal=NonOverlap(), replacements=PUT, edits=4), toy, pairs([("red cat runs", "x")]))
    assert near.status == "failed"


def test_stop_words_stay_and_bad_sources_end_alone():
    rows = [("the cat runs", "x"), ("explode the cat", "x"), ("...", "x")]
    found = list(run(GreedySource(goal=NonOverlap(), replacements=PUT), Toy(guides=False), pairs(rows)))
    assert sorted(o.status for o in found) == ["error", "error", "failed"]
    with pytest.raises(SettingError):
        GreedySource(goal=NonOverlap(), replacements=PUT, edits=0)
