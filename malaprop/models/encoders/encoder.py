"""Sentence encoders: MiniLM, MPNet and the Universal Sentence Encoder map sentences to unit vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional
from torch.nn import functional as F

from malaprop.assets.download import digest
from malaprop.core.errors import AssetError
from malaprop.core.score import Floats
from malaprop.models.folder import fingerprint, quietly
from malaprop.models.scorers.bertweights import BertLayer, Norm, can_prepack
from malaprop.models.tokens.batches import Bounds, batches, bounds_for
from malaprop.models.tokens.wordpieces import WordPieces


def worthwhile(device: torch.device) -> bool:
    """Return whether the device is a CPU that multiplies bf16 numbers faster than fp32 ones."""
    if device.type != "cpu":
        return False
    known: list[Any] = [getattr(torch.cpu, f"_is_{kind}_supported", None) for kind in ("avx512_bf16", "amx_tile")]
    return any(asked is not None and asked() for asked in known)


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """A BERT encoder for a CPU, with layers in one precision: their products read no padding.

    Attention, embeddings and their norm are computed in fp32.
    """

    words: Float[Tensor, "vocab dim"]
    places: Float[Tensor, "place dim"]
    norm: Norm
    layers: list[BertLayer]
    heads: int
    dtype: torch.dtype

    @classmethod
    def of(cls, model: Any, dtype: torch.dtype) -> SideBySide:
        """Copy the weights of a transformers BertModel."""
        read = model.embeddings
        layers = [BertLayer.of(layer, dtype=dtype) for layer in model.encoder.layer]
        return cls(
            words=read.word_embeddings.weight.detach(),
            places=(read.position_embeddings.weight + read.token_type_embeddings.weight[0]).detach(),
            norm=Norm.of(read.LayerNorm, dtype=torch.float32),
            layers=[layer.prepacked() for layer in layers] if can_prepack() else layers,
            heads=int(model.config.num_attention_heads),
            dtype=dtype,
        )

    def states(
        self, ids: Int[Tensor, "batch token"], inside: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token dim"]:
        """Return the last hidden states; those of padding mean nothing."""
        at = inside.flatten().nonzero()[:, 0]  # the places that hold tokens
        rows = inside.flatten().cumsum(0) - 1  # of each place its row among the tokens
        padding = None if len(at) == len(rows) else ~inside[:, None, None]
        x = self.norm(F.embedding(ids.flatten()[at], self.words) + F.embedding(at % ids.shape[1], self.places))
        x = x.to(self.dtype)
        for layer in self.layers:
            mixed = layer.mixed(x).index_select(0, rows).view(*ids.shape, -1)
            x = layer.after(x, self._attend(mixed, padding).index_select(0, at).to(self.dtype))
        return x.index_select(0, rows).view(*ids.shape, -1).float()

    def _attend(
        self, mixed: Float[Tensor, "batch token three"], padding: Bool[Tensor, "batch 1 1 token"] | None
    ) -> Float[Tensor, "place dim"]:
        """Compute attention by plain products: for texts this short they take less time than the library's kernel."""
        batch, many, _ = mixed.shape
        split = mixed.view(batch, many, 3, self.heads, -1).permute(2, 0, 3, 1, 4).float().flatten(1, 2).contiguous()
        scores = torch.bmm(split[0] * split.shape[-1] ** -0.5, split[1].mT)
        if padding is not None:
            scores.view(batch, self.heads, many, many).masked_fill_(padding, -torch.inf)
        seen = torch.bmm(scores.softmax(-1), split[2]).view(batch, self.heads, many, -1)
        return seen.transpose(1, 2).reshape(batch * many, -1)


States = Callable[[Tensor, Tensor], Tensor]  # token ids and the padding mask to the last hidden states
LIMIT = 128  # tokens; MiniLM was trained on sentences of at most 128
LIMITS = {"mpnet": 384}  # the limit in its model card


