"""A model in training: rank the words of its texts by its gradients, and append perturbed texts to its batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.models.padded_rows import Ragged
from malaprop.zoo.finetune import FineTuning
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch


@dataclass(frozen=True, slots=True, eq=False)
class RankerInTraining:
    """The part of a model in training that ranking words needs: its gradients."""

    gradients: Any
    device: str
    name: str = "the model in training"

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return {} if self.gradients is None else dict.fromkeys(self.gradients.offers, self.gradients)


def rank_by_model_in_training(job: TrainingJob) -> Any:
    """The model in training as a ranker of words: it shows its gradients alone."""
    device = str(next(job.model.parameters()).device)
    if isinstance(job, FineTuning):
        from malaprop.models.victims.hf import wrap_transformers

        return RankerInTraining(
            getattr(wrap_transformers(job.network, job.tokenizer, limit=job.most), "gradients", None), device
        )
    from malaprop.zoo.victim import gradients_of

    reader = getattr(job, "reader", None)
    if reader is None:
        raise SettingError("harden fact works on models of the zoo only; name one, as BERT or LSTM-W-GloVe-1")
    return RankerInTraining(gradients_of(job.model, reader, job.most, device), device)


class AddedRows(NamedTuple):
    """Token rows that a training method appends to a batch; row i has the label of the batch's row of[i]."""

    rows: Sequence[Sequence[int]]
    of: Ints


def append_rows(batch: Batch, rows: Sequence[Sequence[int]], of: Ints, pad: int) -> Batch:
    """Append rows to a batch; row i has the label of the batch's row of[i]."""
    return add_rows(batch, rows, batch.labels[torch.from_numpy(of).to(batch.labels.device)], batch.rows[of], pad)


def add_rows(
    batch: Batch, rows: Sequence[Sequence[int]], labels: Int[Tensor, " row"] | Sequence[int], of: Ints, pad: int
) -> Batch:
    """Append rows with labels of their own to a batch; row i is another wording of the training row of[i]."""
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
