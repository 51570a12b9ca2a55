"""The places of a text's words among the tokens that a model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.text import BREAK, Ints, Text, Words
from malaprop.models.tokens.pieces import Cut, Pieces
from malaprop.models.tokens.splice import Frame
from malaprop.models.tokens.wordpieces import WordPieces

if TYPE_CHECKING:
    from malaprop.core.victim import Fields

_TABLES = 2  # kept at a time, as victims do


class TokenLayout(NamedTuple):
    """One row as the model reads it, with special tokens and cut; slot s has `size[s]` tokens from `start[s]`.

    A slot that the cut leaves out, if only in part, has size -1.
    """

    row: Ints
    start: Ints
    size: Ints


class Layout(Protocol):
    def lay(self, texts: Sequence[Text]) -> list[TokenLayout]: ...

    def tokens(self, text: Text, slots: Ints, words: Ints) -> list[Ints]:
        """Return the tokens that each word would be in its slot."""
        ...


def lay(frame: Frame, tokens: Sequence[int] | Ints, start: Ints, size: Ints) -> TokenLayout:
    """Return the model's row for these tokens, and where in it the slots lie that begin at `start` among them."""
    over = max(0, len(frame.head) + len(tokens) + len(frame.tail) - frame.limit)
    start = start + len(frame.head)
    room = len(frame.head) + len(tokens)  # where the tail begins
    if over:
        first, behind = start + size <= frame.turn, start >= frame.turn + over
        size = np.where((first | behind) & (start + size <= room), size, -1)
        start = np.where(behind, start - over, start)
    return TokenLayout(np.asarray(frame.row(tokens), np.int64), start, size)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ByParts:
    """A layout for cutters that cut a text as its words and gaps, each alone; `whole` checks each text."""

    cut: Cut
    frame: Frame
    whole: bool = False
    _seen: list[Pieces] = field(default_factory=list, init=False, repr=False)

    def lay(self, texts: Sequence[Text]) -> list[TokenLayout]:
        return [self._one(text) for text in texts]

    def _one(self, text: Text) -> TokenLayout:
        pieces = self.pieces(text.table)
        size = pieces.size[text.parts]
        found = pieces.tokens(text.parts)
        if self.whole and self.cut([BREAK.join(text.values())])[0] != found.tolist():
            raise VictimError("a token of this text reaches over the edge of a word; its word cannot be found")
        start = np.cumsum(size) - size
        return lay(self.frame, found, start[1::2], size[1::2])

    def tokens(self, text: Text, slots: Ints, words: Ints) -> list[Ints]:  # noqa: ARG002
        pieces = self.pieces(text.table)
        start, size = pieces.start[words], pieces.size[words]
        return [pieces.flat[a : a + n] for a, n in zip(start.tolist(), size.tolist(), strict=True)]

    def pieces(self, table: Words) -> Pieces:
        for held in self._seen:
            if held.table is table:
                held.grow()
                return held
        self._seen.insert(0, Pieces(self.cut, table))
        del self._seen[_TABLES:]
        self._seen[0].grow()
        return self._seen[0]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ByOffsets:
    """A layout for sub-word tokenizers: a word's tokens are those that overlap its characters.

    A word in another's place is cut with the space before it, which many tokenizers make part of its first token.
    """

    tokenizer: WordPieces
    frame: Frame
    _cut: dict[str, Ints] = field(default_factory=dict, init=False, repr=False)

    def lay(self, texts: Sequence[Text]) -> list[TokenLayout]:
        values: list[Fields] = [text.values() for text in texts]
        encode = self.tokenizer.tokenizer.encode_batch
        found = iter(encode([value for fields in values for value in fields], add_special_tokens=False))
        return [self._one(text, [next(found) for _ in fields]) for text, fields in zip(texts, values, strict=True)]

    def _one(self, text: Text, encodings: list[object]) -> TokenLayout:
        tokens: list[int] = []
        start, size = np.zeros(text.slots, np.int64), np.zeros(text.slots, np.int64)
        spans, field_of = np.asarray(text.spans(), np.int64).reshape(-1, 2), text.field_of_slots()
        for number, encoding in enumerate(encodings):
            if number:
                tokens += self.tokenizer.between
            edges = np.asarray(encoding.offsets, np.int64).reshape(-1, 2)  # type: ignore[attr-defined]
            mine = field_of == number
            first = np.searchsorted(edges[:, 1], spans[mine, 0], side="right")
            behind = np.searchsorted(edges[:, 0], spans[mine, 1], side="left")
            start[mine], size[mine] = len(tokens) + first, np.maximum(behind - first, 0)
            tokens += encoding.ids  # type: ignore[attr-defined]
        return lay(self.frame, tokens, start, size)

    def tokens(self, text: Text, slots: Ints, words: Ints) -> list[Ints]:
        parts, strings = text.joined(), text.table.strings
        spaces = [parts[2 * s][-1:] if parts[2 * s][-1:].isspace() else "" for s in range(text.slots)]
        wanted = [spaces[s] + strings[w] for s, w in zip(slots.tolist(), words.tolist(), strict=True)]
        fresh = [string for string in dict.fromkeys(wanted) if string not in self._cut]
        if len(self._cut) > 1 << 18:
            self._cut.clear()
            fresh = list(dict.fromkeys(wanted))
        for string, row in zip(fresh, self.tokenizer.pieces(fresh), strict=True):
            self._cut[string] = np.asarray(row, np.int64)
        return [self._cut[string] for string in wanted]