class SentenceEncoder:
    """A BERT or MPNet encoder: the mean of its last states over a text's tokens, scaled to length one."""

    def __init__(self, folder: Path, *, device: str = "cpu", bounds: Bounds | None = None, fast: bool = True) -> None:
        """`fast`: compute a BERT on a CPU with `SideBySide`, in less than half of the library's time."""
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
        fast = fast and self._is_plain
        self._exact: States = SideBySide.of(self.model, torch.float32).states if fast else self._states

    def encode(self, strings: Sequence[str]) -> Floats:
        """Return unit vectors [string, dim]; the product of two is their cosine."""
        return self._encode(strings, self._exact)

    def sketch(self, strings: Sequence[str]) -> Floats:
        """Return unit vectors in less time, within 0.005 of each cosine, where the CPU has bf16; else `encode`."""
        return self._encode(strings, self._rough)

    @cached_property
    def _rough(self) -> States:
        bf16 = self._is_plain and worthwhile(self.device)
        return SideBySide.of(self.model, torch.bfloat16).states if bf16 else self._exact

    @property
    def _is_plain(self) -> bool:
        """Whether this is a BERT on a CPU, which `SideBySide` computes."""
        held = self.model.config.to_dict()
        plain = held.get("position_embedding_type", "absolute") == "absolute" and not held.get("is_decoder", False)
        return plain and held["model_type"] == "bert" and self.device.type == "cpu"

    @torch.inference_mode()
    def encode_tokens(self, strings: Sequence[str]) -> list[Floats]:
        """Return the unit vectors [token, dim] of each string's tokens, without the special ones at both ends."""
        rows = self.pieces.rows([(string,) for string in strings], self.limit)
        out = [np.empty((0, self.dim), np.float32)] * len(rows)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        for part in batches(lengths, self._bounds_of(self._exact)):
            ids, inside = self._pad([rows[i] for i in part.tolist()])
            found = functional.normalize(self._exact(ids, inside), dim=2).cpu().numpy()
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
        for part in batches(lengths, self._bounds_of(states)):
            out[part] = self._mean([rows[i] for i in part.tolist()], states).cpu().numpy()
        return out

    def _bounds_of(self, states: States) -> Bounds:
        """Return the limits of a batch; where products read no padding, few texts stay in the processor's cache."""
        library = states == self._states
        return self.bounds or replace(
            bounds_for(self.device, rows=32 if library else 8), waste=0.05 if library else 0.5
        )

    def _mean(self, rows: list[list[int]], states: States) -> Float[Tensor, "batch dim"]:
        ids, mask = self._pad(rows)
        found = states(ids, mask)
        mean = (found * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.normalize(mean, dim=1)

    def _pad(self, rows: list[list[int]]) -> tuple[Int[Tensor, "batch token"], Bool[Tensor, "batch token"]]:
        """Pad the rows to one length; return them with the mask of their tokens."""
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
    """Maps sentences to unit vectors [string, dim]; `sketch` may be faster and less exact."""

    def encode(self, strings: Sequence[str]) -> Floats: ...

    def sketch(self, strings: Sequence[str]) -> Floats: ...


def open_encoder(name: str = "minilm", *, device: str = "cpu") -> Encoder:
    """Open a packaged encoder: minilm (six layers), mpnet (twelve, twice as wide) or use (a convolutional one)."""
    from malaprop.assets import store

    if name == "use":
        return UniversalEncoder(store.locate(name), device=device)
    return SentenceEncoder(store.locate(name), device=device)


_ORDERS = ((2, 0), (3, 1), (5, 2))  # tokens that a convolution sees, and how many of them stand before its own
_CHUNKS = 17  # tables that the word vectors are kept in; token i is row i // 17 of table i % 17
_UNKNOWN, _BEGIN, _END = 0, 1, 2
_BOUNDS = Bounds(rows=1024, tokens=1 << 14, waste=1.0)


class UniversalEncoder:
    """Sums convolutions over 2, 3 and 5 word vectors over a text and puts the sum through a deep network.

    The numbers come in 8 bits a word vector; the rest is float32. Its vectors have 512 numbers and length one.
    """

    dim = 512

    def __init__(self, folder: Path, *, device: str = "cpu") -> None:
        from tokenizers import Tokenizer

        self.device = torch.device(device)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.fingerprint = digest(folder / "weights.npz")[:16]
        try:
            with np.load(folder / "weights.npz", allow_pickle=False) as file:
                held = {name: file[name] for name in file.files}
            chunks = np.stack([held.pop(f"q{i + 1}") for i in range(_CHUNKS)], 1)
        except (OSError, ValueError, KeyError) as error:
            raise AssetError(f"{folder / 'weights.npz'} is damaged: {error}; run: malaprop fetch use") from None
        self._table = torch.from_numpy(chunks.reshape(-1, chunks.shape[-1])).to(self.device)
        self._held = {name: torch.from_numpy(np.asarray(value)).to(self.device) for name, value in held.items()}
        self._eps = float(held["eps"])

    @torch.inference_mode()
    def encode(self, strings: Sequence[str]) -> Floats:
        """Return unit vectors [string, dim]; the product of two is their cosine."""
        out = np.empty((len(strings), self.dim), np.float32)
        if not len(strings):
            return out
        found = self.tokenizer.encode_batch(list(strings), add_special_tokens=False)
        rows = [[_BEGIN, *(one.ids or [_UNKNOWN]), _END] for one in found]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        for part in batches(lengths, _BOUNDS):
            flat = np.fromiter(chain.from_iterable(rows[i] for i in part.tolist()), np.int64)
            sizes = torch.from_numpy(lengths[part]).to(self.device)
            out[part] = self._vectors(torch.from_numpy(flat).to(self.device), sizes).cpu().numpy()
        return out

    sketch = encode  # it is fast as it is

    def _vectors(self, flat: Int[Tensor, " token"], sizes: Int[Tensor, " text"]) -> Float[Tensor, "text dim"]:
        held = self._held
        owner = torch.repeat_interleave(torch.arange(len(sizes), device=self.device), sizes)
        chunk = flat % _CHUNKS
        words = self._table[flat].float() * held["scale"][chunk, None] + held["lo"][chunk, None]
        first = torch.cat([words @ held[f"proj{n}"] + held[f"proj_b{n}"] for n, _ in _ORDERS], 1)
        scale, shift = (torch.cat([held[f"ln_{kind}{n}"] for n, _ in _ORDERS]) for kind in "gb")
        sides = functional.layer_norm(first, [first.shape[1]], scale, shift, self._eps).chunk(len(_ORDERS), 1)
        parts = [words, *(self._branch(side, owner, *order) for side, order in zip(sides, _ORDERS, strict=True))]
        features = functional.layer_norm(
            torch.cat(parts, 1), [sum(part.shape[1] for part in parts)], held["ln_g"], held["ln_b"], self._eps
        )
        total = torch.zeros(len(sizes), features.shape[1], device=self.device).index_add_(0, owner, features)
        many = sizes[:, None].float()
        mean = (total @ held["cnn_W"] + many * held["cnn_b"]) / many.sqrt()
        inner = (mean @ held["p1"] + (mean @ held["d0"]).relu() @ held["d1"]).relu()
        last = inner @ held["p3"] + (inner @ held["d2"]).relu() @ held["d3"]
        return functional.normalize(last.tanh(), dim=1)

    def _branch(
        self, read: Float[Tensor, "token hidden"], owner: Int[Tensor, " token"], order: int, left: int
    ) -> Float[Tensor, "token hidden"]:
        """Apply two convolutions over `order` tokens of one text, each added to its input."""
        for layer in (1, 2):
            seen = _windows(read, owner, order, left)
            read = read + (seen @ self._held[f"w{layer}_{order}"] + self._held[f"b{layer}_{order}"]).relu()
        return read


def _windows(
    read: Float[Tensor, "token hidden"], owner: Int[Tensor, " token"], order: int, left: int
) -> Float[Tensor, "token window"]:
    """Return the vectors around each token, side by side; zeros beyond the ends of its text."""
    count = len(read)
    at = torch.arange(count, device=read.device)[:, None] + torch.arange(-left, order - left, device=read.device)
    inside = (at >= 0) & (at < count)
    at = at.clamp(0, count - 1)
    inside &= owner[at] == owner[:, None]
    return (read[at] * inside[..., None]).reshape(count, -1)
