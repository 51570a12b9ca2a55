"""Small word models and edits of all kinds, for the tests of the road from variants to scores."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from malaprop.core.pool import Pool
from malaprop.core.text import BREAK, Text, Words
from malaprop.core.variants import Variants
from malaprop.models.tokens.splice import Splice

PAD, UNK, SEP = 0, 1, 2
KNOWN = {w: i + 3 for i, w in enumerate([a + b for a in "abcde" for b in "abcde"] + [",", ".", "[", "]", "!"])}
VOCABULARY = len(KNOWN) + 3
_TOKEN = re.compile(rf"{BREAK}|\[UNK\]|\w+|[^\w\s]")


def cut(strings: list[str]) -> list[list[int]]:
    """Words, marks, and a separator between fields; whatever stands beside a word changes nothing."""
    fixed = {BREAK: SEP, "[UNK]": UNK}
    return [[fixed.get(t) or KNOWN.get(t, UNK) for t in _TOKEN.findall(s)] for s in strings]


WORDS = st.sampled_from([*list(KNOWN)[:25], "zz", "qq"])
FRESH = st.one_of(WORDS, st.sampled_from(["", "[UNK]", "aa bb cc", "ab, [UNK]", "aa aa aa aa aa aa aa"]))


@st.composite
def texts(draw: st.DrawFn, table: Words, owner: int, most: int) -> Text:
    words = st.lists(WORDS, max_size=most)
    gap = st.sampled_from([" ", ", ", " ! ", "  "])
    sides = [draw(st.sampled_from(["", " ", "! "])) + "".join(w + draw(gap) for w in draw(words)) for _ in range(2)]
    pair = draw(st.booleans())
    return Text.of({"premise": sides[0], "hypothesis": sides[1]} if pair else sides[0], table, owner)


@st.composite
def groups(draw: st.DrawFn, *, most: int = 14, bases: int = 4) -> list[Variants]:
    """Bases of 0 to about 30 tokens with single edits, several edits, deletions, insertions and none."""
    table, out = Words(), []
    for owner in range(draw(st.integers(1, bases))):
        base = draw(texts(table, owner, most))
        if not base.slots:
            out.append(Variants.itself(base))
            continue
        slots = st.integers(0, base.slots - 1)
        edits = draw(st.lists(st.tuples(slots, FRESH), max_size=12))
        out.append(Variants(base, np.asarray([s for s, _ in edits], np.int64), table.ids(w for _, w in edits)))
        rows = draw(st.lists(st.dictionaries(slots, FRESH, max_size=4), max_size=4))
        flat = [(row, slot, word) for row, edit in enumerate(rows) for slot, word in edit.items()]
        row, slot = (np.asarray([f[i] for f in flat], np.int64) for i in range(2))
        out.append(Variants(base, slot, table.ids(f[2] for f in flat), row, len(rows)))
    return [g for g in out if g.count] or [Variants.itself(out[0].base)]


def many_edits(texts: int, variants: int, words: int = 20, seed: int = 0) -> list[Variants]:
    """Some bases with many single edits each, as a ranking asks for them."""
    rng, table, names = np.random.default_rng(seed), Words(), np.asarray([*KNOWN][:25])
    out = []
    for owner in range(texts):
        base = Text.of(" ".join(rng.choice(names, words + owner % 7)), table, owner)
        fresh = rng.choice(np.asarray([*names, "", "aa bb", "zz"]), variants)
        out.append(Variants(base, rng.integers(0, base.slots, variants), table.ids(fresh.tolist())))
    return out


def whole_tokens(
    text: Text, limit: int, head: tuple[int, ...] = (), tail: tuple[int, ...] = (), left: bool = False
) -> list[int]:
    """The tokens of a finished text by way of its string, cut at the limit between the special tokens."""
    tokens = cut([BREAK.join(text.values())])[0]
    room = limit - len(head) - len(tail)
    return [*head, *(tokens[max(0, len(tokens) - room) :] if left else tokens[:room]), *tail]


def alone(forward: Callable[[Tensor, Tensor], Tensor], pool: Pool, limit: int) -> Tensor:
    """The logits of each variant by itself, in a batch of one, from its string."""
    out = []
    with torch.inference_mode():
        for text in pool.texts(np.arange(pool.size)):
            tokens = whole_tokens(text, limit)
            out.append(forward(torch.tensor([tokens or [PAD]]), torch.tensor([len(tokens)])))
    return torch.cat(out)


def listed(work: Splice) -> list[list[int]]:
    ids, lengths = work.rows(np.arange(work.count))
    return [row[:size] for row, size in zip(ids.tolist(), lengths.tolist(), strict=True)]
