"""Token-classification models of transformers as victims: the first sub-word of a token gives its tag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.score import Floats
from malaprop.models.folder import fingerprint, open_task_model

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
    opened = open_task_model(folder, "token classification", device=device, words=True)
    names = tuple(str(opened.config.id2label[i]) for i in range(opened.config.num_labels))
    return TransformersTagger(
        model=opened.model, tokenizer=opened.tokenizer, name=folder.name, tags=names, device=device, most=opened.most,
        fingerprint=fingerprint(folder), inputs=opened.inputs,
    )  # fmt: skip
