"""Tiny ONNX files, written byte by byte: no library that writes them is needed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "film", "good", "bad", "fine", "dull", "no", "."]
WEIGHTS = np.zeros((len(WORDS), 2), np.float32)
WEIGHTS[WORDS.index("good")] = WEIGHTS[WORDS.index("fine")] = [-1.0, 1.0]
WEIGHTS[WORDS.index("bad")] = WEIGHTS[WORDS.index("dull")] = [1.5, -1.5]
_INT, _FLOAT, _INT64 = 2, 1, 7  # kinds: attribute, element types


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _tensor(name: str, array: np.ndarray, outside: str = "") -> bytes:
    dims = b"".join(_field(1, size) for size in array.shape)
    kind = _FLOAT if array.dtype == np.float32 else _INT64
    whole = dims + _field(2, kind) + _field(8, name)
    if outside:
        return whole + _field(13, _field(1, "location") + _field(2, outside)) + _field(14, 1)
    return whole + _field(9, array.tobytes())


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(_field(1, _field(1, s) if isinstance(s, int) else _field(2, s)) for s in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims)))


def _node(op: str, inputs: Sequence[str], output: str, **whole: int) -> bytes:
    ends = b"".join(_field(1, name) for name in inputs) + _field(2, output)
    marks = b"".join(_field(5, _field(1, name) + _field(3, value) + _field(20, _INT)) for name, value in whole.items())
    return ends + _field(4, op) + marks


def write_onnx(
    path: Path,
    *,
    inputs: Mapping[str, Sequence[int | str]] | None = None,
    output: str = "logits",
    kind: str = "plain",
    weights: np.ndarray = WEIGHTS,
    places: int = 0,
    mask: int = _INT64,
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """A bag of words: the sum of its words' weights over what the mask leaves.

    `kind`: `probabilities` ends in a softmax, `leaky` lets every text lower its neighbours' answers, `stuck` works for
    two rows alone, `outside` keeps its weights in another file, `tokens` scores every token, as a tagger does. With
    `places` it looks so many places up in a table, and fails at longer texts.
    """
    shapes = inputs or {"input_ids": ("batch", "length"), "attention_mask": ("batch", "length")}
    ids = next(iter(shapes))
    last = "sum" if kind in ("probabilities", "leaky", "stuck") else output
    nodes = [_node("Gather", ["weights", ids], "words")]
    if "attention_mask" in shapes:
        nodes += [
            _node("Cast", ["attention_mask"], "inside", to=_FLOAT),
            _node("Unsqueeze", ["inside", "two"], "wide"),
            _node("Mul", ["words", "wide"], "kept"),
        ]
    rest = "kept" if "attention_mask" in shapes else "words"
    if places:
        nodes += [
            _node("Cast", ["attention_mask"], "counted", to=_INT64),
            _node("CumSum", ["counted", "axis"], "place"),
            _node("Gather", ["places", "place"], "shift"),
            _node("Add", [rest, "shift"], "placed"),
        ]
        rest = "placed"
    if kind == "tokens":
        nodes.append(_node("Identity", [rest], output))
    else:
        nodes.append(_node("ReduceSum", [rest, "one"], last, keepdims=0))
    if kind == "probabilities":
        nodes.append(_node("Softmax", ["sum"], output, axis=1))
    if kind == "leaky":
        nodes += [_node("ReduceMax", ["sum"], "top", keepdims=0), _node("Mul", ["sum", "top"], output)]
    if kind == "stuck":
        nodes.append(_node("Reshape", ["sum", "shape"], output))
    held = [
        _tensor("weights", weights, "weights.data" if kind == "outside" else ""),
        _tensor("places", np.zeros((places + 1, 2), np.float32)),
        _tensor("axis", np.asarray(1)),
        _tensor("one", np.asarray([1])),
        _tensor("two", np.asarray([2])),
        _tensor("shape", np.asarray([2, 2])),
    ]
    graph = (
        b"".join(_field(1, node) for node in nodes)
        + _field(2, "tiny")
        + b"".join(_field(5, tensor) for tensor in held)
        + b"".join(
            _field(11, _value(name, mask if name == "attention_mask" else _INT64, shape))
            for name, shape in shapes.items()
        )
        + _field(12, _value(output, _FLOAT, ("batch", "length", 2) if kind == "tokens" else ("batch", 2)))
    )
    told = b"".join(_field(14, _field(1, key) + _field(2, value)) for key, value in (metadata or {}).items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_field(1, 8) + _field(8, _field(1, "") + _field(2, 17)) + _field(7, graph) + told)
    return path


def write_tokenizer(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_config(folder: Path, **more: object) -> None:
    (folder / "config.json").write_text(json.dumps({"id2label": {"0": "negative", "1": "positive"}, **more}))
