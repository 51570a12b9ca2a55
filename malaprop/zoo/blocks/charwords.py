"""CharWords: vectors of words from their characters, in the place of a table; and CharCNN-LSTM, which reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError, VictimError
from malaprop.models.inside import Ids, Lengths, Vectors
from malaprop.models.padded_rows import last, strongest
from malaprop.models.tokens.vocab import BETWEEN, NOTHING, OTHER, PAD, UNK, OpenVocab, Vocab
from malaprop.zoo.blocks.classifier import Classifier

_AT_ONCE = 1024  # words composed at a time where no gradient is wanted


class Highway(nn.Module):
    """Srivastava et al. 2015: a share of each value is carried on unchanged; at first most of it."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.both = nn.Linear(dim, 2 * dim)
        with torch.no_grad():
            self.both.bias[dim:] = -2.0  # as Kim et al. 2016 start the gate

    def forward(self, x: Float[Tensor, "word dim"]) -> Float[Tensor, "word dim"]:
        new, gate = self.both(x).chunk(2, -1)
        gate = gate.sigmoid()
        mixed: Tensor = gate * functional.relu(new) + (1 - gate) * x
        return mixed


class _Kept(NamedTuple):
    """Vectors of the words met so far; rows where `there` is false mean nothing."""

    vectors: Float[Tensor, "room dim"]
    there: Bool[Tensor, " room"]
    stamp: tuple[object, ...]  # what the vectors were made from


