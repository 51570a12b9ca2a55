"""RoBERTa and ALBERT in small, pre-trained as masked language models; transformers reads what is written.

An encoder that stays as it was published can also learn low-rank adapters (Hu et al. 2022): some hundred kilobytes in
place of a model that could not be packaged whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from malaprop.assets import store
from malaprop.core.errors import SettingError
from malaprop.core.text import Ints
from malaprop.models.folder import quietly
from malaprop.training.seeds import seeded
from malaprop.zoo.pretrain import tokenizer as subwords
from malaprop.zoo.pretrain.masking import Masking, evaluate_masked, pack_texts, surprise, unigram
from malaprop.zoo.pretrain.texts import Corpus
from malaprop.zoo.pretrain.tokenizer import Start, open_start

ADAPTERS = "adapter.safetensors"
_SCALE = ".scale"  # a row of bytes times its scale is the row of weights


class Adapter(nn.Module):
    """A frozen linear layer plus the product of two matrices of `rank` rows and columns that learn."""

    def __init__(self, plain: nn.Linear, rank: int) -> None:
        super().__init__()
        self.plain = plain.requires_grad_(False)
        like = plain.weight
        self.down = nn.Parameter(torch.randn(rank, plain.in_features).to(like) / math.sqrt(plain.in_features))
        self.up = nn.Parameter(torch.zeros(plain.out_features, rank).to(like))

    def forward(self, x: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        added = functional.linear(functional.linear(x, self.down), self.up)
        return self.plain(x) + added  # type: ignore[no-any-return]


def attach_adapters(model: Any, rank: int) -> None:
    """Freeze the body of a masked language model and give each linear layer of it an adapter; the head learns."""
    body = model.base_model.requires_grad_(False)
    for parent, name, layer in list(_layers(body, nn.Linear)):
        setattr(parent, name, Adapter(layer, rank))


def merge_adapters(model: Any) -> None:
    """Add the adapters' products to their layers and put the plain layers back."""
    for parent, name, adapter in list(_layers(model.base_model, Adapter)):
        with torch.no_grad():
            adapter.plain.weight += adapter.up @ adapter.down
        setattr(parent, name, adapter.plain)


def _layers(body: nn.Module, kind: type[nn.Module]) -> Iterator[tuple[nn.Module, str, Any]]:
    for parent in body.modules():
        if not isinstance(parent, Adapter):
            yield from ((parent, name, child) for name, child in parent.named_children() if type(child) is kind)


def find_learnt(model: Any) -> dict[str, Tensor]:
    """Return the weights that learn: adapters and head, without the output matrix (the table of embeddings)."""
    tied = {id(p) for p in model.get_input_embeddings().parameters()}
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad and id(p) not in tied}


def write_adapters(model: Any, path: Path) -> None:
    """Write the learnt weights, matrices in one byte a weight with a scale a row, the rest in two."""
    from safetensors.torch import save_file

    kept: dict[str, Tensor] = {}
    for name, weights in find_learnt(model).items():
        rows = weights.float().cpu()
        if rows.ndim == 1:
            kept[name] = rows.half()
            continue
        scale = rows.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127
        kept |= {name: (rows / scale).round().to(torch.int8), name + _SCALE: scale.float()}
    save_file(kept, path)


if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedPlan:
    """The settings of a masked pre-training; `length` counts a row's special tokens, `embedding` is for ALBERT.

    The model cannot read texts longer than `length`.
    """

    kind: str
    layers: int = 6
    width: int = 384
    heads: int = 6
    inner: int = 1536
    embedding: int = 128
    vocab: int = 16_000
    dropout: float = 0.1
    masked: float = 0.15
    length: int = 128
    batch: int = 64
    rate: float = 5e-4
    warmup: float = 0.06
    decay: float = 0.01
    clip: float = 1.0
    passes: float = 10.0
    every: int = 500
    compile: bool = False

    def __post_init__(self) -> None:
        if min(self.layers, self.width, self.heads, self.inner, self.embedding) < 1 or self.width % self.heads:
            raise SettingError(f"width must be a multiple of heads, and every size above 0, got {self}")
        if not 0 < self.masked < 1 or self.length < 6 or self.vocab < 300:
            raise SettingError(f"masked lies between 0 and 1, length from 6 and vocab from 300, got {self}")

    def begin(self, corpus: Corpus, *, seed: int, device: torch.device, start: str | None) -> MaskedWork:
        found = open_start(start, self.kind) if start else self._fresh(corpus, seed)
        return MaskedWork(self, found, corpus, device)

    def _fresh(self, corpus: Corpus, seed: int) -> Start:
        lower = self.kind == "albert"
        learn = subwords.lower_cased if lower else subwords.byte_level
        made = learn(corpus.train, self.vocab)
        names = subwords.ALBERT if lower else subwords.ROBERTA
        with seeded(seed), quietly():
            model = (_albert if lower else _roberta)(self, made.get_vocab_size())
        keep = partial(subwords.save, made, names=names, length=self.length, lower=lower)
        return Start(model, made, keep)


