"""The record of an attention study: what is written is what is read, and what is none says so."""

from __future__ import annotations

import json
import math

import pytest
from sample_attention import study

from malaprop.core.errors import RecordError
from malaprop.features.explain.record import FILE, AttentionMean, AttentionModel, AttentionRecord


def test_written_and_read_again(tmp_path):
    assert AttentionRecord.read(tmp_path) is None
    made = study()
    assert made.write(tmp_path / "new").name == FILE
    assert AttentionRecord.read(tmp_path / "new") == made


def test_a_mean_of_nothing_is_null_in_the_file(tmp_path):
    nothing = AttentionModel(
        name="m", edits="e", texts=0, pooled=AttentionMean(math.nan, math.nan, math.inf, 0), layered=None, layers=()
    )
    AttentionRecord(data="d", recipe="r", texts=0, models=(nothing,)).write(tmp_path)
    raw = json.loads((tmp_path / FILE).read_text(), parse_constant=lambda name: pytest.fail(name))
    assert raw["models"][0]["pooled"] == {"value": None, "low": None, "high": None, "n": 0}
    assert str(AttentionRecord.read(tmp_path).models[0].pooled) == "n/a (0)"


@pytest.mark.parametrize("content", ["", "[]", '{"format": 2}', '{"format": 1, "data": "d"}', "{" * 100_000])
def test_what_is_no_record_says_so_in_one_line(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(RecordError, match="is not a record of an attention study") as found:
        AttentionRecord.read(tmp_path)
    assert "\n" not in str(found.value)
