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
        ("", "textbugger strongest paraphrase input-reduction"),
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


def test_a_text_that_one_attack_breaks_counts_though_another_ended_in_an_error() -> None:
    """As `malaprop check` counts it: the text does not hold, whatever the other attack would have found."""
    names = Run(recipe="pwws", victim="m", data="d", n=3, labels=("a", "b"))
    first = [outcome(1, "success"), outcome(2, "failed"), outcome(3, "failed")]
    second = [outcome(1, "error"), outcome(2, "failed"), outcome(3, "error")]
    (found,) = measure_levels(entries([(names, first), (replace(names, recipe="textfooler"), second)]))
    assert (found.every.hits, found.every.total) == (1, 2), "whether the third holds is not known"


def test_a_text_that_has_the_wanted_label_already_holds_under_all_attacks() -> None:
    """A targeted attack has nothing to do there, and each run counts the text as one that holds."""
    about = Run(recipe="pwws", victim="m", data="d", n=2, labels=("a", "b"))
    spared = [replace(outcome(1, "skipped"), reason=TARGET_ALREADY), outcome(2, "failed"), outcome(3, "skipped")]
    (found,) = measure_levels(entries([(about, spared), (replace(about, recipe="textfooler"), spared)]))
    assert (found.every.hits, found.every.total) == (2, 3)
