"""CNNs over words: windows of several widths, the strongest answer of each filter, one linear layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from malaprop.models.inside import Ids, Lengths, Vectors, Weights
from malaprop.models.padded_rows import strongest, within
from malaprop.models.tokens.vocab import PAD
from malaprop.zoo.blocks.classifier import Classifier, fresh_words, no_attention


class WordCNN(nn.Module):
    """The CNN of Kim 2014; the maximum is over windows inside the text, so padding never changes a score.

    A text shorter than the widest window is read as if padding words filled it up. `depth` - 1 layers of three-word
    windows, as wide as the embedding and each added to what it reads, come before the windows that are pooled.
    `embedding` stands in for a table of word vectors.
    """

    attends = False

    def __init__(
        self,
        vocab: int,
        labels: int,
        *,
        dim: int = 100,
        filters: int = 100,
        widths: Sequence[int] = (3, 4, 5),
        depth: int = 1,
        dropout: float = 0.5,
        embedding: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.embedding = fresh_words(vocab, dim) if embedding is None else embedding
        self.below = nn.ModuleList(nn.Conv1d(dim, dim, 3, padding=1) for _ in range(depth - 1))
        self.convs = nn.ModuleList(nn.Conv1d(dim, filters, width) for width in widths)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(filters * len(widths), labels)
        self.least = max(widths)

    def forward(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:
        ids = self._settled(ids, lengths)
        return self.from_vectors(self.embedding(ids), ids, lengths)

    def from_vectors(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:  # noqa: ARG002
        logits: Tensor = self.head(self.dropout(self._pool(vectors, lengths)))
        return logits

    def pooled(self, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        return self._pool(self.embedding(self._settled(ids, lengths)), lengths)

    def states(self, ids: Ids, lengths: Lengths) -> tuple[Vectors, ...]:
        vectors = self.embedding(self._settled(ids, lengths))
        inside = within(lengths, vectors.shape[1])[..., None]
        return tuple(x * inside for x in (vectors, *(x.transpose(1, 2) for x in self._layers(vectors, lengths)[1:])))

    def attention(self, ids: Ids, lengths: Lengths) -> Weights:  # noqa: ARG002
        raise no_attention()

    def _settled(self, ids: Ids, lengths: Lengths) -> Ids:
        ids = functional.pad(ids, (0, max(0, self.least - ids.shape[1])))
        return ids * within(lengths, ids.shape[1])

    def _layers(self, vectors: Vectors, lengths: Lengths) -> list[Float[Tensor, "batch dim token"]]:
        inside = within(lengths, vectors.shape[1])[:, None]
        out = [self.dropout(vectors).transpose(1, 2) * inside]
        for layer in self.below:
            out.append((out[-1] + functional.relu(layer(out[-1]))) * inside)
        return out

    def _pool(self, vectors: Vectors, lengths: Lengths) -> Float[Tensor, "batch dim"]:
        vectors = functional.pad(vectors, (0, 0, 0, max(0, self.least - vectors.shape[1])))
        x = self._layers(vectors, lengths)[-1]
        ends = lengths.clamp(min=self.least)
        return functional.relu(torch.cat([strongest(conv, x, ends) for conv in self.convs], 1))


# --- Kim's CNN for sentences, with one channel of word vectors or two


class Channels(nn.Module):
    """Two channels of word vectors: one that is trained, and one that stays as it is.

    A filter that reads both channels and adds its answers reads their sum, so the sum is all that is needed.
    """

    fixed: Float[Tensor, "vocab dim"]

    def __init__(self, vocab: int, dim: int) -> None:
        super().__init__()
        self.tuned = fresh_words(vocab, dim)
        self.register_buffer("fixed", self.tuned.weight.detach().clone())

    @torch.no_grad()
    def start(self, vectors: Float[Tensor, "vocab dim"]) -> None:
        """Set both channels to these vectors."""
        self.tuned.weight.copy_(vectors)[PAD] = 0
        self.fixed.copy_(self.tuned.weight)

    def table(self) -> Float[Tensor, "vocab dim"]:
        return self.tuned.weight + self.fixed

    def forward(self, ids: Ids) -> Vectors:
        both: Tensor = self.tuned(ids) + functional.embedding(ids, self.fixed)
        return both


class Limited(nn.Module):
    """A linear layer whose weights for each label are at most `norm` long."""

    def __init__(self, dim: int, labels: int, norm: float) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, labels)
        self.norm = norm

    def weight(self) -> Float[Tensor, "label dim"]:
        free = self.linear.weight
        long: Tensor = torch.linalg.vector_norm(free, dim=1, keepdim=True)
        return free * (self.norm / long).clamp(max=1)

    def forward(self, x: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch label"]:
        return functional.linear(x, self.weight(), self.linear.bias)


class Windows(nn.Module):
    """Filters of several widths; the maximum of each stands for the text."""

    def __init__(self, dim: int, filters: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv1d(dim, filters, width) for width in widths)
        self.filters, self.widths = filters, tuple(widths)

    def layers(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> list[Vectors]:  # noqa: ARG002
        """Return the answers of the windows that begin at each token."""
        x = functional.pad(self._read(vectors, lengths), (0, max(self.widths) - 1))
        answers = [functional.relu(conv(x))[..., : vectors.shape[1]] for conv in self.convs]
        return [torch.cat(answers, 1).transpose(1, 2)]

    def pool(self, vectors: Vectors, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch filters"]:  # noqa: ARG002
        least = max(self.widths)
        x = self._read(vectors, lengths)
        x = functional.pad(x, (0, max(0, least - x.shape[2])))
        return torch.cat([strongest(conv, x, lengths.clamp(min=least)) for conv in self.convs], 1).relu()

    @staticmethod
    def _read(vectors: Vectors, lengths: Lengths) -> Float[Tensor, "batch dim token"]:
        return (vectors * within(lengths, vectors.shape[1])[..., None]).transpose(1, 2)


def kim_cnn(
    vocab: int,
    labels: int,
    *,
    dim: int = 100,
    filters: int = 100,
    widths: Sequence[int] = (3, 4, 5),
    channels: int = 1,
    norm: float = 3.0,
    dropout: float = 0.5,
) -> Classifier:
    """Build the CNN of Kim 2014, sections 2 and 3.1: CNN-non-static with one channel, CNN-multichannel with two.

    Differs: AdamW, not Adadelta; the length of a label's weights is limited in the forward pass, not after each step;
    the maximum is over windows within the text, and a text shorter than the widest window is filled up with padding;
    GloVe, where the paper has word2vec.
    """
    embedding = Channels(vocab, dim) if channels > 1 else fresh_words(vocab, dim)
    head = Limited(filters * len(widths), labels, norm)
    return Classifier(embedding, Windows(dim, filters, widths), head, dropout=dropout, empty=PAD)


@torch.no_grad()
def folded(model: Classifier) -> WordCNN:
    """Return a plain word CNN that answers as `kim_cnn` does in evaluation mode, for scorers of such a CNN."""
    embedding, encoder, head = model.embedding, model.encoder, model.head
    assert isinstance(encoder, Windows)
    assert isinstance(head, Limited)
    table = embedding.table() if isinstance(embedding, Channels) else embedding.get_parameter("weight")
    (vocab, dim), labels = table.shape, head.linear.out_features
    plain = WordCNN(vocab, labels, dim=dim, filters=encoder.filters, widths=encoder.widths).to(table.device)
    plain.embedding.get_parameter("weight").copy_(table)
    plain.convs.load_state_dict(encoder.convs.state_dict())
    plain.head.weight.copy_(head.weight())
    plain.head.bias.copy_(head.linear.bias)
    return plain.eval()
