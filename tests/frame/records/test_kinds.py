"""Every kind of record: written, read by its types, found below folders, refused in one line where it is damaged."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from every_kind import RECORDS

from malaprop.core.codec import Real, decode, encode
from malaprop.core.errors import RecordError
from malaprop.frame.records import kinds
from malaprop.frame.records.kinds import Kind, find, kind_of
from malaprop.frame.records.kinds import kinds as table
from malaprop.frame.report.section import Section


def test_every_kind_has_a_record_here_and_a_section():
    assert set(RECORDS) == set(table())
    for name, kind in table().items():
        assert kind_of(type(RECORDS[name])) is kind
        assert isinstance(kinds.load(kind.section), Section)


@pytest.mark.parametrize("name", RECORDS)
def test_what_is_read_is_what_was_written(name, tmp_path):
    record = RECORDS[name]
    path = record.write(tmp_path / "new")
    assert path.name == f"{name}.json"
    assert "NaN" not in path.read_text()
    again = type(record).read(path.parent)
    assert repr(again) == repr(record)  # which holds for numbers that are not finite too
    assert type(record).read(tmp_path) is None
    assert [path.name for path in path.parent.iterdir() if path.suffix == ".json"] == [f"{name}.json"]


_DAMAGED = ("", "[]", "{}", '{"format": 99}', '{"format": 1, "data": 7, "rows": 1}', "[" * 100_000)


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("text", _DAMAGED)
def test_anything_else_is_refused_in_one_line(name, text, tmp_path):
    kind = table()[name]
    (tmp_path / kind.file).write_text(text)
    with pytest.raises(RecordError, match=rf"{name}\.json is not a record of .+ \(.+\); .+") as refused:
        list(find([tmp_path]))
    assert "\n" not in str(refused.value)


def test_the_message_names_the_place(tmp_path):
    path = RECORDS["tuning"].write(tmp_path)
    raw = json.loads(path.read_text())
    raw["trials"][0]["judged"]["clean"]["hits"] = "many"
    path.write_text(json.dumps(raw))
    with pytest.raises(RecordError, match=r"trials\[0\]\.judged\.clean\.hits: expected `int`, got `str`"):
        list(find([tmp_path]))


def test_a_newer_format_is_refused_by_name_and_unknown_keys_are_left_out(tmp_path):
    path = RECORDS["claims"].write(tmp_path)
    raw = json.loads(path.read_text())
    path.write_text(json.dumps({**raw, "later": 1}))
    assert type(RECORDS["claims"]).read(tmp_path) == RECORDS["claims"]
    path.write_text(json.dumps({**raw, "format": 2}))
    with pytest.raises(RecordError, match="format 2, written by a newer malaprop"):
        list(find([tmp_path]))


@dataclass(frozen=True)
class Pair:
    first: int
    second: Real = 0.0


def rename(raw):
    return {"first": raw["one"], **{name: value for name, value in raw.items() if name != "one"}}


def double(raw):
    return {**raw, "first": 2 * raw["first"]}


def test_an_older_format_goes_through_its_steps(tmp_path):
    here = __name__
    kind = Kind(
        name="pair", record=f"{here}:Pair", section="", about="a pair", again="", form=3,
        steps=(f"{here}:rename", f"{here}:double"),
    )  # fmt: skip
    path = tmp_path / "pair.json"
    for raw, first in (({"format": 1, "one": 4}, 8), ({"format": 2, "first": 4}, 8), ({"format": 3, "first": 4}, 4)):
        path.write_text(json.dumps(raw))
        assert kind.read(path) == Pair(first)


def test_numbers_that_json_lacks_are_null_and_come_back_as_nan():
    assert encode(Pair(1, math.inf)) == {"first": 1, "second": None}
    assert math.isnan(decode(Pair, {"first": 1, "second": None}).second)
    assert decode(Pair, {"first": 1, "second": 3}).second == 3.0
    with pytest.raises(RecordError, match="second: expected a number or null, got 'x'"):
        decode(Pair, {"first": 1, "second": "x"})


def test_every_record_below_is_found_once(tmp_path):
    for number, (name, record) in enumerate(RECORDS.items()):
        record.write(tmp_path / ("deep/er" if number % 2 else "other") / name)
    (tmp_path / "card.json").write_text("{}")
    found = list(find([tmp_path, tmp_path / "other"]))
    assert sorted(one.kind.name for one in found) == sorted(RECORDS)
    assert {one.kind.name: one.folder.name for one in found} == {name: name for name in RECORDS}


def test_another_package_adds_a_kind(tmp_path, monkeypatch):
    mine = Kind(name="mine", record=f"{__name__}:Pair", section="", about="mine", again="")

    class Point:
        def load(self):
            return mine

    monkeypatch.setattr(kinds, "entry_points", lambda group: [Point()] if group == "malaprop.record" else [])
    kinds.kinds.cache_clear()
    try:
        (tmp_path / "mine.json").write_text('{"format": 1, "first": 2}')
        assert [one.record for one in find([tmp_path])] == [Pair(2)]
    finally:
        kinds.kinds.cache_clear()


def test_a_study_that_is_not_square_is_refused(tmp_path):
    record = RECORDS["transfer"]
    with pytest.raises(ValueError, match="hits is not 1 by 1"):
        replace(record, hits=())


@pytest.mark.parametrize("name", RECORDS)
def test_a_file_of_format_1_is_read_as_ever(name):
    """The samples lie here as they were written; where a format changes they stay, and steps bring them up to date."""
    (found,) = (one for one in find([Path(__file__).parent / "samples"]) if one.kind.name == name)
    assert repr(found.record) == repr(RECORDS[name])
