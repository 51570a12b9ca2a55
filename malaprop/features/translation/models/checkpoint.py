"""A translation model as a folder: weights, sub-words, the words of its sources, and a card; loading runs no code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError
from malaprop.features.translation.models.subwords import FILE as PIECES
from malaprop.features.translation.models.subwords import SubWords
from malaprop.training import card as cards
from malaprop.training.card import ROLES, Card, holds
from malaprop.training.folder import write_folder

if TYPE_CHECKING:
    from torch import nn

CARD, WEIGHTS, WORDS = ROLES["translator"].file, "model.safetensors", "words.txt"
KINDS = ("nmt-lstm", "nmt-transformer")


def network(kind: str, vocab: int, shape: Mapping[str, Any]) -> nn.Module:
    """Return a network of this kind and shape with fresh weights."""
    from malaprop.features.translation.models import lstm, transformer

    if kind not in KINDS:
        raise unknown("translation model", kind, KINDS)
    try:
        if kind == "nmt-lstm":
            return lstm.Lstm(vocab, lstm.LstmShape(**shape))
        return transformer.Transformer(vocab, transformer.TransformerShape(**shape))
    except TypeError as error:
        raise SettingError(f"{kind} cannot be built: {error}") from None


def is_translator(folder: Path) -> bool:
    """Return whether the folder holds a finished translation model."""
    return holds(folder, "translator")


def save(folder: Path, card: Card, model: nn.Module, subwords: SubWords, words: list[str]) -> None:
    """Write the folder whole or not at all; weights take two bytes each."""
    from safetensors.torch import save_file

    with write_folder(folder, "translator") as made:
        weights = {name: tensor.detach().cpu().half().contiguous() for name, tensor in model.state_dict().items()}
        save_file(weights, made / WEIGHTS, metadata={"format": "pt"})
        subwords.save(made)
        (made / WORDS).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        cards.write_card(made, card)


def read_card(folder: Path) -> Card:
    return cards.read_card(folder, "translator")


def load(folder: Path) -> tuple[Card, nn.Module, SubWords, list[str]]:
    """Return the card, the model (fp32, for evaluation), its sub-words, and its sources' words, most frequent first."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    card = read_card(folder)
    subwords = SubWords.load(folder)
    try:
        model = network(card.kind, len(subwords), card.shape)
        model.load_state_dict({name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()})
        words = (folder / WORDS).read_text(encoding="utf-8").split("\n")[:-1]
    except (OSError, SafetensorError, RuntimeError, TypeError, ValueError, SettingError) as error:
        reason = str(error).splitlines()[0][:160]
        raise VictimError(f"{folder / WEIGHTS} is damaged or cut short ({reason}); train the model again") from None
    return card, model.eval(), subwords, words


def fingerprint(folder: Path) -> str:
    """Return sixteen hex digits of the weights and of the files that say how to read them."""
    digest = sha256()
    for name in (WEIGHTS, PIECES, WORDS):
        with (folder / name).open("rb") as stream:
            digest.update(file_digest(stream, sha256).digest())
    card = read_card(folder)
    digest.update(json.dumps([card.kind, card.shape], sort_keys=True).encode())
    return digest.hexdigest()[:16]
