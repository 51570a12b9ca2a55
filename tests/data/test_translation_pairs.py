"""The packaged pairs: splits by source, and what is wrong with a file."""

from __future__ import annotations

import pytest

from malaprop.core.errors import AssetError
from malaprop.data import base, packaged


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    packaged._split_pairs.cache_clear()
    monkeypatch.setattr("malaprop.assets.store.locate", lambda name: tmp_path)
    return tmp_path / "eng-fra.txt"


def test_a_source_stays_with_all_its_translations(pairs):
    pairs.write_text("".join(f"Word {i}!\tMot {i}{k}\u202f!\n" for i in range(80) for k in "ab"), encoding="utf-8")
    parts = {split: base.load("eng-fra", split=split) for split in base.SPLITS}
    assert sum(map(len, parts.values())) == 160
    sources = [{e.fields["source"] for e in part} for part in parts.values()]
    assert not sources[0] & sources[1]
    assert not sources[0] & sources[2]
    first = parts["train"].examples[0]
    assert first.fields["target"].endswith(" !")
    assert first.open == ("source",)
    assert parts["test"].fields == ("source", "target")
    assert "eng-fra" in base.names()


@pytest.mark.parametrize("text", ["no tab\n", "a\tb\tc\n", None])
def test_another_file(pairs, text):
    if text is not None:
        pairs.write_text(text)
    with pytest.raises(AssetError, match="malaprop fetch eng-fra"):
        base.load("eng-fra")


@pytest.mark.assets
def test_the_real_pairs():
    found = {split: len(base.load("eng-fra", split=split)) for split in base.SPLITS}
    assert found == {"train": 108_407, "validation": 13_895, "test": 13_540}
