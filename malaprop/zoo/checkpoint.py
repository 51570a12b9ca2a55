"""Checkpoints: a folder with weights, vocabulary and what is known of a model; loading one runs no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.core.errors import SettingError, VictimError
from malaprop.models import folder as files
from malaprop.models.folder import VOCAB, WEIGHTS
from malaprop.models.tokens.vocab import Vocab
from malaprop.training.card import ROLES, Card, holds, read_card, write_card
from malaprop.training.folder import write_folder
from malaprop.zoo.names import ZooSpec, network

if TYPE_CHECKING:
    from torch import Tensor, nn

    from malaprop.models.tokens.vocab import OpenVocab

CARD = ROLES["classifier"].file
_FROZEN = "embedding.elmo."  # weights that did not learn here; two bytes each hold them exactly


def save(folder: Path, card: Card, model: nn.Module, vocab: Vocab) -> None:
    """Write a model that reads words or their characters as a whole folder."""
    from safetensors.torch import save_file

    with write_folder(folder) as made:
        weights = {name: _stored(name, tensor) for name, tensor in model.state_dict().items()}
        save_file(weights, made / WEIGHTS, metadata={"format": "pt"})
        vocab.save(made / VOCAB)
        write_card(made, card)


def _stored(name: str, tensor: Tensor) -> Tensor:
    kept = tensor.detach().cpu().contiguous()
    return kept.half() if name.startswith(_FROZEN) else kept


def open_vocabulary(model: nn.Module, vocab: Vocab) -> Vocab | OpenVocab:
    """Return the vocabulary that numbers a model's texts: one that reads characters accepts new words."""
    from malaprop.zoo.blocks.charwords import CharWords
    from malaprop.zoo.blocks.elmo import ElmoWords

    embedding = model.get_submodule("embedding")
    return embedding.open_to(vocab) if isinstance(embedding, CharWords | ElmoWords) else vocab


def is_checkpoint(folder: Path) -> bool:
    return holds(folder, "classifier")


def load(folder: Path) -> tuple[Card, nn.Module, Vocab | OpenVocab]:
    """Load a model of words or characters in evaluation mode, and the vocabulary that numbers its texts."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    card = read_card(folder)
    spec = ZooSpec.from_card(card)
    if spec.fine_tuned:
        raise VictimError(f"{folder} holds a fine-tuned transformer, not a word model")
    vocab = Vocab.load(folder / VOCAB)
    try:
        model = network(spec, len(vocab), len(card.labels), card.shape)
        model.load_state_dict(load_file(folder / WEIGHTS))
        reader = open_vocabulary(model, vocab)
    except (OSError, SafetensorError, RuntimeError, TypeError, KeyError, ValueError, SettingError) as error:
        reason = str(error).splitlines()[0][:160]
        raise VictimError(f"{folder / WEIGHTS} is damaged or cut short ({reason}); train the model again") from None
    return card, model.eval(), reader


def fingerprint(folder: Path) -> str:
    """Return sixteen hex digits of the weights and of the settings by which they are read."""
    if not is_checkpoint(folder):
        return files.fingerprint(folder)
    card = read_card(folder)
    return files.fingerprint(folder, json.dumps([card.spec, card.shape, card.limit], sort_keys=True))
