"""ONNX classifiers, run by onnxruntime, with the tokenizer that lies beside the file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.score import Floats
from malaprop.core.text import Ints
from malaprop.models.scorers.plain import second_segment
from malaprop.models.tokens.joins import best_join
from malaprop.models.tokens.pieces import at_breaks
from malaprop.models.tokens.wordpieces import WordPieces
from malaprop.models.victims.labelsets import view_of
from malaprop.models.victims.probes import TEXTS
from malaprop.models.victims.tokens import TokenVictim

MOST = 4_096  # tokens, for models that state no limit
APART = 1e-5  # scores that differ by more than this depend on the other texts of a batch
_INPUTS = {  # what a model may ask for, and the names it may have
    "ids": ("input_ids", "ids", "input", "inputs", "tokens"),
    "mask": ("attention_mask", "mask", "input_mask"),
    "segments": ("token_type_ids", "segment_ids"),
    "places": ("position_ids",),
}
_OUTPUTS = ("logits", "probabilities", "probs", "scores", "output", "output_0")
_KINDS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_MASKS = {**_KINDS, "tensor(float)": np.float32, "tensor(bool)": np.bool_}
_METADATA = ("id2label", "labels", "classes", "class_names")  # keys under which exporters keep the labels' names
_TRIED = 1_024  # tokens: a longer stated limit is believed, as trying it would take long


def load_onnx(
    path: Path,
    *,
    device: str = "cpu",
    precision: str = "auto",
    say: Callable[[str], None] | None = None,
    label: str | None = None,
) -> TokenVictim:
    """Load a classifier in an .onnx file, with tokenizer.json beside it or in one folder beside it.

    Names of labels and the longest text come from config.json and tokenizer_config.json, where there are any, else from
    the model itself: names from its metadata, and the longest text by trying. The file's own numbers are used, whatever
    they are (float32, int8); `precision` cannot change them.
    """
    if precision not in ("auto", "fp32"):
        raise SettingError(f"{path} has the precision it was exported in; leave out --precision {precision}")
    session = _session(path, device, say or _to_stderr)
    folder = _tokenizer_folder(path)
    pieces = WordPieces.load(folder / "tokenizer.json")
    config, settings = _json(path.parent / "config.json"), _json(folder / "tokenizer_config.json")
    graph = _graph(session, path, pieces)
    left = settings.get("truncation_side") == "left"
    pad = _pad(pieces, config, settings)
    stated = _longest(config, settings)
    network = Network(session=session, graph=graph, path=path, pad=pad)
    limit = min(stated or MOST, graph.length or MOST)
    if graph.length is None and (stated is None or stated <= _TRIED):
        limit = _longest_read(network, pieces, limit)
    network = _probe(network, pieces, limit)
    names, view = _label_names(config, session, network.labels, path), None
    if config.get("problem_type") == "multi_label_classification" and network.labels > 1:
        view = view_of(names or [f"LABEL_{i}" for i in range(network.labels)], label, path.stem)
        network, names = replace(network, view=view.holds, labels=len(view.names)), view.names
    elif label is not None:
        raise SettingError(f"{path} gives one label a text; #label= is for models that give several")
    return TokenVictim(
        name=path.parent.name if path.stem == "model" and path.parent.name else path.stem,
        cut=at_breaks(pieces.pieces, pieces.between),
        join=best_join(pieces.pieces, TEXTS),
        rows=partial(pieces.rows, limit=limit, left=left),
        left=left,
        forward=network.forward,
        labels=network.labels,
        number=network.labels == 1,
        limit=limit,
        head=pieces.head,
        tail=pieces.tail,
        pad=pad,
        masks=network.alone or graph.masks,
        fingerprint=_fingerprint(path, folder / "tokenizer.json") + (f"-{label}" if label is not None else ""),
        label_names=names if network.labels > 1 else (),
        unknown=_unknown(settings),
    )


def onnx_in(folder: Path) -> Path | None:
    """Return the ONNX file of a folder without weights of another kind; None where there is no such file."""
    found = sorted(folder.glob("*.onnx")) or sorted((folder / "onnx").glob("*.onnx"))
    others = [*folder.glob("*.safetensors"), *folder.glob("*.bin"), *folder.glob("*.safetensors.index.json")]
    if not found or others:
        return None
    if len(found) > 1:
        raise VictimError(f"{folder} holds {len(found)} ONNX files; name one, as {folder / found[0].name}")
    return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The inputs and outputs of a model: names and types by their meaning, and fixed sizes (None: any)."""

    inputs: Mapping[str, tuple[str, Any]]
    output: str
    rows: int | None
    length: int | None
    separator: int | None

    @property
    def masks(self) -> bool:
        return "mask" in self.inputs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """A session as the forward pass of a victim.

    `alone`: texts are asked one at a time, for models whose answer for a text depends on its batch, as that of an int8
    model does which takes one scale for all the numbers of a layer. `probabilities`: the model answers with them.
    """

    session: Any
    graph: Graph
    path: Path
    pad: int = 0
    labels: int = 0
    alone: bool = False
    probabilities: bool = False
    view: Floats | None = None  # which labels each answer holds, of a model that gives every label by itself

    def forward(self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
        """Return logits, or logarithms of the probabilities."""
        answers = self.answers(ids.numpy(), lengths.numpy())
        if self.view is not None:
            sure = np.clip(answers, 1e-7, 1 - 1e-7)
            answers = (np.log(sure / (1 - sure)) if self.probabilities else answers) @ self.view.T
        elif self.probabilities:
            answers = np.log(np.maximum(answers, 1e-30))
        return torch.from_numpy(np.ascontiguousarray(answers, np.float32))

    def answers(self, ids: Ints, lengths: Ints) -> Any:
        """Return the model's raw outputs."""
        rows = 1 if self.alone else self.graph.rows or len(ids)
        parts = []
        for at in range(0, len(ids), rows):
            size = lengths[at : at + rows]
            parts.append(self._ask(ids[at : at + rows, : max(1, int(size.max()))], size))
        return np.concatenate(parts)

    def _ask(self, ids: Ints, lengths: Ints) -> Any:
        graph, count = self.graph, len(ids)
        width = graph.length or ids.shape[1]
        if missing := (graph.rows or count) - count:  # of a model that reads so many rows at a time
            ids, lengths = np.pad(ids, ((0, missing), (0, 0)), mode="edge"), np.pad(lengths, (0, missing), mode="edge")
        inside = np.arange(width) < lengths[:, None]
        ids = np.where(inside, np.pad(ids, ((0, 0), (0, width - ids.shape[1]))), self.pad)
        given = {"ids": ids, "mask": inside, "places": np.broadcast_to(np.arange(width), ids.shape)}
        if "segments" in graph.inputs:
            segments = np.zeros_like(ids)
            if graph.separator is not None:
                segments = second_segment(torch.from_numpy(ids), graph.separator).numpy() * inside
            given["segments"] = segments
        feed = {name: given[kind].astype(dtype) for kind, (name, dtype) in graph.inputs.items()}
        try:
            return self.session.run([graph.output], feed)[0][:count]
        except Exception as error:  # noqa: BLE001 - the library raises errors of its own kinds
            raise _cannot_read(self.path, ids.shape, error) from None


def _session(path: Path, device: str, say: Callable[[str], None]) -> Any:
    if not path.is_file():
        raise VictimError(f"no such file: {path}; expected an ONNX model")
    try:
        import onnxruntime
    except ImportError:
        raise VictimError(f"{path} needs onnxruntime; install malaprop[onnx]") from None
    providers = ["CPUExecutionProvider"]
    if device.startswith("cuda"):
        if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
            providers.insert(0, "CUDAExecutionProvider")
        else:
            say("this onnxruntime knows no GPU, so the model runs on the CPU; install onnxruntime-gpu for one")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 4  # what goes wrong is said here
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # noqa: BLE001 - the library raises errors of its own kinds
        raise _unreadable(path, " ".join(str(error).split())) from None


def _unreadable(path: Path, said: str) -> VictimError:
    if "external" in said.lower():
        found = re.search(r"([\w.-]+(?:\.data|\.onnx_data|_data|\.bin))(?![\w.])", said)
        where = f", {found[1]}," if found else ""
        return VictimError(f"{path} keeps its weights in another file{where} which is not beside it; copy it there")
    reason = said.rpartition(" : ")[2][:160] or "the file is damaged"
    return VictimError(f"{path} cannot be read as an ONNX model: {reason}")


def _graph(session: Any, path: Path, pieces: WordPieces) -> Graph:
    meanings = {name: kind for kind, names in _INPUTS.items() for name in names}
    inputs: dict[str, tuple[str, Any]] = {}
    rows, length = set(), set()
    found = session.get_inputs()
    for one in found:
        kind = meanings.get(one.name.partition(":")[0].lower())
        if kind is None and len(found) == 1:
            kind = "ids"  # an exporter's own name, as onnx::Gather_0
        dtype = (_MASKS if kind == "mask" else _KINDS).get(one.type)
        if kind is None or dtype is None or kind in inputs or len(one.shape) != 2:
            raise VictimError(
                f"{path} has an input {one.name!r} ({_shown(one)}) that is not known; expected integer tables "
                "input_ids, attention_mask, token_type_ids or position_ids: export a text classifier that reads tokens"
            )
        inputs[kind] = (one.name, dtype)
        rows.add(one.shape[0] if isinstance(one.shape[0], int) else None)
        length.add(one.shape[1] if isinstance(one.shape[1], int) else None)
    if "ids" not in inputs:
        raise VictimError(f"{path} has no input for token ids ({', '.join(_INPUTS['ids'])}); export a text classifier")
    fixed = max((size for size in length if size is not None), default=None)
    if fixed is not None and "mask" not in inputs:
        raise VictimError(
            f"{path} reads exactly {fixed} tokens and takes no attention_mask, so padding would count as text; export "
            "it again with dynamic axes (batch and sequence), or with an attention_mask"
        )
    return Graph(
        inputs=inputs,
        output=_output(session, path),
        rows=max((size for size in rows if size is not None), default=None),
        length=fixed,
        separator=pieces.between[0] if pieces.between else None,
    )


def _shown(one: Any) -> str:
    """Return the type and shape of an input or output for a message, with ? for a size that may be any."""
    sizes = " x ".join(str(size) if isinstance(size, int) else "?" for size in one.shape)
    return f"{one.type}{f', {sizes}' if sizes else ''}"


def _output(session: Any, path: Path) -> str:
    outputs = [one for one in session.get_outputs() if one.type in ("tensor(float)", "tensor(float16)")]
    tables = [one for one in outputs if len(one.shape) in (0, 2)]  # 0: the file does not say
    named = {one.name.partition(":")[0].lower(): one.name for one in tables}
    if found := next((named[name] for name in _OUTPUTS if name in named), None):
        return str(found)
    if len(tables) != 1:
        shown = "; ".join(f"{one.name} ({_shown(one)})" for one in session.get_outputs())
        raise VictimError(
            f"{path} gives {shown}; expected one output called logits, a row of scores for each text: export it as a "
            "text classifier (sequence classification)"
        )
    return str(tables[0].name)


def _longest_read(network: Network, pieces: WordPieces, most: int) -> int:
    """Return the most tokens, up to `most`, that the model can read: its table of places ends there."""

    def reads(length: int) -> bool:
        row = np.asarray(pieces.rows([(TEXTS[-1] * (1 + length // 16),)], length), np.int64)
        try:
            network.answers(row, np.asarray([row.shape[1]]))
        except VictimError:
            return False
        return True

    low, high = len(pieces.head) + len(pieces.tail) + 1, most
    if reads(high) or not reads(low):  # what cannot read a short text either is refused with its reason
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reads(middle) else (low, middle)
    return low


def _probe(network: Network, pieces: WordPieces, limit: int) -> Network:
    """Return the network with what a few answers show: the number of labels, whether it gives logits or probabilities.

    They also show whether a text's answer depends on the other texts of its batch.
    """
    rows = pieces.rows([(text,) for text in TEXTS], limit)
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    ids = np.full((len(rows), int(lengths.max())), network.pad)
    for line, row in zip(ids, rows, strict=True):
        line[: len(row)] = row
    alone = replace(network, alone=True)
    each = [alone.answers(ids[at : at + 1], lengths[at : at + 1]) for at in range(len(ids))]
    shapes = list(dict.fromkeys(one.shape for one in each))
    if len(shapes) > 1 or len(shapes[0]) != 2 or shapes[0][0] != 1:
        shown = " or ".join(" x ".join(map(str, shape)) or "a single number" for shape in shapes[:2])
        raise VictimError(
            f"{network.path} answers one text with {shown}; expected 1 x the number of labels: export it as a text "
            "classifier (sequence classification)"
        )
    apart = np.concatenate(each)
    sums = bool(np.allclose(apart.sum(1), 1, atol=1e-3)) or "prob" in network.graph.output.lower()
    sure = apart.shape[1] > 1 and sums and bool(((apart >= 0) & (apart <= 1)).all())
    together = network.answers(ids, lengths) if network.graph.masks else apart
    depends = bool(np.abs(_softmax(apart, sure) - _softmax(together, sure)).max() > APART)
    return replace(network, labels=apart.shape[1], alone=depends, probabilities=sure)


def _cannot_read(path: Path, shape: tuple[int, ...], error: Exception) -> VictimError:
    reason = " ".join(str(error).split()).rpartition(" : ")[2][:120]
    many = "one text" if shape[0] == 1 else f"{shape[0]} texts"
    return VictimError(
        f"{path} cannot read {many} of {shape[1]} tokens ({reason}); export it again with dynamic axes (batch and "
        "sequence) on every input, or state its longest text as model_max_length in a tokenizer_config.json beside it"
    )


def _softmax(answers: Any, already: bool) -> Any:
    if already or answers.shape[1] == 1:
        return answers
    raised = np.exp(answers - answers.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def _tokenizer_folder(path: Path) -> Path:
    """Return the folder of tokenizer.json: that of the model, or the one folder beside or above it that has it."""
    if (path.parent / "tokenizer.json").is_file():
        return path.parent
    beside = sorted(found.parent for found in path.parent.glob("*/tokenizer.json"))
    if path.parent.name == "onnx" and (path.parent.parent / "tokenizer.json").is_file():
        beside.append(path.parent.parent)
    if len(beside) != 1:
        what = "no tokenizer.json" if not beside else f"{len(beside)} tokenizers"
        raise VictimError(f"{path} has {what} beside it; put the tokenizer.json of the model into {path.parent}")
    return beside[0]


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise VictimError(f"{path} is not valid JSON: {error}; repair or remove it") from None
    return found if isinstance(found, dict) else {}


def _longest(config: Mapping[str, Any], settings: Mapping[str, Any]) -> int | None:
    """Return the tokens of the longest text, where a file says so; else None."""
    stated = [settings.get("model_max_length"), config.get("max_position_embeddings")]
    sizes = [int(size) for size in stated if isinstance(size, (int, float)) and 0 < size < 1e6]
    if "roberta" in str(config.get("model_type", "")) and isinstance(config.get("max_position_embeddings"), int):
        sizes.append(int(config["max_position_embeddings"]) - int(config.get("pad_token_id") or 1) - 1)
    return min([MOST, *sizes]) if sizes else None


def _pad(pieces: WordPieces, config: Mapping[str, Any], settings: Mapping[str, Any]) -> int:
    if isinstance(config.get("pad_token_id"), int):
        return int(config["pad_token_id"])
    for name in (_content(settings.get("pad_token")), "[PAD]", "<pad>"):
        if name and (found := pieces.tokenizer.token_to_id(name)) is not None:
            return int(found)
    return 0


def _unknown(settings: Mapping[str, Any]) -> str:
    return _content(settings.get("unk_token")) or "[UNK]"


def _content(token: Any) -> str:
    return str(token.get("content", "")) if isinstance(token, Mapping) else str(token or "")


def _label_names(config: Mapping[str, Any], session: Any, labels: int, path: Path) -> tuple[str, ...]:
    """Return the labels' names from config.json or the metadata; none where a library invented them (LABEL_0, ...)."""
    table, where = config.get("id2label"), "config.json names"
    if not isinstance(table, Mapping) or not table:
        table, where = _own_names(session), "metadata name"
    if not table:
        return ()
    if len(table) != labels:
        raise VictimError(
            f"{path} answers with {labels} scores and its {where} {len(table)} labels; they belong to different models"
        )
    names: Sequence[str] = [str(table.get(str(i), "")) for i in range(labels)]
    return () if any(not name or name.startswith("LABEL_") for name in names) else tuple(names)


def _own_names(session: Any) -> Mapping[str, Any]:
    """Return the labels' names by number, where the model's metadata have them, as a table or as a list."""
    held = session.get_modelmeta().custom_metadata_map
    said = next((held[key] for key in _METADATA if held.get(key)), "")
    try:
        found = json.loads(said)
    except ValueError:
        found = [name.strip() for name in said.split(",")] if "," in said else None
    if isinstance(found, list):
        return {str(at): name for at, name in enumerate(found)}
    return found if isinstance(found, dict) else {}


def _fingerprint(*paths: Path) -> str:
    digest = sha256()
    external = sorted(paths[0].parent.glob(f"{paths[0].name}*data"))  # weights in a file of their own
    for path in (*paths, *external):
        with path.open("rb") as stream:
            digest.update(file_digest(stream, sha256).digest())
    return digest.hexdigest()[:16]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
