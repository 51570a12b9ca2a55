"""The record of a HotFlip study comes back as it was written, and a damaged one says so."""

import json

import pytest
from sample_study import STUDY

from malaprop.core.errors import RecordError
from malaprop.frame.records import Rate
from malaprop.papers.hotflip.record import FILE, HotFlipRecord, SpeedComparison


def test_it_comes_back(tmp_path):
    STUDY.write(tmp_path)
    assert HotFlipRecord.read(tmp_path) == STUDY
    assert HotFlipRecord.read(tmp_path / "nowhere") is None
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_ratio_needs_successes_on_both_sides():
    assert STUDY.economy.ratio == 40
    assert SpeedComparison(success=Rate(0, 5), exact_success=Rate(4, 5), seconds=1, exact_seconds=1).ratio is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 9}', json.dumps({"format": 1, "model": "x"}), "[" * 100_000],
    ids=["empty", "list", "nothing", "later", "cut", "deep"],
)
def test_a_damaged_one_says_so(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(RecordError, match=r"hotflip\.json is not a record"):
        HotFlipRecord.read(tmp_path)
