"""The networks of a sentence model: reader, writer, and the generator and inverter between codes and latent points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.papers.natural.models.sentences import MARKS, PAD, SEP, UNK

TIE = 1e-4  # words whose logits differ by less are tied, and the first is written: a batch's rounding must not choose


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceShape:
    """Sizes of the networks. The defaults are those of Zhao et al. 2018, appendix D, apart from `dim` and `readout`.

    The paper gives four filter counts (300, 500, 700, 1000) but three strides and windows: 300 is read as the width of
    what goes in, and the fourth layer as the one that makes the code. `readout` adds to the writer, place by place,
    what a linear map reads from the code, and to the code what a linear map reads from the words: with a few ten
    thousand sentences rare words come back by this road alone.
    """

    longest: int = 10  # words
    dim: int = 100  # of word vectors, which writer and reader share
    code: int = 300
    latent: int = 100
    hidden: int = 300
    filters: tuple[int, ...] = (500, 700, 1000)
    windows: tuple[int, ...] = (5, 5, 3)
    strides: tuple[int, ...] = (2, 2, 2)
    readout: bool = True

    def __post_init__(self) -> None:
        if not len(self.filters) == len(self.windows) == len(self.strides) > 0:
            raise SettingError(f"filters, windows and strides must be as many, got {self}")
        sizes = (self.longest, self.dim, self.code, self.latent, self.hidden, *self.filters, *self.strides)
        if min(sizes) < 1 or any(window % 2 == 0 for window in self.windows):
            raise SettingError(f"sizes must be above 0 and windows odd, got {self}")

    @property
    def width(self) -> int:
        return self.longest + MARKS + 1


def mlp(*sizes: int) -> nn.Sequential:
    """Make linear layers with layer norms and leaky ReLUs between them; rows of a batch do not affect each other."""
    layers: list[nn.Module] = []
    for at, (before, after) in enumerate(pairwise(sizes)):
        if at:
            layers += [nn.LayerNorm(before), nn.LeakyReLU(0.2)]
        layers.append(nn.Linear(before, after))
    return nn.Sequential(*layers)


class Reader(nn.Module):
    """Strided convolutions from word vectors to a code on the unit sphere."""

    def __init__(self, shape: SentenceShape) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before, slots = shape.dim, shape.width
        for filters, window, stride in zip(shape.filters, shape.windows, shape.strides, strict=True):
            layers += [nn.Conv1d(before, filters, window, stride, window // 2), nn.GroupNorm(1, filters), nn.ReLU()]
            before, slots = filters, (slots - 1) // stride + 1
        self.layers = nn.Sequential(*layers)
        self.out = nn.Linear(before * slots, shape.code)
        self.direct = nn.Linear(shape.width * shape.dim, shape.code, bias=False) if shape.readout else None

    def forward(self, vectors: Float[Tensor, "batch slot dim"]) -> Float[Tensor, "batch code"]:
        code = self.out(self.layers(vectors.transpose(1, 2)).flatten(1))
        if self.direct is not None:
            code = code + self.direct(vectors.flatten(1))
        return functional.normalize(code, dim=1)


class SentenceWriter(nn.Module):
    """An LSTM that reads the code at every word and gives the vector of the next word, place by place."""

    def __init__(self, shape: SentenceShape) -> None:
        super().__init__()
        self.shape = shape
        self.start = nn.Linear(shape.code, shape.hidden)
        self.lstm = nn.LSTM(shape.dim + shape.code, shape.hidden, batch_first=True)
        self.out = nn.Linear(shape.hidden, shape.dim)
        self.direct = nn.Linear(shape.code, shape.width * shape.dim) if shape.readout else None

    def forward(
        self, code: Float[Tensor, "batch code"], before: Float[Tensor, "batch slot dim"]
    ) -> Float[Tensor, "batch slot dim"]:
        """Return the vectors of the words at each place; `before` holds the vectors of the words before it."""
        shown = code[:, None].expand(-1, before.shape[1], -1)
        states, _ = self.lstm(torch.cat([before, shown], 2), self.begin(code))
        out: Tensor = self.out(states)
        places = self.places(code)
        return out if places is None else out + places[:, : out.shape[1]]

    def begin(self, code: Float[Tensor, "batch code"]) -> tuple[Tensor, Tensor]:
        first = torch.tanh(self.start(code))[None].contiguous()
        return first, torch.zeros_like(first)

    def places(self, code: Float[Tensor, "batch code"]) -> Float[Tensor, "batch slot dim"] | None:
        return None if self.direct is None else self.direct(code).view(len(code), self.shape.width, self.shape.dim)


class SentenceNet(nn.Module):
    """Maps sentences to codes and back, and codes to latent points and back."""

    def __init__(self, vocab: int, shape: SentenceShape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(vocab, shape.dim)
        nn.init.normal_(self.words.weight, 0, shape.dim**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocab))
        self.reader, self.writer = Reader(shape), SentenceWriter(shape)
        self.generator = mlp(shape.latent, shape.code, shape.code, shape.code)
        self.inverter = mlp(shape.code, shape.code, shape.code, shape.latent)

    def encode(self, rows: Int[Tensor, "batch slot"]) -> Float[Tensor, "batch code"]:
        code: Tensor = self.reader(self._vectors(rows) * (rows != PAD)[..., None])
        return code

    def _vectors(self, words: Int[Tensor, " *batch"]) -> Float[Tensor, " *batch dim"]:
        """Return the word vectors scaled to a mean square of about 1; the vectors themselves have length 1."""
        vectors: Tensor = self.words(words) * self.shape.dim**0.5
        return vectors

    def invert(self, code: Float[Tensor, "batch code"]) -> Float[Tensor, "batch latent"]:
        """Return the latent point of a code."""
        z: Tensor = self.inverter(code * self.shape.code**0.5)
        return z

    def out(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch code"]:
        """Return the code of a latent point."""
        return functional.normalize(self.generator(z), dim=1)

    def logits(
        self, code: Float[Tensor, "batch code"], rows: Int[Tensor, "batch slot"], forget: float = 0.0
    ) -> Float[Tensor, "batch slot vocab"]:
        """Return the logits of each word given the words before it in `rows`, of which a share `forget` is hidden."""
        before = torch.cat([torch.full_like(rows[:, :1], SEP), rows[:, :-1]], 1)
        if forget:
            before = before.masked_fill(torch.rand(before.shape, device=rows.device) < forget, UNK)
        vectors: Tensor = self.writer(code * self.shape.code**0.5, self._vectors(before))
        return vectors @ self.words.weight.T + self.bias

    @torch.inference_mode()
    def write(self, code: Float[Tensor, "batch code"]) -> Int[Tensor, "batch slot"]:
        """Write the likeliest word at each place given those before it; never padding or an unknown word."""
        writer, code = self.writer, code * self.shape.code**0.5
        (hidden, cell), places = writer.begin(code), writer.places(code)
        last = self.shape.width - 1
        out = torch.full((len(code), self.shape.width), PAD, device=code.device)
        weights, bias = self.words.weight.T, self.bias.clone()
        bias[[PAD, UNK]] = -torch.inf
        word = torch.full((len(code),), SEP, device=code.device)
        unended = torch.arange(len(code), device=code.device)  # rows whose sentence has not ended
        for place in range(last):
            shown = torch.cat([self._vectors(word), code], 1)[:, None]
            state, (hidden, cell) = writer.lstm(shown, (hidden, cell))
            vector = writer.out(state[:, 0])
            if places is not None:
                vector = vector + places[:, place]
            word = _first(torch.addmm(bias, vector, weights))
            out[unended, place] = word
            goes_on = word != SEP
            if not bool(goes_on.all()):
                unended, word, code = unended[goes_on], word[goes_on], code[goes_on]
                hidden, cell = hidden[:, goes_on].contiguous(), cell[:, goes_on].contiguous()
                places = None if places is None else places[goes_on]
            if not len(unended):
                return out
        out[unended, last] = SEP
        return out


def _first(logits: Float[Tensor, "batch vocab"]) -> Int[Tensor, " batch"]:
    """Return the first word whose logit is within a tie of the largest."""
    top = logits.topk(2, dim=1)
    tied = top.values[:, 0] - top.values[:, 1] < TIE
    return torch.where(tied, top.indices.min(1).values, top.indices[:, 0])
