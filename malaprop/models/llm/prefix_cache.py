"""Prefix cache: keys and values of the beginnings that prompts share, so that only what comes behind is computed.

The library lets one function do the attention of all its models (see `scorers.packedmodel`). Ours reads, for each row,
the kept keys of its beginning and the keys of its own new tokens; all else in a causal model works on each token by
itself, so the new tokens of many rows lie end to end in one pass. A token's keys lie in one row of the store, whoever
needs them: a prefix that begins as another does shares its rows.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.models.tokens.splice import ship

# --- the words of the labels as a tree of tokens: a beginning that several words share is read once

ROOT = -1  # behind the prompt: one less than the first node, as `scores` counts places


@dataclass(frozen=True, slots=True)
class LabelTree:
    """The tokens of each label's word, and the tree of the tokens that another token follows.

    Node i is the token `tokens[i]` behind the node `parents[i]`, or behind the prompt where that is ROOT. The last
    token of a word needs no node: the model is asked how likely it is, and not what comes next.
    """

    words: tuple[tuple[int, ...], ...]
    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]  # of each word the node before each of its tokens

    @classmethod
    def of(cls, words: Sequence[Sequence[int]], names: Sequence[str]) -> LabelTree:
        """Build the tree; raise on words that their tokens cannot tell apart."""
        whole = [tuple(word) for word in words]
        for name, word in zip(names, whole, strict=True):
            if not word:
                raise SettingError(f"the label word {name!r} has no token; choose another with --label-words")
        for i, one in enumerate(whole):
            for j, other in enumerate(whole):
                if i != j and other[: len(one)] == one:
                    raise SettingError(
                        f"the label word {names[j]!r} begins with all of {names[i]!r}, so an answer would count for "
                        "both; choose others with --label-words"
                    )
        nodes: dict[tuple[int, ...], int] = {}
        for word in whole:
            for end in range(1, len(word)):
                nodes.setdefault(word[:end], len(nodes))
        parents = tuple(nodes.get(path[:-1], ROOT) for path in nodes)
        paths = tuple(tuple(nodes.get(word[:at], ROOT) for at in range(len(word))) for word in whole)
        return cls(tuple(whole), tuple(path[-1] for path in nodes), parents, paths)

    @property
    def depths(self) -> tuple[int, ...]:
        """Return for each node how many tokens of its word lie before it."""
        out: list[int] = []
        for parent in self.parents:
            out.append(0 if parent == ROOT else out[parent] + 1)
        return tuple(out)

    def sees(self) -> Tensor:
        """Return flags [node, node]: which nodes lie on the way to a node, itself among them."""
        out = torch.eye(len(self.tokens), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                out[node] |= out[parent]
        return out

    def scores(self, likely: Float[Tensor, "row place token"]) -> Float[Tensor, "row label"]:
        """Return the log-probability of each word; place 0 is behind the prompt, place i + 1 behind node i."""
        out = [
            sum(likely[:, node + 1, token] for node, token in zip(path, word, strict=True))
            for path, word in zip(self.paths, self.words, strict=True)
        ]
        return torch.stack(out, 1)  # type: ignore[arg-type]


_NAME = "malaprop_prefix_cache"
_UNKNOWN = ("softcap", "s_aux", "position_bias")  # what the library may ask of an attention that ours does not do
_ROOM = 512 << 20  # bytes of keys and values
_TOKENS = {"cpu": 2048, "cuda": 1 << 15}  # new tokens of a pass
_WASTE = 4 << 20  # pairs of a query and a key in a pass, with padding
_now = threading.local()  # the pass in this thread


@dataclass(frozen=True, slots=True, eq=False)
class CachedPrefix:
    """A beginning with cached keys: its tokens, and the row of each in the store."""

    tokens: Ints
    places: Ints


@dataclass(frozen=True, slots=True, eq=False)
class PromptRequest:
    """A row of tokens whose first `known` tokens are cached in `prefix`."""

    tokens: Ints
    prefix: CachedPrefix
    known: int

    @property
    def new(self) -> int:
        return len(self.tokens) - self.known


class PrefixStore:
    """Keys and values of single tokens, a row each; it grows up to `room` bytes."""

    def __init__(self, room: int = _ROOM) -> None:
        self.room = room
        self.keys: dict[int, Tensor] = {}  # by layer, [token, head, each]
        self.values: dict[int, Tensor] = {}
        self.used = 0
        self.size = 0
        self.weight = 0  # bytes of a token, known after the first pass

    def takes(self, count: int) -> bool:
        """Return whether there is room for so many more tokens."""
        return self.used + count <= max(self.size, self.room // max(1, self.weight))

    def take(self, count: int) -> Ints:
        """Reserve rows for so many new tokens and return their numbers."""
        out = np.arange(self.used, self.used + count)
        self.used += count
        if self.used > self.size and self.keys:
            self._grow(self.used)
        return out

    def _grow(self, needed: int) -> None:
        self.size = max(needed, min(2 * needed, self.room // max(1, self.weight)))
        for table in (self.keys, self.values):
            for layer, old in table.items():
                fresh = old.new_zeros(self.size, *old.shape[1:])
                fresh[: len(old)] = old
                table[layer] = fresh

    def write(self, layer: int, places: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store the keys and values of new tokens."""
        for table, fresh in ((self.keys, keys), (self.values, values)):
            if layer not in table:
                self.size = max(self.size, self.used)
                table[layer] = fresh.new_zeros(self.size, *fresh.shape[1:])
            table[layer][places] = fresh

    def weigh(self) -> None:
        """Measure how many bytes a token takes."""
        tables = [*self.keys.values(), *self.values.values()]
        self.weight = sum(table[0].numel() * table.element_size() for table in tables)


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """The layout of one pass's rows, as attention reads it."""

    store: PrefixStore
    before: Int[Tensor, "row context"]  # where the keys of each row's beginning lie, filled up with 0
    own: Int[Tensor, "row new"]  # which of the pass's tokens are the row's, filled up with 0
    sees: Bool[Tensor, "row new context_and_new"]
    apart: Int[Tensor, "row new context_and_new"] | None  # how far a key lies before a query, where that can matter
    row: Int[Tensor, " token"]
    column: Int[Tensor, " token"]
    keep: tuple[Int[Tensor, " kept"], Int[Tensor, " kept"]] | None  # tokens whose keys are kept, and where


