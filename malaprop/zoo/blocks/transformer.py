"""A transformers classifier as a network of the zoo: ids and lengths in, logits out."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from malaprop.models.padded_rows import within
from malaprop.models.scorers.plain import attended, second_segment


class TransformerClassifier(nn.Module):
    """`separator` is the token behind which the second segment begins; None: the model knows no segments."""

    def __init__(self, model: Any, separator: int | None = None) -> None:
        super().__init__()
        self.model = model
        self.separator = separator

    @property
    def embedding(self) -> nn.Module:
        """The table of its pieces, before places and segments are added."""
        table: nn.Module = self.model.get_input_embeddings()
        return table

    def forward(self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
        return attended(self.model, separator=self.separator)(ids, lengths)

    def from_vectors(
        self, vectors: Float[Tensor, "batch token dim"], ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch label"]:
        """As `blocks.offers.Shows` says."""
        inside = within(lengths, ids.shape[1]).long()
        more = {} if self.separator is None else {"token_type_ids": second_segment(ids, self.separator) * inside}
        logits: Tensor = self.model(inputs_embeds=vectors, attention_mask=inside, **more).logits
        return logits

    def states(
        self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch token dim"], ...]:
        """As `blocks.offers.Shows` says; with places and segments in the first."""
        inside = within(lengths, ids.shape[1]).long()
        more = {} if self.separator is None else {"token_type_ids": second_segment(ids, self.separator) * inside}
        found = self.model(input_ids=ids, attention_mask=inside, output_hidden_states=True, **more)
        return tuple(state * inside[..., None] for state in found.hidden_states)
