"""WordRows: the texts of a dataset as word numbers, made once for all models that read words or their characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from malaprop.core.example import Example
from malaprop.models.tokens.openvocab import OpenVocab
from malaprop.models.tokens.ragged import Ragged
from malaprop.models.tokens.vocab import UNK, Vocab
from malaprop.training.splits import Splits
from malaprop.zoo.training import Rows


class WordRows(NamedTuple):
    """`vocab` is that of the training texts; numbers beyond it are the words of `more`, in their order."""

    vocab: Vocab
    more: list[str]
    parts: tuple[Rows, Rows, Rows]  # to train on, to choose by, to judge by

    @classmethod
    def of(cls, data: Splits, least: int = 1) -> WordRows:
        """Words that were seen less often than `least` times in training are unknown, there and later."""
        vocab = Vocab.build((value for e in data.train for value in e.fields.values()), least=least)
        opened = OpenVocab(vocab)
        parts = [_rows(part, opened) for part in (data.train, data.held_out, data.test)]
        return cls(vocab, opened.words[len(vocab) :], (parts[0], parts[1], parts[2]))

    def closed(self, limit: int) -> list[Rows]:
        """The rows for a model that knows the vocabulary alone."""
        known = len(self.vocab)
        return [Rows(Ragged.of(p.tokens).cut(limit).capped(known, UNK), p.labels) for p in self.parts]

    def open(self, limit: int, vocab: OpenVocab) -> list[Rows]:
        """The rows for a model that reads any word, whose numbers `vocab` learns."""
        for word in self.more:
            vocab.number(word)
        return [Rows(Ragged.of(p.tokens).cut(limit), p.labels) for p in self.parts]


def _rows(examples: Sequence[Example], vocab: OpenVocab) -> Rows:
    encoded = vocab.encode([tuple(e.fields.values()) for e in examples])
    return Rows(Ragged.of(encoded), [e.label for e in examples])
