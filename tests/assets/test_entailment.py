"""Weights are read out of an ONNX file by the names that torch had for them."""

import struct

import numpy as np
import pytest

from malaprop.assets.entailment import read_weights
from malaprop.core.errors import AssetError

QUERY = "deberta.encoder.layer.0.attention.self.query_proj"
WORDS = "deberta.embeddings.word_embeddings.weight"


def field(number, value):
    if isinstance(value, int):
        return bytes([number << 3, value])
    size, out = len(value), b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + out + bytes([size]) + value


def tensor(name, kind, dims, raw=None, number=None):
    body = b"".join(field(1, n) for n in dims) + field(2, kind) + field(8, name.encode())
    return field(5, body + (field(9, raw) if raw is not None else field(5, bytes([number]))))


def scale(name, steps, zero, kind):
    return tensor(f"{name}_scale", 1, [], struct.pack("<f", steps)) + tensor(
        f"{name}_zero_point", kind, [], number=zero
    )


def product(path, weight):
    node = field(1, b"input") + field(1, weight.encode()) + field(3, path.encode()) + field(4, b"MatMulInteger")
    return field(1, node)


def made():
    graph = tensor(f"m.{QUERY}.bias", 1, [2], struct.pack("<ff", 1, 2))
    graph += tensor("onnx::MatMul_1_quantized", 3, [2, 2], bytes([1, 2, 3, 253])) + scale("onnx::MatMul_1", 0.5, 0, 3)
    graph += tensor(f"m.{WORDS}_quantized", 2, [1, 2], bytes([120, 116])) + scale(f"m.{WORDS}", 2.0, 118, 2)
    graph += product("/m/deberta/encoder/layer.0/attention/self/query_proj/MatMul_quant", "onnx::MatMul_1_quantized")
    return field(7, graph)


def test_matrices_are_found_by_the_products_that_read_them():
    found = read_weights(made())
    assert set(found) == {f"{QUERY}.bias", f"{QUERY}.weight", WORDS}
    assert found[f"{QUERY}.weight"].tolist() == [[0.5, 1.5], [1.0, -1.5]]  # stored transposed
    assert found[WORDS].tolist() == [[4.0, -4.0]]
    assert found[f"{QUERY}.bias"].dtype == np.float32


def test_a_file_of_another_kind_is_refused():
    with pytest.raises(AssetError, match="no graph"):
        read_weights(field(1, b"x"))
    with pytest.raises(AssetError, match="lacks"):
        read_weights(field(7, tensor(f"m.{QUERY}.bias", 1, [1], struct.pack("<f", 1))))
