"""How a sub-word tokenizer lays out a text: its own tokens, and the special ones around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.core.errors import VictimError
from malaprop.core.victim import Fields
from malaprop.models.tokens.splice import Frame

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FIELDS = 2  # that a tokenizer lays out by itself


@dataclass(frozen=True, slots=True, eq=False)
class WordPieces:
    """`head` stands before a text, `between` two fields, `tail` at the end."""

    tokenizer: Tokenizer
    head: tuple[int, ...]
    between: tuple[int, ...]
    tail: tuple[int, ...]
    _cutters: dict[tuple[int, bool], Tokenizer] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> WordPieces:
        """Find the layout from the tokens of two words, by a copy without the tokenizer's padding and truncation."""
        from tokenizers import Tokenizer as Copy

        own = Copy.from_str(tokenizer.to_str())
        own.no_padding()
        own.no_truncation()
        one, two = (own.encode(word, add_special_tokens=False).ids for word in ("a", "b"))
        alone, pair = own.encode("a").ids, own.encode("a", "b").ids
        start, second = _find(alone, one), _find(pair, two)
        if not one or not two or start < 0 or second < 0:
            raise VictimError("the tokenizer changes a word when it adds special tokens; wrap the model as a function")
        between = pair[start + len(one) : second]
        return cls(own, tuple(alone[:start]), tuple(between), tuple(alone[start + len(one) :]))

    @classmethod
    def load(cls, path: Path) -> WordPieces:
        from tokenizers import Tokenizer as Reader

        try:
            return cls.of(Reader.from_file(str(path)))
        except VictimError:
            raise
        except Exception as error:  # noqa: BLE001 - the library raises bare exceptions
            raise VictimError(f"{path} cannot be read as a tokenizer: {str(error).splitlines()[0][:160]}") from None

    def pieces(self, strings: list[str]) -> list[list[int]]:
        """Return tokens without special ones."""
        return [found.ids for found in self.tokenizer.encode_batch(strings, add_special_tokens=False)]

    def rows(self, texts: Sequence[Fields], limit: int, *, left: bool = False) -> list[list[int]]:
        """Return whole rows with special tokens, cut to the limit as the tokenizer's library cuts them.

        Special tokens stay, and of a pair the longer field is cut first.
        """
        if any(len(fields) > _FIELDS for fields in texts):
            return self.framed(texts, limit, left=left)
        found = self._cut_to(limit, left).encode_batch([fields if len(fields) > 1 else fields[0] for fields in texts])
        return [row.ids for row in found]

    def framed(self, texts: Sequence[Fields], limit: int, *, left: bool = False) -> list[list[int]]:
        """Return such rows of any number of fields, built here: `head`, fields with `between`, `tail`."""
        flat = iter(self.pieces([value for fields in texts for value in fields]))
        frame = Frame(limit=limit, head=self.head, tail=self.tail, left=left)
        out = []
        for fields in texts:
            tokens = list(next(flat))
            for _ in fields[1:]:
                tokens += [*self.between, *next(flat)]
            out.append(frame.row(tokens))
        return out

    def _cut_to(self, limit: int, left: bool) -> Tokenizer:
        if (limit, left) not in self._cutters:
            copy = type(self.tokenizer).from_str(self.tokenizer.to_str())
            copy.enable_truncation(limit, direction="left" if left else "right")
            self._cutters[limit, left] = copy
        return self._cutters[limit, left]


def _find(row: list[int], part: list[int]) -> int:
    """Return the last place of the part in the row; -1 if it does not occur."""
    starts = range(len(row) - len(part), -1, -1)
    return next((at for at in starts if row[at : at + len(part)] == part), -1)
