"""Computes how likely a keyword is in the translation of many variants of a source, by forced decoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from malaprop.core.score import Floats
from malaprop.features.translation.models.decoding import SourceMemory, batches, cut_pieces, side_by_side
from malaprop.features.translation.models.translator import Hint

PLACES = 2  # of the output at which a keyword is tried
Span = tuple[int, int]


class Forced(Protocol):
    """The part of a network that scores given outputs."""

    def encode(
        self,
        ids: Int[Tensor, "batch slot"],
        lengths: Int[Tensor, " batch"],
        blank: Bool[Tensor, "batch slot"] | None = None,
    ) -> SourceMemory: ...

    def decode(self, memory: SourceMemory, before: Int[Tensor, "batch step"]) -> Float[Tensor, "batch step vocab"]: ...


class WantedPieces(NamedTuple):
    """A question to the network: how likely are the pieces `wanted` after the pieces `before`, for one source?"""

    source: int
    before: list[int]
    wanted: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """Answers hints of an attack with a network's log-probabilities; `head` holds the pieces that begin each output."""

    network: Forced
    device: torch.device
    source: Callable[[str], list[int]]
    target: Callable[[str], list[int]]
    word: Callable[[str], list[int]]
    within: Callable[[str, int, int], Span]
    head: tuple[int, ...]
    limit: int
    batch: int = 4096  # pieces of sources read together

    def hints(self, asked: Sequence[Hint]) -> list[Floats]:
        """Return a log-probability for each source or blank of each hint."""
        places = self._places(asked)
        ids: list[list[int]] = []
        blanks: list[Span] = []
        rows: list[WantedPieces] = []
        for hint, befores in zip(asked, places, strict=True):
            wanted = self.word(hint.keyword)
            base = self.source(hint.base) if hint.blanks else []
            read = [self.source(text) for text in hint.sources] or [base] * len(hint.blanks)
            rows += [WantedPieces(len(ids) + at, before, wanted) for at in range(len(read)) for before in befores]
            ids += read
            blanks += [self.within(hint.base, *span) for span in hint.blanks] or [(0, 0)] * len(read)
        found = self._likelihoods(ids, blanks, rows)
        best = np.full(len(ids), -np.inf, np.float32)
        np.maximum.at(best, [row.source for row in rows], found)
        ends = list(accumulate(len(hint.sources) or len(hint.blanks) for hint in asked))
        return np.split(best, ends[:-1])

    def _places(self, asked: Sequence[Hint]) -> list[list[list[int]]]:
        """Return for each hint the beginnings of its output after which the keyword is likeliest."""
        ids = [self.source(hint.base) for hint in asked]
        outputs = [
            [*self.head, *self.target(hint.output)][: max(len(self.head), self.limit - len(self.word(hint.keyword)))]
            for hint in asked
        ]
        rows = [
            WantedPieces(at, output[:end], self.word(hint.keyword))
            for at, (hint, output) in enumerate(zip(asked, outputs, strict=True))
            for end in range(len(self.head), len(output) + 1)
        ]
        found = self._likelihoods(ids, [(0, 0)] * len(ids), rows)
        out: list[list[list[int]]] = []
        begin = 0
        for output in outputs:
            end = begin + len(output) + 1 - len(self.head)
            order = np.argsort(-np.round(found[begin:end], 3), kind="stable")[:PLACES]
            out.append([rows[begin + int(i)].before for i in order])
            begin = end
        return out

    @torch.inference_mode()
    def _likelihoods(self, ids: Sequence[list[int]], blanks: Sequence[Span], rows: Sequence[WantedPieces]) -> Floats:
        out = np.zeros(len(rows), np.float32)
        of: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            of.setdefault(row.source, []).append(number)
        cut = [cut_pieces(row, self.limit) for row in ids]
        longest = [
            len(row) + sum(len(rows[n].before) + len(rows[n].wanted) for n in of.get(at, ()))
            for at, row in enumerate(cut)
        ]
        waiting = [[i for i in part if i in of] for part in batches(longest, self.batch)]
        while waiting:
            if not (part := waiting.pop()):
                continue
            numbers = [number for i in part for number in of[i]]
            place = {i: at for at, i in enumerate(part)}
            wanted = [rows[n]._replace(source=place[rows[n].source]) for n in numbers]
            try:
                out[numbers] = self._read_and_score([cut[i] for i in part], [blanks[i] for i in part], wanted)
            except torch.OutOfMemoryError:
                if len(part) == 1:
                    raise
                waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
            else:
                continue
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        return out

    def _read_and_score(self, ids: Sequence[list[int]], blanks: Sequence[Span], rows: Sequence[WantedPieces]) -> Floats:
        """Score the rows of some sources; what was read of them is freed at the end, also where it does not fit."""
        memory = self._read(ids, blanks)
        picked = torch.tensor([row.source for row in rows], device=self.device)
        return self._score(memory.picked(picked), rows)

    def _read(self, ids: Sequence[list[int]], blanks: Sequence[Span]) -> SourceMemory:
        padded, lengths = side_by_side(ids)
        blank = None
        if any(a < b for a, b in blanks):
            column = torch.arange(padded.shape[1])
            first, last = (torch.tensor(ends)[:, None] for ends in zip(*blanks, strict=True))
            blank = ((column >= first) & (column < last)).to(self.device)
        return self.network.encode(padded.to(self.device), lengths, blank)

    def _score(self, memory: SourceMemory, rows: Sequence[WantedPieces]) -> Floats:
        before, _ = side_by_side([[*row.before, *row.wanted[:-1]] for row in rows])
        logits = self.network.decode(memory, before.to(self.device))
        many = max(len(row.wanted) for row in rows)
        at = torch.tensor([[len(row.before) - 1 + i for i in range(many)] for row in rows]).clamp(
            max=before.shape[1] - 1
        )
        wanted, lengths = side_by_side([row.wanted for row in rows])
        chosen = logits.gather(1, at.to(self.device)[..., None].expand(-1, -1, logits.shape[-1]))
        gains = chosen.float().log_softmax(-1).gather(2, wanted.to(self.device)[..., None])[..., 0]
        inside = torch.arange(many) < lengths[:, None]
        sums: Floats = gains.masked_fill(~inside.to(self.device), 0.0).sum(1).cpu().numpy()
        return sums

    @torch.inference_mode()
    def states(self, sources: Sequence[str]) -> list[Floats]:
        ids = [cut_pieces(self.source(text), self.limit) for text in sources]
        out: list[Floats] = [np.zeros(0, np.float32)] * len(ids)
        for part in batches([len(row) for row in ids], self.batch):
            memory = self._read([ids[i] for i in part], [(0, 0)] * len(part))
            inside = memory.inside[..., None]
            mean = (memory.states.float() * inside).sum(1) / inside.sum(1)
            for i, row in zip(part, mean.cpu().numpy(), strict=True):
                out[i] = row
        return out
