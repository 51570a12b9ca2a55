"""train arae, natural and natural compare on texts, as a user types them, and the report they write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_sentences import SENTENCES, SMALL, write_texts
from typer.testing import CliRunner

from malaprop.cli.main import app
from malaprop.core.errors import DataError, MalapropError, RecordError, SettingError
from malaprop.frame.records.run import Run
from malaprop.frame.report.page import write_report
from malaprop.papers.natural.text_record import NaturalTextRecord

_SETTINGS = [f"--set={name}={value}" for name, value in SMALL.items()]
_VICTIMS = """
import numpy as np

def eats(texts):
    hit = np.asarray(["eats" in text for text in texts], float)
    return np.stack([1 - hit, hit], 1)

def long(texts):
    hit = np.asarray([len(text) > 22 for text in texts], float)
    return np.stack([1 - hit, hit], 1)

def three(texts):
    return np.full((len(texts), 3), 1 / 3)

def translate(texts):
    return [text.replace("eats", "isst") for text in texts]
"""


def _call(*words: str) -> dict[str, object]:
    result = CliRunner().invoke(app, [*words, "--json", "--device", "cpu"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, victims and a sentence model that has learnt a little."""
    folder = tmp_path_factory.mktemp("texts")
    texts = write_texts(folder)
    (folder / "victims_of_one_line.py").write_text(_VICTIMS, encoding="utf-8")
    rows = "\n".join(f"{s},{int('eats' in s)}" for s in SENTENCES[:12])
    (folder / "small.csv").write_text(f"text,label\n{rows}\n", encoding="utf-8")
    found = _call("train", "arae", "--data", str(texts), "--out", str(folder / "arae"), "--set=steps=40", *_SETTINGS)
    assert found["spec"] == "arae"
    assert 0 <= float(str(found["through_z"])) <= 1
    return folder


def _natural(place: Path, *words: str) -> dict[str, object]:
    common = ("--data", str(place / "small.csv"), "--generator", str(place / "arae"), "--force", "--n", "3")
    return _call("natural", *words, *common, "--set=samples=30", "--cap", "300")


def test_one_victim(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(place)
    found = _natural(place, "--victim", "victims_of_one_line:eats", "--out", str(tmp_path / "run"), "--refine", "5")
    (run,) = found["runs"]  # type: ignore[misc]
    assert run["accuracy"]["value"] == 1
    record = NaturalTextRecord.read(tmp_path / "run")
    assert record is not None
    assert record.items == 3
    assert len(record.around) == 3
    assert "have up to 10 words" in record.notes[0]
    page = Path(str(found["report"])).read_text(encoding="utf-8")
    assert "Natural adversaries of text" in page
    assert "What lies around a sentence" in page
    assert page.count("<script") == 1  # our own, which saves figures


def test_a_comparison_and_its_resume(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(place)
    words = (
        "compare",
        "--victims",
        "victims_of_one_line:eats,victims_of_one_line:long",
        "--out",
        str(tmp_path / "run"),
    )
    first, again = _natural(place, *words), _natural(place, *words)
    assert {name: first[name] for name in ("largest", "pairs")} == {name: again[name] for name in ("largest", "pairs")}
    assert len(first["pairs"]) == 1  # type: ignore[arg-type]


def test_sentences_are_neither_emptied_nor_mixed(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(place)
    run = tmp_path / "run"
    victim, out = ("--victim", "victims_of_one_line:eats"), ("--out", str(run))
    first = _natural(place, *victim, *out)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for more, said in [
        (("--victim", "victims_of_one_line:long"), "and here it is 'victims_of_one_line:long'"),
        (("--seed", "3"), "seed = 0, and here it is 3"),
        (("--search", "iterative"), "and here it is 'iterative'"),
        (("--refine", "1"), "refine = 0, and here it is 1"),
    ]:
        with pytest.raises(RecordError, match=said):
            _natural(place, *(() if "--victim" in more else victim), *out, *more)
        assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    again = _natural(place, *victim, *out)
    assert again["runs"][0]["success"] == first["runs"][0]["success"]  # type: ignore[index]


def test_a_probe_of_a_translator(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(place)
    common = ("--victim", "victims_of_one_line:translate", "--out", str(tmp_path / "run"))
    found = _natural(place, "--probe", "word-appears:isst", *common)
    assert found["goal"] == "word-appears:isst"
    with pytest.raises(SettingError, match="give --victim"):
        _natural(place, "--probe", "word-appears:isst")


def test_of_the_file_that_a_victim_was_trained_on_the_test_part_is_taken(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(place)
    monkeypatch.chdir(tmp_path)
    sentences = list(dict.fromkeys(SENTENCES))[:80]
    rows = "".join(f"{s},{'food' if 'eats' in s else 'none'}\n" for s in sentences)
    Path("named.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    small = [f"--set={word}" for word in ("dim=8", "hidden=6", "epochs=1")]
    _call("train", "LSTM-W-Random-1", "--data", "named.csv", "--out", "mine", *small)
    common = ("--data", "named.csv", "--generator", str(place / "arae"), "--force", "--n", "2", "--set=samples=10")
    found = _call("natural", "--victim", "mine", *common, "--cap", "40", "--out", "run")
    assert found["data"] == "named.csv:test"
    assert Run.read("run").split == "test"
    assert any("its test part, for mine was trained on the rest" in note for note in found["notes"])  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="has 2 labels"):
        _call("natural", "--victim", "victims_of_one_line:three", *common, "--out", "three")
    with pytest.raises(DataError, match="food"):
        _call("natural", "--victim", "victims_of_one_line:eats", *common, "--labels", "no,yes", "--out", "names")
    turned = ("--labels", "none,food", "--split", "all", "--cap", "40", "--out", "turned")
    (run,) = _call("natural", "--victim", "victims_of_one_line:eats", *common, *turned)["runs"]  # type: ignore[misc]
    assert run["accuracy"]["value"] == 1
    assert run["accuracy"]["total"] == len(sentences)


def test_what_cannot_be_used_is_refused(place: Path, tmp_path: Path) -> None:
    data, generator = str(place / "small.csv"), str(place / "arae")
    with pytest.raises(SettingError, match="--force"):
        _call(
            "natural", "--data", data, "--victim", "LSTM-W-Random-1", "--generator", generator, "--out", str(tmp_path)
        )
    (tmp_path / "long.csv").write_text(f"text,label\n{'word ' * 40},0\n{'word ' * 50},1\n", encoding="utf-8")
    with pytest.raises(MalapropError, match="up to 10 words"):
        _call("natural", "--data", str(tmp_path / "long.csv"), "--generator", generator, "--force", "--victim", "BERT")


def test_hostile_text_is_escaped(place: Path, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    record = NaturalTextRecord(data=evil, generator=evil, goal=evil, items=0, notes=(evil,), samples=(evil,))
    record.write(tmp_path)
    page = write_report([tmp_path], tmp_path / "report.html").read_text(encoding="utf-8")
    assert evil not in page
    assert "&lt;img" in page
