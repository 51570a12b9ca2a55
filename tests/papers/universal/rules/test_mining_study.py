"""rules mine as a study of several shards: in processes, killed, torn, and with what it was made of changed."""

from __future__ import annotations

import json

import pytest
import toy
from killed import until_done
from small_studies import content

from malaprop.core.errors import DataError, RecordError
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct
from malaprop.papers.universal.rules import mine as mining
from malaprop.papers.universal.rules.mine_study import Mine


@pytest.fixture
def given(tmp_path, monkeypatch):
    monkeypatch.setattr(mining.shards, "__defaults__", (10,))
    monkeypatch.setattr("malaprop.frame.tasks.workers.processes.PRELOAD", ())
    rows = [{"text": e.fields["text"], "label": e.label, "id": e.id} for e in toy.some_examples(30)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"{word},{other}" for word, others in toy.SYNONYMS.items() for other in others]
    (tmp_path / "swaps.csv").write_text("\n".join(["from,to", *lines]) + "\n")
    return {
        "victims": ["toy:predict"], "data": tmp_path / "data.jsonl", "split": "all", "swaps": tmp_path / "swaps.csv",
        "device": "cpu", "quiet": True,
    }  # fmt: skip


def mined(given, out, **more):
    return conduct(build(Mine, {**given, "out": out, **more}))


def test_shards_are_added_up_to_the_same_wherever_they_were_weighed(given, tmp_path):
    whole = mined(given, tmp_path / "one")
    assert whole.record.texts == 30
    assert len(list((tmp_path / "one" / "shards").glob("*.npz"))) == 3
    assert whole.record.strongest[0].label == "0"
    expected = content(tmp_path / "one")
    mined(given, tmp_path / "two", jobs=2)
    assert content(tmp_path / "two") == expected
    assert until_done(lambda _: mined(given, tmp_path / "killed"), 1)
    assert content(tmp_path / "killed") == expected


def test_a_torn_shard_is_weighed_again_and_the_others_are_not(given, tmp_path):
    out = tmp_path / "out"
    before = mined(given, out).record
    kept = (out / "shards" / "000000.npz").stat().st_mtime_ns
    (out / "shards" / "000001.npz").write_bytes(b"torn")
    (out / "rules.csv").unlink()
    again = mined(given, out).record
    assert (again.rules, again.texts, again.strongest) == (before.rules, before.texts, before.strongest)
    assert (out / "rules.csv").is_file()
    assert (out / "shards" / "000000.npz").stat().st_mtime_ns == kept


def test_other_texts_or_settings_in_the_same_folder_are_refused(given, tmp_path):
    out = tmp_path / "out"
    mined(given, out)
    with pytest.raises(RecordError, match="holds a study with least = 1, and here it is 2"):
        mined(given, out, least=2)
    data = given["data"]
    data.write_text(data.read_text().replace("good", "okay"))
    with pytest.raises(RecordError, match="holds a study of another data: "):
        mined(given, out)
    old = tmp_path / "old"
    old.mkdir()
    (old / "rules.csv").write_text("label,from,to,salience\n0,good,fine,1\n")
    with pytest.raises(RecordError, match=r"old/rules.csv was not written by this study; choose another --out"):
        mined(given, old)


def test_replacements_of_ones_own_have_to_be_there(given, tmp_path):
    for text, says in (("word,other\na,b\n", "lacks the columns from,to"), ("from,to\n", "holds no replacement")):
        (tmp_path / "swaps.csv").write_text(text)
        with pytest.raises(DataError, match=says):
            mined(given, tmp_path / "out")
