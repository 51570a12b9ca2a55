"""The same study on a Ray of two workers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import toy

from malaprop.core.errors import VictimError
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.study import conduct
from malaprop.papers.universal.study import Transfer

HERE = Path(__file__).parent
JUDGES = """
import toy

def plain(texts):
    return toy.predict(texts)

def sour(texts):
    return toy.predict([text + " poor" for text in texts])

def sweet(texts):
    return toy.predict([text + " fine" for text in texts])
"""


@pytest.mark.slow
def test_the_same_study_as_in_one_process(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE.parents[1]), str(HERE.parents[2])]))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rayjudges.py").write_text(JUDGES)
    rows = [f'"{e.fields["text"]}",{e.label}' for e in toy.some_examples(30)]
    (tmp_path / "toy.csv").write_text("text,label\n" + "\n".join(rows))

    def study(out: str, *names: str, **where: object) -> Transfer:
        return Transfer(
            victims=tuple(f"rayjudges:{name}" for name in names), recipe=toy.listed(),
            texts=Selection(data="toy.csv", n=0), where=RunOptions(**where), saving=OutputOptions(out=tmp_path / out),
        )  # fmt: skip

    here = conduct(study("here", "plain", "sour", "sweet")).record
    there = conduct(study("there", "plain", "sour", "sweet", engine="ray", workers=2)).record
    assert here.hits == there.hits
    assert here.totals == there.totals
    with pytest.raises(VictimError, match="rayjudges:none"):
        conduct(study("none", "plain", "none", engine="ray", workers=2))
