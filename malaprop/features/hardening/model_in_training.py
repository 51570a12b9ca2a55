"""A model in training as a ranker of words: it shows its gradients alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.zoo.finetune import FineTuning
from malaprop.zoo.train import TrainingJob


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
