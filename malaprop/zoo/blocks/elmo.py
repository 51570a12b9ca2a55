"""ELMo: words read as characters, in the light of the words before and after them (Peters et al. 2018)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import VictimError
from malaprop.models.tokens.vocab import PAD, UNK, OpenVocab, Vocab

CHARS = 50  # characters of a word with its begin and end marks; the rest of a longer one is not read
_BEGIN, _END, _MARK = 257, 258, 259  # 0 is padding, 1 to 256 are the bytes of UTF-8
SYMBOLS = 260
FILTERS = ((1, 32), (2, 64), (3, 128), (4, 128), (5, 128))
MARK = (_BEGIN, _MARK, _END)  # stands before, after and between texts


def spell(words: Sequence[str]) -> NDArray[np.int16]:
    """Return the characters of words, [word, char]: their bytes between two marks, then padding."""
    out = np.zeros((len(words), CHARS), np.int16)
    for line, word in zip(out, words, strict=True):
        data = word.encode("utf-8", "surrogatepass")[: CHARS - 2]
        line[0], line[len(data) + 1] = _BEGIN, _END
        line[1 : len(data) + 1] = np.frombuffer(data, np.uint8).astype(np.int16) + 1
    return out


class CharCNN(nn.Module):
    """Reads a word from its characters: convolutions of several widths, their maxima, highways, projection, norm.

    Windows begin inside the word and read zeros behind it, so the padding of a spelling never matters.
    """

    def __init__(self, *, dim: int, char_dim: int, filters: Sequence[Sequence[int]], highways: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, char_dim, padding_idx=0)
        self.widths = [int(width) for width, _ in filters]
        self.convolutions = nn.ModuleList(nn.Conv1d(char_dim, count, width) for width, count in filters)
        size = sum(count for _, count in filters)
        layers = [nn.Linear(size, 2 * size) for _ in range(highways)]
        for layer in layers:
            nn.init.constant_(layer.bias[size:], -2.0)  # at first a highway carries its input through
        self.highways = nn.ModuleList(layers)
        self.projection = nn.Linear(size, dim)
        self.norm = nn.LayerNorm(dim)  # without it words grow to hundreds in length and the LSTMs saturate

    def forward(self, chars: Int[Tensor, "word char"]) -> Float[Tensor, "word dim"]:
        seen = self.embedding(chars).transpose(1, 2)
        outside: Bool[Tensor, "word 1 char"] = (chars == 0)[:, None]
        found = []
        for width, convolution in zip(self.widths, self.convolutions, strict=True):
            windows = convolution(functional.pad(seen, (0, width - 1)))
            found.append(windows.masked_fill(outside, -torch.inf).amax(2).relu())
        state = torch.cat(found, 1)
        for layer in self.highways:
            fresh, gate = layer(state).chunk(2, 1)
            share = gate.sigmoid()
            state = share * fresh.relu() + (1 - share) * state
        word: Tensor = self.norm(self.projection(state))
        return word


class Elmo(nn.Module):
    """Two projected LSTM layers in each direction over words read as characters; the upper adds to the lower.

    Gives three layers a word: the word alone (twice, to be as wide), the lower states and the upper ones, forward then
    backward. Each row runs within its own length, between two marks, so neither padding nor neighbours matter. Differs
    from the paper: one mark for begin and end, bytes for characters, no clipping of cells.
    """

    def __init__(
        self,
        *,
        dim: int = 256,
        hidden: int = 1024,
        char_dim: int = 16,
        filters: Sequence[Sequence[int]] = FILTERS,
        highways: int = 2,
    ) -> None:
        super().__init__()
        self.dim = dim  # of each direction
        self.chars = CharCNN(dim=dim, char_dim=char_dim, filters=filters, highways=highways)
        self.ahead, self.back = (
            nn.ModuleList(nn.LSTM(dim, hidden, batch_first=True, proj_size=dim) for _ in range(2)) for _ in range(2)
        )
        self.mark: Tensor
        self.register_buffer("mark", torch.tensor([MARK]), persistent=False)

    def train(self, mode: bool = True) -> Self:
        """Set the mode of all but the LSTMs: those stay in training mode, for cuDNN's gradients, and use no dropout."""
        super().train(mode)
        for stack in (self.ahead, self.back):
            stack.train(True)
        return self

    def embed(self, chars: Int[Tensor, "word char"]) -> Float[Tensor, "word dim"]:
        """Return the vectors of single words, from what `spell` gives; a vocabulary needs them only once."""
        vectors: Tensor = self.chars(chars)
        return vectors

    def read(
        self, vectors: Float[Tensor, "batch token dim"], turned: Int[Tensor, "batch token"]
    ) -> tuple[Float[Tensor, "batch token both"], Float[Tensor, "batch token both"]]:
        """Return the lower and the upper states of rows; `turned` has each row's positions in reverse."""
        ahead = _stack(self.ahead, vectors)
        back = [_pick(states, turned) for states in _stack(self.back, _pick(vectors, turned))]
        lower, upper = (torch.cat(pair, 2) for pair in zip(ahead, back, strict=True))
        return lower, upper

    def layers(
        self, vectors: Float[Tensor, "batch token dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "layer batch token both"]:
        """Return the three layers of rows whose words are embedded already; zeros behind the end of a row."""
        rows, width, _ = vectors.shape
        mark = self.embed(self.mark).to(vectors.dtype)
        framed = torch.cat([mark.expand(rows, 1, -1), vectors, vectors.new_zeros(rows, 1, self.dim)], 1)
        place = torch.arange(width + 2, device=vectors.device).expand(rows, -1)
        last = lengths.to(vectors.device)[:, None] + 1
        framed = torch.where((place == last)[..., None], mark, framed)
        lower, upper = self.read(framed, torch.where(place <= last, last - place, place))
        out = torch.stack([torch.cat([framed, framed], 2), lower, upper])[:, :, 1:-1]
        return out.masked_fill((place[:, 1:-1] >= last)[..., None], 0.0)

    def forward(
        self, chars: Int[Tensor, "batch token char"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "layer batch token both"]:
        """Return the three layers of rows of spelled words."""
        vectors = self.embed(chars.flatten(0, 1)) if chars.numel() else chars.new_zeros(0, self.dim, dtype=torch.float)
        return self.layers(vectors.view(*chars.shape[:2], self.dim), lengths)


def _pick(
    states: Float[Tensor, "batch token dim"], places: Int[Tensor, "batch token"]
) -> Float[Tensor, "batch token dim"]:
    return states.gather(1, places[..., None].expand(-1, -1, states.shape[2]))


def _stack(layers: nn.ModuleList, vectors: Float[Tensor, "batch token dim"]) -> list[Float[Tensor, "batch token dim"]]:
    """Return the states of each layer, in float32.

    Always in 32 bits: autocast would run cuDNN's LSTM in fp16, whose gradients vanish.
    """
    with torch.autocast(vectors.device.type, enabled=False), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "LSTM with projections")  # oneDNN has none, and says so once
        lower = layers[0](vectors.float())[0]
        return [lower, lower + layers[1](lower)[0]]


class ScalarMix(nn.Module):
    """One vector a word from several layers: gamma times their mean by learned weights."""

    def __init__(self, layers: int = 3) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Float[Tensor, "layer batch token dim"]) -> Float[Tensor, "batch token dim"]:
        shares = self.weights.softmax(0).to(layers.dtype)
        return self.gamma * torch.einsum("l,lbtd->btd", shares, layers)


# --- ElmoWords: word vectors beside words in the light of their neighbours, which a frozen ELMo gives


_AT_ONCE = 4096  # words read at a time


class ElmoWords(nn.Module):
    """Peters et al. 2018, [x; ELMo(x)]: a word's own vector, then the mix of ELMo's layers. Both learn; ELMo itself
    stays, so a word is read from its characters once and remembered.

    Before layers are mixed, every value of each is brought to mean 0 and spread 1, by what training has met: they
    differ in scale by a factor of ten, and what all words share would drown what tells them apart. With `words` 0 a
    word has no vector of its own: the model knows words by their characters alone.

    Give it its words with `open_to` before it reads. Texts have at least one token, and padding behind it.
    """

    table: Float[Tensor, "room dim"]

    def __init__(self, *, vocab: int, words: int, **shape: Any) -> None:
        super().__init__()
        self.words = nn.Embedding(vocab, words, padding_idx=PAD) if words else None
        if self.words is not None:
            with torch.no_grad():
                self.words.weight.normal_(0, 0.3)[PAD] = 0
        self.elmo = Elmo(**shape).requires_grad_(False)
        self.mix = ScalarMix()
        self.spread = nn.BatchNorm1d(3 * 2 * self.elmo.dim, affine=False, momentum=0.05)
        self.register_buffer("table", torch.zeros(0, self.elmo.dim), persistent=False)
        self.vocab: OpenVocab | None = None
        self._known = (0, -1)  # words in the table, and after which forgetting

    def open_to(self, vocab: Vocab) -> OpenVocab:
        """Read the words of `vocab` from now on, and any other that the returned vocabulary meets."""
        self.vocab, self._known = OpenVocab(vocab), (0, -1)
        return self.vocab

    def forward(self, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token dim"]:
        lengths = (ids != PAD).sum(1)
        layers = self.elmo.layers(nn.functional.embedding(ids, self._words()), lengths)
        mixed: Tensor = self.mix(self._even(layers, ids != PAD))
        if self.words is None:
            return mixed
        known = torch.where(ids < self.words.num_embeddings, ids, UNK)
        return torch.cat([self.words(known), mixed], -1)

    def _even(
        self, layers: Float[Tensor, "layer batch token dim"], inside: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "layer batch token dim"]:
        """Standardise each value of the layers over the words of the texts; padding stays zero."""
        words = layers[:, inside].transpose(0, 1).flatten(1)  # [word, layer * dim]
        learn = self.training and len(words) > 1  # one word has no spread
        even = nn.functional.batch_norm(
            words.float(), self.spread.running_mean, self.spread.running_var, training=learn, momentum=0.05
        )
        out = torch.zeros_like(layers)
        out[:, inside] = even.view(len(words), len(layers), -1).transpose(0, 1).to(layers.dtype)
        return out

    def _words(self) -> Float[Tensor, "room dim"]:
        """Return the vectors of all known words, made outside inference mode so that any mode may read them."""
        if (vocab := self.vocab) is None:
            raise VictimError("this model reads characters and has no words yet; call open_to with its vocabulary")
        known = self._known[0] if self._known[1] == vocab.forgotten else 0
        device = self.elmo.mark.device
        if known < len(vocab) or self.table.device != device:
            with torch.inference_mode(False), torch.no_grad(), torch.autocast(device.type, enabled=False):
                room = self.table
                if len(vocab) > len(room):
                    room = torch.zeros(len(vocab) if not known else 2 * len(vocab), self.elmo.dim, device=device)
                    room[:known] = self.table[:known]
                for begin in range(known, len(vocab), _AT_ONCE):
                    words = vocab.words[begin : begin + _AT_ONCE]
                    chars = torch.from_numpy(spell(words)).to(device)
                    room[begin : begin + len(words)] = self.elmo.embed(chars.int())
                self.table = room
            self._known = (len(vocab), vocab.forgotten)
        return self.table
