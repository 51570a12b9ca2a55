"""A model of the zoo that reads words or their characters, from its folder, on the fast road."""

from __future__ import annotations

from pathlib import Path

import torch

from malaprop.models import checkpoint
from malaprop.models.blocks.charwords import CharWords
from malaprop.models.blocks.classifier import Classifier
from malaprop.models.blocks.cnn import WordCNN
from malaprop.models.blocks.kim import Windows, folded
from malaprop.models.blocks.lstm import WordLSTM
from malaprop.models.scorers import Scorer
from malaprop.models.scorers.cnn import CnnEdits
from malaprop.models.scorers.lstm import LstmEdits
from malaprop.models.victims.tokens import TokenVictim
from malaprop.models.vocab import UNKNOWN


def zoo_victim(folder: Path, *, device: str = "cpu", name: str | None = None) -> TokenVictim:
    """One layer is scored by what an edit changes, more layers by whole forward passes."""
    card, model, vocab = checkpoint.load(folder)
    model.to(device).requires_grad_(False)
    return TokenVictim(
        name=name or card.name,
        cut=vocab.cut,
        encode_whole=vocab.encode,
        forward=model,
        scorer=_scorer(model),
        labels=len(card.labels),
        limit=card.limit,
        context_free=True,
        unknown=UNKNOWN,
        fingerprint=checkpoint.fingerprint(folder),
        label_names=tuple(card.labels),
        device=device,
    )


def _scorer(model: torch.nn.Module) -> Scorer | None:
    if isinstance(model, Classifier) and isinstance(model.encoder, Windows):
        return CnnEdits(model=folded(model))
    if not isinstance(model.get_submodule("embedding"), torch.nn.Embedding | CharWords):
        return None
    if isinstance(model, WordCNN) and not len(model.below):
        return CnnEdits(model=model)
    if isinstance(model, WordLSTM) and not len(model.above):
        return LstmEdits(model=model)
    return None