def _roberta(plan: MaskedPlan, vocab: int) -> Any:
    from transformers import RobertaConfig, RobertaForMaskedLM

    return RobertaForMaskedLM(
        RobertaConfig(
            **_common(plan, vocab),
            max_position_embeddings=plan.length + 2,  # RoBERTa counts positions from its padding token's number on
            type_vocab_size=1,
            bos_token_id=0,
            pad_token_id=1,
            eos_token_id=2,
        )
    )


def _albert(plan: MaskedPlan, vocab: int) -> Any:
    from transformers import AlbertConfig, AlbertForMaskedLM

    return AlbertForMaskedLM(
        AlbertConfig(
            **_common(plan, vocab),
            embedding_size=plan.embedding,
            max_position_embeddings=plan.length,
            pad_token_id=0,
            bos_token_id=2,
            eos_token_id=3,
            hidden_act="gelu",
        )
    )


def _common(plan: MaskedPlan, vocab: int) -> dict[str, Any]:
    return {
        "vocab_size": vocab,
        "hidden_size": plan.width,
        "num_hidden_layers": plan.layers,
        "num_attention_heads": plan.heads,
        "intermediate_size": plan.inner,
        "hidden_dropout_prob": plan.dropout,
        "attention_probs_dropout_prob": plan.dropout,
        "initializer_range": 0.02 * math.sqrt(768 / plan.width),  # BERT's 0.02 is for 768; a narrow model stalls on it
    }


class MaskedWork:
    """A masked pre-training; all rows lie on the device, and no step waits for the host.

    The body stays as it is for the share `frozen` of the budget, then learns at `pull` times the rate of the head.
    """

    def __init__(
        self,
        plan: Any,
        start: Start,
        corpus: Corpus,
        device: torch.device,
        *,
        frozen: float = 0.0,
        pull: float = 1.0,
        about: Callable[[str], str] | None = None,
    ) -> None:
        self.start, self.device, self._about = start, device, about
        self.model = start.model.to(device)
        self.frozen, self._held = frozen, False
        self.rates = ((f"{self.model.base_model_prefix}.", pull),)
        length = min(plan.length, start.limit)
        self.symbols = subwords.symbols(start.tokenizer)
        train, self.held_out = (
            pack_texts(subwords.pieces(start.tokenizer, texts), self.symbols, length, name=name)
            for texts, name in ((corpus.train, corpus.name), (corpus.held_out, f"the part held out of {corpus.name}"))
        )
        vocab = self.model.config.vocab_size
        self.masking = Masking(self.symbols, vocab, plan.masked, device)
        self._unigram = unigram(train, self.held_out, self.symbols, vocab)
        self._train = torch.from_numpy(train).to(device)
        self._body = torch.compile(self.model.base_model) if plan.compile else self.model.base_model
        self.shape: dict[str, Any] = {"length": int(train.shape[1]), "vocab": vocab}
        self.before = evaluate_masked(self.model, self.held_out, self.masking) if start.name else {}

    @property
    def origin(self) -> str | None:
        return self.start.name

    @property
    def rows(self) -> int:
        return len(self._train)

    @property
    def row_tokens(self) -> int:
        return int(self._train.shape[1])

    @property
    def fingerprint(self) -> str:
        return sha256(self.start.tokenizer.to_str().encode()).hexdigest()[:16]

    def at(self, progress: float) -> None:
        held = progress < self.frozen
        if held != self._held:
            self._held = held
            self.model.base_model.requires_grad_(not held).train(not held)

    def loss(self, rows: Ints) -> Float[Tensor, ""]:
        chosen = torch.from_numpy(rows).to(self.device, non_blocking=True)
        return surprise(self.model, self._body, self.masking.hide(self._train[chosen].long()))

    def figures(self) -> dict[str, float]:
        after = evaluate_masked(self.model, self.held_out, self.masking)
        earlier = {f"{name}_before": value for name, value in self.before.items()}
        size = sum(p.numel() for p in self.model.parameters())
        return {**after, **earlier, "perplexity_unigram": round(self._unigram, 2), "parameters": size}

    def about(self, trained: str) -> str:
        if self._about:
            return self._about(trained)
        config = self.model.config
        shared = ", one set of weights shared by all layers" if config.model_type == "albert" else ""
        name = {"albert": "ALBERT", "roberta": "RoBERTa"}[config.model_type]
        if self.start.name:
            return f"{name} from {self.start.name}, pre-trained further as a masked language model on {trained}."
        return (
            f"A stand-in for {name}: a small configuration ({config.num_hidden_layers} layers, {config.hidden_size} "
            f"wide, {config.num_attention_heads} heads, {config.vocab_size} tokens{shared}) pre-trained as a masked "
            f"language model on {trained}. It reads up to {self.row_tokens} tokens."
        )

    def save(self, folder: Path, *, half: bool) -> None:
        """Write the model as transformers has it; with `half` the weights take two bytes and still load as 32-bit."""
        if any(isinstance(part, Adapter) for part in self.model.modules()):
            write_adapters(self.model, folder / ADAPTERS)
            merge_adapters(self.model)
        with quietly():
            (self.model.half() if half else self.model).save_pretrained(folder)
        self.start.keep(folder)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        for name in ("dtype", "torch_dtype"):
            if name in config:
                config[name] = "float32"
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


