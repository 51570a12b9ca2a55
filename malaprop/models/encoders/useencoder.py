"""UniversalEncoder: Google's Universal Sentence Encoder (Cer et al. 2018; multilingual v3), from its numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from malaprop.assets.download import digest
from malaprop.core.errors import AssetError
from malaprop.core.score import Floats
from malaprop.models.tokens.batches import Bounds, batches

_ORDERS = ((2, 0), (3, 1), (5, 2))  # tokens that a convolution sees, and how many of them stand before its own
_CHUNKS = 17  # tables that the word vectors are kept in; token i is row i // 17 of table i % 17
_UNKNOWN, _BEGIN, _END = 0, 1, 2
_BOUNDS = Bounds(rows=1024, tokens=1 << 14, waste=1.0)


class UniversalEncoder:
    """Word vectors, and convolutions over 2, 3 and 5 of them, summed over a text and put through a deep network.

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
        """Unit vectors [string, dim]; the product of two is their cosine."""
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
        """Two convolutions over `order` tokens of one text, each added to what it read."""
        for layer in (1, 2):
            seen = _windows(read, owner, order, left)
            read = read + (seen @ self._held[f"w{layer}_{order}"] + self._held[f"b{layer}_{order}"]).relu()
        return read


def _windows(
    read: Float[Tensor, "token hidden"], owner: Int[Tensor, " token"], order: int, left: int
) -> Float[Tensor, "token window"]:
    """What stands around each token, side by side; zeros beyond the ends of its text."""
    count = len(read)
    at = torch.arange(count, device=read.device)[:, None] + torch.arange(-left, order - left, device=read.device)
    inside = (at >= 0) & (at < count)
    at = at.clamp(0, count - 1)
    inside &= owner[at] == owner[:, None]
    return (read[at] * inside[..., None]).reshape(count, -1)
