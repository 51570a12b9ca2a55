"""A word or character model of the zoo, read from its folder as a victim with its fast scorer."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import torch

from malaprop.core.gradient import Gradients
from malaprop.models.gradients.layout import ByParts
from malaprop.models.gradients.tokens import TokenGradients
from malaprop.models.inside import FirstLayer, InsightNetwork, WordAttention, WordStates, split_heads
from malaprop.models.scorers import Scorer
from malaprop.models.tokens.padding import ZeroWords
from malaprop.models.tokens.splice import Frame
from malaprop.models.tokens.vocab import PAD, UNK, UNKNOWN, OpenVocab, Vocab
from malaprop.models.victims.tokens import TokenVictim
from malaprop.zoo import checkpoint
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.blocks.classifier import Classifier
from malaprop.zoo.blocks.cnn import Channels, Windows, WordCNN, folded
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.blocks.pairs import Average
from malaprop.zoo.blocks.selfattention import EncoderLayer, SelfAttention
from malaprop.zoo.gradients.character_edits import CharGradients
from malaprop.zoo.names import ZooSpec
from malaprop.zoo.scorers.average import AverageEdits
from malaprop.zoo.scorers.cnn import CnnEdits
from malaprop.zoo.scorers.lstm import LstmEdits


def zoo_victim(folder: Path, *, device: str = "cpu", name: str | None = None) -> TokenVictim:
    """Load a zoo model as a victim; a network of one layer is scored by edits, a deeper one by whole passes."""
    card, model, vocab = checkpoint.load(folder)
    model.to(device).requires_grad_(False)
    scorer = _scorer(model)
    gradients = gradients_of(model, vocab, card.limit, device)
    looks = _attention(model, vocab, card.limit, device)
    padding = padding_of(gradients, len(card.labels))
    return TokenVictim(
        name=name or card.name,
        cut=vocab.cut,
        encode_whole=vocab.encode,
        forward=model,
        scorer=scorer,
        lanes=2 if torch.device(device).type == "cuda" and not isinstance(scorer, CnnEdits | AverageEdits) else 1,
        labels=len(card.labels),
        limit=card.limit,
        context_free=True,
        unknown=UNKNOWN,
        fingerprint=checkpoint.fingerprint(folder),
        label_names=tuple(card.labels),
        gradients=gradients,
        attention=looks,
        states=_states(model, vocab, card.limit, device),
        pooled=cast(InsightNetwork, model).pooled,
        readout=cast(InsightNetwork, model).head,
        padding=padding,
        pairs=ZooSpec.from_card(card).pairs,
        device=device,
    )


def gradients_of(model: torch.nn.Module, vocab: Vocab | OpenVocab, limit: int, device: str) -> Gradients | None:
    """Return a model's gradients; None where word vectors depend on the words around them (ELMo)."""
    embedding = model.get_submodule("embedding")
    if not isinstance(embedding, torch.nn.Embedding | Channels | CharWords):
        return None
    layout = ByParts(cut=vocab.cut, frame=Frame(limit=limit))
    words = TokenGradients(
        module=model, forward=model, embedding=embedding, layout=layout, pad=PAD, unknown=UNK, device=device
    )
    if not isinstance(vocab, OpenVocab) or not isinstance(embedding, CharWords):
        return words
    return CharGradients(model=model, vocab=vocab, layout=layout, by_word=words, device=device)


def padding_of(gradients: Gradients | None, labels: int) -> ZeroWords | None:
    words = gradients.by_word if isinstance(gradients, CharGradients) else gradients
    return ZeroWords.like(words, labels) if isinstance(words, TokenGradients) else None


def _attention(model: torch.nn.Module, vocab: Vocab | OpenVocab, limit: int, device: str) -> WordAttention | None:
    if not (isinstance(model, Classifier) and model.attends):
        return None
    layout = ByParts(cut=vocab.cut, frame=Frame(limit=limit))
    return WordAttention(layout=layout, weigh=model.attention, device=device)


def _states(model: torch.nn.Module, vocab: Vocab | OpenVocab, limit: int, device: str) -> WordStates:
    layout = ByParts(cut=vocab.cut, frame=Frame(limit=limit))
    read = cast(InsightNetwork, model).states
    encoder = model.encoder if isinstance(model, Classifier) else None
    if isinstance(encoder, SelfAttention):
        return WordStates(
            layout=layout, read=read, below=1, first=lambda: read_encoder_layer(encoder), device=device
        )  # places are added
    return WordStates(layout=layout, read=read, device=device)


def _scorer(model: torch.nn.Module) -> Scorer | None:
    if isinstance(model, Classifier) and isinstance(model.encoder, Windows):
        return CnnEdits(model=folded(model))
    if not isinstance(model.get_submodule("embedding"), torch.nn.Embedding | CharWords):
        return None
    if isinstance(model, Classifier) and isinstance(model.encoder, Average):
        return AverageEdits(model=model)
    if isinstance(model, WordCNN) and not len(model.below):
        return CnnEdits(model=model)
    if isinstance(model, WordLSTM) and not len(model.above):
        return LstmEdits(model=model)
    return None


def read_encoder_layer(encoder: SelfAttention) -> FirstLayer:
    """Return the first attention layer of a Transformer of the zoo."""
    layer = encoder.stack[0]
    assert isinstance(layer, EncoderLayer)
    query, key, _ = layer.mixed.weight.chunk(3)
    return split_heads(query, key, layer.mixed.bias.chunk(3)[0], layer.heads)
