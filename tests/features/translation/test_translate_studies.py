"""malaprop translate as studies: kills, processes and Ray change no outcome, and folders of before are resumed."""

from __future__ import annotations

from pathlib import Path

import pytest
from killed import until_done

from malaprop.core.errors import RecordError
from malaprop.features.translation.record import TranslationRecord
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.records.run import Run
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.study import study as studies
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from tests.features.translation.small_translators import PAIRS

MODEL = """
def go(texts):
    from tests.features.translation.small_translators import word_by_word
    return [word_by_word(text) for text in texts]

def no_fish(source, output):
    return "Fisch" not in output
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[3]}")
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    rows = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    Path("pairs.tsv").write_text("src\ttgt\n" + rows)
    Path("own_translator.py").write_text(MODEL)


def attack(out, command="translate attack", **more):
    values = {"victim": "own_translator:go", "data": "pairs.tsv", "n": 12, "device": "cpu", "out": out, "quiet": True}
    own = {"keyword": ("Hund", "Katze"), "tries": 6} if command == "translate attack" else {}
    return conduct(build(find_study(command), {**values, **own, **more}))


def outcomes_in(folder):
    return {
        path.parent.name: sorted(map(compare_key, read_outcomes(path.parent)))
        for path in sorted(Path(folder).rglob("outcomes.jsonl"))
    }


def test_two_processes_come_to_the_same():
    alone, together = attack("one"), attack("two", jobs=2)
    assert outcomes_in("one") == outcomes_in("two")
    assert [len(found) for found in outcomes_in("one").values()] == [12, 12]
    assert alone.record == together.record
    assert [run.attack for run in alone.record.runs] == ["keyword Hund", "keyword Katze"]
    assert Run.read("one/keyword-Hund").split == "all"


def test_killed_within_any_write_it_comes_to_the_same(monkeypatch):
    whole = attack("whole")
    monkeypatch.setattr(studies, "_EVERY", 0.0)
    assert until_done(lambda _: attack("torn"), 0, most=40)
    assert outcomes_in("torn") == outcomes_in("whole")
    assert TranslationRecord.read(Path("torn")) == whole.record


def test_a_folder_of_before_studies_is_gone_on_with_and_not_mixed():
    whole = attack("old", keyword=("Hund",))
    for name in ("study.toml", "tasks.jsonl", "translation.json", "report.html", "sights/keyword-Hund.json"):
        Path("old", name).unlink()
    lines = Path("old/outcomes.jsonl").read_text().splitlines(keepends=True)
    Path("old/outcomes.jsonl").write_text("".join(lines[:5]))
    with pytest.raises(RecordError, match="tries is 7 here and 6 there"):
        attack("old", keyword=("Hund",), tries=7)
    assert attack("old", keyword=("Hund",)).record == whole.record


def test_a_probe_of_ones_own_in_two_processes():
    found = attack("probed", "translate probe", probe="own_translator:no_fish", jobs=2).record
    assert found.runs[0].success.hits > 0
    assert found.runs[0].attack == "own_translator:no_fish"


@pytest.mark.slow
def test_on_ray_it_comes_to_the_same():
    pytest.importorskip("ray")
    attack("one"), attack("rayed", engine="ray", workers=2)
    assert outcomes_in("one") == outcomes_in("rayed")
