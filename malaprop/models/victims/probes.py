"""Trials of a transformers classifier and its tokenizer on a few texts, when they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from malaprop.core.errors import VictimError
from malaprop.core.text import Ints
from malaprop.core.victim import Fields
from malaprop.models.gradients.tokens import pad_rows
from malaprop.models.scorers.plain import Forward
from malaprop.models.tokens.wordpieces import WordPieces

_LONG = "It's a well-made, surprisingly moving film (2024) about two brothers who don't talk; nobody will forget it! "
Row = TypeVar("Row")
TEXTS = ("good", "The film was good.", " Not a very good film, I'd say... ", _LONG, 4 * _LONG)
_SCRIPTS = (
    "the film was very good",
    "这部电影很好",
    "фильм был очень хорош",
    "كان الفيلم جيدا جدا",
    "映画はとても良い",
)
_SAME = 1e-4  # of two probabilities: what float32 rounds away is a hundredth of it


def check_vocabulary(tokenizer: Any, model: Any, name: str) -> None:
    """Raise on a tokenizer that came without its files, or that belongs to another model."""
    words = set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids)
    if not words and getattr(tokenizer, "backend_tokenizer", None) is not None:
        raise VictimError(
            f"{name} has no tokenizer: none of its {len(tokenizer)} tokens is a word; put the tokenizer's files "
            "(tokenizer.json, vocab.txt, spiece.model ...) into the folder, as tokenizer.save_pretrained writes them"
        )
    unknown = tokenizer.unk_token_id
    rows = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in _SCRIPTS]
    lacking = unknown is not None and all(sum(token == unknown for token in row) > len(row) / 2 for row in rows)
    if lacking and not _reads_whole_words(tokenizer):
        raise VictimError(
            f"{name} reads most words as unknown, of whatever script; its tokenizer's files are not those it was "
            "trained with"
        )
    many = int(getattr(embedding_of(model), "num_embeddings", 0))
    if many and max((token for row in rows for token in row), default=0) >= many:
        raise VictimError(
            f"the tokenizer of {name} has {len(tokenizer):,} tokens and its model {many:,}; they do not belong together"
        )


def _reads_whole_words(tokenizer: Any) -> bool:
    """Return whether the tokenizer splits no word into pieces, and so knows few words."""
    return type(getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)).__name__ == "WordLevel"


def embedding_of(model: Any) -> nn.Module | None:
    """Return the table of the model's token vectors; None where it has none."""
    try:
        table: nn.Module | None = model.get_input_embeddings()
    except NotImplementedError:
        return None
    return table


def same_tokens(tokenizer: Any, pieces: WordPieces, limit: int) -> bool:
    """Return whether rows built here equal the tokenizer's own, for texts and pairs, short and cut off."""
    cuts = sorted({limit, *(n for n in (12, 24) if n < limit)})
    pairs = [(TEXTS[1], TEXTS[0]), (TEXTS[2], TEXTS[3]), (TEXTS[3], TEXTS[3])]
    wanted: list[Fields] = [*((text,) for text in TEXTS), *pairs]
    left = tokenizer.truncation_side == "left"
    for most in cuts:
        own = [tokenizer(*fields, truncation=True, max_length=most)["input_ids"] for fields in wanted]
        single = pieces.framed([(text,) for text in TEXTS], most, left=left)
        if pieces.rows(wanted, most, left=left) != own or single != own[: len(TEXTS)]:
            return False
    return True


class Company:
    """Trials of how a model's answers to some rows depend on what else is in the batch."""

    def __init__(self, forward: Forward, rows: Sequence[Sequence[int]], pad: int, device: torch.device) -> None:
        self._forward, self._pad, self._device = forward, pad, device
        self._rows = [np.asarray(row, np.int64) for row in rows]

    def padding_is_masked(self) -> bool:
        """Return whether rows of several lengths, padded, get the same answers as each alone."""
        return padding_is_masked(self._ask, self._rows)

    def rows_are_independent(self) -> bool:
        """Return whether rows of one length get the same answers as each alone."""
        return all(padding_is_masked(self._ask, [row, row[::-1]]) for row in self._rows[-2:])

    @torch.inference_mode()
    def _ask(self, rows: Sequence[Ints]) -> Tensor:
        ids, lengths = pad_rows(rows, self._pad, self._device)
        found = self._forward(ids, lengths).float()
        return found if found.shape[1] == 1 else found.softmax(-1)


def padding_is_masked(ask: Callable[[Sequence[Row]], Tensor], rows: Sequence[Row]) -> bool:
    """Return whether these rows have the same probabilities together as each alone."""
    alone = torch.cat([ask([row]) for row in rows])
    try:
        together = ask(rows)
    except (RuntimeError, ValueError, IndexError):  # it takes one text at a time
        return False
    return bool(together.isfinite().all()) and float((together - alone).abs().max()) < _SAME
