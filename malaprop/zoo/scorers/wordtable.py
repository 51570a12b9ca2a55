"""WordTable: what a scorer makes of each word's vector, made once a word, also of words that come later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.core.errors import SettingError
from malaprop.zoo.blocks.charwords import CharWords


@dataclass(slots=True, eq=False)
class WordTable:
    """`make` works on each row by itself. The weights must not change once a table was asked for."""

    embedding: nn.Module
    make: Callable[[Float[Tensor, "word dim"]], Float[Tensor, "word ..."]]
    _rows: Tensor | None = field(default=None, init=False)
    _known: int = field(default=0, init=False)  # words that have a row, and after which forgetting
    _age: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.embedding, nn.Embedding | CharWords):
            raise SettingError("edits are scored by word vectors that stand alone; use Plain for this model")

    def rows(self) -> Float[Tensor, "known ..."]:
        """A row for each word known now."""
        if isinstance(self.embedding, nn.Embedding):
            if self._rows is None:
                words = self.embedding.weight.detach().clone()
                words[0] = 0  # padding is nothing, whatever was trained into its row
                self._rows = self.make(words)
            return self._rows
        assert isinstance(self.embedding, CharWords)
        return self._grown(self.embedding)

    def _grown(self, embedding: CharWords) -> Float[Tensor, "known ..."]:
        vocab = embedding.vocab
        stamp = (len(vocab), vocab.forgotten) if vocab is not None else (-1, -1)
        if self._rows is None or stamp != (self._known, self._age):
            known = self._known if stamp[1] == self._age and self._rows is not None else 0
            with torch.no_grad():
                words = embedding.table()
                fresh = self.make(words[known:])
                if self._rows is None or len(words) > len(self._rows):
                    room = fresh.new_zeros(len(words) if not known else 2 * len(words), *fresh.shape[1:])
                    if self._rows is not None:
                        room[:known] = self._rows[:known]
                    self._rows = room
                self._rows[known : len(words)] = fresh
            self._known, self._age = stamp
        return self._rows[: self._known]
