"""Attacks are sorted by what they change, and the report leads with the accuracy under each kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.validity import set_validity
from malaprop.core.example import TARGET_ALREADY
from malaprop.core.settings import plain
from malaprop.features.audit import check
from malaprop.frame.records import Outcome, Rate, Run, Side
from malaprop.frame.records.paired_texts import MarkedRun, compare, holds, mark
from malaprop.frame.report.levels import LEVELS, find_level, measure_levels
from malaprop.frame.report.overview import overview, verdict
from malaprop.frame.report.run_entries import RunEntry, entries
from malaprop.frame.report.terminal import summary_table

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("level", "names"),
    [
        ("word swaps", "pwws textfooler genetic bae bert-attack morpheus clare"),
        ("misspellings", "deepwordbug typos keyboard pruthi"),
        ("look-alikes", "homoglyph bad-characters"),
        ("", "textbugger strongest paraphrase input-reduction sentence-then-words trigger"),
    ],
)
@pytest.mark.parametrize("validity", ["paper", "valid"])
def test_the_level_of_an_attack_is_that_of_its_candidates(level: str, names: str, validity: str) -> None:
    for name in names.split():
        assert find_level(plain(set_validity(RECIPES[name](), validity))) == level, name


def outcome(name: int, status: str) -> Outcome:
    made = Side({"text": "x"}, 0, (0.9, 0.1)) if status in ("success", "failed") else None
    return Outcome(
        id=str(name), status=status, label=1, original=Side({"text": f"text {name}"}, 1, (0.2, 0.8)), adversarial=made
    )


def runs(victim: str, held: dict[str, str]) -> list[RunEntry]:
    """Return one run for each recipe: each letter is a text, `.` one that holds, `x` one that breaks."""
    made = []
    for name, texts in held.items():
        about = Run(recipe=name, victim=victim, data="mr", n=len(texts), parts=plain(RECIPES[name]()))
        made.append((about, [outcome(i, "failed" if one == "." else "success") for i, one in enumerate(texts)]))
    return entries(made)


STANDARD = {"pwws": "...x", "textfooler": "..x.", "typos": "x...", "homoglyph": "xxxx"}


def test_one_victim_has_a_rate_for_each_kind_and_for_all() -> None:
    (found,) = measure_levels(runs("toy", STANDARD))
    assert found.levels == {"word swaps": Rate(2, 4), "misspellings": Rate(3, 4), "look-alikes": Rate(0, 4)}
    assert (found.every, found.clean) == (Rate(0, 4), Rate(4, 4))
    assert found.to_dict()["word swaps"]["hits"] == 2
    assert verdict(runs("toy", STANDARD)) == (
        "<strong>toy</strong> classifies 50.0% of texts correctly under word swaps, 75.0% under misspellings and 0.0% "
        "under look-alikes; 0.0% under all 4 attacks together; clean accuracy 100.0%."
    )
    page = overview(runs("toy", STANDARD))
    assert "word swaps 50.0% (2/4, 15.0-85.0)" in page  # the bars in words, for who cannot see them
    assert "purify:spell(MODEL)" in page
    title = str(summary_table("toy", runs("toy", STANDARD)).title)
    assert title.splitlines()[1].startswith("robust accuracy: word swaps 50.0% (2/4, 15.0-85.0); misspellings 75.0%")


def test_of_several_victims_the_first_kind_ranks_and_a_table_has_the_others() -> None:
    several = [*runs("weak", {**STANDARD, "pwws": "xxxx"}), *runs("firm", STANDARD), *runs("third", STANDARD)]
    said = str(verdict(several))
    assert "<strong>firm</strong> has the highest accuracy under word swaps (50.0%, clean 100.0%)" in said
    assert said.endswith(
        "<strong>weak</strong> the lowest (0.0%, clean 100.0%). Under all 4 attacks together accuracy is 0.0%."
    )
    page = overview(several)
    assert page.index("Under word swaps") < page.index("Under misspellings") < page.index("Under all attacks")
    assert page.index('scope="row">firm<') < page.index('scope="row">weak<')
    assert "<strong>Word swaps</strong> by pwws, textfooler (other words" in page
    assert "with its count and 95% interval" in page


def test_runs_of_one_attack_or_of_unknown_attacks_have_no_kinds() -> None:
    assert "word swaps" not in str(verdict(runs("toy", {"pwws": "..xx"})))
    unknown = [replace(one, run=replace(one.run, parts={})) for one in runs("toy", STANDARD)]
    assert (
        verdict(unknown)
        == "<strong>toy</strong> classifies 0.0% of texts correctly under 4 attacks; clean accuracy 100.0%."
    )


def test_the_gate_and_the_pages_name_the_kinds_as_the_report_does() -> None:
    assert tuple(level.name for level in LEVELS) == check.LEVELS
    for page in ("report.md", "gate.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert all(level.name in text for level in LEVELS), page


def test_all_attacks_together_count_the_texts_on_which_every_attack_ended() -> None:
    """To count a text that one attack breaks though another failed would lower the figure with each error."""
    names = Run(recipe="pwws", victim="m", data="d", n=3, labels=("a", "b"))
    first = [outcome(1, "success"), outcome(2, "failed"), outcome(3, "failed")]
    second = [outcome(1, "error"), outcome(2, "failed"), outcome(3, "error")]
    (found,) = measure_levels(entries([(names, first), (replace(names, recipe="textfooler"), second)]))
    assert (found.every.hits, found.every.total, found.every.unfinished) == (1, 1, 2)
    assert found.every.too_few, "most texts are not known"


def test_errors_of_one_attack_do_not_lower_the_accuracy_under_all() -> None:
    names = Run(recipe="pwws", victim="m", data="d", n=100, labels=("a", "b"), parts=plain(RECIPES["pwws"]()))
    first = [outcome(i, "success" if i < 10 else "failed") for i in range(100)]
    second = [outcome(i, "failed" if i >= 70 else "error") for i in range(100)]
    (found,) = measure_levels(entries([(names, first), (replace(names, recipe="typos"), second)]))
    assert (found.every.hits, found.every.total, found.every.unfinished) == (30, 30, 70)
    low, high = found.every.interval
    assert low <= 0.3 <= 0.9 <= high, "between 30 and 90 of 100 texts hold"


def test_a_text_that_no_attack_could_attack_is_left_out_as_it_is_of_each_rate() -> None:
    names = Run(recipe="deepwordbug", victim="m", data="d", n=6, labels=("a", "b"), parts=plain(RECIPES["typos"]()))
    some = [outcome(0, "success"), *(outcome(n, "failed") for n in range(1, 5)), outcome(5, "error")]
    (found,) = measure_levels(entries([(names, some), (replace(names, recipe="typos"), some)]))
    assert found.every == found.levels["misspellings"] == Rate(4, 5)
    late = (replace(names, recipe="typos"), some[-1:])  # five texts are not reached yet
    (found,) = measure_levels(entries([(names, some), late]))
    assert (found.every.total, found.every.unfinished) == (0, 5)


def test_an_unfinished_run_has_no_rate_that_is_another_runs() -> None:
    names = Run(recipe="pwws", victim="m", data="d", n=40, labels=("a", "b"), parts=plain(RECIPES["pwws"]()))
    first = [outcome(i, "failed" if i % 2 else "success") for i in range(40)]
    killed = replace(names, recipe="typos", parts=plain(RECIPES["typos"]()))
    (found,) = measure_levels(entries([(names, first), (killed, [outcome(i, "failed") for i in range(30)])]))
    assert (found.every.hits, found.every.total, found.every.unfinished) == (15, 30, 10)
    stopped = replace(names, state="budget", stopped="--max-queries 10", clean=(40, 40))
    both = entries([(stopped, first[:8]), (killed, [outcome(i, "failed") for i in range(40)])])
    said = str(verdict(both))
    assert "nan" not in said
    assert not measure_levels(both)[0].every.shown


def test_what_a_judge_refuses_holds_in_the_report_and_in_the_gate() -> None:
    made = [outcome(0, "success"), replace(outcome(1, "success"), meaning=0.1), outcome(2, "failed")]
    assert [holds(one) for one in made] == [False, True, True]
    judged = MarkedRun(victim="m", attack="pwws", marks={one.id: mark(one) for one in made}, judged=True)
    (clean, row) = compare([], [judged], max_drop=0.05, alpha=0.01)
    assert (row.now.hits, row.now.total) == (2, 3)
    old = replace(judged, judged=False)  # of a time without a judge: flips count on both sides
    (clean, row) = compare([old], [judged], max_drop=0.05, alpha=0.01)
    assert (row.before, row.now) == (Rate(1, 3), Rate(1, 3))
    del clean


def test_a_text_that_has_the_wanted_label_already_holds_under_all_attacks() -> None:
    """A targeted attack has nothing to do there, and each run counts the text as one that holds."""
    about = Run(recipe="pwws", victim="m", data="d", n=2, labels=("a", "b"))
    spared = [replace(outcome(1, "skipped"), reason=TARGET_ALREADY), outcome(2, "failed"), outcome(3, "skipped")]
    (found,) = measure_levels(entries([(about, spared), (replace(about, recipe="textfooler"), spared)]))
    assert (found.every.hits, found.every.total) == (2, 3)


def test_two_models_of_one_name_are_two_victims() -> None:
    about = Run(recipe="typos", victim="predict", data="mr", n=2, parts=plain(RECIPES["typos"]()))
    made = [
        (replace(about, recipe=recipe, fingerprints={"victim": mark}), [outcome(0, "failed"), outcome(1, "success")])
        for mark in ("a", "b")
        for recipe in ("typos", "pwws")
    ]
    assert [one.victim for one in measure_levels(entries(made))] == ["predict", "predict #2"]
    other_weights = [made[0], (replace(made[3][0], recipe="keyboard"), made[3][1])]
    assert [one.victim for one in measure_levels(entries(other_weights))] == ["predict"]
