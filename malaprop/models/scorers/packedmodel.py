"""PackedModel: any transformers classifier that attends through the library's interface, read text behind text.

The library lets one function do the attention of all its models. Ours keeps it within each of the texts that lie end to
end; all else in such a model works on each token by itself, but for the head, which gets the tokens that it reads.
How a model counts places and which token its head reads is found by trying, and held against its plain forward.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from malaprop.models.scorers.packing import Edges, Packed, attend
from malaprop.models.scorers.plain import make_forward, second_segment, without_padding

_NAME = "malaprop_packed"
_SAME = 1e-4  # of two logits in float32, relative to the largest
_NEAR = 0.3  # of two logits in bfloat16: a wrong kernel is further off, rounding is not
_UNKNOWN = ("softcap", "s_aux", "position_bias")  # what the library may ask of an attention that ours does not do
_now = threading.local()  # the texts that are passed through the model in this thread

Read = Literal["first", "last", "mean"]


def _attend(
    module: nn.Module,
    query: Float[Tensor, "one head token each"],
    key: Float[Tensor, "one few token each"],
    value: Float[Tensor, "one few token each"],
    attention_mask: Tensor | None = None,  # noqa: ARG001 - none is made for an attention that the library does not know
    scaling: float | None = None,
    sliding_window: int | None = None,
    is_causal: bool | None = None,
    **more: Any,
) -> tuple[Float[Tensor, "one token head each"], None]:
    """Compute attention for the library, within each of the packed texts."""
    if any(more.get(name) is not None for name in _UNKNOWN):
        raise NotImplementedError("attention of a kind that is not packed")
    edges = Edges(*_now.texts)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    back = -1 if sliding_window is None else sliding_window - 1
    q, k, v = (t[0].transpose(0, 1) for t in (query, key, value))
    seen = attend(q, k, v, edges, edges, scale=scaling, window=(back, 0 if causal else back))
    return seen[None], None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ways:
    """The settings by which a model is read as packed texts."""

    read: Read  # which tokens its head wants: the first, the last that is no padding, or the mean of all
    first: int  # the number of the first place
    gate: str  # the module behind which nothing but the head is left; "": the whole encoder


@dataclass(frozen=True, eq=False, kw_only=True)
class PackedModel:
    """A network for `Packing`: a copy of the model that attends within texts. `pack` builds it."""

    model: Any
    ways: _Ways
    separator: int | None = None

    @property
    def labels(self) -> int:
        return int(self.model.config.num_labels)

    def forward(self, batch: Packed, most: int) -> Float[Tensor, "text label"]:
        base, texts = self.model.base_model, len(batch.edges) - 1
        place = (batch.place + self.ways.first).long()
        inputs: dict[str, Any] = {"input_ids": batch.ids.long()[None], "position_ids": place[None]}
        if self.separator is not None:
            inputs["token_type_ids"] = batch.second.long()[None]
        if "use_cache" in inspect.signature(base.forward).parameters:
            inputs["use_cache"] = False
        _now.texts = batch.edges, most
        with self._gathered(batch):
            states = base(**inputs)
        blank = torch.zeros(texts, 1, dtype=torch.long, device=batch.ids.device)
        with _answering(base, states), without_padding(self.model):
            logits: Tensor = self.model(input_ids=blank).logits
        return logits.float()

    @contextmanager
    def _gathered(self, batch: Packed) -> Iterator[None]:
        """Reduce each text behind the gate to one token: the one that the head reads."""

        def gather(_module: nn.Module, _inputs: Any, output: Any) -> Any:
            if isinstance(output, Tensor):
                return self._read(output, batch)
            if isinstance(output, tuple):
                return (self._read(output[0], batch), *output[1:])
            output["last_hidden_state"] = self._read(output["last_hidden_state"], batch)
            return output

        hook = self.model.base_model.get_submodule(self.ways.gate).register_forward_hook(gather)
        try:
            yield
        finally:
            hook.remove()

    def _read(self, states: Float[Tensor, "one token dim"], batch: Packed) -> Float[Tensor, "text one dim"]:
        edges, many = batch.edges.long(), states.shape[1]
        if self.ways.read == "first":
            return states[0].index_select(0, edges[:-1].clamp(max=many - 1))[:, None]
        token = torch.arange(many, device=states.device)
        text = torch.searchsorted(edges[1:], token, right=True)  # one more than there are texts: filling
        if self.ways.read == "mean":
            sums = states.new_zeros(len(edges), states.shape[2], dtype=torch.float32)
            sums = sums.index_add(0, text, states[0].float())[:-1]
            return (sums / edges.diff().clamp(min=1)[:, None]).to(states.dtype)[:, None]
        pad = getattr(self.model.config, "pad_token_id", None)
        shown = token if pad is None else torch.where(batch.ids != pad, token, -1)
        last = torch.full((len(edges),), -1, device=states.device).scatter_reduce(0, text, shown, "amax")[:-1]
        return states[0].index_select(0, torch.maximum(last, edges[:-1]).clamp(max=many - 1))[:, None]


@contextmanager
def _answering(base: Any, states: Any) -> Iterator[None]:
    """Let the encoder return these states for any input within the block, so that only the model's head computes."""
    base.forward = lambda *_given, **_named: states
    try:
        yield
    finally:
        del base.forward


