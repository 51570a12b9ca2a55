"""ElmoWords: word vectors beside words in the light of their neighbours, which a frozen ELMo gives."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from malaprop.core.errors import VictimError
from malaprop.models.tokens.vocab import PAD, UNK, OpenVocab, Vocab
from malaprop.zoo.blocks.elmo import Elmo, ScalarMix, spell

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
