"""A trained sentence model: how its folder is written and read, and the maps between sentences and latent points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.score import Floats
from malaprop.models.folder import VOCAB, WEIGHTS
from malaprop.models.tokens.vocab import Vocab, tokens
from malaprop.papers.natural.models.arae import reconstruction
from malaprop.papers.natural.models.sentencenet import SentenceNet, SentenceShape
from malaprop.papers.natural.models.sentences import Codec
from malaprop.training.card import Card, holds, read_card, write_card
from malaprop.training.folder import write_folder

_START, _END, _UNKNOWN = "<s>", "</s>", "<unk>"
_SHARES = (0.5, 0.35, 0.14, 0.01)  # of three words, two, one, and of any word alike


class NGrams:
    """A mixture of trigrams, bigrams, unigrams and a uniform part in fixed shares; words seen once are unknown too.

    A perplexity by it compares sentences like those it was counted from; it is no measure between vocabularies.
    """

    def __init__(self, sentences: Iterable[str]) -> None:
        rows = [tokens(sentence) for sentence in sentences]
        seen = Counter(word for row in rows for word in row)
        self.known = {word for word, count in seen.items() if count > 1}
        self.counts: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter(), Counter(), Counter())
        for row in rows:
            for gram in self._grams(row):
                for size in range(4):
                    self.counts[size][gram[3 - size :]] += 1
        self.before: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter(), Counter())
        for size in (1, 2, 3):
            for whole, count in self.counts[size].items():
                self.before[size - 1][whole[:-1]] += count

    def _grams(self, row: Sequence[str]) -> Iterable[tuple[str, str, str]]:
        words = [_START, _START, *(word if word in self.known else _UNKNOWN for word in row), _END]
        return zip(words, words[1:], words[2:], strict=False)

    def loss(self, sentence: str) -> tuple[float, int]:
        """Return the summed loss and the number of words, the end counted as one."""
        total, many = 0.0, 0
        for gram in self._grams(tokens(sentence)):
            total -= math.log(self._chance(gram))
            many += 1
        return total, many

    def _chance(self, gram: tuple[str, str, str]) -> float:
        """Return the probability of the last word; a context never seen gives its share to the shorter ones."""
        chance, share = 0.0, 0.0
        for size, weight in zip((3, 2, 1), _SHARES, strict=False):
            if context := self.before[size - 1][gram[3 - size : 2]]:
                chance += weight * self.counts[size][gram[3 - size :]] / context
                share += weight
        return (chance + _SHARES[3] / (len(self.known) + 2)) / (share + _SHARES[3])

    def perplexity(self, sentences: Sequence[str]) -> float:
        """Return exp of the mean loss a word over all sentences; infinite for no sentence."""
        losses = [self.loss(sentence) for sentence in sentences]
        many = sum(count for _, count in losses)
        return math.exp(sum(loss for loss, _ in losses) / many) if many else math.inf


CORPUS = "sentences.txt"  # what it was trained on: the yardstick of fluency is counted from it
_BATCH = 4096


def is_sentence_model(folder: Path) -> bool:
    return holds(folder, "sentence model")


def save(folder: Path, card: Card, net: SentenceNet, vocab: Vocab, sentences: Sequence[str]) -> None:
    """Write the folder, whole or not at all; weights take two bytes each."""
    from safetensors.torch import save_file

    with write_folder(folder, "sentence model") as made:
        weights = {name: tensor.detach().cpu().half().contiguous() for name, tensor in net.state_dict().items()}
        save_file(weights, made / WEIGHTS, metadata={"format": "pt"})
        vocab.save(made / VOCAB)
        (made / CORPUS).write_text("\n".join(sentences) + "\n", encoding="utf-8")
        write_card(made, card)


class SentenceModel:
    """A generative model of sentences with its inverter; a `Manifold` of sentences.

    A sentence's point does not depend on its neighbours in a batch beyond rounding, and the writer takes the first of
    words that are as good as tied.
    """

    def __init__(self, net: SentenceNet, codec: Codec, card: Card, *, fingerprint: str = "") -> None:
        self.net, self.codec, self.card = net.eval(), codec, card
        self.fingerprint = fingerprint
        self.sentences: tuple[str, ...] = ()

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> SentenceModel:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        card = read_card(folder, "sentence model")
        vocab = Vocab.load(folder / VOCAB)
        try:
            lists: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in card.shape.items()}
            net = SentenceNet(len(vocab), SentenceShape(**lists))
            net.load_state_dict({name: t.float() for name, t in load_file(folder / WEIGHTS).items()})
            sentences = (folder / CORPUS).read_text(encoding="utf-8").splitlines()
        except (OSError, SafetensorError, RuntimeError, TypeError, ValueError, SettingError) as error:
            reason = str(error).splitlines()[0][:160]
            raise VictimError(f"{folder} is damaged or cut short ({reason}); train the model again") from None
        model = cls(net.to(device), Codec(vocab, net.shape.longest), card, fingerprint=_fingerprint(folder))
        model.sentences = tuple(sentences)
        return model

    @property
    def dim(self) -> int:
        return self.net.shape.latent

    @cached_property
    def yardstick(self) -> NGrams:
        return NGrams(self.sentences)

    def invert(self, items: Sequence[str]) -> Floats:
        """Return the inverter's point of each sentence, I(E(x))."""
        with torch.inference_mode(), _exactly(self.net.bias.device):
            parts = [self.net.invert(self.net.encode(rows)).cpu() for rows in torch.split(self._rows(items), _BATCH)]
        return np.asarray(torch.cat(parts).numpy(), np.float32) if parts else np.empty((0, self.dim), np.float32)

    def generate(self, z: Floats) -> list[str]:
        """Generate the sentence of each point; it can be empty."""
        device = self.net.bias.device
        with torch.inference_mode(), _exactly(device):
            points = torch.split(torch.from_numpy(np.ascontiguousarray(z, np.float32)), _BATCH)
            rows = [self.net.write(self.net.out(part.to(device))).cpu() for part in points if len(part)]
        return self.codec.strings(torch.cat(rows)) if rows else []

    def refine(self, items: Sequence[str], z: Floats, *, steps: int, rate: float = 0.05) -> Floats:
        """Move points by `steps` gradient steps down the loss of their sentence's words (the paper's section 6).

        Only the point moves. Each sentence has its own sum, so its neighbours change nothing beyond rounding.
        """
        if not steps or not len(items):
            return z
        device = self.net.bias.device
        out = []
        starts = torch.split(torch.from_numpy(z), _BATCH)
        for rows, start in zip(torch.split(self._rows(items), _BATCH), starts, strict=True):
            point = start.to(device).clone().requires_grad_()
            optimiser = torch.optim.Adam([point], lr=rate)
            with _learning(self.net):
                for _ in range(steps):
                    optimiser.zero_grad(set_to_none=True)
                    loss = reconstruction(self.net, self.net.out(point), rows, 0.0) * int((rows != 0).sum())
                    (point.grad,) = torch.autograd.grad(loss, [point])
                    optimiser.step()
            out.append(point.detach().cpu())
        return np.asarray(torch.cat(out).numpy(), np.float32)

    def _rows(self, items: Sequence[str]) -> Int[Tensor, "batch slot"]:
        return torch.from_numpy(self.codec.rows(items)).to(self.net.bias.device)


def _exactly(device: torch.device) -> AbstractContextManager[None]:
    """Compute in full fp32 on a GPU; in lower precision a sentence would depend on the batch that it is written in."""
    if device.type != "cuda":
        return nullcontext()
    exact: AbstractContextManager[None] = torch.backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=True, allow_tf32=False
    )
    return exact


class _learning:  # noqa: N801 - a context, read as a word
    """A context in training mode, in which alone cuDNN differentiates an LSTM; there is no dropout here."""

    def __init__(self, net: SentenceNet) -> None:
        self.net = net

    def __enter__(self) -> None:
        self.net.train()

    def __exit__(self, *_: object) -> None:
        self.net.eval()


def _fingerprint(folder: Path) -> str:
    digest = sha256()
    for name in (WEIGHTS, VOCAB):
        with (folder / name).open("rb") as stream:
            digest.update(file_digest(stream, sha256).digest())
    return digest.hexdigest()[:16]
