"""What an attack leaves that sees the detector: the rows of a finished test of defences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small_victims
from malaprop_bench import evaded, page

from malaprop.core.errors import RecordError
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct

ABOUT = ["--victim", "toy", "--texts", "rows", "--method", "fgws"]


@pytest.fixture
def folder(tmp_path, tiny_assets) -> Path:
    detector = small_victims.detector(tmp_path)
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\n" + "".join(f"{('bad', 'good')[n % 2]} film {n},{n % 2}\n" for n in range(12)))
    given = {
        "victim": "toy:predict", "data": str(rows), "defences": [f"detect:{detector}"],
        "attacks": ["deepwordbug", "typos"], "n": 6, "pictures": 0, "split": "all",
        "validity": "paper",
    }  # fmt: skip
    conduct(build(find_study("study defences"), {**given, "out": tmp_path / "board", "device": "cpu", "quiet": True}))
    return tmp_path / "board"


def test_a_row_for_each_attack_is_written_and_shown(folder, tmp_path):
    file = tmp_path / "detect.json"
    old = {"victim": "other", "texts": "rows", "method": "fgws", "recipe": "typos"}
    file.write_text(json.dumps({"scores": [], "evaded": [old]}))
    for _ in range(2):  # the second renews the first
        evaded.main([str(file), str(folder), *ABOUT])
    first, *rows = json.loads(file.read_text())["evaded"]
    assert first == old
    assert [row["recipe"] for row in rows] == ["deepwordbug", "typos"]
    for row in rows:
        assert row["knowing"]["hits"] <= row["clean"]["hits"] <= row["unguarded"]["clean"]["hits"]
        assert row["clean"]["total"] == row["plain"]["total"] == 6
        assert row["unguarded"]["clean"]["hits"] - row["clean"]["hits"] <= row["rejected_clean"]
    file.write_text(json.dumps({"scores": [], "evaded": rows}))
    made, count = page.filled("<!-- table: detect.json detect-evaded -->\n<!-- end of table -->\n", tmp_path)
    assert count == 1
    assert made.count("\n| toy | rows | `fgws` |") == 2


def test_a_folder_without_a_detector_is_refused(tmp_path):
    with pytest.raises(RecordError, match="no finished test of defences"):
        evaded.read_rows(tmp_path, {})
    with pytest.raises(RecordError, match="no attack on a victim that rejects"):
        evaded.count_rejected(tmp_path)


def test_what_cannot_be_read_is_said_in_a_line(tmp_path, capsys):
    empty = tmp_path / "empty.json"
    empty.write_text("")
    for file in (empty, tmp_path / "missing.json"):
        with pytest.raises(SystemExit) as ended:
            evaded.main([str(file), str(tmp_path), *ABOUT])
        assert ended.value.code == 2
        assert "Traceback" not in capsys.readouterr().err
    assert empty.read_text() == ""
