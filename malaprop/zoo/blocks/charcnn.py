"""CharCNN-LSTM: words read by their characters, then a stacked LSTM."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from malaprop.models.inside import Ids, Lengths, Vectors
from malaprop.models.padded_rows import last
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.blocks.classifier import Classifier


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
) -> Classifier:
    """Build the model of HotFlip (Ebrahimi et al. 2018), section 4, on the architecture of Kim et al. 2016.

    Characters of 25 numbers, 1000 kernels of width 6, highways, two LSTM layers of 500 units, and one linear layer on
    the last state. Differs: words are lower-cased and cut after `most` - 2 characters, and the paper is silent on
    dropout and on how many highways there are.
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
    )
    return Classifier(words, Stacked(filters, hidden, depth, dropout), nn.Linear(hidden, labels), dropout=dropout)