def pack(
    model: Any, rows: Sequence[Sequence[int]], *, separator: int | None = None, dtype: torch.dtype = torch.float32
) -> PackedModel | None:
    """Return the model as a network for packed texts, in the precision `dtype`; None where it cannot be read so.

    `rows` are finished rows of tokens of several lengths, on which it must answer as its plain forward does.
    """
    base = getattr(model, "base_model", model)
    if base is model or "position_ids" not in inspect.signature(base.forward).parameters:
        return None
    _register()
    trial = PackedModel(model=_copy(model, None), ways=_Ways(read="first", first=0, gate=""), separator=separator)
    plain = _plain_logits(model, rows, separator)
    ways = _find_ways(model, trial, rows, plain)
    if ways is None:
        return None
    if dtype == torch.float32:
        return replace(trial, ways=ways)
    made = replace(trial, model=_copy(model, dtype), ways=ways)
    found = _tried(made, rows)
    good = found is not None and float((found - plain).abs().max()) < _NEAR * max(1.0, float(plain.abs().max()))
    return made if good else None


def _register() -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(_NAME, _attend)


def _copy(model: Any, dtype: torch.dtype | None) -> Any:
    """Copy the model so that it attends within texts; with no dtype the copy shares its weights."""
    shared = {} if dtype else {id(t): t for t in chain(model.parameters(), model.buffers())}
    copy = deepcopy(model, shared)
    for part in copy.modules():
        config = getattr(part, "config", None)
        if config is not None:
            config._attn_implementation = _NAME
    return copy if dtype is None else copy.to(dtype)


def _find_ways(model: Any, trial: PackedModel, rows: Sequence[Sequence[int]], plain: Tensor) -> _Ways | None:
    reads: tuple[Read, ...] = ("first", "last", "mean")
    for first, gate, read in product(_first_places(model), _gates(model, rows[-1]), reads):
        ways = _Ways(read=read, first=first, gate=gate)
        found = _tried(replace(trial, ways=ways), rows)
        if found is not None and _agree(found, plain):
            return ways
    return None


def _agree(found: Float[Tensor, "text label"], plain: Float[Tensor, "text label"]) -> bool:
    return bool((found - plain).abs().max() <= _SAME * max(1.0, float(plain.abs().max())))


@torch.inference_mode()
def _tried(network: PackedModel, rows: Sequence[Sequence[int]]) -> Float[Tensor, "text label"] | None:
    """Return the network's logits, or None where it fails: models fail in many ways when their passes are changed."""
    try:
        found = network.forward(_packed(rows, network), max(map(len, rows)))
    except Exception:  # noqa: BLE001
        return None
    return found if found.shape[0] == len(rows) and bool(found.isfinite().all()) else None


def _packed(rows: Sequence[Sequence[int]], network: PackedModel) -> Packed:
    device = next(network.model.parameters()).device
    seconds = [torch.zeros(len(row), dtype=torch.long) for row in rows]
    if network.separator is not None:
        seconds = [second_segment(torch.tensor([row]), network.separator)[0] for row in rows]
    edges = torch.tensor([0, *map(len, rows)]).cumsum(0)
    ids, place, second = (
        torch.cat(parts).int().to(device)
        for parts in ([torch.tensor(row) for row in rows], [torch.arange(len(row)) for row in rows], seconds)
    )
    return Packed(ids, place, second, edges.int().to(device))


@torch.inference_mode()
def _plain_logits(model: Any, rows: Sequence[Sequence[int]], separator: int | None) -> Float[Tensor, "text label"]:
    """Return the logits of the model itself, one text at a time."""
    forward = make_forward(model, separator=separator)
    device = next(model.parameters()).device
    answers = [
        forward(torch.tensor([row], device=device), torch.tensor([len(row)], device=device)).float() for row in rows
    ]
    return torch.cat(answers)


def _first_places(model: Any) -> list[int]:
    """Return the numbers from which models count places: 0, or (RoBERTa) one behind the padding token's."""
    pad = getattr(model.config, "pad_token_id", None)
    return [0] if pad is None or pad < 0 else [0, int(pad) + 1]


@torch.inference_mode()
def _gates(model: Any, row: Sequence[int]) -> list[str]:
    """Return the modules run once that give the encoder's last states, innermost first, and the encoder itself."""
    base = model.base_model
    seen: list[tuple[str, Tensor]] = []

    def watch(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
            first = output if isinstance(output, Tensor) else None
            if first is None and isinstance(output, (tuple, dict)) and len(output):
                first = output[0]
            if isinstance(first, Tensor) and first.ndim == 3:
                seen.append((name, first))

        return hook

    hooks = [part.register_forward_hook(watch(name)) for name, part in base.named_modules() if name]
    try:
        ids: Int[Tensor, "one token"] = torch.tensor([list(row)], device=next(model.parameters()).device)
        last = base(input_ids=ids)[0]
    except Exception:  # noqa: BLE001 - then there is no way in
        return []
    finally:
        for hook in hooks:
            hook.remove()
    names = [name for name, _ in seen]
    same = [name for name, states in seen if states.shape == last.shape and torch.equal(states, last)]
    return [*(name for name in same if names.count(name) == 1), ""]
