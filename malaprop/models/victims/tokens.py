"""TokenVictim: a model that reads tokens and scores variants rather than whole strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from malaprop.core.capability import Capability
from malaprop.core.distinct import find_used
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.example import PAIR
from malaprop.core.gradient import Gradients
from malaprop.core.insight import Padding
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import BREAK, Ints, Text, Words
from malaprop.core.victim import ANSWERS, Fields, in_fields
from malaprop.models.embeddings import L1
from malaprop.models.inside import WordAttention, WordStates
from malaprop.models.precision import full_precision
from malaprop.models.scorers import Scorer
from malaprop.models.scorers.plain import Forward, Plain
from malaprop.models.tokens.batches import Bounds, PendingScores, aside, copy_to_host
from malaprop.models.tokens.joins import Join, Joined, join
from malaprop.models.tokens.pieces import Cut, Pieces
from malaprop.models.tokens.splice import Frame, Splice, ship, splice

_TABLES = 2  # kept at a time: a run goes from one table to the next, with the last round of one still in flight


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TokenVictim:
    """Cuts words into tokens once; a variant is its base's tokens with a stretch replaced.

    `cut` gives the tokens of words and gaps (see `malaprop.models.tokens.pieces.Cut`), `encode_whole` those of finished
    texts; neither adds special tokens nor ends a text early: `head`, `tail` and `limit` (which counts them) do that,
    for both roads alike, unless `rows` gives finished rows for whole texts. Where the two disagree on a base, because a
    token reaches over the edge of a word, its variants are scored from strings. With `context_free` they cannot
    disagree: nothing is checked, and words of equal tokens are merged.
    """

    name: str
    cut: Cut
    forward: Forward  # the plain forward; on the device, in evaluation mode
    labels: int
    limit: int
    scorer: Scorer | None = None  # None: the plain forward
    encode_whole: Callable[[Sequence[Fields]], Sequence[Sequence[int]]] | None = (
        None  # None: `cut` of the joined fields
    )
    rows: Callable[[Sequence[Fields]], Sequence[Sequence[int]]] | None = None  # all of a text, within the limit
    head: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    left: bool = False  # whether a text over the limit loses its beginning, and not its end
    pad: int = 0
    masks: bool = True  # whether `forward` masks padding; if not, it gets batches of one length
    bounds: Bounds | None = None  # of the plain forward's batches; None: what suits the device
    context_free: bool = False
    join: Join = "parts"  # of which strings the tokens of a text are put together
    fingerprint: str = ""
    label_names: tuple[str, ...] = ()  # in the order of the scores, where the model knows them
    unknown: str = "[UNK]"
    attention: WordAttention | None = None  # where it looks
    states: WordStates | None = None  # of its layers
    gradients: Gradients | None = None  # what it shows to white-box attacks
    pooled: Forward | None = None  # [batch, dim] in the place of logits: what the last layer reads
    readout: torch.nn.Module | None = None  # that last layer: what is pooled to logits
    pairs: bool = False  # whether it reads a premise and a hypothesis, and nothing else
    padding: Padding | None = None  # what zero vectors in a word's place do
    device: str = "cpu"
    rounding: float = 0.0  # how far the scorer may be from `forward`, where it computes in fewer bits
    precision: str = "fp32"  # what the scorer computes in
    withheld: str = ""  # why it offers less than others of its kind
    number: bool = False  # a regression: its one answer is no score of a label, and is taken as it is
    lanes: int = 1  # 2: its device has so much to do that half of the attacks are best advanced meanwhile
    renews: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = ()
    inside: ClassVar[None] = None
    meter: ClassVar[None] = None
    _seen: list[Joined] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.limit <= len(self.head) + len(self.tail):
            raise SettingError(
                f"{self.name}: limit must leave room for a token beside the {len(self.head) + len(self.tail)} special "
                f"ones, got {self.limit}"
            )

    @property
    def parts(self) -> Mapping[Capability, Any]:
        shown = {
            Capability.ATTENTION: self.attention,
            Capability.STATES: self.states,
            Capability.EMBEDDINGS: None if self.pooled is None else L1(vectors=self.vectors, readout=self.readout),
            Capability.PADDING: self.padding,
        }
        own = () if self.gradients is None else self.gradients.offers
        return {
            **dict.fromkeys(own, self.gradients),
            **{name: part for name, part in shown.items() if part is not None},
        }

    @property
    def offers(self) -> frozenset[Capability]:
        return (frozenset({Capability.NUMBER}) if self.number else ANSWERS).union(self.parts)

    def classes(self, table: Words) -> Ints | None:
        """Return a number for each word, equal where the tokens are equal; None without `context_free`.

        Otherwise words with equal tokens apart may have other tokens beside other characters.
        """
        return self._of(table).pieces.classes() if self.context_free else None

    @torch.inference_mode()
    def begin(self, pool: Pool, wanted: Ints) -> PendingScores:
        if not len(wanted):
            return PendingScores(scores=torch.empty(0, self.labels))
        plain = self._plain(self.forward)
        return copy_to_host(self._turned(self._answers(pool, wanted, self.scorer or plain, plain)))

    def _turned(self, logits: Float[Tensor, "wanted any"]) -> Float[Tensor, "wanted any"]:
        return logits if self.number else logits.softmax(-1)

    @torch.inference_mode()
    def vectors(self, pool: Pool, wanted: Ints) -> Float[Tensor, "wanted dim"]:
        """Return the vectors that the classifier reads of the wanted variants, by whole forward passes."""
        assert self.pooled is not None, "asked of those that offer embeddings"
        plain = self._plain(self.pooled)
        return self._answers(pool, wanted, plain, plain)

    def _answers(self, pool: Pool, wanted: Ints, fast: Scorer, plain: Scorer) -> Float[Tensor, "wanted any"]:
        """Score variants by the fast scorer where tokens can be spliced, else from strings by the plain one."""
        if self.pairs:
            self._check_fields(
                len(pool.bases[b].names) for b in find_used(pool.base[wanted], len(pool.bases))[0].tolist()
            )
        seen = self._of(pool.table)
        view, good = seen.view(pool, wanted, self._encode_texts)
        good &= ~self._cut_pairs(seen.pieces, view, wanted, good)
        some, rest = np.flatnonzero(good), np.flatnonzero(~good)
        answers = []
        with full_precision(self.device):
            if len(some):
                answers.append(fast.logits(self._splice(seen.pieces, view, wanted[some])).float())
            if len(rest):
                texts = [text.values() for text in pool.texts(wanted[rest])]
                answers.append(self._whole(texts, plain if self.rows is None else fast))
        if len(answers) == 1:
            return answers[0]
        (back,) = ship(torch.device(self.device), np.argsort(np.concatenate([some, rest])))
        return torch.cat(answers)[back]

    def finish(self, begun: PendingScores) -> Floats:
        return self._checked(begun.wait().numpy())

    @torch.inference_mode()
    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        whole = in_fields(texts)
        if not whole:
            return np.empty((0, self.labels), np.float32)
        self._check_fields(map(len, whole))
        with full_precision(self.device), self._aside():
            return self._checked(self._turned(self._whole(whole, self._plain(self.forward))).cpu().numpy())

    def _check_fields(self, counts: Iterable[int]) -> None:
        if self.pairs and any(count != len(PAIR) for count in counts):
            raise VictimError(f"{self.name} reads a premise and a hypothesis; give data with both")

    def _aside(self) -> AbstractContextManager[None]:
        """Return a stream of its own on a GPU, where the fast path may round and rounds are in flight."""
        return aside(torch.device(self.device)) if self.rounding else nullcontext()

    def _of(self, table: Words) -> Joined:
        for seen in self._seen:
            if seen.table is table:
                return seen
        self._seen.insert(0, join(self.join, self.cut, table, context_free=self.context_free))
        del self._seen[_TABLES:]
        return self._seen[0]

    def _cut_pairs(
        self, pieces: Pieces, pool: Pool, wanted: Ints, good: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which good variants are pairs over the limit: only the tokenizer knows where to cut those."""
        out = np.zeros(len(wanted), bool)
        pairs = np.asarray([self.rows is not None and len(base.names) > 1 for base in pool.bases], bool)
        some = np.flatnonzero(good & pairs[pool.base[wanted]])
        if len(some):
            out[some] = self._splice(pieces, pool, wanted[some]).whole > self.limit
        return out

    def count_cut(self, texts: Sequence[Fields]) -> int:
        """Return how many of these texts have more tokens than the model reads, so that it never sees a part."""
        room = self.limit - len(self.head) - len(self.tail)
        return sum(len(row) > room for row in self._encode(texts))

    def _encode(self, texts: Sequence[Fields]) -> Sequence[Sequence[int]]:
        if self.encode_whole is not None:
            return self.encode_whole(texts)
        return self.cut([BREAK.join(fields) for fields in texts])

    def _encode_texts(self, texts: Sequence[Text]) -> Sequence[Sequence[int]]:
        return self._encode([text.values() for text in texts])

    def _splice(self, pieces: Pieces, pool: Pool, wanted: Ints) -> Splice:
        frame = Frame(limit=self.limit, head=(*self.head,), tail=(*self.tail,), left=self.left)
        return splice(pool, wanted, pieces, frame, pad=self.pad, device=self.device)

    def _whole(self, texts: Sequence[Fields], scorer: Scorer) -> Float[Tensor, "text any"]:
        made: dict[str, Any] = {"limit": self.limit, "pad": self.pad, "device": self.device}
        if self.rows is not None:
            return scorer.logits(Splice.of_rows(self.rows(texts), **made)).float()
        work = Splice.of_rows(self._encode(texts), head=self.head, tail=self.tail, left=self.left, **made)
        return scorer.logits(work).float()

    def _plain(self, forward: Forward) -> Plain:
        return Plain(forward=forward, masks=self.masks, pad=self.pad, bounds=self.bounds)

    def _checked(self, scores: Floats) -> Floats:
        if scores.shape[1] != self.labels:
            raise VictimError(
                f"{self.name} answered with {scores.shape[1]} labels, expected {self.labels}; check its head"
            )
        broken = ~np.isfinite(scores).all(1)
        if broken.any():
            raise VictimError(
                f"{self.name} answered with NaN for {int(broken.sum())} of {len(scores)} texts, expected a score for "
                "every label; check its weights"
            )
        return scores
