"""malaprop certify as a study: more processes and kills change no certificate, and folders are resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from killed import until_done

from malaprop.core.errors import DataError, RecordError
from malaprop.features.defending.certified_record import CertifiedRecord, read_certificates
from malaprop.frame.records.run import Run
from malaprop.frame.study import study as studies
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct

ROWS = "text,label\n" + "".join(
    f"a {'good' if n % 2 else 'bad'} film number {n} with a long middle,{'yes' if n % 2 else 'no'}\n" for n in range(12)
)
MODEL = "def predict(texts):\n    return [[0.1, 0.9] if 'good' in t else [0.9, 0.1] for t in texts]\n"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("malaprop.features.defending.certify._AT_ONCE", 60)
    Path("rows.csv").write_text(ROWS)
    Path("certified_model.py").write_text(MODEL)
    return tmp_path


def certify(out, **more):
    values = {
        "victim": "certified_model:predict", "data": "rows.csv", "defence": "ranmask:keep=0.5", "samples": 40,
        "select": 20, "device": "cpu", "out": out, "quiet": True, **more,
    }  # fmt: skip
    return conduct(build(find_study("certify"), values))


def lines_in(folder):
    return sorted(read_certificates(Path(folder)), key=lambda line: line.id)


def record_in(folder):
    return replace(CertifiedRecord.read(Path(folder)), seconds=0.0)


def test_two_processes_come_to_the_same(home):
    alone, together = certify("one"), certify("two", jobs=2)
    assert len(lines_in("one")) == 12
    assert lines_in("one") == lines_in("two")
    assert replace(alone.record, seconds=0.0) == replace(together.record, seconds=0.0)
    assert alone.record.plain.hits == 12
    assert "certified" in Path("two/report.html").read_text().lower()
    assert Run.read("one").split == "all"


@pytest.mark.parametrize("seed", range(4))
def test_killed_within_any_write_it_comes_to_the_same(home, monkeypatch, seed):
    certify("whole")
    monkeypatch.setattr(studies, "_EVERY", 0.0)
    killed = until_done(lambda _: certify("torn"), seed, most=25)
    assert killed
    assert lines_in("torn") == lines_in("whole")
    assert record_in("torn") == record_in("whole")


def test_what_is_under_way_has_a_record(home, monkeypatch):
    monkeypatch.setattr(studies, "_EVERY", 0.0)

    def stop(happening):
        if len(lines_in("half")) == 4:
            raise KeyboardInterrupt

    values = {"victim": "certified_model:predict", "data": "rows.csv", "samples": 40, "select": 20, "out": "half"}
    with pytest.raises(KeyboardInterrupt):
        conduct(build(find_study("certify"), values), listen=[stop])
    assert record_in("half").clean.total == 4


def test_a_folder_of_before_studies_is_gone_on_with_and_not_mixed(home):
    certify("old")
    for name in ("study.toml", "examined.json", "tasks.jsonl", "certified.json", "report.html"):
        Path("old", name).unlink()
    lines = Path("old/certificates.jsonl").read_text().splitlines(keepends=True)
    Path("old/certificates.jsonl").write_text("".join(lines[:5]))
    with pytest.raises(RecordError, match=r"alpha is 0\.01 here"):
        certify("old", alpha=0.01)
    assert certify("old").record.clean.total == 12
    assert [json.loads(line) for line in lines[:5]] == [
        json.loads(line) for line in Path("old/certificates.jsonl").read_text().splitlines()[:5]
    ]


def test_what_failed_before_it_left_anything_does_not_bind_the_folder(home):
    Path("empty.csv").write_text("text,label\n")
    with pytest.raises(DataError):
        certify("out", data="empty.csv")
    assert certify("out").record.clean.total == 12
