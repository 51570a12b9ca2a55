"""The first page of a report: its sentence, its examples and its steps come from the records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

from every_kind import RECORDS

from malaprop.assets.store import State
from malaprop.core.judgement import CHANGED, KEPT, Verdict
from malaprop.features.audit.check import LESS_ROBUST
from malaprop.frame.records import STATUSES, Edit, Outcome, Run, Side
from malaprop.frame.report.levels import under_all
from malaprop.frame.report.overview import choose_examples, overview, verdict
from malaprop.frame.report.page import render
from malaprop.frame.report.run_entries import entries
from malaprop.papers.claims.pages import MARKS

RUN = Run(recipe="pwws", victim="toy", data="mr", n=4, labels=("neg", "pos"), drawn_from=900)
TEXTS = ("a good film", "a fine plot", "the best cast", "a dull end")


def outcome(name: int, status: str, edits: int = 1, meaning: float | None = None) -> Outcome:
    words = TEXTS[name].split()
    changed = [f"{word}s" if place < edits else word for place, word in enumerate(words)]
    made = tuple(Edit("text", slot, "replace", words[slot], changed[slot]) for slot in range(edits))
    return Outcome(
        id=str(name), status=status, label=1, edits=made if status == "success" else (),
        original=Side({"text": TEXTS[name]}, 0 if status == "skipped" else 1, (0.2, 0.8)), meaning=meaning,
        adversarial=Side({"text": " ".join(changed)}, 0, (0.9, 0.1)) if status in ("success", "failed") else None,
    )  # fmt: skip


def test_the_sentence_counts_texts_that_hold_under_every_attack() -> None:
    one = (RUN, [outcome(0, "success"), outcome(1, "failed"), outcome(2, "failed"), outcome(3, "skipped")])
    other = (replace(RUN, recipe="typos"), [outcome(1, "success"), *(outcome(n, "failed") for n in (0, 2)), one[1][3]])
    found = entries([one, other])
    assert (under_all(found).hits, under_all(found).total) == (1, 4)
    assert (
        verdict(found)
        == "<strong>toy</strong> classifies 25.0% of texts correctly under 2 attacks; clean accuracy 75.0%."
    )
    assert verdict(entries([one])) == (
        "<strong>toy</strong> classifies 50.0% of texts correctly under one attack; clean accuracy 75.0%."
    )


def test_only_texts_that_keep_their_meaning_count_where_a_judge_was_asked() -> None:
    judged = [outcome(0, "success", meaning=0.9), outcome(1, "success", meaning=0.1), outcome(2, "success", 2, 0.95)]
    found = entries([(RUN, [*judged, outcome(3, "skipped")])])
    assert verdict(found) == (
        "<strong>toy</strong> classifies 25.0% of texts correctly under one attack; clean accuracy 75.0%. "
        "Only changes that keep the meaning count."
    )
    assert [one.id for _, one in choose_examples(found)] == ["0", "2"]  # fewest edits first
    page = overview(found)
    assert "kept, judge 0.90" in page
    assert '<p dir="auto"><del>a</del> <ins>as</ins> good film</p>' in page
    assert "pos → neg; pwws on toy; 1 word changed" in page.replace("<bdi>", "").replace("</bdi>", "")


def test_examples_are_three_texts_and_each_is_another_one() -> None:
    runs = [(replace(RUN, recipe=name), [outcome(n, "success", n + 1) for n in (2, 1, 0)]) for name in ("a", "b")]
    assert [one.id for _, one in choose_examples(entries(runs))] == ["0", "1", "2"]


def test_of_several_victims_the_best_and_the_worst_are_named() -> None:
    runs = [
        (replace(RUN, victim="weak"), [outcome(0, "success"), outcome(1, "success")]),
        (replace(RUN, victim="firm"), [outcome(0, "failed"), outcome(1, "failed")]),
    ]
    said = verdict(entries(runs))
    assert said is not None
    assert "<strong>firm</strong> has the highest accuracy under one attack (100.0%, clean 100.0%)" in said
    assert "<strong>weak</strong> the lowest (0.0%, clean 100.0%)" in said
    alike = [(replace(RUN, victim=name), [outcome(0, "failed")]) for name in ("one", "two")]
    assert verdict(entries(alike)) == "Each of 2 victims has an accuracy of 100.0% under one attack."


def test_without_any_success_the_page_says_so_and_suggests_stronger_attacks() -> None:
    page = overview(entries([(RUN, [outcome(0, "failed"), outcome(1, "failed")])]))
    assert "No attack succeeded." in page
    assert "--attack standard" in page
    assert "harden" not in page
    assert verdict(entries([(RUN, [])])) is None


def test_other_tasks_have_examples_and_no_sentence_on_accuracy() -> None:
    run = replace(RUN, parts={"task": "tagging"})
    found = entries([(run, [outcome(0, "success")])])
    assert verdict(found) is None
    assert "<ins>as</ins>" in overview(found)
    assert "harden" not in overview(found)


def test_a_profile_draws_its_chart_in_place_of_the_bars() -> None:
    runs = [(RUN, [outcome(0, "failed")])]
    plain, drawn = render(runs), render(runs, records=[RECORDS["profile"]])
    first = drawn[drawn.index('id="overview"') : drawn.index('id="profile-0"')]
    assert "Accuracy without and under attack" in plain
    assert "Accuracy without and under attack" not in first
    assert "Accuracy against the share of changed words" in first


def test_hostile_text_is_escaped_and_long_text_is_shortened() -> None:
    text = f"<b>bad</b> {'very ' * 100}good"
    hostile = Outcome(
        id="x", status="success", label=1, original=Side({"text": text}, 1, (0.1, 0.9)),
        adversarial=Side({"text": f"{text[:-4]}<i>"}, 0, (0.9, 0.1)),
    )  # fmt: skip
    page = overview(entries([(replace(RUN, victim="<u>"), [hostile])]))
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<u>" not in page
    assert "very very" in page
    assert page.count("very") < 20


def test_the_glossary_has_every_status_and_verdict() -> None:
    page = (Path(__file__).parents[3] / "docs" / "glossary.md").read_text(encoding="utf-8")
    section = page.partition("## Statuses and verdicts")[2].partition("\n## ")[0]
    known = {line.split("|")[1].strip(" `") for line in section.splitlines() if line.startswith("| ")}
    words = {*STATUSES, *get_args(Verdict), *get_args(State), *MARKS, "running", "done", "budget"}
    assert words | {"0", "1", "2", str(LESS_ROBUST), "130"} <= known
    assert f"at least {KEPT}" in section
    assert f"below {CHANGED}" in section
