"""Tables and the picture of certified accuracy: made of the records of runs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from malaprop_bench import certificates

from malaprop.core.errors import RecordError
from malaprop.features.defending.certified_record import Certificate, CertifiedRecord, Challenge, TopCurve
from malaprop.frame.records.summary import Rate

DOCS = Path(__file__).parents[2] / "docs"
RECORD = DOCS / "measured" / "certified.json"


def record(**more):
    lines = [
        Certificate(id=str(n), label=1, prediction=1, hits=9, lower=0.9, words=9, changeable=9, radius=n)
        for n in range(4)
    ]
    return CertifiedRecord.of(
        lines, victim="v", data="d", defence="ranmask", about="words", samples=10, alpha=0.05, plain=Rate(3, 4), **more
    )


def test_records_of_folders_become_rows_and_curves(tmp_path):
    held = tmp_path / "held.json"
    top = TopCurve(recipe="pwws", accuracy=(Rate(4, 4), Rate(4, 4), Rate(3, 4)), inside=5, flipped=0, contradicted=0)
    record().write(tmp_path / "plain")
    record(top=top, challenge=Challenge(texts=3, tries=1000, flipped=2, contradicted=1)).write(tmp_path / "attacked")
    certificates.main(["add", str(held), str(tmp_path / "plain"), str(tmp_path / "attacked"), "--about", "A & B"])
    certificates.main(["add", str(held), str(tmp_path / "plain"), "--about", "A & B"])  # the last of each counts
    ((row),) = certificates.rows(json.loads(held.read_text()))
    assert row[:4] == ["A & B", "d", "`ranmask`", "10, 0.05"]
    assert [cell.partition(" ")[0] for cell in row[4:]] == ["100.0%", "75.0%", "50.0%", "25.0%", "0.0%", "0.0%"]
    lines = certificates.held_rows(json.loads(held.read_text()))
    assert [(line[4], line[5][:5], line[6][:5]) for line in lines] == [
        ("0", "100.0", "100.0"), ("1", "75.0%", "100.0"), ("2", "50.0%", "75.0%"),
    ]  # fmt: skip
    assert lines[0][7:] == ["5", "1,000", "2", "1"]
    certificates.main(["draw", str(held), str(tmp_path / "held.svg")])
    drawn = ElementTree.fromstring((tmp_path / "held.svg").read_text())
    keys = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text") if "A & B" in (text.text or "")]
    assert keys == ["A & B, d, certified", "A & B, d, under pwws"]
    with pytest.raises(RecordError, match=r"holds no certified\.json"):
        certificates.add(held, [tmp_path], "x")


def test_the_picture_of_the_page_is_drawn_from_its_record():
    assert (DOCS / "certified.svg").read_text(encoding="utf-8") == certificates.draw(certificates.read(RECORD))


def test_goals_and_that_no_certificate_is_contradicted():
    """MR: 30% right and sure under any two words, AG News: 50% under any three. 10,000 changed texts agree."""
    found = certificates.read(RECORD)
    for data, words, goal in (("mr-full", 2, 0.3), ("ag_news", 3, 0.5)):
        some = [one for _, one in found if one.data.startswith(data) and "keep=0.1" in one.defence]
        assert max(one.certified[words].value for one in some) >= goal
    tests = [test for _, one in found for test in (one.top, one.challenge) if test is not None]
    assert sum(one.challenge.tries for _, one in found if one.challenge) >= 10_000
    assert sum(test.contradicted for test in tests) == 0
    for _, one in found:
        if one.top is not None:
            assert all(low.hits <= top.hits for low, top in zip(one.certified, one.top.accuracy, strict=False))


def test_what_the_guide_says_is_in_the_record():
    held = json.loads(RECORD.read_text(encoding="utf-8"))["runs"]
    found = {
        one["certified"]["data"]: one["certified"]["certified"]
        for one in held
        if one["about"].startswith("CNN") and one["certified"]["defence"].startswith("ranmask:keep=0.1")
        if one["certified"]["defence"][16:] in ("", ":samples=32") and one["certified"]["top"] is None
    }
    two, three = found["mr-full:test"][2], found["ag_news:test"][3]
    for name in ("certified.md", "appendix/defences.md"):
        page = " ".join((DOCS / name).read_text(encoding="utf-8").split())
        assert f"{100 * two['hits'] / two['total']:.1f}% " in page
        assert f"{100 * three['hits'] / three['total']:.1f}% " in page
