"""Parts that scorers of single edits share: which variants differ from their base in one stretch, tables by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from malaprop.core.distinct import find_used
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.models.tokens.splice import Splice
from malaprop.zoo.blocks.charwords import CharWords

_SHARE = 3  # variants of one base from which on its states cost less than reading each variant from end to end


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Edits:
    """The edits of a splice on bases of `size` tokens, cut at the limit; they hold only where `fits` is true."""

    size: Ints  # [variant] of its base
    at: Ints  # [variant]
    old: Ints  # [variant]
    new: Ints  # [variant]
    fits: NDArray[np.bool_]  # [variant]

    @classmethod
    def of(cls, work: Splice) -> Edits:
        full, whole = work.lengths[work.base], work.whole
        long = np.maximum(full, whole) > work.limit
        if work.turn < work.limit:
            return cls(size=full, at=work.at, old=work.old, new=work.new, fits=~long)
        beyond = long & (work.at >= work.limit)  # an edit of what is cut off is none
        old, new = (np.where(beyond, 0, a) for a in (work.old, work.new))
        same = (work.old == work.new) & (work.at + work.new <= work.limit)
        at = np.minimum(work.at, work.limit)
        return cls(size=np.minimum(full, work.limit), at=at, old=old, new=new, fits=~long | beyond | same)


def keep_large_groups(work: Splice, fits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Keep the variants whose base has enough of them for its states to be worth computing."""
    return fits & (np.bincount(work.base[fits], minlength=len(work.lengths))[work.base] >= _SHARE)


def blocks(work: Splice, chosen: Ints, tokens: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield bases, longest first, of about `tokens` tokens together, with the chosen variants of those bases."""
    bases, _ = find_used(work.base[chosen], len(work.lengths))
    sizes = np.minimum(work.lengths[bases], work.limit)
    order = np.argsort(-sizes, kind="stable")
    number = np.empty(len(work.lengths), np.int64)
    number[bases[order]] = (np.cumsum(sizes[order]) - 1) // tokens
    by_block = chosen[np.argsort(number[work.base[chosen]], kind="stable")]
    many = np.bincount(number[work.base[chosen]])
    for block in np.flatnonzero(many).tolist():
        begin = int(many[:block].sum())
        here = bases[order]
        yield here[number[here] == block], by_block[begin : begin + int(many[block])]


@dataclass(slots=True, eq=False)
class WordTable:
    """A table by word that follows the vocabulary; `make` works on each row by itself.

    The weights must not change after the first read.
    """

    embedding: nn.Module
    make: Callable[[Float[Tensor, "word dim"]], Float[Tensor, "word ..."]]
    _rows: Tensor | None = field(default=None, init=False)
    _known: int = field(default=0, init=False)  # words that have a row, and after which forgetting
    _age: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.embedding, nn.Embedding | CharWords):
            raise SettingError("edits are scored by word vectors that stand alone; use Plain for this model")

    def rows(self) -> Float[Tensor, "known ..."]:
        """Return a row for each word known now."""
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
