"""Token-classification models of transformers as victims: the first sub-word of a token gives its tag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from malaprop.core.errors import VictimError, plain
from malaprop.core.score import Floats
from malaprop.models.folder import fingerprint, quietly

_BATCH = 64  # sentences of one forward pass, sorted by length
_ROUNDING = 1e-4  # between batches; a success is confirmed by the sentence alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransformersTagger:
    """A loaded model with its tokenizer."""

    model: Any
    tokenizer: Any
    name: str
    tags: tuple[str, ...]
    inputs: frozenset[str]  # the names of what the model reads
    fingerprint: str = ""
    device: str = "cpu"
    most: int = 512  # sub-words that it reads
    rounding: float = field(default=_ROUNDING, init=False)

    def scores(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        out: list[Floats] = [np.empty(0, np.float32)] * len(sentences)
        order = sorted(range(len(sentences)), key=lambda i: sum(map(len, sentences[i])))
        for begin in range(0, len(order), _BATCH):
            part = order[begin : begin + _BATCH]
            for i, scores in zip(part, self._forward([list(sentences[i]) for i in part]), strict=True):
                out[i] = scores
        return out

    def _forward(self, sentences: list[list[str]]) -> list[Floats]:
        import torch

        read = self.tokenizer(sentences, is_split_into_words=True, padding=True, return_tensors="pt", verbose=False)
        if read.input_ids.shape[1] > self.most:
            raise VictimError(
                f"a sentence has {read.input_ids.shape[1]} sub-words, {self.name} reads {self.most}; split it"
            )
        inputs = {name: value.to(self.device) for name, value in read.items() if name in self.inputs}
        with torch.inference_mode():
            shares = self.model(**inputs).logits.float().softmax(-1).cpu().numpy()
        return [self._of_tokens(shares[row], read.word_ids(row), len(tokens)) for row, tokens in enumerate(sentences)]

    def _of_tokens(self, shares: Floats, words: Sequence[int | None], count: int) -> Floats:
        """Return the row of each token's first sub-word; a token of none, such as an odd sign, is certainly O."""
        out = np.zeros((count, len(self.tags)), np.float32)
        out[:, self.tags.index("O") if "O" in self.tags else 0] = 1
        for place in range(len(words) - 1, -1, -1):
            if (word := words[place]) is not None:
                out[word] = shares[place]
        return out

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        rows = (self._forward([list(tokens)])[0] for tokens in sentences)
        return [[self.tags[i] for i in row.argmax(1).tolist()] for row in rows]


def load_transformers(folder: Path, *, device: str = "cpu") -> TransformersTagger:
    """Load a model from a local folder, without running code that comes with it."""
    try:
        import torch
        from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer
    except ImportError:
        raise VictimError(f"{folder} needs the transformers library; install malaprop[hf]") from None
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    try:
        with quietly():
            config = AutoConfig.from_pretrained(folder, **options)
            model = AutoModelForTokenClassification.from_pretrained(
                folder, use_safetensors=True, dtype=torch.float32, **options
            )
            spaced = {"add_prefix_space": True} if config.model_type in ("roberta", "gpt2", "longformer") else {}
            tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, **spaced, **options)
    except Exception as error:  # noqa: BLE001 - the library raises errors of many kinds
        raise VictimError(f"{folder} cannot be loaded as a token-classification model: {plain(error)[:200]}") from None
    if not any("TokenClassification" in name for name in config.architectures or ()):
        named = ", ".join(config.architectures or ()) or "nothing"
        raise VictimError(f"{folder} is no token-classification model: its config.json says {named}")
    if not tokenizer.is_fast:
        raise VictimError(f"{folder} has no fast tokenizer (tokenizer.json), which tells sub-words' tokens apart")
    names = tuple(str(config.id2label[i]) for i in range(config.num_labels))
    most = min(int(getattr(config, "max_position_embeddings", 0) or 512), int(min(tokenizer.model_max_length, 10**6)))
    model = model.eval().to(device)
    return TransformersTagger(
        model=model, tokenizer=tokenizer, name=folder.name, tags=names, device=device, most=most,
        fingerprint=fingerprint(folder), inputs=frozenset(signature(model.forward).parameters),
    )  # fmt: skip
