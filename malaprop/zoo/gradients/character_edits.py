"""Gradients of a model that reads characters: the edits that gain most, and the words that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from malaprop.core.capability import Capability
from malaprop.core.gradient import CharLook, CharSeen, MixLook, MixSeen, SlotLook, SlotSeen, WordLook, WordSeen
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Text, word_pattern
from malaprop.models.gradients import differentiable
from malaprop.models.gradients.layout import ByParts, TokenLayout
from malaprop.models.gradients.tokens import TokenGradients, pad_rows
from malaprop.models.tokens.batches import Bounds, batches, bounds_for
from malaprop.models.tokens.pieces import runs
from malaprop.models.tokens.vocab import OpenVocab, tokens
from malaprop.zoo.gradients.characters import Gains, flip_gains


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CharGradients:
    """Gradients of a network whose embedding is `CharWords`; `by_word` takes those of whole-word swaps."""

    model: nn.Module
    vocab: OpenVocab
    layout: ByParts
    by_word: TokenGradients
    device: torch.device | str = "cpu"
    bounds: Bounds | None = None
    offers: frozenset[Capability] = frozenset({Capability.GRADIENTS, Capability.CHARACTERS})

    def words(self, looks: Sequence[WordLook]) -> list[WordSeen]:
        return self.by_word.words(looks)

    def slots(self, looks: Sequence[SlotLook]) -> list[SlotSeen]:
        return self.by_word.slots(looks)

    def mixes(self, looks: Sequence[MixLook]) -> list[MixSeen]:
        return self.by_word.mixes(looks)

    def chars(self, looks: Sequence[CharLook]) -> list[CharSeen]:
        out: list[CharSeen | None] = [None] * len(looks)
        laid = self.layout.lay([look.text for look in looks])
        kinds: dict[tuple[Any, ...], list[int]] = {}
        for i, look in enumerate(looks):
            kinds.setdefault((look.aim.away, look.aim.odds, look.aim.beside, look.operations), []).append(i)
        for alike in kinds.values():
            lengths = np.fromiter((len(laid[i].row) for i in alike), np.int64, len(alike))
            for part in batches(lengths, self._bounds()):
                mine = [alike[i] for i in part.tolist()]
                found = self._batch([looks[i] for i in mine], [laid[i] for i in mine])
                for i, seen in zip(mine, found, strict=True):
                    out[i] = seen
        return [seen for seen in out if seen is not None]

    def _bounds(self) -> Bounds:
        """Return batch limits; a token takes some 100 kB: each symbol at each of its characters, and its windows."""
        device = torch.device(self.device)
        if self.bounds is not None or device.type != "cuda":
            return self.bounds or Bounds(rows=64, tokens=1 << 12, waste=0.3)
        return bounds_for(device, bytes_per_token=100_000)

    def _batch(self, looks: list[CharLook], laid: list[TokenLayout]) -> list[CharSeen]:
        ids, lengths = pad_rows([one.row for one in laid], 0, self.device)
        opened = torch.from_numpy(_opened(looks, laid, ids.shape[1])).to(self.device)
        with differentiable(self.model):
            found = flip_gains(
                self.model,
                ids,
                lengths,
                torch.tensor([look.aim.label for look in looks], device=self.device),
                opened=opened,
                operations=looks[0].operations,
                aim=looks[0].aim,
            )
        answers: Floats = found.logits.float().softmax(-1).cpu().numpy()
        best = _best(found, max((look.most or 0) for look in looks) if all(look.most for look in looks) else None)
        rows = zip(looks, laid, answers, *best, strict=True)
        shape = (found.flips.shape, found.inserts.shape, tuple(found.signs.shape))
        return [self._seen(look, one, answer, values, at, shape) for look, one, answer, values, at in rows]

    def _seen(
        self,
        look: CharLook,
        laid: TokenLayout,
        answer: Floats,
        values: Floats,
        at: Ints,
        shape: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    ) -> CharSeen:
        some = np.flatnonzero(np.isfinite(values))[: look.most]
        some = some[np.argsort(at[some], kind="stable")]  # by place, so that no rounding has chosen the order
        edits = _Edits(look, laid, self.vocab, _decoded(at[some], shape))
        return CharSeen(answer=answer, slots=edits.slots, gains=values[some], word=edits.word)


def _opened(
    looks: Sequence[CharLook], laid: Sequence[TokenLayout], width: int
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    out = np.zeros((len(looks), width), np.bool_)
    for line, look, one in zip(out, looks, laid, strict=True):
        line[runs(one.start[look.slots], np.maximum(one.size[look.slots], 0))] = True
    return out


@torch.no_grad()
def _best(found: Gains, most: int | None) -> tuple[Floats, Ints]:
    """Return the best edits of each text, by falling gain; flips, insertions and deletions share one numbering."""
    many = len(found.signs)
    flat = torch.cat([x.reshape(many, -1) for x in (found.flips, found.inserts, found.deletes)], 1)
    if most is None:
        return flat.cpu().numpy(), np.broadcast_to(np.arange(flat.shape[1]), flat.shape)
    values, at = flat.topk(min(most, flat.shape[1]), 1)
    return values.float().cpu().numpy(), at.cpu().numpy()


def _decoded(
    at: Ints, shape: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return kind (0 flip, 1 insertion, 2 deletion), token, sign and symbol of edits given by number."""
    flips, inserts, signs = (int(np.prod(s[1:])) if len(s) > 1 else 0 for s in shape)
    kind = np.where(at < flips, 0, np.where(at < flips + inserts, 1, 2))
    inner = at - np.where(kind == 0, 0, np.where(kind == 1, flips, flips + inserts))
    symbols = (shape[0] if flips else shape[1])[-1] if flips or inserts else 1
    symbol = np.where(kind == 2, 0, inner % symbols)
    place = np.where(kind == 2, inner, inner // symbols)
    del signs
    return kind, place // shape[2][2], place % shape[2][2], symbol


@dataclass(frozen=True, slots=True, eq=False)
class _Edits:
    """The edits of one text by number; it puts words together when a caller reads them."""

    look: CharLook
    laid: TokenLayout
    vocab: OpenVocab
    decoded: tuple[Ints, Ints, Ints, Ints]

    @property
    def slots(self) -> Ints:
        return np.searchsorted(self.laid.start, self.decoded[1], side="right") - 1

    def word(self, edit: int) -> str:
        kind, token, sign, symbol = (int(part[edit]) for part in self.decoded)
        slot = int(np.searchsorted(self.laid.start, token, side="right")) - 1
        text: Text = self.look.text
        whole = text.table.strings[int(text.words[slot])]
        made = edit_word(
            whole, token - int(self.laid.start[slot]), sign - 1, kind, self.vocab.alphabet[symbol], self.vocab.cased
        )
        if made is None or (self.look.new_words and made[1] in self.vocab.closed.index):
            return ""
        return made[0]


def edit_word(word: str, piece: int, place: int, kind: int, char: str, cased: bool = False) -> tuple[str, str] | None:
    """Return the word and its changed token after an edit at one character; None where the token falls apart."""
    pieces = tokens(word, cased)
    base = word if cased or len(word.lower()) == len(word) else word.lower()
    if piece >= len(pieces):
        return None
    lower, at = (base if cased else base.lower()).replace("\u2019", "'"), 0
    for part in pieces[:piece]:
        at = lower.index(part, at) + len(part)
    at = lower.index(pieces[piece], at) + place
    old = pieces[piece]
    near = base[at] if at < len(base) and place < len(old) else base[at - 1]
    shown = (
        char.upper()
        if not cased and near.isupper() and char.upper().lower() == char and len(char.upper()) == 1
        else char
    )
    behind = at + (0 if kind == 1 else 1)
    new = old[:place] + (char if kind < 2 else "") + old[place + (0 if kind == 1 else 1) :]
    made = base[:at] + (shown if kind < 2 else "") + base[behind:]
    fine = tokens(made, cased) == [*pieces[:piece], new, *pieces[piece + 1 :]] and word_pattern().fullmatch(made)
    return (made, new) if fine else None
