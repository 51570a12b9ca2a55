"""ELMo's pre-training: a bidirectional language model over words read as characters (Peters et al. 2018)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import AssetError, SettingError
from malaprop.core.text import Ints
from malaprop.models.tokens.vocab import tokens
from malaprop.training.card import read_card
from malaprop.training.seeds import seeded
from malaprop.zoo.blocks.elmo import FILTERS, MARK, Elmo, spell
from malaprop.zoo.pretrain.texts import Blocks, Corpus, blocks

WEIGHTS, OUTPUT, WORDS = "model.safetensors", "output.safetensors", "words.txt"
_UNKNOWN, _BREAK = 0, 1  # outputs; the break between texts is also type 0 of the input
_SPECIAL = ("<unk>", "<break>")


@dataclass(frozen=True, slots=True, kw_only=True)
class ElmoPlan:
    """The settings of ELMo's pre-training; `dim` is each direction's width, `vocab` how many words it predicts."""

    dim: int = 256
    hidden: int = 1024
    char_dim: int = 16
    filters: tuple[tuple[int, int], ...] = FILTERS
    highways: int = 2
    vocab: int = 20_000
    dropout: float = 0.1
    length: int = 64
    batch: int = 64
    rate: float = 2e-3
    warmup: float = 0.06
    decay: float = 0.01
    clip: float = 1.0
    passes: float = 5.0
    every: int = 500

    def __post_init__(self) -> None:
        if min(self.dim, self.vocab, self.length - 2, self.highways + 1) < 1 or self.hidden <= self.dim:
            raise SettingError(f"ELMo needs dim, vocab and length (3) above 0 and hidden above dim, got {self}")

    @property
    def shape(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("dim", "hidden", "char_dim", "filters", "highways")}

    def begin(self, corpus: Corpus, *, seed: int, device: torch.device, start: str | None) -> ElmoWork:
        if start is not None:
            raise SettingError("ELMo is pre-trained from random weights; leave --start out")
        return ElmoWork(self, corpus, seed=seed, device=device)


class _Types:
    """Every distinct word of the texts, by number; the break between texts is 0."""

    def __init__(self) -> None:
        self.words: list[str] = [""]
        self._index: dict[str, int] = {}
        self._chunks: dict[str, tuple[int, ...]] = {}

    def stream(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Return the word numbers of texts one after another, a break before, between and behind them."""
        out = array("i", [0])
        for text in texts:
            for chunk in text.split():  # no token reaches over a blank, and most chunks come again
                found = self._chunks.get(chunk)
                if found is None:
                    found = self._chunks[chunk] = tuple(map(self._number, tokens(chunk)))
                out.extend(found)
            out.append(0)
        return np.frombuffer(out, np.intc).astype(np.int32)

    def _number(self, word: str) -> int:
        at = self._index.get(word)
        if at is None:
            at = self._index[word] = len(self.words)
            self.words.append(word)
        return at


class BiLM(nn.Module):
    """A language model in both directions: ELMo under one softmax over words, which both directions share."""

    def __init__(self, elmo: Elmo, vocab: int, dropout: float) -> None:
        super().__init__()
        self.elmo = elmo
        self.output = nn.Linear(elmo.dim, vocab)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, chars: Int[Tensor, "type char"], where: Int[Tensor, "batch token"], wanted: Int[Tensor, "batch token"]
    ) -> Float[Tensor, 2]:
        """Return the mean negative log-likelihood of the next word, and that of the word before."""
        vectors = self.dropout(functional.embedding(where, self.elmo.embed(chars)))
        turned = torch.arange(where.shape[1] - 1, -1, -1, device=where.device).expand(where.shape)
        ahead, back = self.dropout(self.elmo.read(vectors, turned)[1]).chunk(2, 2)
        return torch.stack([self._surprise(ahead[:, :-1], wanted[:, 1:]), self._surprise(back[:, 1:], wanted[:, :-1])])

    def _surprise(
        self, states: Float[Tensor, "batch token dim"], wanted: Int[Tensor, "batch token"]
    ) -> Float[Tensor, ""]:
        return functional.cross_entropy(self.output(states.flatten(0, 1)), wanted.flatten())


