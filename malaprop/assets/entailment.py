"""The asset `entailment`: a small DeBERTa that reads a premise and a hypothesis, out of a package's int8 ONNX file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malaprop.assets.archives import Members
from malaprop.assets.sentencepieces import fields
from malaprop.core.errors import AssetError

_MODEL, _TOKENIZER = "policy_nli_int8.onnx", "policy_nli_tokenizer/tokenizer.json"
_NODE, _INITIALIZER, _GRAPH = 1, 5, 7  # numbers of fields in onnx.proto
_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<f4"), 2: np.dtype("u1"), 3: np.dtype("i1"), 7: np.dtype("<i8")}
_ROOT = "m."  # before the name of each weight
_WORDS = "deberta.embeddings.word_embeddings.weight"
_TWICE = ("deberta.encoder.layer.0.attention.self.query_proj.weight", _WORDS)  # weights that have to be there

CONFIG = {
    "architectures": ["DebertaV2Model"],
    "model_type": "deberta-v2",
    "hidden_act": "gelu",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "num_attention_heads": 6,
    "num_hidden_layers": 12,
    "vocab_size": 128100,
    "max_position_embeddings": 512,
    "type_vocab_size": 0,
    "layer_norm_eps": 1e-7,
    "max_relative_positions": -1,
    "norm_rel_ebd": "layer_norm",
    "pad_token_id": 0,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "position_buckets": 256,
    "relative_attention": True,
    "share_att_key": True,
}  # of DeBERTa-v3-xsmall (He et al. 2023)


def convert(found: Members, out: Path) -> None:
    """Write a model folder that transformers can load: weights in 16 bits without the head, and the tokenizer."""
    from safetensors.numpy import save_file

    for name in (_MODEL, _TOKENIZER):
        if name not in found:
            raise AssetError(f"the archive holds no {name}; see what the package index serves")
    with found[_MODEL]() as stream:
        weights = read_weights(stream.read())
    body = {
        name.removeprefix("deberta."): np.ascontiguousarray(rows, np.float16)
        for name, rows in weights.items()
        if name.startswith("deberta.")
    }
    save_file(body, out / "model.safetensors", {"format": "pt"})
    with found[_TOKENIZER]() as stream:
        tokenizer = json.load(stream)
    tokenizer |= {"truncation": None, "padding": None}  # the package pads every pair to 160 tokens
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    (out / "config.json").write_text(json.dumps(CONFIG, indent=1), encoding="utf-8")


def read_weights(raw: bytes) -> dict[str, NDArray[np.float32]]:
    """Return the weights of an ONNX file by the names that torch had for them, quantised ones as numbers again.

    Vectors keep their names in the file. A matrix is found by the product that reads it, which lies on the path of its
    layer; it is stored transposed.
    """
    graph = next((value for number, value in fields(raw) if number == _GRAPH), None)
    if not isinstance(graph, bytes):
        raise AssetError("the ONNX file holds no graph; see what the package index serves")
    tensors: dict[str, NDArray[Any]] = {}
    products: list[tuple[str, list[str]]] = []
    for number, value in fields(graph):
        if number == _INITIALIZER and isinstance(value, bytes):
            tensors.update(_read_tensor(value))
        elif number == _NODE and isinstance(value, bytes):
            products += _read_product(value)
    plain = {name.removeprefix(_ROOT): rows for name, rows in tensors.items() if _is_plain(name)}
    plain[_WORDS] = _restore(tensors, f"{_ROOT}{_WORDS}_quantized")
    for name, inputs in products:
        for one in inputs:
            if one.endswith("_quantized") and one in tensors and tensors[one].ndim == 2:
                plain.setdefault(name, _restore(tensors, one).T)
    if missing := [name for name in _TWICE if name not in plain]:
        raise AssetError(f"the ONNX file lacks {missing[0]}; see what the package index serves")
    return plain


def _is_plain(name: str) -> bool:
    return name.startswith(_ROOT) and not name.endswith(("_quantized", "_scale", "_zero_point"))


def _restore(tensors: dict[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    base = name.removesuffix("_quantized")
    try:
        steps = tensors[name].astype(np.float32) - tensors[f"{base}_zero_point"].astype(np.float32)
        return np.asarray(steps * tensors[f"{base}_scale"].astype(np.float32), np.float32)
    except KeyError as error:
        raise AssetError(f"the ONNX file lacks {error}; see what the package index serves") from None


def _read_tensor(raw: bytes) -> Iterator[tuple[str, NDArray[Any]]]:
    dims: list[int] = []
    small: list[int] = []  # a single number may stand as such in place of raw bytes
    found: dict[int, int | bytes] = {}
    for number, value in fields(raw):
        if number in (1, 5) and isinstance(value, int):
            (dims if number == 1 else small).append(value)
        else:
            found[number] = value
    kind, name, data = found.get(2), found.get(8), found.get(9, found.get(4, found.get(5, b"")))
    if isinstance(kind, int) and isinstance(name, bytes) and isinstance(data, bytes) and kind in _TYPES:
        if 5 in found and not small:
            small = list(data) if max(data) < 128 else []  # packed varints, here of one byte
        rows = np.asarray(small, _TYPES[kind]) if small else np.frombuffer(data, _TYPES[kind])
        if rows.size == np.prod(dims, dtype=int):
            yield name.decode("utf-8"), rows.reshape(dims)


def _read_product(raw: bytes) -> Iterator[tuple[str, list[str]]]:
    """Yield the weight's name and the inputs of a product of matrices: /m/deberta/encoder/layer.0/.../MatMul_quant."""
    inputs: list[str] = []
    name = kind = ""
    for number, value in fields(raw):
        if isinstance(value, bytes) and number in (1, 3, 4):
            text = value.decode("utf-8")
            inputs += [text] if number == 1 else []
            name, kind = (text if number == 3 else name), (text if number == 4 else kind)
    if kind == "MatMulInteger":
        path = name.partition("/MatMul")[0].partition("/Gemm")[0].strip("/").replace("/", ".")
        yield f"{path.removeprefix(_ROOT)}.weight", inputs