class CharWords(nn.Module):
    """Kim et al. 2016: filters over a word's characters, the strongest answer of each, highways, and if `dim` is given
    one linear layer to that size.

    Windows beyond a word count for nothing, so its vector is its own. Padding is the zero vector. In training a share
    `blanks` of the words is read as the unknown word, and of the characters as one that the alphabet lacks, so that
    both come to mean something. Without gradients and in evaluation mode a word is composed once and remembered, as
    long as the weights stay. Give it its words with `open_to` before it reads.
    """

    chars: Int[Tensor, "room char"]

    def __init__(  # noqa: PLR0913 - users set them by name
        self,
        *,
        dim: int | None = 100,
        char_dim: int = 25,
        widths: Sequence[int] = (2, 3, 4),
        filters: int = 100,
        highways: int = 1,
        symbols: int = 128,
        most: int = 24,
        blanks: float = 0.02,
        cased: bool = False,
    ) -> None:
        super().__init__()
        self.cased = cased
        inner = filters * len(widths)
        if max(widths) > most:
            raise SettingError(f"CharWords.widths must not pass most={most}, got {max(widths)}")
        self.dim, self.symbols, self.most, self.blanks = dim or inner, symbols, most, blanks
        self.embedding = nn.Embedding(symbols, char_dim, padding_idx=NOTHING)
        self.convs = nn.ModuleList(nn.Conv1d(char_dim, filters, width) for width in widths)
        self.highways = nn.ModuleList(Highway(inner) for _ in range(highways))
        self.last = nn.Linear(inner, dim) if dim else nn.Identity()
        self.least = max(widths)
        self.register_buffer("chars", torch.zeros(0, most, dtype=torch.int16), persistent=False)
        self.vocab: OpenVocab | None = None
        self._spelled = (0, -1)  # words spelled in `chars`, and after which forgetting
        self._kept: _Kept | None = None

    def train(self, mode: bool = True) -> Self:
        """Set the mode; training drops the composed vectors, which a fused optimiser would leave stale."""
        if mode:
            self._kept = None
        return super().train(mode)

    def open_to(self, vocab: Vocab) -> OpenVocab:
        """Read the words of `vocab` from now on, and any other that the returned vocabulary meets."""
        self.vocab = OpenVocab(vocab, symbols=self.symbols, most=self.most, cased=self.cased)
        self._spelled, self._kept = (0, -1), None
        return self.vocab

    def extend(self, words: Sequence[str]) -> Int[Tensor, " word"]:
        """Return the numbers of these tokens, new ones for those not met before."""
        vocab = self._words()
        return torch.tensor([vocab.number(word) for word in words], dtype=torch.int64, device=self.chars.device)

    def forward(self, ids: Int[Tensor, " *batch"]) -> Float[Tensor, "*batch dim"]:
        if self.training or torch.is_grad_enabled():
            signs, place = self.distinct(ids)
            return self.compose(self.embedding(signs), signs)[place]
        return functional.embedding(ids, self._remembered(ids))

    def distinct(self, ids: Int[Tensor, " *batch"]) -> tuple[Int[Tensor, "word char"], Int[Tensor, " *batch"]]:
        """Return each distinct word's signs, in training with blanks, and for each place which of them stands there."""
        words, place = self._blanked(ids, PAD, UNK).unique(return_inverse=True)  # type: ignore[no-untyped-call]
        return self._read(words), place

    def table(self) -> Float[Tensor, "known dim"]:
        """Return the vectors of all known words; row 0, padding, is zero."""
        everything = torch.arange(len(self._words()), device=self.chars.device)
        if torch.is_grad_enabled():
            return self._vectors(everything)
        return self._remembered(everything)[: len(everything)]

    def signs(self, ids: Int[Tensor, " *batch"]) -> Int[Tensor, "*batch char"]:
        """Return the signs of words, as `OpenVocab.spell` gives them; 0 beyond their end."""
        self._words()
        return self.chars[ids].long()

    def char_embeddings(self, ids: Int[Tensor, " *batch"]) -> Float[Tensor, "*batch char char_dim"]:
        """Return a vector for each character of each word; `compose` turns them into word vectors.

        With d the gradient of a loss to these, d @ embedding.weight.T is its gradient to the characters as one-hots.
        """
        embedded: Tensor = self.embedding(self.signs(ids))
        return embedded

    def compose(
        self, embedded: Float[Tensor, "*batch char char_dim"], signs: Int[Tensor, "*batch char"]
    ) -> Float[Tensor, "*batch dim"]:
        """Return word vectors from character vectors; `signs` says where words end."""
        shape = signs.shape[:-1]
        embedded, inside = embedded.flatten(0, -3), (signs.flatten(0, -2) != NOTHING)
        ends = inside.sum(1).clamp(min=self.least)
        x = (embedded * inside[..., None]).transpose(1, 2)
        vectors = self.finished(torch.cat([strongest(conv, x, ends) for conv in self.convs], 1)) * inside[:, :1]
        return vectors.reshape(*shape, self.dim)

    def finished(self, strongest: Float[Tensor, "*batch filter"]) -> Float[Tensor, "*batch dim"]:
        """Return word vectors from the maxima of the filters."""
        x = strongest.tanh()
        for highway in self.highways:
            x = highway(x)
        vectors: Tensor = self.last(x)
        return vectors

    def _vectors(self, words: Int[Tensor, " word"]) -> Float[Tensor, "word dim"]:
        """Compose the vectors of these words from their characters."""
        signs = self._read(words)
        return self.compose(self.embedding(signs), signs)

    def _read(self, words: Int[Tensor, " word"]) -> Int[Tensor, "word char"]:
        """Return the signs of words without the columns that none of them reaches, which would change nothing."""
        signs = self.signs(words)
        reached = int((signs != NOTHING).any(0).sum()) if len(words) else 0
        return self._blanked(signs[:, : max(self.least, reached)], BETWEEN, OTHER)

    def _blanked(self, ids: Int[Tensor, " *batch"], last: int, blank: int) -> Int[Tensor, " *batch"]:
        """Replace some of the numbers above `last` by `blank` in training."""
        if not self.training or not self.blanks:
            return ids
        drawn = torch.rand(ids.shape, device=ids.device) < self.blanks
        return torch.where(drawn & (ids > last), blank, ids)

    def _words(self) -> OpenVocab:
        """Return the vocabulary, after spelling all its words in `chars`."""
        if (vocab := self.vocab) is None:
            raise VictimError("this model reads characters and has no words yet; call open_to with its vocabulary")
        known, age = self._spelled
        if age != vocab.forgotten:
            known, self._kept = 0, None
        if known < len(vocab):
            with torch.inference_mode(False):
                fresh = torch.from_numpy(vocab.spelled(known)).to(self.chars.device)
                if len(vocab) > len(self.chars):
                    room = self.chars.new_zeros(len(vocab) if not known else 2 * len(vocab), self.most)
                    room[:known] = self.chars[:known]
                    self.chars = room
                self.chars[known : len(vocab)] = fresh
            self._spelled = (len(vocab), vocab.forgotten)
        return vocab

    def _remembered(self, ids: Int[Tensor, " *batch"]) -> Float[Tensor, "room dim"]:
        """Return vectors by number, of these words at least, made so that inference mode or not may read them."""
        self._words()
        with torch.inference_mode(False), torch.no_grad():
            kept = self._room()
            missing = ids[~kept.there[ids]].clone()
            if len(missing):
                for words in missing.unique().split(_AT_ONCE):  # type: ignore[no-untyped-call]
                    kept.vectors[words] = self._vectors(words)
                    kept.there[words] = True
            return kept.vectors

    def _room(self) -> _Kept:
        """Return the kept vectors, with a row for every known word; empty where the weights changed."""
        weights = list(self.parameters())
        stamp = tuple((w.data_ptr(), w.device, w.dtype, 0 if w.is_inference() else w._version) for w in weights)
        old, rows = self._kept, len(self.chars)
        if old is None or old.stamp != stamp or len(old.vectors) != rows:
            vectors = weights[0].new_zeros(rows, self.dim)
            there = torch.zeros(rows, dtype=torch.bool, device=vectors.device)
            if old is not None and old.stamp == stamp:
                many = min(rows, len(old.vectors))
                vectors[:many], there[:many] = old.vectors[:many], old.there[:many]
            self._kept = _Kept(vectors, there, stamp)
        assert self._kept is not None
        return self._kept


