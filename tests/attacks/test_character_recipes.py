"""Recipes on characters, inflections and tables, on texts small enough to check by hand."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
import toy
from toy import listed, only

from malaprop.assets.languages import open_language
from malaprop.attacks.attack import Attack, Own
from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs, VisualNeighbours, edits
from malaprop.attacks.candidates.lookup import Inflections, Listed
from malaprop.attacks.candidates.unseen import BACKSPACE, Deletions, InvisibleCharacters, Reorderings
from malaprop.attacks.constraints.edits import MaxWords
from malaprop.attacks.search.differential import DifferentialEvolution
from malaprop.attacks.search.noise import VisualNoise
from malaprop.attacks.search.rewrites import Rewrites
from malaprop.attacks.trial import Trial
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words, word_pattern
from malaprop.engine.drive import drive
from malaprop.features.translation.attacks.replacements import REPLACEMENTS
from malaprop.frame.runs.make_attack import recipe


def trial(text: str, **parts) -> Trial:
    return Trial(listed(**parts), Example("id", {"text": text}, 1), Text.of(text, Words()), 0, "?")


def offered(candidates, text: str) -> list[list[str]]:
    here = trial(text, candidates=candidates)
    ((_, found),) = drive([(0, here.space())], toy.toy_services(toy.victim()), width=1)
    return [[here.origin.table.strings[w] for w in words.tolist()] for words in found.words]


def shown(word: str) -> str:
    """What is drawn: nothing of no width, what a backspace leaves, and neighbours between bidirectional controls."""
    while BACKSPACE in word:
        at = word.index(BACKSPACE)
        word = word[: at - 1] + word[at + 1 :]
    if "\u202d" in word:
        before, _, rest = word.partition("\u202d\u2066\u202e\u2066")
        (two, one), behind = rest[0] + rest[3], rest.partition("\u2069\u202c\u2069\u202c")[2]
        word = before + one + two + behind
    return "".join(c for c in word if unicodedata.category(c) != "Cf")


@pytest.mark.parametrize("candidates", [InvisibleCharacters(), Reorderings(), Deletions(each=2)])
def test_what_is_unseen_is_drawn_as_the_word(candidates):
    (words,) = offered(candidates, "film")
    assert words == sorted(set(words))
    assert "film" not in words
    assert {shown(word) for word in words} == {"film"}
    assert len(words) == {"InvisibleCharacters": 9, "Reorderings": 3, "Deletions": 10}[type(candidates).__name__]


def test_letters_that_look_alike():
    (words,) = offered(VisualNeighbours(most=2), "aQ7")
    assert words == ["âQ7", "аQ7"]
    assert offered(Homoglyphs(whole=False, most=1), "ab") == [["aЬ", "аb"]]


def test_spaces_digits_and_single_letters():
    assert offered(CharEdits(kinds=("space",), inner=True), "film") == [["f ilm", "fi lm"]]
    assert offered(CharEdits(kinds=("space",)), "ab x") == [["a b"], []]
    assert offered(CharEdits(kinds=("digit",)), "also") == [["4lso", "a1so", "al5o", "als0"]]
    (words,) = offered(CharEdits(kinds=("insert",), inner=True, single=True), "film")
    assert len(words) == 2
    assert all(len(word) == 5 and word[0] == "f" and word[-1] == "m" for word in words)
    wide, narrow = (offered(CharEdits(kinds=("keyboard",), inner=True, wide=wide), "aqa")[0] for wide in (True, False))
    assert (wide, narrow) == (["aaa", "asa", "awa"], ["aaa", "awa"])


@pytest.mark.parametrize("word", ["film", "Good", "a", "McDonald", "it's", "well-made", "na\u00efve", "x1", "q" * 70])
@pytest.mark.parametrize("inner", [False, True])
def test_plain_letters_take_a_short_way_to_the_same_words(word, inner):
    for kind in ("insert", "substitute"):
        candidates = CharEdits(kinds=(kind,), inner=inner)
        found = [made for _, made in edits(word, kind, *candidates._ends(word)) if word_pattern().fullmatch(made)]
        assert {*candidates._all(word, kind)} == {*found}


def test_inflections_keep_part_of_speech_and_case(tiny_assets):
    assert offered(Inflections(), "Good Film unheard") == [["Best", "Better"], ["Films"], []]


def test_inflections_for_translation(tiny_assets):
    assert REPLACEMENTS["inflections"]().of("Good", np.random.default_rng(0), 9) == ["Better", "Best"]
    assert REPLACEMENTS["inflections"]().of("unheard", np.random.default_rng(0), 9) == []


def test_differential_evolution_finds_the_one_edit_that_works_and_no_second():
    table = {f"w{i}": tuple(f"w{i}{c}" for c in "abcdef") for i in range(12)}
    target = toy.victim(lambda texts: [[0.9, 0.1] if "w7d" in t else [0.4, 0.6] for t in texts])
    search = DifferentialEvolution(most=3, size=32, rounds=40, settled=0.0)  # all but one are worth the same
    attack = Attack(name="toy", candidates=Listed(table=table), search=search)
    outcome = only(attack, " ".join(table), target, label=1)
    assert (outcome.status, [edit.after for edit in outcome.edits]) == ("success", ["w7d"])
    flat = toy.victim(lambda texts: [[0.4, 0.6] for _ in texts])
    early = Attack(name="toy", candidates=Listed(table=table), search=DifferentialEvolution(most=2, size=32))
    assert only(early, " ".join(table), flat, label=1).queries.asked == 1 + 2 * 32


def test_differential_evolution_adds_an_edit_where_so_many_do_not_do():
    outcome = only(
        Attack(
            name="toy",
            candidates=Listed(table={"good": ("bad",), "fine": ("poor",), "film": ("movie",)}),
            search=DifferentialEvolution(most=2, size=8, rounds=5),
        ),
        "a good great fine film",
    )
    assert (outcome.status, len(outcome.edits)) == ("failed", 2)
    assert {edit.after for edit in outcome.edits} == {"bad", "poor"}
    one = Attack(
        name="toy",
        candidates=Listed(table=toy.SYNONYMS),
        constraints=(MaxWords(count=1),),
        search=DifferentialEvolution(most=3, size=8, rounds=3),
    )
    assert len(only(one, "a good great film").edits) == 1
    for wrong in ({"most": 0}, {"size": 3}, {"cross": 0.0}, {"scale": (1.0, 0.5)}):
        with pytest.raises(SettingError, match="DifferentialEvolution needs"):
            DifferentialEvolution(**wrong)


def test_visual_noise_counts_what_a_search_of_one_at_a_time_would_ask():
    target = toy.victim(lambda texts: [[0.9, 0.1] if "ô" in t and "ê" not in t else [0.1, 0.9] for t in texts])
    attack = Attack(name="toy", candidates=Own(), search=VisualNoise(share=0.3, draws=50, near=1))
    found = [only(attack, "one more", target, label=1, seed=seed) for seed in range(20)]
    assert {o.status for o in found} == {"success"}
    # of 1 + 120 draws, the o's and the e's: a text works with probability (1 - 0.7 ** 2) * 0.7 ** 2
    assert np.mean([o.queries.asked - 1 for o in found]) == pytest.approx(1 / (0.51 * 0.49), abs=2.5)
    again = [only(attack.but(budget=200), "one more", target, label=1, seed=seed) for seed in range(20)]
    assert [o.queries.asked for o in again] == [o.queries.asked for o in found]
    assert only(attack, "123", target, label=1).reason == "nothing to change"


def rewritten(text: str, language: str = "en", **settings) -> set[str]:
    here = trial(text)
    here.language = open_language(language)
    edits = Rewrites(**settings).list_edits(here, here.open().tolist())
    out = set()
    for edit in edits:
        made = here.origin
        for slot, word in edit.items():
            made = made.put(slot, word)
        out.add(str(made))
    return out


def test_contractions_are_written_out_and_the_other_way_round():
    only_them = {"kinds": ("contractions",)}
    assert rewritten("I'm sure it is fine, DON'T go", **only_them) == {
        "I am sure it is fine, DON'T go",
        "I'm sure it's fine, DON'T go",
        "I'm sure it is fine, DO NOT go",
    }
    assert rewritten("it , is", **only_them) == set()
    assert rewritten("you cannot", **only_them) == {"you can't"}
    assert rewritten("Im Haus gibt's Brot", "de", **only_them) == {"In dem Haus gibt's Brot", "Im Haus gibt es Brot"}
    assert rewritten("I'm sure", "hu", **only_them) == set()


def test_names_places_and_numbers_become_others_of_their_kind():
    (one,) = rewritten("Robert met Robert's wife", kinds=("names",), each=1)
    name = one.split()[0]
    assert name[0].isupper()
    assert one == f"{name} met {name}'s wife"
    assert rewritten("She will robert him", kinds=("names",)) == set()  # a text with capitals, and a word without one
    assert len(rewritten("robert met us", kinds=("names",), each=3)) == 3
    cities = rewritten("We saw New York today", kinds=("places",), each=2)
    assert len(cities) == 2
    assert all(text.startswith("We saw ") and text.endswith(" today") and "New York" not in text for text in cities)
    numbers = rewritten("10 of 2 in 007", kinds=("numbers",), each=99)
    assert numbers == {f"{n} of 2 in 007" for n in (7, 8, 9, 11, 12, 13)}
    assert len(rewritten("Three men", kinds=("numbers",), each=99)) == 15
    assert "Ninety days" in rewritten("Thirty days", kinds=("numbers",), each=99)


def test_rewrites_go_on_until_the_label_turns():
    def predict(texts):
        return [[0.9, 0.1] if "is not" in t and "cannot" in t else [0.4 + 0.1 * ("is not" in t), 0.5] for t in texts]

    outcome = only(recipe("checklist"), "it isn't what you can't see", toy.victim(predict), label=1)
    assert (outcome.status, outcome.adversarial.text) == ("success", "it is not what you cannot see")


def test_pruthi_changes_one_inner_letter_of_one_long_word():
    target = toy.victim(lambda texts: [[0.9, 0.1] if "good" not in t else [0.2, 0.8] for t in texts])
    outcome = only(recipe("pruthi"), "the good film", target, label=1)
    (edit,) = outcome.edits
    assert (outcome.status, edit.after[0], edit.after[-1]) == ("success", "g", "d")
    assert only(recipe("pruthi", least=5), "the good film", target, label=1).reason == "nothing to change"


@pytest.mark.parametrize(("settings", "most"), [({}, 5), ({"greedy": True, "most": 2}, 2), ({"kinds": "invisible"}, 5)])
def test_bad_characters_are_few_and_unseen(settings, most):
    outcome = only(recipe("bad-characters", size=8, **settings), "a good great film with a bad plot")
    assert outcome.status == "success"
    assert 0 < len(outcome.edits) <= most
    if settings.get("kinds") == "invisible":
        assert {shown(edit.after) for edit in outcome.edits} <= {"good", "great"}
    with pytest.raises(SettingError, match="kinds takes some of invisible"):
        recipe("bad-characters", kinds="visible")


def test_viper_works_where_labels_are_all_that_is_seen():
    def predict(texts):
        return [[1.0, 0.0] if toy.weigh(text) <= 0 else [0.0, 1.0] for text in texts]

    target = toy.victim(predict, offers=frozenset({Capability.LABELS}))
    outcome = only(recipe("viper"), "a good film", target)
    assert outcome.status == "success"
    assert outcome.adversarial.text != "a good film"
