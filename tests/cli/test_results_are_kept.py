"""No command empties results without a word, and none goes on with results of other settings."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import toy

from malaprop.cli.main import main
from malaprop.core.errors import RecordError
from malaprop.papers.universal.rules.command import keep_settings


@pytest.fixture
def type_in(tiny_assets, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)
    monkeypatch.chdir(tmp_path)
    rows = [f"the {('good', 'great', 'bad', 'awful')[i % 4]} film {i},{int(i % 4 < 2)}" for i in range(120)]
    Path("rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    Path("pairs.csv").write_text("source,target\na man,ein Mann\na dog,ein Hund\n")
    Path("own_kept_models.py").write_text(
        "from toy import predict\ndef other(texts):\n    return [[b, a] for a, b in predict(texts)]\n"
        "def translate(texts):\n    return [text.upper() for text in texts]\n"
    )
    monkeypatch.syspath_prepend(str(Path(toy.__file__).parent))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), capsys.readouterr().err

    return run


def held(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in [folder, *folder.rglob("*")] if path.is_file()}


MINE = ("rules", "mine", "--data", "rows.csv", "--split", "all", "--out", "kept", "--device", "cpu")


@pytest.mark.parametrize(
    ("words", "more", "said"),
    [
        (
            ("translate", "run", "--victim", "own_kept_models:translate", "--data", "pairs.csv", "--out", "kept"),
            (),
            "exists already",
        ),
        (
            ("translate", "typos", "--victim", "own_kept_models:translate", "--data", "pairs.csv", "--out", "kept"),
            ("--resume", "--seed", "1"),
            "with seed = 0, and here it is 1",
        ),
        (
            ("augment", "--method", "keyboard", "--data", "rows.csv", "--n", 5, "--out", "kept.csv"),
            (),
            "exists already",
        ),
        (
            ("rules", "pmi", "--data", "rows.csv", "--out", "kept"),
            ("--all",),
            "every is True here and False there",
        ),
        (("rules", "pmi", "--data", "rows.csv", "--out", "kept"), ("--n", 80), "n is 80 here and 0 there"),
        (
            (*MINE, "--victims", "own_kept_models:predict"),
            ("--victims", "own_kept_models:other"),
            "a study with victim = [",
        ),
        ((*MINE, "--victims", "own_kept_models:predict"), ("--best",), "best = False, and here it is True"),
    ],
    ids=lambda value: "-".join(map(str, value[:2])) if isinstance(value, tuple) else None,
)
def test_results_stay_as_they_are(type_in, words, more, said):
    code, err = type_in(*words, "--quiet")
    assert code == 0, err
    place = Path(words[words.index("--out") + 1])
    before = held(place)
    code, err = type_in(*words, "--quiet", *more)
    assert code == 2, err
    assert said in err
    assert held(place) == before


def test_settings_that_cannot_be_read_are_not_taken_for_the_same(tmp_path):
    keep_settings(tmp_path, {"n": 3, "texts": {"split": None, "seed": 0}})
    keep_settings(tmp_path, {"n": 3, "texts": {"split": None, "seed": 0}})
    with pytest.raises(RecordError, match=r"texts.split is 'test' here and None there"):
        keep_settings(tmp_path, {"n": 3, "texts": {"split": "test", "seed": 0}})
    (tmp_path / "settings.toml").write_text("n = ")
    with pytest.raises(RecordError, match="is not TOML"):
        keep_settings(tmp_path, {"n": 3})
