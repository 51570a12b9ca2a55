"""The record of attacks on translation: read as written, refused where damaged, shown without harm."""

from __future__ import annotations

import json

import pytest

from malaprop.core.errors import RecordError
from malaprop.features.translation.record import (
    Bleu,
    TranslationExample,
    TranslationMap,
    TranslationRecord,
    TranslationRun,
    headline,
    translations,
)
from malaprop.frame.records.kinds import find
from malaprop.frame.records.summary import Rate

HOSTILE = "<script>alert(1)</script>"
MAP = TranslationMap(source=("a", HOSTILE), output=("b",), weights=((0.25, 0.75),))
STUDY = TranslationRecord(
    runs=(
        TranslationRun(
            attack=HOSTILE,
            kind="keyword",
            victim="nmt",
            data="toy",
            success=Rate(3, 10),
            skipped=1,
            errors=2,
            before=Bleu(30.0, 28.0, 32.0),
            changed_words=1.5,
        ),
    ),
    sights=(TranslationExample(attack="k", victim="nmt", before=MAP, after=MAP, changed=(1,)),),
)


def test_what_is_read_is_what_was_written(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    STUDY.write(folder)
    assert TranslationRecord.read(folder) == STUDY
    assert TranslationRecord.read(tmp_path) is None
    for place in (folder, tmp_path):
        assert [found.record for found in find([place])] == [STUDY]


@pytest.mark.parametrize("change", [{"format": 9}, {"runs": [{}]}, {"runs": 3}, {"sights": [{"before": {}}]}])
def test_damage_is_said(tmp_path, change):
    path = STUDY.write(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(RecordError, match="not a record of attacks on translation"):
        TranslationRecord.read(tmp_path)


def test_weights_have_to_fit_their_words(tmp_path):
    path = STUDY.write(tmp_path)
    path.write_text(path.read_text().replace("0.25,", ""))
    with pytest.raises(RecordError):
        TranslationRecord.read(tmp_path)


def test_the_section_escapes_and_counts():
    page = str(translations([STUDY]))
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    assert "30.0% (3/10" in page
    assert "30.00 (28.00-32.00)" in page
    assert HOSTILE not in str(headline([STUDY]))
    assert str(translations([])) == ""
    assert "No sentence" in str(headline([TranslationRecord(runs=())]))
