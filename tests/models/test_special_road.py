"""Special models on the fast path: edits spliced into rows score as the finished strings do, new words too."""

import numpy as np
import pytest
import torch

from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.models.tokens.vocab import UNKNOWN, Vocab
from malaprop.models.victims.tokens import TokenVictim
from malaprop.training.seeds import seeded
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.special_models import SPECIAL_MODELS

SMALL = {
    "Transformer": {"dim": 16, "heads": 4, "inner": 32},
    "CharCNN": {"char_dim": 8, "filters": 24, "width": 3, "hidden": 12},
    "Kim": {"dim": 12, "filters": 6},
}
CLOSED = Vocab.build(["a good film, and a bad one", "nobody sleeps", "the man is not asleep"])


def victim(name: str) -> TokenVictim:
    shape = next((shape for part, shape in SMALL.items() if part in name), {"dim": 12, "hidden": 8})
    with seeded(0):
        model = SPECIAL_MODELS[name].network(len(CLOSED), 3, **shape).eval().requires_grad_(False)
    words = model.embedding.open_to(CLOSED) if isinstance(model.embedding, CharWords) else CLOSED
    return TokenVictim(
        name=name,
        cut=words.cut,
        encode_whole=words.encode,
        forward=model,
        labels=3,
        limit=20,
        context_free=True,
        unknown=UNKNOWN,
    )


def edits(table: Words, fresh: tuple[str, ...]) -> list[Variants]:
    bases = [
        Text.of("a good film, not a bad one", table, 0),
        Text.of({"premise": "the man is asleep", "hypothesis": "nobody sleeps"}, table, 1),
    ]
    words = table.ids(fresh)
    return [Variants.at(base, slot, words) for base in bases for slot in range(base.slots)]


@pytest.mark.parametrize("name", SPECIAL_MODELS)
def test_spliced_edits_score_as_their_strings(name):
    asked, table = victim(name), Words()
    for fresh in (("good", "", "unk", "two words"), ("godo", "flim", "\u0444ilm", "not-so-good")):
        pool = Pool(edits(table, fresh))
        asked.classes(table)
        scores = asked.finish(asked.begin(pool, np.arange(pool.size)))
        strings = asked.predict([text.values() for text in pool.texts(np.arange(pool.size))])
        assert np.abs(scores - strings).max() < 1e-5


def test_typos_differ_for_characters_and_not_for_words():
    texts = [("a godo film",), ("a gxod film",), ("a unk film",)]
    by_char, by_word = victim("CharCNN-LSTM").predict(texts), victim("Kim-CNN").predict(texts)
    assert np.abs(by_char[0] - by_char[1]).max() > 1e-5
    assert np.abs(by_char[0] - by_char[2]).max() > 1e-5
    assert np.abs(by_word - by_word[0]).max() < 1e-6


def test_words_met_before_change_no_score():
    texts = [("a godo film",), ("the mann is asleep", "noboddy")]
    first, later = victim("CharCNN-LSTM"), victim("CharCNN-LSTM")
    later.predict([(" ".join(f"w{i}" for i in range(20)),), texts[1], ("mann",)])
    with torch.no_grad():
        later.predict([(" ".join(f"v{i}" for i in range(15)),)])
    assert np.abs(first.predict(texts) - later.predict(texts)).max() < 1e-6
