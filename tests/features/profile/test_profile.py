"""A profile: both curves, the score that is made of them, transfer, and what is wrong input."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import toy

import malaprop as mp
from malaprop.attacks.attack import try_in_turn
from malaprop.attacks.candidates.chars import CharEdits
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.cli.main import main
from malaprop.core.errors import SettingError, VictimError
from malaprop.features.profile.fewest import MOST, attack_with_fewest, make_attack
from malaprop.features.profile.gather import _describe_cautions, find_breaks
from malaprop.features.profile.noise import SHARES
from malaprop.features.profile.report import body, chart, headline, terminal
from malaprop.features.profile.score import estimate, noise_areas, worst_areas
from malaprop.features.profile.study import ATTACKS
from malaprop.frame.records.outcome import Edit, Outcome, Side
from malaprop.frame.records.summary import Rate

pytestmark = pytest.mark.filterwarnings("ignore:using a short list of common misspellings")
PAIRS = [
    ("a great film , really , one of the best of the year", 1),
    ("a good film of the year about a man and his dog", 1),
    ("a bad film that nobody in the house wants to see", 0),
    ("an awful film with a great man and a great dog", 0),
    ("it explodes , good", 1),
]
KNOWN = {word for text, _ in PAIRS for word in text.split()}


def brittle(texts):
    """Any word that it does not know turns the answer."""
    odd = [bool(set(text.split()) - KNOWN) for text in texts]
    return [pair[::-1] if strange else pair for pair, strange in zip(toy.predict(texts), odd, strict=True)]


def profiled(*victims, **settings):
    return mp.profile(list(victims), PAIRS, **{"attack": "deepwordbug", "n": 0, "validity": "paper", **settings})


# --- the score


def test_areas_of_curves_known_by_hand():
    shares = (0.0, *SHARES)
    flat, falling = np.ones(6), 1 - np.asarray(shares) / 0.2  # a straight line to 0 at 20%
    assert noise_areas(shares, np.stack([flat, falling], 1)) == pytest.approx([1, 0.5])
    assert worst_areas(np.asarray([0, 0.05, 0.2, 0.5, np.inf]), 0.2) == pytest.approx([0, 0.25, 1, 1, 1])
    found = estimate(np.asarray([0.0, 50.0, 100.0, 50.0] * 25))
    assert found.value == 50
    assert found.low == pytest.approx(50 - 1.96 * 3.54, abs=1.5)
    assert found.high == pytest.approx(50 + 1.96 * 3.54, abs=1.5)


def test_a_text_breaks_at_the_share_that_its_attack_changed():
    side = Side({"text": "a b"})
    made = [
        Outcome(id=id, status=status, label=0, original=side, adversarial=None if share is None else side,
                changed_share=share or 0.0)
        for id, status, share in (
            ("wrong", "skipped", None), ("held", "failed", 0.2), ("fell", "success", 0.1), ("lost", "error", None)
        )
    ]  # fmt: skip
    assert find_breaks(made) == {"wrong": 0, "held": float("inf"), "fell": 0.1}


# --- the worst case


def fewest(text):
    weak = toy.listed({"good": ("okay",), "fine": ("poor",)}, name="weak")
    strong = toy.listed({"good": ("awful",)}, name="strong")
    attack = try_in_turn("both", [weak, strong])
    target, rows = toy.victim(), toy.examples([text])
    services = toy.toy_services(target)
    (found,) = attack_with_fewest(attack, target, rows, seed=0, width=8, services=services)
    return found, toy.only(attack, text)


def test_the_search_is_repeated_with_fewer_words():
    found, once = fewest("good fine film")
    assert [edit.after for edit in once.edits] == ["okay", "poor"]
    assert found.edits == (Edit("text", 0, "replace", "good", "awful"),)
    assert (found.status, found.by, found.changed_share) == ("success", "strong", pytest.approx(1 / 3, abs=1e-6))
    assert found.queries == once.queries  # up to the first success


def test_a_success_stays_where_fewer_words_do_not_do():
    found, once = fewest("fine fine fine film")
    assert len(once.edits) == 2
    assert found.status == "success"
    assert found.edits == once.edits
    held, _ = fewest("great great film")
    assert held.status == "failed"


def test_every_recipe_keeps_the_meaning_that_it_is_told_to_keep():
    plain, valid = (make_attack(["textfooler", "pwws"], validity=validity) for validity in ("paper", "valid"))
    assert plain.judge is None
    assert valid.judge is not None
    for before, after in zip(plain.stages, valid.stages, strict=True):
        assert after.candidates != before.candidates  # behind guards
        assert after.judge == valid.judge
        assert any(isinstance(rule, MaxShare) and rule.share == MOST for rule in after.constraints)


def test_the_default_attacks_misspell_words_too():
    *words, spelling = make_attack(ATTACKS, validity="valid").stages
    assert isinstance(spelling.candidates, CharEdits)
    assert not any(isinstance(stage.candidates, CharEdits) for stage in words)


def test_invalid_successes_are_counted_in_a_note():
    side = Side({"text": "a b"})
    runs = [
        Outcome(id=str(n), status="success", label=0, original=side, adversarial=side, meaning=meaning)
        for n, meaning in enumerate((0.99, 0.01, 0.02))
    ]
    assert _describe_cautions(runs, 3, 2) == ("the judge of meaning calls 1 of 3 successes valid",)
    assert _describe_cautions(runs[:1], 3, 2) == ()


def test_the_attack_stays_within_its_share():
    attack = make_attack(["deepwordbug"], None)
    text = "a good film of the year about a man and his dog"
    outcome = toy.only(attack, text, toy.victim(brittle))
    assert outcome.status == "success"
    assert 0 < outcome.changed_share <= MOST
    with pytest.raises(SettingError, match="no recipe"):
        make_attack(["no-such-recipe"], None)


# --- the whole


def test_a_brittle_victim_stands_below_a_calm_one():
    found = profiled(brittle, toy.predict, draws=2)
    first, second = found.record.entries
    assert (first.victim, second.victim) == ("predict", "brittle")
    assert first.clean == second.clean == Rate(4, 5)
    assert first.score.value == pytest.approx((first.noise_score.value + first.worst_score.value) / 2, abs=1e-4)
    assert first.score.low <= first.score.value <= first.score.high
    assert first.gap.value == pytest.approx(first.score.value - second.score.value, abs=1e-4)
    assert second.gap is None
    assert second.one_word == Rate(0, 5)
    assert second.worst_at(0.0) == Rate(4, 5)
    assert second.worst_at(0.2).hits < 4
    assert second.queries.broken == Rate(4, 4)
    assert second.queries.median >= 1
    assert [point.share for point in second.noise] == [0.0, *SHARES]
    assert second.noise_at(0.2).value < first.noise_at(0.2).value
    assert set(second.noise[-1].kinds) == {"misspelling", "keyboard", "casing", "punctuation", "OCR"}
    assert first.transfer == {"brittle": Rate(0, 4)}
    assert second.transfer == {"predict": Rate(0, 0)}  # which nothing broke
    assert [row["victim"] for row in found.rows] == ["predict", "brittle"]
    assert found.rows[0]["score"] > found.rows[1]["score"]


def test_all_victims_read_the_same_noise():
    asked = {name: toy.Calls() for name in ("one", "two")}

    def one(texts):
        return asked["one"](texts)

    def two(texts):
        return asked["two"](texts)

    profiled(one, two)
    kept = [{text for text in calls.texts if not set(text.split()) <= KNOWN} for calls in asked.values()]
    assert kept[0]
    assert kept[0] == kept[1]


def test_a_surrogate_is_a_source_and_has_no_rank():
    found = profiled(toy.predict, surrogate=brittle)
    (entry,) = found.record.entries
    assert entry.transfer == {"brittle": Rate(0, 4)}
    assert found.record.surrogate == "brittle"


def test_the_same_folder_goes_on_with_more_victims(tmp_path):
    profiled(toy.predict, out=tmp_path)
    before = (tmp_path / "noise/predict.json").stat().st_mtime_ns
    found = profiled(toy.predict, brittle, out=tmp_path)
    assert [one.victim for one in found.record.entries] == ["predict", "brittle"]
    assert (tmp_path / "noise/predict.json").stat().st_mtime_ns == before


def test_a_victim_that_fails_costs_its_figures_alone():
    def fails(texts):
        if any(text not in dict(PAIRS) for text in texts):
            raise RuntimeError("boom")
        return toy.predict(texts)

    found = profiled(toy.predict, fails)
    last = found.record.entries[-1]
    assert (last.victim, last.score, last.clean) == ("fails", None, Rate(4, 5))
    assert "boom" in last.reason
    assert "boom" in str(body([found.record]))
    assert any("boom" in line for line in found.view.troubles)


def test_a_victim_that_always_gives_one_label_is_told_apart():
    def yes(texts):
        return [[0.2, 0.8] for _ in texts]

    found = profiled(yes, toy.predict)
    notes = {one.victim: one.notes for one in found.record.entries}
    assert "check the order of the model's labels" in notes["yes"][0]
    assert notes["predict"] == ()


def test_a_regression_is_refused():
    with pytest.raises(VictimError, match="no labels"):
        profiled(toy.victim(lambda texts: [0.5 for _ in texts], answers="number"))


def test_page_and_terminal_show_every_victim():
    record = profiled(brittle, toy.predict).record
    page, picture = str(body([record])), str(chart(record.entries))
    assert picture.count("stroke-dasharray") == 2  # noise
    assert picture.count('class="line"') == 4
    for part in ("1. predict", "2. brittle", "Noise by kind", "Transfer", "Notes"):
        assert part in page
    assert "1. predict" in terminal(record)
    assert "highest robustness score" in str(headline([record]))
    said = "every changed label counts, whatever the text means"
    assert said in " ".join(terminal(record).split())
    assert said in page
    judged = replace(record, validity="valid")
    assert said not in " ".join(terminal(judged).split()) + str(body([judged]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--victim toy:predict --data gone.csv", "no such file: gone.csv"),
        ("--victim toy:predict --data texts.csv --attack texfooler", "textfooler"),
        ("--victim toy:predict,toy:predict --data texts.csv", "names toy-predict twice"),
        ("--victim toy:predict --data texts.csv --draws 0", "--draws"),
        ("--victim nowhere/at-all --data texts.csv", "nowhere/at-all"),
        ("--victim toy:predict --data empty.csv", "empty.csv"),
        ("--victim toy:predict --data texts.csv --prompt x", "--prompt"),
    ],
)
def test_bad_input_is_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in PAIRS))
    (tmp_path / "empty.csv").write_text("text,label\n")
    monkeypatch.setattr(
        sys, "argv", ["malaprop", "profile", *words.split(), "--validity", "paper", "--quiet", "--out", "run"]
    )
    with pytest.raises(SystemExit) as end:
        main()
    (line,) = capsys.readouterr().err.splitlines()
    assert end.value.code == 2, line
    assert said in line
