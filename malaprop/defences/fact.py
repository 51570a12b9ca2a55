"""FACT (Mein et al. 2021, section 2.1.6): training with SWITCH's other wordings of each text beside it in the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from malaprop.core.capability import Capability
from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.text import Ints, Text
from malaprop.defences.defended import Counters, cut_up
from malaprop.defences.important import Side
from malaprop.defences.switch import Switch, SwitchChoice
from malaprop.models.gradients.sizes import token_gradients
from malaprop.models.splits import Splits
from malaprop.models.tokens.ragged import Ragged
from malaprop.models.zoo.finetune import FineTuning
from malaprop.models.zoo.train import Job
from malaprop.models.zoo.training import Batch, Hooks

_KEPT = 1 << 16  # texts whose important words are kept, some kilobytes each


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Every text of a batch is followed by other wordings of it, with its label; all weigh alike.

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

    def hooks(self, job: Job, data: Splits) -> Hooks:
        return Hooks(batch=Injected(job=job, data=data, switch=self.switch, ranker=self._ranker(job)))

    def _ranker(self, job: Job) -> Any:
        if self.ranker:
            from malaprop.runs.victims import victim

            device = str(next(job.model.parameters()).device)
            return victim(self.ranker, device=device, precision="fp32")
        found = itself(job)
        if token_gradients(found) is None:
            raise CapabilityError(
                "harden fact ranks words by gradients, and this model's word vectors depend on the words around them; "
                "name a trained victim that ranks in its place, as fact:ranker=LSTM-W-GloVe-1"
            )
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Itself:
    """A model in training, as far as ranking words needs it."""

    gradients: Any
    device: str
    name: str = "the model in training"

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return {} if self.gradients is None else dict.fromkeys(self.gradients.offers, self.gradients)


def itself(job: Job) -> Any:
    """The model in training as a ranker of words: it shows its gradients alone."""
    device = str(next(job.model.parameters()).device)
    if isinstance(job, FineTuning):
        from malaprop.models.victims.hf import wrap_transformers

        return _Itself(
            getattr(wrap_transformers(job.network, job.tokenizer, limit=job.most), "gradients", None), device
        )
    from malaprop.models.victims.zoo import gradients_of

    reader = getattr(job, "reader", None)
    if reader is None:
        raise SettingError("harden fact works on models of the zoo only; name one, as BERT or LSTM-W-GloVe-1")
    return _Itself(gradients_of(job.model, reader, job.most, device), device)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Injected:
    """Adds to a batch other wordings of its texts, behind them; what a fixed ranker says of a text is kept."""

    job: Job
    data: Splits
    switch: Switch
    ranker: Any
    counters: Counters = field(default_factory=Counters)
    _choices: dict[int, SwitchChoice] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, batch: Batch) -> Batch:
        seed = int(torch.randint(1 << 62, ()))  # torch draws from the step's own seed here
        rows = batch.rows.tolist()
        drawn = self.switch.draw(self._chosen(rows), [seed] * len(rows), device=self.ranker.device)
        texts = [text.values() for variants in drawn for text in variants.texts()]
        of = np.repeat(np.arange(len(rows)), [variants.count for variants in drawn])
        self.counters.texts += len(rows)
        self.counters.fallbacks += sum(not variants.count for variants in drawn)
        return append_rows(batch, self.job.rows(texts), of, self.job.parts[0].pad) if texts else batch

    def _chosen(self, rows: list[int]) -> list[SwitchChoice]:
        if isinstance(self.ranker, _Itself):
            return self._weighed(rows)
        if len(self._choices) > _KEPT:
            self._choices.clear()
        missing = [row for row in dict.fromkeys(rows) if row not in self._choices]
        if missing:
            self._choices.update(zip(missing, self._weighed(missing), strict=True))
        return [self._choices[row] for row in rows]

    def _weighed(self, rows: list[int]) -> list[SwitchChoice]:
        texts: list[Text] = cut_up([tuple(self.data.train[row].fields.values()) for row in rows])
        return self.switch.choices(self.ranker, texts, self.counters)


class AddedRows(NamedTuple):
    """Token rows that a defence puts behind a batch; row i has the label of the batch's row of[i]."""

    rows: Sequence[Sequence[int]]
    of: Ints


def append_rows(batch: Batch, rows: Sequence[Sequence[int]], of: Ints, pad: int) -> Batch:
    """The batch with further rows behind its own; row i has the label of the batch's row of[i]."""
    return add_rows(batch, rows, batch.labels[torch.from_numpy(of).to(batch.labels.device)], batch.rows[of], pad)


def add_rows(
    batch: Batch, rows: Sequence[Sequence[int]], labels: Int[Tensor, " row"] | Sequence[int], of: Ints, pad: int
) -> Batch:
    """The batch with further rows behind its own; row i is another wording of the training row of[i]."""
    sizes = Ragged.of(rows).size
    width = max(batch.ids.shape[1], int(sizes.max()))
    more = np.full((len(rows), width), pad)
    for line, row in zip(more, rows, strict=True):
        line[: len(row)] = row
    device = batch.ids.device
    return Batch(
        torch.cat(
            [functional.pad(batch.ids, (0, width - batch.ids.shape[1]), value=pad), torch.from_numpy(more).to(device)]
        ),
        torch.cat([batch.lengths, torch.from_numpy(sizes).to(device)]),
        torch.cat([batch.labels, torch.as_tensor(labels, device=device)]),
        np.concatenate([batch.rows, of]),
        batch.step,
        len(batch.labels) if batch.own < 0 else batch.own,
    )
