"""CausalVictim: a causal language model in this process that classifies by the words it would answer."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from malaprop.core.budget import Meter
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words
from malaprop.core.victim import ANSWERS, Fields, in_fields
from malaprop.models.llm.prefix_cache import (
    EMPTY,
    CachedPrefix,
    LabelTree,
    PrefixCache,
    PromptRequest,
    can_share,
    count_common,
)
from malaprop.models.llm.template import Template, chat_of, check_fields
from malaprop.models.precision import ROUNDING, full_precision
from malaprop.models.tokens.batches import Bounds, PendingScores, aside, batches, copy_to_host
from malaprop.models.tokens.splice import ship
from malaprop.models.victims.strings import shorten_text

SAME = 1e-4  # of two probabilities: how far the fast path may be from whole forward passes
_RECENT = 3  # cached prefixes of an example that are compared for a common beginning
_MIXED = Bounds(rows=256, tokens=1 << 14, waste=0.15, small=1 << 11)  # of whole rows that are read on a GPU
_LOGITS = 1 << 28  # of one such pass, at most: 1 GiB in float32
_TRIED = ("a fine film", "it was 2 hours of nothing , really", "a fine book about a fine film")


@dataclass(slots=True, eq=False, kw_only=True)
class CausalVictim:
    """Scores a label by the probability of its whole word behind the prompt, among all labels' words.

    Texts under attack share their prompt: its keys and values are computed once, those of a base once more, and of a
    variant what comes behind its first change. `share=False` reads every prompt whole. `predict` always does, by the
    library's own forward pass, in float32. `fast` is the model that the fast path asks: a copy in bf16, or None for the
    model itself.
    """

    name: str
    model: Any
    tokenizer: Any
    template: Template
    label_names: tuple[str, ...]
    limit: int
    fast: Any = None
    chat: bool = True  # whether the prompt is put into the tokenizer's chat template, where it has one
    share: bool = True
    fingerprint: str = ""
    unknown: str = "[UNK]"
    meter: Meter = field(default_factory=lambda: Meter(queries=0, tokens_in=0, tokens_out=0))
    offers: ClassVar[frozenset[Capability]] = ANSWERS
    renews: ClassVar[bool] = False
    inside: ClassVar[None] = None
    withheld: ClassVar[str] = ""
    _reader: PromptReader = field(init=False, repr=False)
    _kept: dict[int, deque[CachedPrefix]] = field(default_factory=dict, init=False, repr=False)  # by example
    _prefix: CachedPrefix = field(
        default=EMPTY, init=False, repr=False
    )  # what every prompt begins with; it may be nothing
    _ready: bool = field(default=False, init=False, repr=False)
    _notes: list[str] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self._reader = PromptReader.of(self.model, self.tokenizer, self.template, chat=self.chat, fast=self.fast)
        if len(self._reader.encode([("",) * len(self.template.fields)])[0]) >= self.limit:
            raise SettingError(f"the prompt alone is longer than the {self.limit} tokens that {self.name} reads")
        if self.share and not self._is_same():
            self.share = False
            self._notes.append(f"{self.name} attends in a way of its own, so every prompt is read whole")

    @property
    def precision(self) -> str:
        return "fp32" if self.fast is None else "bf16"

    @property
    def rounding(self) -> float:
        """Return how far a probability of the fast path may be from the plain one."""
        return max(SAME, ROUNDING[self.precision])

    @property
    def lanes(self) -> int:
        """Return 2 on a GPU, where half of the attacks advance while the other half's prompts are read; else 1."""
        return 2 if self.model.device.type == "cuda" else 1

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return {}

    @property
    def labels(self) -> int:
        return len(self.label_names)

    @property
    def tokens_read(self) -> int:
        """Return how many tokens the model computed: fewer than those of the prompts where these share beginnings."""
        return self._reader.prefixes.tokens_read

    @property
    def device(self) -> str:
        return str(self.model.device)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def classes(self, table: Words) -> Ints | None:  # noqa: ARG002 - it tells all words of any table apart
        return None

    @torch.inference_mode()
    def begin(self, pool: Pool, wanted: Ints) -> PendingScores:
        texts = [text.values() for text in pool.texts(wanted)]
        rows = self._rows(texts)
        bases = pool.base[wanted]
        with full_precision(self.device):
            if not self.share:
                return copy_to_host(self._reader.score_whole(rows).softmax(-1))
            numbers, counts = np.unique(bases, return_counts=True)
            several = [pool.bases[b] for b in numbers[counts > 1].tolist()]
            self._keep([base.owner for base in several], self._encode([base.values() for base in several]))
            owners = [pool.bases[b].owner for b in bases.tolist()]
            requests = [self._request(row, owner) for row, owner in zip(rows, owners, strict=True)]
            return copy_to_host(self._reader.prefixes.score(requests).softmax(-1))

    def finish(self, begun: PendingScores) -> Floats:
        return _check(begun.wait())

    @torch.inference_mode()
    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        whole = in_fields(texts)
        if not whole:
            return np.empty((0, self.labels), np.float32)
        with full_precision(self.device), aside(self.model.device):
            return _normalise(self._reader.score_plain(self._rows(whole)))

    def with_instruction(self, instruction: str) -> CausalVictim:
        """Return a victim of the same model under another instruction."""
        made = CausalVictim(
            name=self.name, model=self.model, tokenizer=self.tokenizer, label_names=self.label_names, limit=self.limit,
            template=self.template.with_instruction(instruction), chat=self.chat, share=False, unknown=self.unknown,
            fast=self.fast,
        )  # fmt: skip
        made.share = self.share  # which was tried when this one was made
        return made

    def _rows(self, texts: Sequence[Fields]) -> list[Ints]:
        """Return the tokens of all prompts; raise on a text for which there is no room."""
        check_fields(self.template, texts, self.name)
        rows = self._encode(texts)
        room = self.limit - self._reader.longest
        for text, row in zip(texts, rows, strict=True):
            if len(row) > room:
                raise VictimError(
                    f"the prompt with {shorten_text(text, 40)} has {len(row)} tokens, {self.name} reads {room} and the "
                    "answer; shorten the text or the prompt"
                )
        self.meter.queries += len(rows)
        self.meter.tokens_in += sum(map(len, rows))
        self.meter.tokens_out += len(rows)
        return rows

    def _encode(self, texts: Sequence[Fields]) -> list[Ints]:
        return self._reader.encode(texts)

    # --- what is kept

    def _keep(self, owners: Sequence[int], rows: Sequence[Ints]) -> None:
        """Cache the prefixes of base texts, as far as there is room."""
        if not self._ready:
            self._renew()
        fresh = [(owner, row) for owner, row in zip(owners, rows, strict=True) if not self._has(owner, row)]
        if not self._reader.prefixes.store.takes(sum(self._request(row, owner).new for owner, row in fresh)):
            self._renew()
            fresh = list(zip(owners, rows, strict=True))
        room, chosen = self._reader.prefixes.store, []
        total = 0
        for owner, row in fresh:
            request = self._request(row, owner)
            total += request.new
            if room.takes(total):
                chosen.append((owner, request))
        made = self._reader.prefixes.keep([request for _, request in chosen]) if chosen else []
        for (owner, _), prefix in zip(chosen, made, strict=True):
            self._kept.setdefault(owner, deque(maxlen=_RECENT)).append(prefix)

    def _renew(self) -> None:
        """Empty the cache but for the tokens that every prompt begins with."""
        self._kept.clear()
        self._reader.prefixes.forget()
        self._prefix, self._ready = EMPTY, True
        beginning = self._reader.beginning()
        if len(beginning):
            (self._prefix,) = self._reader.prefixes.keep([PromptRequest(beginning, EMPTY, 0)])

    def _has(self, owner: int, row: Ints) -> bool:
        return any(np.array_equal(prefix.tokens, row) for prefix in self._kept.get(owner, ()))

    def _request(self, row: Ints, owner: int) -> PromptRequest:
        """Return a request for the row behind its longest cached prefix; its last token is always read anew."""
        found = [(count_common(prefix.tokens, row), prefix) for prefix in (self._prefix, *self._kept.get(owner, ()))]
        known, prefix = max(found, key=lambda pair: pair[0])
        return PromptRequest(row, prefix, min(known, len(row) - 1))

    @torch.inference_mode()
    def _is_same(self) -> bool:
        """Return whether the fast path agrees with whole forward passes on a few texts."""
        if not can_share(self.model):
            return False
        many = len(self.template.fields)
        rows = self._encode([(text,) * many for text in _TRIED])
        try:
            self._keep([0, 2], [rows[0], rows[2]])
            fast = _normalise(self._reader.prefixes.score([self._request(row, at) for at, row in enumerate(rows)]))
        except Exception:  # noqa: BLE001 - models fail in ways of their own when they are read as they were not meant
            return False
        plain = _normalise(self._reader.score_plain(rows))
        self._kept.clear()
        return bool(np.isfinite(fast).all()) and float(np.abs(fast - plain).max()) <= self.rounding


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PromptReader:
    """A model with the prompt around its texts: what it reads, and how likely the words of the labels are."""

    model: Any
    prefixes: PrefixCache
    tokenizer: Any
    template: Template
    chat: bool
    first: tuple[int, ...]  # tokens before every text

    @classmethod
    def of(cls, model: Any, tokenizer: Any, template: Template, *, chat: bool, fast: Any = None) -> PromptReader:
        write = chat_of(tokenizer) if chat else None
        first = () if write is not None else _first_tokens(tokenizer)
        frame = template.frame(write)
        sample = frame.fill(("x",) * len(template.fields))
        plain, *words = tokenizer(
            [sample, *(sample + frame.space + word for word in template.words)], add_special_tokens=False
        )["input_ids"]
        tails = []
        for name, row in zip(template.words, words, strict=True):
            if row[: len(plain)] != plain:
                raise SettingError(
                    f"the end of the prompt and the label word {name!r} run into one token; end the prompt with a "
                    "colon or a line break, or choose another word with --label-words"
                )
            tails.append(row[len(plain) :])
        prefixes = PrefixCache(model=model if fast is None else fast, tree=LabelTree.of(tails, template.words))
        return cls(model=model, prefixes=prefixes, tokenizer=tokenizer, template=template, chat=chat, first=first)

    @property
    def longest(self) -> int:
        """Return the number of tokens of the longest label word."""
        return max(map(len, self.prefixes.tree.words))

    def encode(self, texts: Sequence[Fields]) -> list[Ints]:
        """Return the tokens of whole prompts."""
        if not texts:
            return []
        frame = self.template.frame(chat_of(self.tokenizer) if self.chat else None)
        found = self.tokenizer([frame.fill(text) for text in texts], add_special_tokens=False, verbose=False)[
            "input_ids"
        ]
        return [np.asarray([*self.first, *row], np.int64) for row in found]

    def beginning(self) -> Ints:
        """Return the tokens that every prompt begins with."""
        many = len(self.template.fields)
        one, *others = self.encode([(text,) * many for text in ("x", "A 1", "éa", "\"'")])
        return one[: min(count_common(one, other) for other in others)]

    def score_whole(self, rows: Sequence[Ints]) -> Float[Tensor, "row label"]:
        """Return the log-probabilities of the label words, each prompt read whole, many of them end to end."""
        if can_share(self.model):
            return self.prefixes.score([PromptRequest(row, EMPTY, 0) for row in rows])
        return self.score_plain(rows)

    def score_plain(self, rows: Sequence[Ints], *, mixed: bool | None = None) -> Float[Tensor, "row label"]:
        """Return the log-probabilities of the label words, by the library's own passes over whole rows.

        With `mixed`, the default on a GPU, rows of several lengths share a pass: a causal model reads no padding that
        comes behind a row.
        """
        words, device = self.prefixes.tree.words, self.model.device
        stems = longest_stems(words)
        whole = [np.concatenate([row, np.asarray(stem, np.int64)]) for row in rows for stem in stems]
        lengths = np.fromiter(map(len, whole), np.int64, len(whole))
        ends = np.repeat(np.fromiter(map(len, rows), np.int64, len(rows)), len(stems))
        if mixed is None:
            mixed = device.type == "cuda" and not stretches_positions(self.model)
        found = torch.empty(len(whole), len(words), device=device)
        places = max(1, _LOGITS // len(self.tokenizer))
        for part in _passes(lengths, ends, _MIXED if mixed else Bounds(rows=16), even=not mixed, places=places):
            most = int(lengths[part].max())
            ids = np.zeros((len(part), most), np.int64)
            for at, i in enumerate(part.tolist()):
                ids[at, : lengths[i]] = whole[i]
            first = int(ends[part].min()) - 1  # the first place behind which a label's token stands
            seen = torch.from_numpy(ids).to(device)
            logits = _last_logits(self.model, seen, most - first)
            index, place = ship(device, part, ends[part] - 1 - first)
            row, step = torch.arange(len(part), device=device), torch.arange(self.longest, device=device)
            likely = logits[row[:, None], (place[:, None] + step).clamp(max=most - first - 1)].float().log_softmax(-1)
            sums = [sum(likely[:, at, token] for at, token in enumerate(word)) for word in words]
            found[index] = torch.stack(sums, 1)  # type: ignore[arg-type]
        own = [next(at for at, stem in enumerate(stems) if stem[: len(word) - 1] == word[:-1]) for word in words]
        return found.view(len(rows), len(stems), len(words))[:, own, range(len(words))]


def _passes(lengths: Ints, ends: Ints, bounds: Bounds, *, even: bool, places: int) -> Iterator[Ints]:
    """Yield the rows of each pass: a batch, cut so that at most `places` lie behind the end of its shortest prompt.

    A row that has more is a pass of its own.
    """
    for part in batches(lengths, bounds, even=even):
        left = part
        while len(left):
            behind = lengths[left] - np.minimum.accumulate(ends[left]) + 1
            taken = max(1, int(np.searchsorted(behind * np.arange(1, len(left) + 1), places, "right")))
            yield left[:taken]
            left = left[taken:]


def longest_stems(words: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the words without their last tokens, but for those that another one begins with."""
    stems = sorted({word[:-1] for word in words})
    return [stem for stem in stems if not any(other[: len(stem)] == stem for other in stems if other != stem)]


def _last_logits(model: Any, ids: Tensor, many: int) -> Float[Tensor, "row place token"]:
    """Return the logits behind the last `many` tokens of each row."""
    some = {"logits_to_keep": many} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
    logits: Tensor = model(input_ids=ids, use_cache=False, **some).logits
    return logits[:, -many:]


def stretches_positions(model: Any) -> bool:
    """Return whether a model turns positions by the length of the longest row, so that padding would change answers."""
    config = model.config.get_text_config()
    found = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    return any(kind in str(found) for kind in ("dynamic", "longrope"))


def _first_tokens(tokenizer: Any) -> tuple[int, ...]:
    """Return the special tokens that the tokenizer puts before a text."""
    bare = tokenizer("x", add_special_tokens=False)["input_ids"]
    whole = tokenizer("x")["input_ids"]
    at = next((i for i in range(len(whole)) if whole[i : i + len(bare)] == bare), 0)
    return tuple(whole[:at])


def _normalise(scores: Float[Tensor, "row label"]) -> Floats:
    return _check(scores.softmax(-1).cpu())


def _check(scores: Float[Tensor, "row label"]) -> Floats:
    found = scores.numpy().astype(np.float32)
    if not np.isfinite(found).all():
        raise VictimError("the model answered with NaN; check its weights")
    return found