class ElmoWork:
    """ELMo's pre-training: rows of one length on the host; a batch sends each distinct word to the device once."""

    rates: tuple[tuple[str, float], ...] = ()
    origin = None

    def __init__(self, plan: ElmoPlan, corpus: Corpus, *, seed: int, device: torch.device) -> None:
        types = _Types()
        self.train = blocks(types.stream(corpus.train), plan.length, name=corpus.name)
        self.held_out = blocks(
            types.stream(corpus.held_out), plan.length, name=f"the part held out of {corpus.name}", least=3
        )
        self.vocab, outputs = _outputs(types.words, self.train, plan.vocab)
        if len(self.vocab) < len(_SPECIAL) + 2:
            raise SettingError(f"{corpus.name} has too few distinct words to predict; give more text")
        spelled = spell(types.words)
        spelled[0] = 0
        spelled[0, : len(MARK)] = MARK
        self._lengths = (spelled != 0).sum(1)
        self.device = device
        self._chars, self._outputs = torch.from_numpy(spelled).to(device), torch.from_numpy(outputs).to(device)
        self._dense = outputs
        self.plan, self.shape = plan, plan.shape
        with seeded(seed):
            self.model = BiLM(Elmo(**plan.shape), len(self.vocab), plan.dropout).to(device)

    @property
    def rows(self) -> int:
        return len(self.train)

    @property
    def row_tokens(self) -> int:
        return int(self.train.shape[1])

    @property
    def fingerprint(self) -> str:
        return sha256("\n".join(self.vocab).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def at(self, progress: float) -> None:
        """Do nothing: ELMo's training does not change on the way."""

    def loss(self, rows: Ints) -> Float[Tensor, ""]:
        return self._surprises(self.train[rows]).sum()

    def _surprises(self, ids: Blocks) -> Float[Tensor, 2]:
        types, where = np.unique(ids, return_inverse=True)
        longest = int(self._lengths[types].max())
        if self.device.type == "cuda":  # few shapes: memory is found again, and nothing waits for the device
            types, longest = np.pad(types, (0, -len(types) % 1024)), min(longest + -longest % 8, self._chars.shape[1])
        chosen, places = self._send(types.astype(np.int64)), self._send(where.reshape(ids.shape).astype(np.int64))
        chars = self._chars[chosen, :longest].int()
        surprises: Tensor = self.model(chars, places, self._outputs[chosen][places])
        return surprises

    def _send(self, numbers: Ints) -> Int[Tensor, ...]:
        held = torch.from_numpy(numbers)
        return held.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else held

    @torch.no_grad()
    def figures(self) -> dict[str, float]:
        """Return held-out perplexity by the whole softmax; an unknown word counts as one of the words predicted."""
        self.model.eval()
        size = 128 if self.device.type == "cuda" else 16
        parts = [self.held_out[a : a + size] for a in range(0, len(self.held_out), size)]
        sums = sum((self._surprises(part) * len(part) for part in parts), torch.zeros(2, device=self.device))
        ahead, back = (sums / len(self.held_out)).exp().tolist()
        return {
            "perplexity_forward": round(ahead, 2),
            "perplexity_backward": round(back, 2),
            "perplexity_unigram": round(_unigram(self._dense[self.train], self._dense[self.held_out]), 2),
            "unknown_share": round(float((self._dense[self.held_out] == _UNKNOWN).mean()), 4),
            "words_predicted": len(self.vocab),
        }

    def about(self, trained: str) -> str:
        plan = self.plan
        return (
            f"A stand-in for ELMo: a small configuration (character CNN, two LSTM layers of {plan.hidden} cells a "
            f"direction projected to {plan.dim}) pre-trained as a bidirectional language model on {trained}. It reads "
            "lower-cased words, as the word models of the zoo do."
        )

    def save(self, folder: Path, *, half: bool) -> None:
        """Write the encoder, and in a file apart the layer that only the language model needs."""
        _save(self.model.elmo, folder / WEIGHTS, half)
        _save(self.model.output, folder / OUTPUT, half)
        (folder / WORDS).write_text("\n".join(self.vocab) + "\n", encoding="utf-8", errors="replace", newline="\n")


def _outputs(words: Sequence[str], train: Blocks, most: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return the words predicted, the most frequent first, and the output that each type stands for."""
    counts = np.bincount(train.ravel(), minlength=len(words))
    ranked = sorted((t for t in range(1, len(words)) if counts[t]), key=lambda t: (-counts[t], words[t]))
    kept = ranked[: max(0, most - len(_SPECIAL))]
    outputs = np.full(len(words), _UNKNOWN, np.int64)
    outputs[0] = _BREAK
    outputs[kept] = np.arange(len(kept)) + len(_SPECIAL)
    return [*_SPECIAL, *(words[t] for t in kept)], outputs


def _unigram(train: Ints, held_out: Ints) -> float:
    """Return the perplexity by each output's frequency alone; an output never seen counts as seen once."""
    counts = np.bincount(train.ravel(), minlength=int(held_out.max()) + 1)
    return float(np.exp(np.mean(np.log(train.size / np.maximum(1, counts[held_out])))))


def _save(module: nn.Module, path: Path, half: bool) -> None:
    from safetensors.torch import save_file

    kind = torch.float16 if half else torch.float32
    save_file(
        {name: tensor.detach().to("cpu", kind).contiguous() for name, tensor in module.state_dict().items()}, path
    )


def load_elmo(folder: Path, *, device: str = "cpu") -> Elmo:
    """Load the encoder of a folder in evaluation mode, its weights frozen; run nothing in the folder."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    card = read_card(folder, "encoder")
    if card.kind != "elmo":
        raise AssetError(f"{folder} holds {card.kind}, not elmo; make one with: malaprop pretrain elmo")
    try:
        elmo = Elmo(**card.shape)
        elmo.load_state_dict({name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()})
    except (OSError, SafetensorError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0][:160]
        raise AssetError(f"{folder / WEIGHTS} is damaged or cut short ({reason}); pre-train again") from None
    return elmo.requires_grad_(False).eval().to(device)
