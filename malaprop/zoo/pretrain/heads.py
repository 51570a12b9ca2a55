"""A masked-LM head trained on MiniLM, which comes without one."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from malaprop.assets import store
from malaprop.core.errors import SettingError
from malaprop.training.seeds import seeded
from malaprop.zoo.pretrain.masked import MaskedWork, attach_adapters
from malaprop.zoo.pretrain.start import open_start
from malaprop.zoo.pretrain.texts import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadPlan:
    """The settings of a head's training: the encoder is frozen for a share of the budget, then learns too.

    That share is `frozen`; afterwards the encoder learns at `pull` times the rate.

    With `frozen` 1 only the head is trained, and the encoder is MiniLM's own. The head's output is tied to the word
    embeddings. With `rank` above 0 the encoder stays as it is and adapters of that rank learn in its place; they and
    the head are written beside the merged model, small enough to be sent by themselves.
    """

    rank: int = 0
    frozen: float = 0.3
    pull: float = 0.3
    masked: float = 0.15
    length: int = 128
    batch: int = 64
    rate: float = 1e-3
    warmup: float = 0.06
    decay: float = 0.01
    clip: float = 1.0
    passes: float = 2.0
    every: int = 500
    compile: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.frozen <= 1 or not 0 < self.masked < 1 or self.pull <= 0 or self.length < 6:
            raise SettingError(f"frozen and masked lie between 0 and 1, pull above 0, length from 6, got {self}")
        if self.rank < 0:
            raise SettingError(f"rank must be at least 0, got {self.rank}")

    def begin(self, corpus: Corpus, *, seed: int, device: torch.device, start: str | None) -> MaskedWork:
        with seeded(seed):
            found = open_start(start or str(store.locate("minilm")), "bert", name=None if start else "all-MiniLM-L6-v2")
            if self.rank:
                attach_adapters(found.model, self.rank)
        return MaskedWork(
            self,
            found,
            corpus,
            device,
            frozen=0.0 if self.rank else self.frozen,
            pull=1.0 if self.rank else self.pull,
            about=lambda trained: self._about(found.name, trained),
        )

    def _about(self, name: str | None, trained: str) -> str:
        held = (
            f"the encoder changed by adapters of rank {self.rank}"
            if self.rank
            else "the encoder left as it was"
            if self.frozen == 1
            else f"the encoder left as it was for {self.frozen:.0%} of it"
        )
        return (
            f"{name} with a masked-LM head, output tied to the word embeddings, trained here on {trained}, {held}. A "
            "stand-in for BERT's own masked language model, which was trained on far more text."
        )
