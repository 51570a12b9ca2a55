"""FACT (Mein et al. 2021, section 2.1.6): train with SWITCH's other wordings of each text beside it in the batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from malaprop.core.errors import CapabilityError
from malaprop.core.text import Text
from malaprop.features.hardening.model_in_training import RankerInTraining, append_rows, rank_by_model_in_training
from malaprop.frame.runs.defended import Counters, cut_up
from malaprop.papers.firebert.important import Side
from malaprop.papers.firebert.switch import Switch, SwitchChoice
from malaprop.training.splits import Splits
from malaprop.zoo.gradients.word_sizes import token_gradients
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks

_KEPT = 1 << 16  # texts whose important words are kept, some kilobytes each


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A training method that adds to every text of a batch other wordings with its label; all have equal weight.

    Settings are those of `Switch`, with the paper's for MNLI as defaults: 9 words, 10 candidates, 4 alternatives. The
    alternatives are drawn anew at every step. `ranker` is a trained victim whose gradients say which words matter, as
    the paper has it; without one the model in training says so, as far as it knows by then. Differs: alternatives are
    not compared with the text unless asked for: with MiniLM none of them has a negative similarity, and comparing takes
    longer than training on them.
    """

    words: int = 9
    candidates: int = 10
    alternatives: int = 4
    multiplier: int = 3
    similarity: Literal["off", "rank", "filter"] = "off"
    floor: float = 0.0
    part: Literal["same", "any"] = "same"
    side: Side = "last"
    vectors: str = "counter-fitted"
    ranker: str = ""

    def __post_init__(self) -> None:
        _ = self.switch

    @property
    def switch(self) -> Switch:
        return Switch(
            words=self.words,
            candidates=self.candidates,
            alternatives=self.alternatives,
            multiplier=self.multiplier,
            similarity=self.similarity,
            floor=self.floor,
            part=self.part,
            side=self.side,
            vectors=self.vectors,
        )

    def __str__(self) -> str:
        by = f"ranked by {self.ranker}" if self.ranker else "ranked by the model itself"
        compared = "" if self.similarity == "off" else f", similarity {self.similarity} at {self.floor:g}"
        return (
            f"{self.alternatives} other wordings of each text, up to {self.words} words switched for one of "
            f"{self.candidates} neighbours{compared}, {by} (FACT)"
        )

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        return Hooks(batch=SwitchedBatches(job=job, data=data, switch=self.switch, ranker=self._ranker(job)))

    def _ranker(self, job: TrainingJob) -> Any:
        if self.ranker:
            from malaprop.frame.runs.victims import victim

            device = str(next(job.model.parameters()).device)
            return victim(self.ranker, device=device, precision="fp32")
        found = rank_by_model_in_training(job)
        if token_gradients(found) is None:
            raise CapabilityError(
                "harden fact ranks words by gradients, and this model's word vectors depend on the words around them; "
                "name a trained victim that ranks in its place, as fact:ranker=LSTM-W-GloVe-1"
            )
        return found


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SwitchedBatches:
    """Appends other wordings of its texts to a batch; the ranking of a text by a fixed ranker is cached."""

    job: TrainingJob
    data: Splits
    switch: Switch
    ranker: Any
    counters: Counters = field(default_factory=Counters)
    _choices: dict[int, SwitchChoice] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, batch: Batch) -> Batch:
        seed = int(torch.randint(1 << 62, ()))  # torch draws from the step's own seed here
        rows = batch.rows.tolist()
        drawn = self.switch.draw(self._choices_of(rows), [seed] * len(rows), device=self.ranker.device)
        texts = [text.values() for variants in drawn for text in variants.texts()]
        of = np.repeat(np.arange(len(rows)), [variants.count for variants in drawn])
        self.counters.texts += len(rows)
        self.counters.fallbacks += sum(not variants.count for variants in drawn)
        return append_rows(batch, self.job.rows(texts), of, self.job.parts[0].pad) if texts else batch

    def _choices_of(self, rows: list[int]) -> list[SwitchChoice]:
        if isinstance(self.ranker, RankerInTraining):
            return self._rank(rows)
        if len(self._choices) > _KEPT:
            self._choices.clear()
        missing = [row for row in dict.fromkeys(rows) if row not in self._choices]
        if missing:
            self._choices.update(zip(missing, self._rank(missing), strict=True))
        return [self._choices[row] for row in rows]

    def _rank(self, rows: list[int]) -> list[SwitchChoice]:
        texts: list[Text] = cut_up([tuple(self.data.train[row].fields.values()) for row in rows])
        return self.switch.choices(self.ranker, texts, self.counters)
