"""Training with a second aim: less of the words in what the model makes of them (InfoBERT), and texts weighed by how
far a shift towards them would hurt (DSRM).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import SettingError
from malaprop.models.embeddings import last_linear
from malaprop.models.padded_rows import fill_empty_rows, within
from malaprop.training.splits import Splits
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks

_WIDTH = 64  # of the common space in which vectors of different layers are compared
_PAIRS = 256  # tokens of a batch that are compared with one another
_SEED = 20_2010  # of the projections, which are the same for every model and step


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoBert:
    """InfoBERT (Wang et al. 2021): what a layer says of single words is held down, of the whole text is kept.

    Added to the loss: `bottleneck` times an upper bound on what the last layer's vector of a token shares with the
    word's own vector, and `anchor` times how badly a text is told from the others of the batch by its words (the
    contrast of local and global features). Differs: vectors are compared by the cosine after a fixed random projection,
    so that models of any widths can be trained; local features are all words, not those of middling gradients.
    """

    bottleneck: float = 0.05
    anchor: float = 0.05
    heat: float = 0.1

    def __post_init__(self) -> None:
        if min(self.bottleneck, self.anchor) < 0 or self.bottleneck + self.anchor <= 0 or self.heat <= 0:
            raise SettingError(
                f"infobert needs bottleneck and anchor >= 0, one of them above, and heat > 0, got {self}"
            )

    def __str__(self) -> str:
        return f"information bottleneck {self.bottleneck:g} and anchored features {self.anchor:g} (InfoBERT)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:  # noqa: ARG002
        return Hooks(loss=self.loss)

    def loss(self, model: Any, batch: Batch) -> Float[Tensor, ""]:
        ids, lengths = fill_empty_rows(batch.ids, batch.lengths)
        states = model.states(ids, lengths)
        width = min(ids.shape[1], *(state.shape[1] for state in (states[0], states[-1])))
        first, last = (_project(state[:, :width]) for state in (states[0], states[-1]))
        inside = within(lengths, width)
        given: Tensor = functional.cross_entropy(model(ids, lengths).float(), batch.labels)
        shared = self._shared(first[inside][:_PAIRS], last[inside][:_PAIRS])
        return given + self.bottleneck * shared + self.anchor * self._apart(first, last, inside)

    def _shared(self, words: Float[Tensor, "token dim"], made: Float[Tensor, "token dim"]) -> Float[Tensor, ""]:
        """Return how much nearer token vectors are to their own word than to others: a bound like that of CLUB."""
        near = made @ words.T
        many = len(near)
        others = (near.sum() - near.diagonal().sum()) / max(1, many * (many - 1))
        return (near.diagonal().mean() - others) / self.heat

    def _apart(self, words: Tensor, made: Tensor, inside: Tensor) -> Float[Tensor, ""]:
        """Return the InfoNCE loss of matching each text with its own words among those of the batch."""
        share = inside[..., None] / inside.sum(1)[:, None, None]
        local, whole = ((part * share).sum(1) for part in (words, made))
        near = functional.normalize(whole, dim=1) @ functional.normalize(local, dim=1).T / self.heat
        return functional.cross_entropy(near, torch.arange(len(near), device=near.device))


def _project(vectors: Float[Tensor, "batch token dim"]) -> Float[Tensor, "batch token width"]:
    """Project vectors into the common space, each scaled to length one."""
    generator = torch.Generator().manual_seed(_SEED + vectors.shape[-1])
    turn = torch.randn(vectors.shape[-1], _WIDTH, generator=generator).to(vectors.device)
    return functional.normalize(vectors.float() @ turn, dim=-1)


def _last_layer(model: Any) -> nn.Module | None:
    """Return the layer that gives the labels' scores; None where it reads token by token."""
    if hasattr(model, "head"):
        head: nn.Module = model.head
        return head
    return last_linear(model.model)


@contextmanager
def _reading(layer: nn.Module | None) -> Iterator[list[Tensor]]:
    """Yield a list that receives the inputs of a layer while the context lasts."""
    read: list[Tensor] = []
    if layer is None:
        yield read
        return
    hook = layer.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    try:
        yield read
    finally:
        hook.remove()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dsrm:
    """Distribution shift risk minimisation (Gao et al. 2023): texts whose being rarer would hurt the others weigh less.

    One half of a batch stands for texts to come. A step on each text of the other half helps or harms these; where it
    harms, a shift of the data towards it raises the risk, and the model must be ready for it: it weighs more, by at
    most `shift`. Then the halves change places. Differs: gradients are those of the classifier's last layer, which
    makes the weights one product of matrices in place of a second pass.
    """

    shift: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.shift <= 1:
            raise SettingError(f"dsrm needs a shift above 0 and at most 1, got {self.shift}")

    def __str__(self) -> str:
        return f"texts weighed by the risk of a shift towards them, at most {self.shift:g} (DSRM)"

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:  # noqa: ARG002
        return Hooks(loss=self.loss)

    def loss(self, model: Any, batch: Batch) -> Float[Tensor, ""]:
        ids, lengths = fill_empty_rows(batch.ids, batch.lengths)
        with _reading(_last_layer(model)) as read:
            logits = model(ids, lengths).float()
        pooled = read[-1] if read else torch.ones_like(logits[:, :1])
        each = functional.cross_entropy(logits, batch.labels, reduction="none")
        return (each * self.weigh(logits.detach(), pooled.detach().float(), batch.labels)).mean()

    def weigh(self, logits: Tensor, pooled: Tensor, labels: Tensor) -> Float[Tensor, " batch"]:
        """Return the weights of the texts, of mean one: higher where a step on a text harms those of the other half."""
        off = logits.softmax(1) - functional.one_hot(labels, logits.shape[1])
        agree = (off @ off.T) * (pooled @ pooled.T)  # of gradients to the last layer's weights
        half = torch.arange(len(labels), device=labels.device) % 2
        other = half[:, None] != half[None]
        towards = (agree * other).sum(1) / other.sum(1).clamp(min=1)
        most = towards.abs().max().clamp(min=1e-12)
        weights = 1 - self.shift * towards / most
        return weights / weights.mean()
