"""Tokens put together of units are those of the whole string, for tokenizers of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from malaprop.attacks.candidates.unseen import swap_unseen
from malaprop.core.pool import Pool
from malaprop.core.text import BREAK, Text, Words
from malaprop.core.variants import Variants
from malaprop.models.tokens.joins import Units, best_join, join
from malaprop.models.tokens.pieces import Cut, at_breaks
from malaprop.models.tokens.splice import Frame, splice

pytest.importorskip("transformers")
import tiny_folders as tiny

# Signs join the letters behind them, and the line end behind them, as in Llama 3 and Qwen.
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
WORDS = ["bad", "", "Moving", "<unk>", "[UNK]", "the man", "quite-odd", "3", "café", "x!", "'s", "-", " a", "a\n"]
WORDS += [
    "b\u200bad",
    "!\bbad",
    "bad~\b",
    swap_unseen("b", "a") + "d",
    "ba" + swap_unseen("d", "s"),
    "b ad",
    "b\u00e2d",
    "b\u0430d",
]


def cutter(kind: str) -> Cut:
    from tokenizers import Regex, normalizers, pre_tokenizers

    own = tiny._learn({"llama3": "bytes", "prepends": "unigram"}.get(kind, kind))
    if kind == "llama3":
        bare = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        own.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), bare])
    if kind == "prepends":
        own.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        own.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    return at_breaks(lambda strings: [e.ids for e in own.encode_batch(strings, add_special_tokens=False)], [4, 4])


def tokens(cut: Cut, texts: list[Text]) -> list[list[int]]:
    return [list(row) for row in cut([BREAK.join(text.values()) for text in texts])]


@pytest.mark.parametrize(
    ("kind", "how"),
    [("wordpiece", "parts"), ("cased", "parts"), ("characters", "parts"), ("bytes", "units"), ("bytes-spaced", "units"),
     ("llama3", "units"), ("unigram", "units"), ("prepends", "bare")],
)  # fmt: skip
def test_spliced_tokens_are_those_of_the_string(kind: str, how: Any) -> None:
    cut = cutter(kind)
    texts = [*tiny.texts(60), "the U.S. film/movie, 3.5 (good)\nA new line!\n", ""]
    assert best_join(cut, [text for text in texts if text.isascii()]) == how
    table = Words()
    bases = [Text.of(text, table, at) for at, text in enumerate(texts)]
    bases += [Text.of({"premise": a, "hypothesis": b}, table, 99) for a, b in zip(texts[:9], texts[9:18], strict=True)]
    words = table.ids(WORDS)
    pool = Pool(
        [Variants.itself(base) for base in bases]
        + [Variants.at(base, slot, words) for base in bases for slot in range(base.slots)]
    )
    joined, every = join(how, cut, table), np.arange(pool.size)
    view, good = joined.view(pool, every, lambda some: tokens(cut, [*some]))
    assert good.mean() > 0.4, "most are spliced"
    work = splice(view, every[good], joined.pieces, Frame(limit=9999))
    ids, _ = work.rows(np.arange(work.count))
    made = [row[:many] for row, many in zip(ids.tolist(), work.length.tolist(), strict=True)]
    whole = tokens(cut, pool.texts(every[good]))
    wrong = [str(t) for t, a, b in zip(pool.texts(every[good]), made, whole, strict=True) if a != b]
    assert not wrong, wrong[:3]


def test_the_units_of_a_text_by_hand() -> None:
    table = Words()
    units = Units(lambda strings: [[len(s)] for s in strings], table)
    base = Text.of('"A film, the U.S.  one!" ', table)
    laid = units.lay(base)
    made = [units.made.strings[part] for part in laid.parts.tolist()]
    assert made == ["", '"A', "", " film,", "", " the", "", " U.S.", "", "", " ", ' one!"', " "]
    assert "".join(made) == str(base)
    assert (laid.around >= 0).tolist() == [True, True, True, False, False, True]
    film, one = laid.around[1], laid.around[5]
    found = units.words(np.asarray([film, one, film, -1]), table.ids(["plot", "bit", " x", "plot"]))
    assert [units.made.strings[i] for i in found[:2].tolist()] == [" plot,", ' bit!"']
    assert found[2:].tolist() == [-1, -1]
