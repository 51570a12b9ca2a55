"""Plain and hardened models on texts from elsewhere: what people misspelt, the table, and what the page says of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from malaprop_bench import page, unseen
from malaprop_bench.unseen import UnseenRow

from malaprop.core.errors import DataError
from malaprop.core.example import Example
from malaprop.core.victim import REJECTED
from malaprop.data import of

DOCS = Path(__file__).parents[2] / "docs"
ROW = {
    "model": "LSTM",
    "data": "mr",
    "hardened": "swaps",
    "texts": "x",
    "total": 4,
    "plain": 2,
    "won": 2,
    "lost": 1,
    "rejected": 1,
}


def write_lists(folder: Path) -> None:
    (folder / "charnmt_noise").mkdir(parents=True)
    (folder / "charnmt_noise/en.natural.gz").write_bytes(gzip.compress(b"film filme flim\nluck Luck\n"))
    (folder / "birkbeck_missp.dat.gz").write_bytes(gzip.compress(b"$Film\nfillm\n$good\ngud\n"))


def test_words_are_written_as_people_misspelt_them(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"en.natural.gz is missing; point MALAPROP_DATA"):
        unseen.read_misspellings(tmp_path)
    write_lists(tmp_path)
    known = unseen.read_misspellings(tmp_path)
    assert known == {"film": ["filme", "flim", "fillm"], "luck": [], "good": ["gud"]}
    monkeypatch.setattr(unseen, "SHARE", 1.0)
    example = Example(id="1", fields={"text": "A good, dull film; luck!"}, label=1)
    found = unseen.misspell(example, known)
    assert found.fields["text"] in {f"A gud, dull {film}; luck!" for film in known["film"]}
    assert found == unseen.misspell(example, known)
    assert (found.id, found.label) == ("1", 1)


def test_a_model_that_is_not_there_is_told_in_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        unseen.main([str(tmp_path / "u.json"), "--plain", str(tmp_path / "none"), "--hard", "swaps=x"])
    assert end.value.code == 2
    assert "is not a text classifier" in capsys.readouterr().err.splitlines()[-1]


def test_models_are_compared_on_the_same_texts(tmp_path, monkeypatch):
    data = of([("good film", 1), ("bad film", 0), ("good one", 1), ("odd", 0)], name="x")
    right = {"plain": (True, True, False, False), "hard": (True, False, True, True)}
    monkeypatch.setattr("malaprop.training.card.read_card", lambda _: SimpleNamespace(name="LSTM", data="mr"))
    monkeypatch.setattr("malaprop.frame.runs.victims.victim", str)
    monkeypatch.setattr(unseen, "answer", lambda name, _: (right[name], 1))
    monkeypatch.setattr(unseen, "read_texts", lambda *_: data)
    file = tmp_path / "u.json"
    for _ in range(2):  # the second time takes the place of the first
        unseen.main([str(file), "--plain", "plain", "--hard", "swaps=hard", "--texts", "x"])
    held = json.loads(file.read_text())
    assert held["rows"] == [ROW]
    assert unseen.rows(held) == [
        [
            "LSTM", "mr", "`swaps`", "x", "50.0% (2/4, 15.0-85.0)", "75.0% (3/4, 30.1-95.4)",
            "1", "+25.0 points (-47.3 to +80.6)", "0.875",
        ]
    ]  # fmt: skip


def test_texts_that_a_model_rejects_are_counted():
    data = of([("good film", 1), ("bad film", 0), ("good one", 1), ("odd", 0)], name="x")
    scores = {"good film": [0, 1, 0], "bad film": [0, 0, 1], "good one": [1, 0, 0], "odd": [0, 0, 1]}
    wary = SimpleNamespace(
        predict=lambda texts: np.array([scores[text] for (text,) in texts], float), labels=3, name="wary",
        label_names=("0", "1", REJECTED),
    )  # fmt: skip
    assert unseen.answer(wary, data) == ([True, False, False, False], 2)


def test_what_the_page_says_of_its_record():
    text = (DOCS / "appendix/defences.md").read_text(encoding="utf-8")
    assert page.filled(text, DOCS / "appendix")[0] == text
    held = json.loads((DOCS / "measured/unseen.json").read_text(encoding="utf-8"))
    for row in (UnseenRow(**row) for row in held["rows"] if "without labels" not in row["hardened"]):
        if row.rejected:
            continue  # the next test
        if row.data == "ag_news":
            assert row.gain.low < 0 < row.gain.high
        elif row.hardened == "flooding":
            assert abs(row.gain.value) < 0.01
        elif row.texts == row.data:
            assert -0.07 < row.gain.value < -0.02
        elif row.texts in ("yelp", "imdb-full"):
            assert -0.315 < row.gain.value < -0.085
        else:
            assert -0.0515 < row.gain.value < 0


def test_what_the_page_says_of_models_that_reject():
    text = " ".join((DOCS / "appendix/defences.md").read_text(encoding="utf-8").split())
    held = json.loads((DOCS / "measured/unseen.json").read_text(encoding="utf-8"))["rows"]
    rows = [UnseenRow(**row) for row in held if row.get("rejected")]
    bare, mended, home, home_mended = sorted(rows, key=lambda row: row.gain.value)
    assert (bare.texts, mended.texts) == ("misspelt:ag_news",) * 2
    assert "purify:spell" in mended.hardened
    assert f"it loses {-100 * bare.gain.value:.1f} points: it rejects {bare.rejected} of {bare.total:,} texts" in text
    assert f"it rejects {mended.rejected}, and the difference of {-100 * mended.gain.value:.1f} points" in text
    assert all(row.gain.low < 0 < row.gain.high for row in (mended, home, home_mended))
    assert bare.gain.high < 0


def test_what_the_page_says_of_texts_without_labels():
    held = json.loads((DOCS / "measured/unseen.json").read_text(encoding="utf-8"))
    gains = {(row["hardened"], row["texts"]): UnseenRow(**row).gain for row in held["rows"]}
    plain, of = "swaps, 4 epochs", "swaps, 4 epochs, {} without labels"
    both, longer, short = map(
        of.format, ("4,769 texts of IMDB and Yelp", "2,696 texts of IMDB", "14,031 sentences of IMDB")
    )
    assert gains[plain, "yelp"].value == pytest.approx(-0.3)
    assert gains[both, "yelp"].low < 0 < gains[both, "yelp"].value
    assert gains[longer, "imdb-full"].value == pytest.approx(gains[plain, "imdb-full"].value / 2, abs=0.01)
    assert gains[longer, "yelp"].value < gains[plain, "yelp"].value + 0.025
    assert gains[short, "yelp"].value < gains[plain, "yelp"].value + 0.025
    assert gains[short, "imdb-full"].value < gains[plain, "imdb-full"].value
    board = json.loads((DOCS / "measured/defences/mr-LSTM-unlabelled/defences.json").read_text(encoding="utf-8"))
    left = {
        row["name"]: [row[what]["hits"] / row[what]["total"] for what in ("clean", "worst")] for row in board["rows"]
    }
    assert left[both] == [0.754, 0.158]
    assert left[plain] == [0.708, 0.192]
