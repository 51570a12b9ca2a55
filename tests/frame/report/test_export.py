"""Exports: adversarial texts as a folder for the datasets library, and a section for a model's card."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from malaprop.core.errors import RecordError
from malaprop.frame.records import Outcome, Run
from malaprop.frame.records.outcome import Edit, Side
from malaprop.frame.report import export
from malaprop.frame.report.export import FILE, model_card, write_export, write_parquet

RUN = Run(recipe="typos", victim="my|model", data="texts.csv", n=3, labels=("bad", "good"))


def outcome(id: str, status: str, text: str = "a <b>good</b> film\u2028") -> Outcome:
    after = Side({"text": f"{text}!"}, 0, (0.9, 0.1)) if status in ("success", "failed") else None
    return Outcome(id=id, status=status, label=1, original=Side({"text": text}, 1, (0.1, 0.9)), adversarial=after)


def test_successes_are_exported_with_a_card_that_the_library_reads(tmp_path):
    runs = [(RUN, [outcome("1", "success"), outcome("2", "failed"), outcome("3", "success", "another \ud800 one")])]
    write_export(runs, tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out" / FILE).read_text().split("\n")[:-1]]
    assert [row["id"] for row in rows] == ["1", "3"]
    assert rows[0]["text"] == "a <b>good</b> film\u2028!"
    assert rows[0]["original_text"] == "a <b>good</b> film\u2028"
    assert (rows[0]["label_name"], rows[0]["prediction"], rows[0]["prediction_before"]) == ("good", 0, 1)
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"data_files: {FILE}" in card
    with pytest.raises(RecordError, match="holds something already"):
        write_export(runs, tmp_path / "out")
    with pytest.raises(RecordError, match="no adversarial texts"):
        write_export([(RUN, [outcome("2", "failed")])], tmp_path / "none")


def test_a_section_for_a_models_card_is_one_table_whatever_names_hold():
    card = model_card([(RUN, [outcome("1", "success"), outcome("2", "failed")])])
    rows = [line for line in card.splitlines() if line.startswith("| my")]
    assert rows == [
        r"| my\|model | typos | 2 of 3 | 100.0% (2/2, 34.2-100.0) | 50.0% (1/2, 9.5-90.5) | 50.0% (1/2, 9.5-90.5) | 0 |"
    ]


def test_outcomes_are_a_table_of_several_files(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(export, "SHARD", 6)
    monkeypatch.setattr(export, "GROUP", 2)
    edit = Edit("text", 1, "replace", "good", "go\ud800d")
    first = [replace(outcome(str(at), "success" if at % 2 else "skipped"), edits=(edit,)) for at in range(8)]
    pair = Side({"premise": "a", "hypothesis": "b"}, 0, (1.0, float("inf")))
    other = Outcome(id="x", status="error", label=0, original=pair, meaning=0.25, measures={"similarity": 0.5})
    folder = write_parquet([(RUN, first), (replace(RUN, recipe="pwws"), [other])], tmp_path / "table")
    files = sorted(folder.iterdir())
    assert [one.name for one in files] == ["outcomes-00000.parquet", "outcomes-00001.parquet"]
    assert [parquet.read_metadata(one).num_rows for one in files] == [6, 3]
    assert parquet.read_metadata(files[0]).num_row_groups == 3
    rows = parquet.read_table(folder).to_pylist()
    assert [row["id"] for row in rows] == [*"01234567", "x"]
    assert rows[1]["edits"] == [{"field": "text", "slot": 1, "op": "replace", "from": "good", "to": "go?d"}]
    assert (rows[1]["adversarial_text"], rows[0]["adversarial_text"]) == ("a <b>good</b> film\u2028!", None)
    assert (rows[8]["attack"], rows[8]["original_premise"], rows[8]["original_text"]) == ("pwws", "a", None)
    assert (rows[8]["original_scores"], rows[8]["measures"]) == ([1.0, float("inf")], [("similarity", 0.5)])
    with pytest.raises(RecordError, match="holds something already"):
        write_parquet([(RUN, first)], folder)


def test_the_columns_are_those_of_all_outcomes(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    asked, answered = {"question": "who?"}, {"question": "who?", "answered": "she"}
    changed = Side({**answered, "hint": "x"}, 0)
    error = Outcome(id="1", status="error", label=1, original=Side(asked))
    success = Outcome(id="2", status="success", label=1, original=Side(answered, 1), adversarial=changed)
    rows = parquet.read_table(write_parquet([(RUN, [error, success])], tmp_path / "table")).to_pylist()
    assert [row["original_answered"] for row in rows] == [None, "she"]
    assert [row["adversarial_hint"] for row in rows] == [None, "x"]


def test_fields_may_be_called_like_a_column_and_hold_half_characters(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    named = Side({"prediction": "a film", "sc\ud800res": "b", "scores": "c"}, 1, (0.1, 0.9))
    odd = Outcome(id="\ud800", status="error", label=1, original=named, reason="\udfff is no text")
    folder = write_parquet([(replace(RUN, victim="my\ud800model"), [odd])], tmp_path / "table")
    (row,) = parquet.read_table(folder).to_pylist()
    assert (row["original_prediction_"], row["original_scores_"], row["original_sc?res"]) == ("a film", "c", "b")
    assert (row["original_prediction"], row["original_scores"]) == (1, [0.1, 0.9])
    assert (row["id"], row["victim"], row["reason"]) == ("?", "my?model", "? is no text")


def test_a_table_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_batch", full)
    with pytest.raises(RecordError, match="No space left on device; choose another folder"):
        write_parquet([(RUN, [outcome("1", "success")])], tmp_path / "table")
    assert list(tmp_path.iterdir()) == []
