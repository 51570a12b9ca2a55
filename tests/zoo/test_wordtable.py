"""Incremental scorers of models that read characters: new words get rows of their own as they come."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.models.scorers.plain import Plain
from malaprop.models.tokens.pieces import Pieces
from malaprop.models.tokens.splice import Frame, splice
from malaprop.models.tokens.vocab import Vocab
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.scorers.cnn import CnnEdits
from malaprop.zoo.scorers.edits import WordTable
from malaprop.zoo.scorers.lstm import LstmEdits

TEXTS = ["the good film was very good indeed and long", "a bad one that we saw to the very end"]


def words():
    torch.manual_seed(0)
    return CharWords(dim=6, char_dim=4, widths=(2, 3), filters=5, symbols=40, most=12)


MODELS = {
    "cnn": lambda e: CnnEdits(model=WordCNN(0, 3, dim=6, filters=5, embedding=e).eval()),
    "lstm": lambda e: LstmEdits(model=WordLSTM(0, 3, dim=6, hidden=5, both=True, embedding=e).eval()),
}


@pytest.mark.parametrize("kind", MODELS)
def test_edits_are_the_plain_forward_as_words_come_in(kind):
    embedding = words()
    vocab = embedding.open_to(Vocab.build(TEXTS))
    scorer = MODELS[kind](embedding)
    table = Words()
    pieces = Pieces(vocab.cut, table)
    for new in (["goood", "bda"], ["film", "flim", "x" * 30], ["entirely", "new", "one"]):
        groups = [Variants.at(Text.of(t, table), slot, table.ids(new)) for t in TEXTS for slot in range(4)]
        pool = Pool(groups)
        work = splice(pool, np.arange(pool.size), pieces, Frame(limit=99))
        plain = Plain(forward=scorer.model).logits(work)
        assert torch.allclose(scorer.logits(work), plain, atol=1e-5)
        assert len({tuple(row) for row in np.round(plain.numpy(), 6)}) > 4 * len(new)


@torch.inference_mode()
def test_each_word_is_worked_out_once():
    embedding, made = words(), []
    vocab = embedding.open_to(Vocab.build(TEXTS))
    held = WordTable(embedding, lambda x: (made.append(len(x)), 2 * x)[1])
    assert len(held.rows()) == len(vocab)
    vocab.number("other")
    again = held.rows()
    assert made == [len(vocab) - 1, 1]
    assert torch.allclose(again, 2 * embedding.table())
    held.rows()
    assert len(made) == 2
    vocab.forget()
    vocab.number("another")
    assert torch.allclose(held.rows(), 2 * embedding.table())


def test_words_that_depend_on_their_neighbours_have_no_table():
    with pytest.raises(SettingError, match="use Plain"):
        WordTable(nn.Linear(2, 2), lambda x: x)
