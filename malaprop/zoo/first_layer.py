"""The first layer of a Transformer of the zoo, as matrices."""

from __future__ import annotations

from malaprop.models.inside.firstlayer import FirstLayer, _split
from malaprop.zoo.blocks.selfattention import EncoderLayer, SelfAttention


def of_encoder(encoder: SelfAttention) -> FirstLayer:
    """Of a Transformer of the zoo."""
    layer = encoder.stack[0]
    assert isinstance(layer, EncoderLayer)
    query, key, _ = layer.mixed.weight.chunk(3)
    return _split(query, key, layer.mixed.bias.chunk(3)[0], layer.heads)
