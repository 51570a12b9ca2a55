"""SentenceEncoder: sentences as unit vectors, near where the meaning is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from malaprop.core.errors import AssetError
from malaprop.core.score import Floats
from malaprop.models.encoders.sketching import Sketch, worthwhile
from malaprop.models.folder import fingerprint
from malaprop.models.quiet import quietly
from malaprop.models.tokens.batches import Bounds, batches, bounds_for
from malaprop.models.tokens.wordpieces import WordPieces

States = Callable[[Tensor, Tensor], Tensor]  # ids and which of them are no padding to the last states
LIMIT = 128  # tokens; MiniLM was trained on sentences of at most 128
LIMITS = {"mpnet": 384}  # what its makers let it read


class SentenceEncoder:
    """A BERT or MPNet encoder, the mean of its last states over the tokens of a text, scaled to length one."""

    def __init__(self, folder: Path, *, device: str = "cpu", bounds: Bounds | None = None) -> None:
        try:
            from transformers import AutoModel
        except ImportError:
            raise AssetError("sentence similarity needs the transformers library; install malaprop[hf]") from None
        self.device = torch.device(device)
        self.pieces = WordPieces.load(folder / "tokenizer.json")
        with quietly():
            model: Any = AutoModel.from_pretrained(
                folder,
                add_pooling_layer=False,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
            )
        self.model = model.eval().to(self.device)
        most = LIMITS.get(model.config.model_type, LIMIT)
        self.limit = min(most, int(model.config.max_position_embeddings))
        self.dim = int(model.config.hidden_size)
        self.bounds = bounds
        self.fingerprint = fingerprint(folder)

    def encode(self, strings: Sequence[str]) -> Floats:
        """Unit vectors [string, dim]; the product of two is their cosine."""
        return self._encode(strings, self._states)

    def sketch(self, strings: Sequence[str]) -> Floats:
        """The same in half the time, within 0.005 of each cosine, where the processor has bf16; else the same."""
        return self._encode(strings, self._states if self._sketch is None else self._sketch.states)

    @cached_property
    def _sketch(self) -> Sketch | None:
        settings = self.model.config.to_dict()
        plain = settings["model_type"] == "bert" and settings.get("position_embedding_type", "absolute") == "absolute"
        return Sketch.of(self.model) if plain and worthwhile(self.device) else None

    @torch.inference_mode()
    def encode_tokens(self, strings: Sequence[str]) -> list[Floats]:
        """For each string the unit vectors of its tokens [token, dim], without the special ones at both ends."""
        rows = self.pieces.rows([(string,) for string in strings], self.limit)
        out = [np.empty((0, self.dim), np.float32)] * len(rows)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        for part in batches(lengths, self.bounds or replace(bounds_for(self.device, rows=32), waste=0.05)):
            ids, inside = self._pad([rows[i] for i in part.tolist()])
            found = functional.normalize(self._states(ids, inside), dim=2).cpu().numpy()
            for at, i in enumerate(part.tolist()):
                out[i] = found[at, 1 : max(1, len(rows[i]) - 1)]
        return out

    @torch.inference_mode()
    def _encode(self, strings: Sequence[str], states: States) -> Floats:
        if not strings:
            return np.empty((0, self.dim), np.float32)
        rows = self.pieces.rows([(string,) for string in strings], self.limit)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        out = np.empty((len(rows), self.dim), np.float32)
        for part in batches(lengths, self.bounds or replace(bounds_for(self.device, rows=32), waste=0.05)):
            out[part] = self._mean([rows[i] for i in part.tolist()], states).cpu().numpy()
        return out

    def _mean(self, rows: list[list[int]], states: States) -> Float[Tensor, "batch dim"]:
        ids, mask = self._pad(rows)
        found = states(ids, mask)
        mean = (found * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.normalize(mean, dim=1)

    def _pad(self, rows: list[list[int]]) -> tuple[Int[Tensor, "batch token"], Bool[Tensor, "batch token"]]:
        """Rows of one length, and which of their places hold a token."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        inside = np.zeros(ids.shape, np.bool_)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            inside[at, : len(row)] = True
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(inside).to(self.device)

    def _states(
        self, ids: Int[Tensor, "batch token"], inside: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token dim"]:
        padded = None if bool(inside.all()) else inside.long()
        states: Tensor = self.model(input_ids=ids, attention_mask=padded).last_hidden_state
        return states


class Encoder(Protocol):
    """Sentences in, unit vectors [string, dim] out."""

    def encode(self, strings: Sequence[str]) -> Floats: ...


def open_encoder(name: str = "minilm", *, device: str = "cpu") -> Encoder:
    """A packaged encoder: minilm (six layers), mpnet (twelve, twice as wide) or use (Universal Sentence Encoder)."""
    from malaprop.assets import store

    if name == "use":
        from malaprop.models.encoders.useencoder import UniversalEncoder

        return UniversalEncoder(store.locate(name), device=device)
    return SentenceEncoder(store.locate(name), device=device)
