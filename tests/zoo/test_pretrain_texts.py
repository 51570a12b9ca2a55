"""The texts of a pre-training: where they come from, what is held out, what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_pretraining import no_dataset

from malaprop.core.errors import DataError, MalapropError, SettingError
from malaprop.core.example import Example
from malaprop.zoo.pretrain.masking import Symbols, pack_texts
from malaprop.zoo.pretrain.texts import Corpus, blocks, corpus


@given(st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=60), st.randoms())
def test_no_text_is_on_both_sides_whatever_the_order(texts, chance):
    try:
        one = Corpus.of(texts, name="made")
    except DataError:
        assert len({" ".join(t.split()) for t in texts} - {""}) < 2
        return
    assert one.held_out
    assert one.train
    assert not set(one.held_out) & set(one.train)
    chance.shuffle(texts)
    assert set(Corpus.of(texts, name="made").held_out) == set(one.held_out)


def test_a_tenth_of_few_and_a_fiftieth_of_many():
    assert [len(Corpus.of(map(str, range(n)), name="n").held_out) for n in (2, 50, 3000, 20_000)] == [1, 5, 200, 400]


def test_files_datasets_and_wikitext_are_joined(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one  line\n\n second\tline \n", encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"packed line\n"))
    (tmp_path / "train.raw.gz").write_bytes(gzip.compress(b" = Heading = \n a well @-@ known 1 @,@ 000 \n"))
    monkeypatch.setattr("malaprop.assets.store.locate", lambda name: tmp_path)

    class Data:
        examples = (Example("1", {"premise": "a b", "hypothesis": "c d"}, 0),)

    asked = []

    def read(spec, *, split):
        asked.append((spec, split))
        return Data

    found = corpus(f"{tmp_path / 'a.txt'}, {tmp_path / 'b.txt.gz'},wikitext,snli", read)
    everything = {"one line", "second line", "packed line", "a well-known 1,000", "a b", "c d"}
    assert {*found.train, *found.held_out} == everything
    assert asked == [("snli", "train")]
    assert found.name == "a.txt+b.txt.gz+wikitext+snli"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "holds no text"),
        (b"\n  \n", "holds no text"),
        (b"word\n", "only one text"),
        (b"same\nsame\n", "only one text"),
        (b"good\nb\xffd\n", "not UTF-8"),
    ],
)
def test_bad_files_give_one_line(tmp_path, content, says):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(MalapropError, match=says) as found:
        corpus(str(path), no_dataset)
    assert "\n" not in str(found.value)


def test_a_missing_file_and_a_stray_comma_are_said():
    with pytest.raises(DataError, match=r"no such file: nowhere\.txt"):
        corpus("nowhere.txt", no_dataset)
    with pytest.raises(SettingError, match="joined with commas"):
        corpus("mr,,imdb", no_dataset)


def test_blocks_and_packing_by_hand():
    assert blocks(np.arange(10, dtype=np.int32), 4, name="x").tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert blocks(np.arange(9, dtype=np.int32), 40, name="x").tolist() == [list(range(9))]
    with pytest.raises(DataError, match="comes to 3 tokens"):
        blocks(np.arange(3, dtype=np.int32), 4, name="x")
    symbols = Symbols(begin=0, end=2, mask=4, special=(0, 2, 4))
    rows = pack_texts([[5, 6], [7, 8, 9]], symbols, 5, name="x")
    assert rows.tolist() == [[0, 5, 6, 2, 2], [0, 7, 8, 9, 2]]