def _attend(
    module: nn.Module,
    query: Float[Tensor, "one head token each"],
    key: Float[Tensor, "one few token each"],
    value: Float[Tensor, "one few token each"],
    attention_mask: Tensor | None = None,  # noqa: ARG001 - none is made for an attention that the library does not know
    scaling: float | None = None,
    sliding_window: int | None = None,
    **more: Any,
) -> tuple[Float[Tensor, "one token head each"], None]:
    """Compute attention for the library: each row sees its beginning, out of the store, and its own tokens."""
    if any(more.get(name) is not None for name in _UNKNOWN):
        raise NotImplementedError("attention of a kind that is not known here")
    now: _Pass = _now.at
    layer = int(module.layer_idx)  # type: ignore[arg-type]
    q, k, v = (t[0].transpose(0, 1) for t in (query, key, value))
    if now.keep is not None:
        tokens, places = now.keep
        now.store.write(layer, places, k[tokens], v[tokens])
    whole = [fresh[now.own] for fresh in (k, v)]
    if now.before.shape[1]:
        kept = (now.store.keys[layer], now.store.values[layer])
        whole = [torch.cat([old[now.before], fresh], 1) for old, fresh in zip(kept, whole, strict=True)]
    sees = now.sees
    if sliding_window is not None and now.apart is not None:
        sees = sees & (now.apart < sliding_window)
    keys, values = (t.transpose(1, 2) for t in whole)
    rows, heads, _, each = keys.shape
    # Heads that share keys are more queries of one: no kernel that takes a mask takes fewer heads of keys than queries.
    asked = (
        q[now.own].view(rows, -1, heads, q.shape[1] // heads, each).permute(0, 2, 3, 1, 4)
    )  # [row, head, group, new, each]
    group = asked.shape[2]
    seen = F.scaled_dot_product_attention(
        asked.reshape(rows, heads, -1, each), keys, values, attn_mask=sees.repeat(1, group, 1)[:, None], scale=scaling
    )
    back = seen.view(rows, heads, group, -1, each).permute(0, 3, 1, 2, 4).flatten(2, 3)
    return back[now.row, now.column][None], None


@dataclass(eq=False, kw_only=True)
class PrefixCache:
    """Log-probabilities of label words behind prompts, by a causal model that caches the beginnings prompts share."""

    model: Any
    tree: LabelTree
    store: PrefixStore = field(default_factory=PrefixStore)
    tokens_read: int = 0  # by the model, in all passes

    def __post_init__(self) -> None:
        from transformers import AttentionInterface

        AttentionInterface.register(_NAME, _attend)

    @property
    def device(self) -> torch.device:
        found: torch.device = self.model.device
        return found

    def forget(self) -> None:
        """Drop all cached keys and values."""
        self.store.used = 0

    def keep(self, requests: Sequence[PromptRequest]) -> list[CachedPrefix]:
        """Cache whole rows as prefixes: the tokens behind each row's known prefix are computed and kept."""
        out = []
        for request in requests:
            places = self.store.take(request.new)
            out.append(CachedPrefix(request.tokens, np.concatenate([request.prefix.places[: request.known], places])))
        for part in _batches(requests, self.most):
            self._run([requests[i] for i in part], [out[i] for i in part])
        if not self.store.weight and self.store.keys:
            self.store.weigh()
        return out

    def score(self, requests: Sequence[PromptRequest]) -> Float[Tensor, "row label"]:
        """Return the log-probability of each label's word behind each row, on the device, without waiting for it."""
        found, order = [], []
        for part in _batches(requests, self.most):
            logits = self._run([requests[i] for i in part], None)
            found.append(self.tree.scores(logits.float().log_softmax(-1)))
            order.append(part)
        if not found:
            return torch.empty(0, len(self.tree.words))
        return torch.cat(found)[ship(self.device, np.argsort(np.concatenate(order)))[0]]

    @property
    def most(self) -> int:
        """Return how many new tokens one pass may hold."""
        return _TOKENS.get(self.device.type, _TOKENS["cpu"])

    def _run(
        self, requests: Sequence[PromptRequest], prefixes: Sequence[CachedPrefix] | None
    ) -> Float[Tensor, "row place token"]:
        """Pass the rows once; return the logits behind each prompt and behind each node of the labels' words."""
        tree = self.tree if prefixes is None else None
        ids, position, edges = _lay(requests, tree)
        _now.at = self._pass(requests, edges, position, tree, prefixes)
        self.tokens_read += len(ids)
        nodes = 0 if tree is None else len(tree.tokens)
        ends = edges[1:] - 1
        wanted = (ends[:, None] - nodes + np.arange(nodes + 1)[None]).reshape(-1)
        if prefixes is not None:
            wanted = wanted[:1]  # nobody needs the logits behind a prefix
        tokens, places = (row[None] for row in ship(self.device, ids, position))
        (asked,) = ship(self.device, wanted)
        try:
            with _attending(self.model):
                logits: Tensor = self.model(
                    input_ids=tokens, position_ids=places, use_cache=False, logits_to_keep=asked
                ).logits
        finally:
            del _now.at
        return logits[0].reshape(-1 if prefixes is not None else len(requests), nodes + 1, logits.shape[-1])

    def _pass(
        self,
        requests: Sequence[PromptRequest],
        edges: Ints,
        position: Ints,
        tree: LabelTree | None,
        prefixes: Sequence[CachedPrefix] | None,
    ) -> _Pass:
        """Lay out the rows as attention sees them, padded to the longest, and say which keys are to be cached."""
        known = np.asarray([request.known for request in requests], np.int64)
        size = np.diff(edges)
        before = np.zeros((len(requests), int(known.max(initial=0))), np.int64)
        for at, request in enumerate(requests):
            before[at, : request.known] = request.prefix.places[: request.known]
        (context,) = ship(self.device, before.reshape(-1))
        row, column = ship(self.device, np.repeat(np.arange(len(requests)), size), column_of(edges))
        first, many, shared = (part[:, None] for part in ship(self.device, edges[:-1], size, known))
        inside = torch.arange(int(size.max()), device=self.device)[None]
        own = torch.where(inside < many, first + inside, 0)
        there = torch.arange(before.shape[1], device=self.device)[None]
        seen = (there < shared)[:, None].expand(-1, own.shape[1], -1)
        sees = torch.cat([seen, _own_mask(many, own.shape[1], tree)], 2)
        apart = None
        if any(window < int((known + size).max()) for window in _windows(self.model)):
            (place,) = ship(self.device, position)
            mine = torch.where(inside < many, place[own], 0)
            apart = mine[:, :, None] - torch.cat([there.expand(len(requests), -1), mine], 1)[:, None]
        keep = None
        if prefixes is not None:
            places = np.concatenate([prefix.places[r.known :] for prefix, r in zip(prefixes, requests, strict=True)])
            keep = ship(self.device, np.arange(len(places)), places)
        return _Pass(self.store, context.view(before.shape), own, sees, apart, row, column, keep)  # type: ignore[arg-type]


def column_of(edges: Ints) -> Ints:
    """Return for each token its place in its row."""
    return np.arange(int(edges[-1])) - np.repeat(edges[:-1], np.diff(edges))


def _own_mask(size: Int[Tensor, "row 1"], width: int, tree: LabelTree | None) -> Bool[Tensor, "row query key"]:
    """Return which of a row's own tokens each one sees: earlier ones; of the labels' words, those on its path."""
    at = torch.arange(width, device=size.device)
    before = at[None, :, None] >= at[None, None]
    nodes = 0 if tree is None else len(tree.tokens)
    if not nodes:
        return before.expand(len(size), -1, -1)
    assert tree is not None
    node = at[None] - (size - nodes)  # of the labels' words, where it is one of 0 to nodes - 1
    query, key = node[:, :, None], node[:, None]
    way = tree.sees().to(size.device)[query.clamp(0, nodes - 1), key.clamp(0, nodes - 1)]
    return torch.where((query >= 0) & (key >= 0) & (query < nodes) & (key < nodes), way, before)


def _lay(requests: Sequence[PromptRequest], tree: LabelTree | None) -> tuple[Ints, Ints, Ints]:
    """Return the new tokens of all rows end to end, their positions, and where each row begins."""
    nodes = () if tree is None else tree.tokens
    depths = np.asarray(() if tree is None else tree.depths, np.int64)
    ids = np.concatenate([np.concatenate([r.tokens[r.known :], np.asarray(nodes, np.int64)]) for r in requests])
    position = np.concatenate(
        [np.concatenate([np.arange(r.known, len(r.tokens)), len(r.tokens) + depths]) for r in requests]
    )
    sizes = np.asarray([r.new + len(nodes) for r in requests], np.int64)
    return ids, position, np.concatenate([[0], np.cumsum(sizes)])


def _batches(requests: Sequence[PromptRequest], most: int) -> Iterator[Ints]:
    """Yield batches of rows with similar numbers of new tokens and, among these, of cached ones."""
    new = np.asarray([r.new for r in requests], np.int64)
    known = np.asarray([r.known for r in requests], np.int64)
    order = np.lexsort((known, new))
    begin = total = deepest = 0
    for at, which in enumerate(order.tolist()):
        deepest = max(deepest, int(known[which]))
        pairs = (at - begin + 1) * int(new[which]) * (deepest + int(new[which]))
        if at > begin and (total + new[which] > most or pairs > _WASTE):
            yield order[begin:at]
            begin, total, deepest = at, 0, int(known[which])
        total += int(new[which])
    if begin < len(order):
        yield order[begin:]


def _windows(model: Any) -> list[int]:
    """Return the model's bounded attention window in a list, or an empty list where it has none."""
    found = getattr(model.config.get_text_config(), "sliding_window", None)
    return [int(found)] if found else []


@contextmanager
def _attending(model: Any) -> Iterator[None]:
    """Let the model attend by our function within the block."""
    before = [(part.config, part.config._attn_implementation) for part in _parts(model)]
    for config, _ in before:
        config._attn_implementation = _NAME
    try:
        yield
    finally:
        for config, was in before:
            config._attn_implementation = was


def _parts(model: Any) -> list[Any]:
    found = {id(part.config): part for part in model.modules() if getattr(part, "config", None) is not None}
    return list(found.values())


def can_share(model: Any) -> bool:
    """Return whether the model's class takes a pass laid out so; whether its answers agree is tried elsewhere."""
    known = inspect.signature(model.forward).parameters
    layers: Callable[[], Iterator[nn.Module]] = model.modules
    return {"position_ids", "logits_to_keep", "use_cache"} <= set(known) and any(
        hasattr(part, "layer_idx") for part in layers()
    )


def count_common(one: Ints, other: Ints) -> int:
    """Return how many tokens two rows begin with in common."""
    least = min(len(one), len(other))
    differ = np.flatnonzero(one[:least] != other[:least])
    return int(differ[0]) if len(differ) else least


EMPTY = CachedPrefix(np.empty(0, np.int64), np.empty(0, np.int64))