roberta = partial(MaskedPlan, kind="roberta")
albert = partial(MaskedPlan, kind="albert", width=512, heads=8, inner=2048)


# --- a masked-LM head trained on MiniLM, which comes without one


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadPlan:
    """The settings of a head's training: the encoder is frozen for a share of the budget, then learns too.

    That share is `frozen`; afterwards the encoder learns at `pull` times the rate.

    With `frozen` 1 only the head is trained, and the encoder is MiniLM's own. The head's output is tied to the word
    embeddings. With `rank` above 0 the encoder stays as it is and adapters of that rank learn in its place; they and
    the head are written beside the merged model, small enough to be sent by themselves.
    """

    rank: int = 0
    frozen: float = 0.3
    pull: float = 0.3
    masked: float = 0.15
    length: int = 128
    batch: int = 64
    rate: float = 1e-3
    warmup: float = 0.06
    decay: float = 0.01
    clip: float = 1.0
    passes: float = 2.0
    every: int = 500
    compile: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.frozen <= 1 or not 0 < self.masked < 1 or self.pull <= 0 or self.length < 6:
            raise SettingError(f"frozen and masked lie between 0 and 1, pull above 0, length from 6, got {self}")
        if self.rank < 0:
            raise SettingError(f"rank must be at least 0, got {self.rank}")

    def begin(self, corpus: Corpus, *, seed: int, device: torch.device, start: str | None) -> MaskedWork:
        with seeded(seed):
            found = open_start(start or str(store.locate("minilm")), "bert", name=None if start else "all-MiniLM-L6-v2")
            if self.rank:
                attach_adapters(found.model, self.rank)
        return MaskedWork(
            self,
            found,
            corpus,
            device,
            frozen=0.0 if self.rank else self.frozen,
            pull=1.0 if self.rank else self.pull,
            about=lambda trained: self._about(found.name, trained),
        )

    def _about(self, name: str | None, trained: str) -> str:
        held = (
            f"the encoder changed by adapters of rank {self.rank}"
            if self.rank
            else "the encoder left as it was"
            if self.frozen == 1
            else f"the encoder left as it was for {self.frozen:.0%} of it"
        )
        return (
            f"{name} with a masked-LM head, output tied to the word embeddings, trained here on {trained}, {held}. A "
            "stand-in for BERT's own masked language model, which was trained on far more text."
        )
