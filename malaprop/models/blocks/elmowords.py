"""ElmoWords: words in the light of their neighbours, from a frozen ELMo, in the place of a table of word vectors."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from malaprop.core.errors import VictimError
from malaprop.models.blocks.elmo import Elmo, ScalarMix, spell
from malaprop.models.openvocab import OpenVocab
from malaprop.models.vocab import Vocab

_AT_ONCE = 4096  # words read at a time


class ElmoWords(nn.Module):
    """Only the mix of ELMo's layers learns; as ELMo stays, a word is read from its characters once and remembered.

    Layers are normalised before they are mixed, as the paper advises: their scales differ by a factor of ten.

    Give it its words with `open_to` before it reads. Texts have at least one token, and padding behind it.
    """

    table: Float[Tensor, "room dim"]

    def __init__(self, **shape: Any) -> None:
        super().__init__()
        self.elmo = Elmo(**shape).requires_grad_(False)
        self.mix = ScalarMix()
        self.register_buffer("table", torch.zeros(0, self.elmo.dim), persistent=False)
        self.vocab: OpenVocab | None = None
        self._known = (0, -1)  # words in the table, and after which forgetting

    @property
    def dim(self) -> int:
        return 2 * self.elmo.dim

    def open_to(self, vocab: Vocab) -> OpenVocab:
        """The words read from now on: those of `vocab`, and any other that the vocabulary given back meets."""
        self.vocab, self._known = OpenVocab(vocab), (0, -1)
        return self.vocab

    def forward(self, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token dim"]:
        lengths = (ids != 0).sum(1)
        layers = self.elmo.layers(nn.functional.embedding(ids, self._words()), lengths)
        mixed: Tensor = self.mix(nn.functional.layer_norm(layers, (self.dim,)))
        return mixed

    def _words(self) -> Float[Tensor, "room dim"]:
        """The vectors of all known words, made outside inference mode so that any mode may read them."""
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