# --- CharCNN-LSTM: words read by their characters, then a stacked LSTM


class Stacked(nn.Module):
    """LSTM layers in one direction; the last state stands for the text."""

    def __init__(self, dim: int, hidden: int, depth: int, dropout: float) -> None:
        super().__init__()
        sizes = [dim] + [hidden] * (depth - 1)
        self.lstms = nn.ModuleList(nn.LSTM(size, hidden, batch_first=True) for size in sizes)
        self.dropout = nn.Dropout(dropout)
        with torch.no_grad():  # they begin by keeping what they read, or the first words never reach the last state
            for layer in self.lstms:
                layer.get_parameter("bias_hh_l0")[hidden : 2 * hidden] = 1
                layer.get_parameter("bias_ih_l0")[hidden : 2 * hidden] = 0

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:  # noqa: ARG002
        """Return the states of each layer, in 32 bits: in autocast's fp16 the gradients of LSTMs vanish.

        Nothing is packed: a state knows only what came before it, and packing waits for the device.
        """
        out: list[Vectors] = []
        with torch.autocast(vectors.device.type, enabled=False):
            for layer in self.lstms:
                out.append(layer(self.dropout(out[-1] if out else vectors.float()))[0])
        return out

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        return last(self.layers(vectors, ids, lengths)[-1], lengths)


def charcnn_lstm(  # noqa: PLR0913 - users set them by name
    vocab: int,  # noqa: ARG001  # the words come with `CharWords.open_to`
    labels: int,
    *,
    char_dim: int = 25,
    filters: int = 1000,
    width: int = 6,
    highways: int = 1,
    hidden: int = 500,
    depth: int = 2,
    symbols: int = 128,
    most: int = 24,
    blanks: float = 0.02,
    dropout: float = 0.3,
    cased: bool = False,
) -> Classifier:
    """Build the model of HotFlip (Ebrahimi et al. 2018), section 4, on the architecture of Kim et al. 2016.

    Characters of 25 numbers, 1000 kernels of width 6, highways, two LSTM layers of 500 units, and one linear layer on
    the last state. Differs: words are lower-cased unless `cased`, and cut after `most` - 2 characters, and the paper is
    silent on dropout and on how many highways there are.
    """
    words = CharWords(
        dim=None,
        char_dim=char_dim,
        widths=(width,),
        filters=filters,
        highways=highways,
        symbols=symbols,
        most=most,
        blanks=blanks,
        cased=cased,
    )
    return Classifier(words, Stacked(filters, hidden, depth, dropout), nn.Linear(hidden, labels), dropout=dropout)
