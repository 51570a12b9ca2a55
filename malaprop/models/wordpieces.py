"""How a sub-word tokenizer lays out a text: its own tokens, and the special ones around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.core.errors import VictimError
from malaprop.core.victim import Fields

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class WordPieces:
    """`head` stands before a text, `between` two fields, `tail` at the end."""

    tokenizer: Tokenizer
    head: tuple[int, ...]
    between: tuple[int, ...]
    tail: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> WordPieces:
        """Reads the layout off two words; the tokenizer's own padding and truncation are switched off in a copy."""
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
        """Tokens without special ones."""
        return [found.ids for found in self.tokenizer.encode_batch(strings, add_special_tokens=False)]

    def rows(self, texts: Sequence[Fields], limit: int) -> list[list[int]]:
        """Whole rows with special tokens; one over the limit ends there, and its last token is the closing one."""
        flat = iter(self.pieces([value for fields in texts for value in fields]))
        out = []
        for fields in texts:
            row = [*self.head, *next(flat)]
            for _ in fields[1:]:
                row += [*self.between, *next(flat)]
            row += self.tail
            out.append(row if len(row) <= limit else [*row[: limit - 1], row[-1]])
        return out


def _find(row: list[int], part: list[int]) -> int:
    """Where the part ends up last in the row; -1 if nowhere."""
    starts = range(len(row) - len(part), -1, -1)
    return next((at for at in starts if row[at : at + len(part)] == part), -1)
