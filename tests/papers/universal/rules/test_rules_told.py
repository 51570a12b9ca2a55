"""What rules tell: diagnosis, its record and card, and how far rules carry."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import toy

from malaprop.attacks.rule_files import Rule, Rules
from malaprop.core.errors import RecordError
from malaprop.core.example import number_rows
from malaprop.features.explain.heat import reach
from malaprop.frame.records.outcome import Edit, Outcome, Queries, Side
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import Writer
from malaprop.frame.report.page import write_report
from malaprop.papers.universal.rules.diagnose import Association, diagnose, strongest
from malaprop.papers.universal.rules.measure_study import measure
from malaprop.papers.universal.rules.record import (
    DIAGNOSIS_TITLE,
    FILE,
    DiagnosisRecord,
    diagnosis_cards,
    diagnosis_terminal,
)

ROWS = [
    ({"text": "a good <b>film</b>, quite good"}, 1),
    ({"text": "good fun"}, 1),
    ({"text": "a fine mess"}, 0),
    ({"text": "bad and fine"}, 0),
]
EXAMPLES = tuple(number_rows(ROWS))
RULES = Rules(
    [
        Rule(label="pos", number=1, word="good", to="fine", salience=3.0, count=3),
        Rule(label="pos", number=1, word="good", to="okay", salience=2.0, count=9),
        Rule(label="pos", number=1, word="fun", to="<script>", salience=1.0, count=1),
        Rule(label="neg", number=0, word="bad", to="good", salience=1.0, count=1),
        Rule(label="sports", number=5, word="ball", to="globe", salience=1.0, count=1),
    ],
    "rules.csv",
)
FOUND = diagnose(RULES, EXAMPLES, ("neg", "pos"), data="tiny")


def test_the_strongest_rule_of_each_word():
    assert [(r.word, r.to) for r in strongest(RULES)["pos"]] == [("good", "fine"), ("fun", "<script>")]
    assert [(r.word, r.to) for r in strongest(RULES, least=5)["pos"]] == [("good", "okay")]


def test_a_diagnosis_has_bits_counts_and_texts():
    neg, pos = FOUND.found
    assert (neg.label, pos.label, FOUND.lacking, FOUND.texts) == ("neg", "pos", ("sports",), 4)
    line = pos.lines[0]
    bits = Association.of(EXAMPLES, 2)
    assert line.pmi[1] == pytest.approx((bits.pmi("good")[1], bits.pmi("fine")[1]), abs=1e-3)
    assert line.seen == ((0, 2), (3, 0))
    assert line.pmi[0][0] == line.pmi[1][1] == 0.0
    (first, second) = line.sightings
    assert (first.text, first.text[first.start : first.end]) == ("good fun", "good")
    assert second.text == ROWS[0][0]["text"]
    assert (pos.rules, pos.falls.hits, pos.falls.total, pos.rises.hits) == (3, 2, 2, 1)


def test_the_record_comes_back(tmp_path):
    FOUND.write(tmp_path)
    assert DiagnosisRecord.read(tmp_path) == FOUND
    assert DiagnosisRecord.read(tmp_path / "none") is None
    for text in ("{", "[]", '{"format": 9}', '{"format": 1}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(RecordError, match="is not a record of a diagnosis"):
            DiagnosisRecord.read(tmp_path)


def test_the_card_shows_swaps_and_keeps_words_from_outside_as_text():
    card = diagnosis_cards([FOUND])
    assert DIAGNOSIS_TITLE in card
    assert "good → fine" in card
    assert "<del>good</del> <ins>fine</ins> fun" in card
    assert "labels that the data lacks: sports" in card
    assert "<script>" not in card
    assert "<b>film" not in card
    assert diagnosis_cards([]) == ""
    bare = replace(FOUND, found=tuple(replace(one, lines=()) for one in FOUND.found))
    assert "No rule lowers this label" in diagnosis_cards([bare])


def test_the_terminal_shows_the_same(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = diagnosis_terminal(FOUND)
    assert "good -> fine" in said
    assert "[good -> fine] fun" in said
    assert "100.0% (2/2" in said


def outcome(id, status, changes=1, words=10):
    edits = tuple(Edit("text", slot, "replace", "a", "b") for slot in range(changes)) if status == "success" else ()
    side = Side({"text": "a"}, 1, (0.4, 0.6))
    return Outcome(
        id=id,
        status=status,
        label=1,
        original=side,
        adversarial=None if status == "skipped" else side,
        edits=edits,
        queries=Queries(1, 1, 1),
        changed_share=len(edits) / words,
        seconds=0.0,
        seed=0,
        reason=None,
    )


def test_the_report_of_a_run_shows_a_diagnosis_beside_it(tmp_path):
    run = Run(recipe="rules", victim="toy", data="tiny", n=1, seed=0, budget=None, width=1, labels=("neg", "pos"))
    with Writer(tmp_path / "run", run) as writer:
        writer.add(outcome("a", "success"))
    page = write_report([tmp_path], tmp_path / "report.html").read_text()
    assert DIAGNOSIS_TITLE not in page
    FOUND.write(tmp_path)
    page = write_report([tmp_path], tmp_path / "report.html").read_text()
    assert DIAGNOSIS_TITLE in page
    assert page.count("<script>") == 1  # the page's own


def test_rates_means_and_differences():
    ids = [f"{i:02}" for i in range(20)]
    weak = [outcome(id, "success" if i < 5 else "failed") for i, id in enumerate(ids)]
    strong = [outcome(id, "success" if i < 15 else "failed", changes=2) for i, id in enumerate(ids)]
    other = [outcome(id, "skipped") for id in ids[:10]] + [outcome(id, "success") for id in ids[10:]]
    each, (first, second) = measure(
        {("pmi", "A"): weak, ("pmi", "B"): weak, ("uawr", "A"): strong, ("uawr", "B"): other}
    )
    assert (first.mean, first.ahead) == (0.25, None)
    assert second.mean == pytest.approx((15 / 20 + 1) / 2)
    assert second.ahead[0] == pytest.approx(second.mean - 0.25)
    assert second.ahead[1] < second.ahead[0] < second.ahead[2]
    assert first.low < 0.25 < first.high
    assert (first.everywhere.hits, first.everywhere.total) == (5, 20)
    assert (second.everywhere.hits, second.everywhere.total) == (5, 10), "of those that both have right"
    cells = {(c.rules, c.victim): c for c in each}
    assert str(cells["uawr", "B"].success).startswith("100.0% (10/10")
    within = cells["uawr", "A"].within
    assert (within["0.15"].hits, within["0.2"].hits, within["0.2"].total) == (0, 15, 20)  # two of ten words
    assert cells["pmi", "A"].within["0.05"].hits == 5  # one word may always change


def test_nothing_attacked_is_no_rate():
    (each,), (whole,) = measure({("uawr", "A"): [outcome("a", "skipped")]})
    assert math.isnan(whole.mean)
    assert each.success.total == 0


def test_examples_of_a_pair_show_the_field_that_may_change():
    rows = [({"premise": "good", "hypothesis": "so good"}, 1), ({"premise": "bad", "hypothesis": "bad"}, 0)]
    pairs = list(number_rows(rows, ("hypothesis",)))
    found = diagnose(RULES, pairs, ("neg", "pos"), data="pairs")
    assert found.found[1].lines[0].sightings[0].text == "so good"
    assert found.found[1].lines[0].seen[1] == (1, 0)
    assert toy.weigh("good") == 2.0


def heat(*values):
    words = [{"word": "w", "after": " ", "importance": v, "substitutes": ()} for v in values]
    return {"fields": [{"name": "text", "before": "", "words": words}]}


def test_importance_is_spread_over_as_many_words_as_matter():
    assert reach(heat(2.0, 0.0, 0.0)) == pytest.approx(1)
    assert reach(heat(0.5, -0.5, 0.5, 0.5)) == pytest.approx(4)
    assert 1 < reach(heat(3.0, 0.5, 0.0)) < 2
    assert reach(heat(0.0)) == 0.0
