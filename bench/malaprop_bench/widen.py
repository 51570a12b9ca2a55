"""Widen a trained BERT to a DistilBERT or RoBERTa of twice the width: same answers, at the cost of the larger model.

python -m malaprop_bench.widen FOLDER OUT distilbert|roberta

Every number of a vector occurs twice and each product is halved, so that the answers are those of the small model.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import MalapropError, SettingError

if TYPE_CHECKING:
    from torch import Tensor

KINDS = ("distilbert", "roberta")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
_DISTIL = {  # what BERT calls a part of a layer, and what DistilBERT does
    "attention.self.query": "attention.q_lin",
    "attention.self.key": "attention.k_lin",
    "attention.self.value": "attention.v_lin",
    "attention.output.dense": "attention.out_lin",
    "attention.output.LayerNorm": "sa_layer_norm",
    "intermediate.dense": "ffn.lin1",
    "output.dense": "ffn.lin2",
    "output.LayerNorm": "output_layer_norm",
}


@dataclass(frozen=True, slots=True)
class Widening:
    """The weights of a BERT with vectors of twice the width, under the same names."""

    heads: int

    def all(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: self._one(name, weight) for name, weight in weights.items()}

    def _one(self, name: str, weight: Tensor) -> Tensor:
        if name.endswith("classifier.weight"):
            return weight.repeat(1, 2) / 2
        if name.endswith("classifier.bias"):
            return weight
        if name.endswith("_embeddings.weight"):
            return weight.repeat(1, 2)
        if ".self." in name:  # a head's numbers stay together; its products are twice as large and divided by more
            return self._heads(weight) * (0.5**0.5 if ".query." in name else 1.0)
        if name.endswith("attention.output.dense.weight"):
            parts = weight.view(len(weight), self.heads, -1)
            return parts.repeat(1, 1, 2).flatten(1).repeat(2, 1) / 2
        return weight.repeat(2, 2) / 2 if weight.dim() == 2 else weight.repeat(2)

    def _heads(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return weight.view(self.heads, -1).repeat(1, 2).flatten()
        rows = weight.view(self.heads, -1, weight.shape[1])
        return rows.repeat(1, 2, 2).flatten(0, 1) / 2


def widen(folder: Path, out: Path, kind: str) -> Path:
    """Write a folder with the tokenizer, the labels, and a model of the other architecture."""
    from transformers import AutoModelForSequenceClassification

    from malaprop.models.folder import quietly

    if kind not in KINDS:
        raise unknown("architecture", kind, KINDS)
    with quietly():
        small: Any = AutoModelForSequenceClassification.from_pretrained(folder)
    if small.config.model_type != "bert":
        raise SettingError(f"{folder} holds a model of type {small.config.model_type}; name a folder with a BERT")
    weights = Widening(small.config.num_attention_heads).all(small.state_dict())
    model = (_distilbert if kind == "distilbert" else _roberta)(small.config, weights)
    model.config.id2label, model.config.label2id = small.config.id2label, small.config.label2id
    with quietly():
        model.save_pretrained(out)
    for name in TOKENIZER:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / name)
    return out


def _distilbert(c: Any, weights: dict[str, Tensor]) -> Any:
    """Return a DistilBERT. Its head has a ReLU where BERT has a tanh: half of it gets the numbers, the other half their
    negatives, and the classifier takes the difference, so that the head is the linear part of BERT's."""
    import torch
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    config = DistilBertConfig(
        vocab_size=c.vocab_size, max_position_embeddings=c.max_position_embeddings, n_layers=c.num_hidden_layers,
        n_heads=c.num_attention_heads, dim=2 * c.hidden_size, hidden_dim=2 * c.intermediate_size,
        num_labels=c.num_labels, pad_token_id=c.pad_token_id,
    )  # fmt: skip
    model = DistilBertForSequenceClassification(config)
    start = "distilbert.embeddings"
    words = (
        weights["bert.embeddings.word_embeddings.weight"] + weights["bert.embeddings.token_type_embeddings.weight"][0]
    )
    named = {f"{start}.word_embeddings.weight": words}
    for part in ("position_embeddings.weight", "LayerNorm.weight", "LayerNorm.bias"):
        named[f"{start}.{part}"] = weights[f"bert.embeddings.{part}"]
    for layer in range(c.num_hidden_layers):
        for theirs, ours in _DISTIL.items():
            for end in ("weight", "bias"):
                found = weights[f"bert.encoder.layer.{layer}.{theirs}.{end}"]
                named[f"distilbert.transformer.layer.{layer}.{ours}.{end}"] = found
    sign = torch.ones(2 * c.hidden_size)
    sign[c.hidden_size :] = -1
    named["pre_classifier.weight"] = weights["bert.pooler.dense.weight"] * sign[:, None]
    named["pre_classifier.bias"] = weights["bert.pooler.dense.bias"] * sign
    named["classifier.weight"] = 2 * weights["classifier.weight"] * sign
    named["classifier.bias"] = weights["classifier.bias"]
    model.load_state_dict(named)
    return model


def _roberta(c: Any, weights: dict[str, Tensor]) -> Any:
    """Return a RoBERTa. It counts positions from the id after the padding token."""
    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification

    skipped = c.pad_token_id + 1
    config = RobertaConfig(
        vocab_size=c.vocab_size, max_position_embeddings=c.max_position_embeddings + skipped,
        num_hidden_layers=c.num_hidden_layers, num_attention_heads=c.num_attention_heads,
        hidden_size=2 * c.hidden_size, intermediate_size=2 * c.intermediate_size, type_vocab_size=c.type_vocab_size,
        layer_norm_eps=c.layer_norm_eps, num_labels=c.num_labels, pad_token_id=c.pad_token_id,
    )  # fmt: skip
    model = RobertaForSequenceClassification(config)
    named = {name.replace("bert.", "roberta.", 1): w for name, w in weights.items() if name.startswith("bert.e")}
    places = named["roberta.embeddings.position_embeddings.weight"]
    empty = torch.zeros(skipped, places.shape[1])
    named["roberta.embeddings.position_embeddings.weight"] = torch.cat([empty, places])
    for end in ("weight", "bias"):
        named[f"classifier.dense.{end}"] = weights[f"bert.pooler.dense.{end}"]
        named[f"classifier.out_proj.{end}"] = weights[f"classifier.{end}"]
    model.load_state_dict(named)
    return model


def main(words: list[str]) -> int:
    if len(words) != 3:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    try:
        made = widen(Path(words[0]), Path(words[1]), words[2])
    except MalapropError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{words[2]} in {made}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
