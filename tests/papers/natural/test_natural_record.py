"""The record of natural adversaries comes back as written; damaged or hostile ones say so or stay text."""

from __future__ import annotations

import json
import re

import pytest

from malaprop.core.errors import RecordError
from malaprop.frame.records.summary import Rate, Spread
from malaprop.frame.report.page import write_report
from malaprop.papers.natural.record import (
    FILE,
    LINES,
    Correlation,
    ImageResult,
    ImageRunFigures,
    NaturalRecord,
    SweepDot,
    Synthetic,
    VictimPair,
    read_finds,
)

PNG = "data:image/png;base64,AAAA"
FIND = ImageResult(
    id="<b>7</b>",
    status="success",
    label=3,
    prediction=3,
    start=3,
    changed=5,
    judged=3,
    distance=0.5,
    pixels=2.0,
    rebuilt=0.1,
    asked=100,
    original=PNG,
    returned=PNG,
    adversary=PNG,
    difference=PNG,
    strip=PNG,
)
POINTS = ((0.0, 1.0), (1.0, 0.5))
RECORD = NaturalRecord(
    data="digits",
    generator="a VAE <script>alert(1)</script>",
    items=9,
    quality={"reconstruction_rmse": 0.12},
    tried=(ImageRunFigures.of([FIND], victim="<i>forest</i>", search="hybrid", settings="", accuracy=Rate(9, 10)),),
    largest={"<i>forest</i>": Rate(1, 4), "lenet": Rate(3, 4)},
    pairs=(VictimPair(one="forest", two="lenet", larger=Rate(8, 9), ties=1),),
    dots=(SweepDot(name="width 2", group="width", accuracy=Rate(3, 10), distance=Spread(0.2, 0.1), found=Rate(5, 5)),),
    correlations=(Correlation(group="all", rho=0.9, low=0.8, high=0.95, count=40),),
    gallery={"<i>forest</i>": (FIND,)},
    sheet=PNG,
    synthetic=Synthetic(
        data=POINTS,
        rebuilt=POINTS,
        latent=POINTS,
        border=0.6,
        origins=POINTS,
        on_curve=POINTS,
        off_curve=POINTS,
        latent_apart=Spread(0.1, 0.1),
        plane_apart=Spread(0.5, 0.4),
    ),
)


def test_it_comes_back(tmp_path):
    RECORD.write(tmp_path)
    assert NaturalRecord.read(tmp_path) == RECORD
    assert NaturalRecord.read(tmp_path / "nowhere") is None
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 9}', json.dumps({"format": 1, "data": 7}), "[" * 100_000])
def test_a_damaged_one_says_so(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(RecordError, match=r"natural\.json is not a record"):
        NaturalRecord.read(tmp_path)


def test_pictures_from_elsewhere_are_refused(tmp_path):
    path = RECORD.write(tmp_path)
    for name, address in (("sheet", "https://example.org/a.png"), ("original", "javascript:alert(1)")):
        path.write_text(re.sub(rf'"{name}": "data:[^"]*"', f'"{name}": "{address}"', path.read_text()))
        with pytest.raises(RecordError, match="a picture must be a PNG"):
            NaturalRecord.read(tmp_path)
        RECORD.write(tmp_path)


def test_the_report_shows_all_parts_and_runs_nothing(tmp_path):
    RECORD.write(tmp_path)
    page = write_report([tmp_path], tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<script") == 1  # our own, which saves figures
    assert "&lt;script&gt;" in page
    assert "&lt;i&gt;forest&lt;/i&gt;" in page
    assert "&lt;b&gt;7&lt;/b&gt;" in page
    assert "default-src &#x27;none&#x27;" in page
    for words in ("100.0% (1/1", "Spearman", "0.900", "sign test", "Staying on the manifold", "On the way", "0.12"):
        assert words in page


def test_finds_come_back_without_a_torn_end(tmp_path):
    (tmp_path / LINES).write_text(f"{FIND.to_json()}\n{FIND.to_json()[:40]}")
    assert read_finds(tmp_path) == [FIND]
    (tmp_path / LINES).write_text(f"{{}}\n{FIND.to_json()}\n")
    with pytest.raises(RecordError, match="line 1"):
        read_finds(tmp_path)
