"""LanguageModel: how surprised a causal language model is by a text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from malaprop.core.ask import NextWord
from malaprop.core.errors import AssetError
from malaprop.core.score import Floats
from malaprop.models.folder import quietly
from malaprop.models.tokens.batches import Bounds, batches

LIMIT = 512  # tokens


class LanguageModel:
    """A causal model of transformers; a begin-of-text token before each text lets its first word count."""

    def __init__(self, model: Any, tokenizer: Any, *, device: str = "cpu", bounds: Bounds | None = None) -> None:
        self.device = torch.device(device)
        self.model = model.eval().to(self.device)
        self.tokenizer = tokenizer
        self.begin = next(
            (t for t in (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) if t is not None), 0
        )
        self.bounds = bounds or Bounds(rows=16, tokens=4096)

    @torch.inference_mode()
    def perplexity(self, strings: Sequence[str]) -> Floats:
        """Return the perplexity of each text, exp of its mean loss a token; 1 without a token. Lower is more fluent."""
        if not strings:
            return np.empty(0, np.float32)
        tokens = self.tokenizer(list(strings), add_special_tokens=False)["input_ids"]
        rows = [[self.begin, *ids][:LIMIT] for ids in tokens]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        out = np.empty(len(rows), np.float32)
        for part in batches(lengths, self.bounds):
            out[part] = self._losses([rows[i] for i in part.tolist()]).exp().cpu().numpy()
        return out

    def log_probability(self, strings: Sequence[str]) -> Floats:
        """Return the log-probability of each text, summed over its tokens."""
        tokens = self.tokenizer(list(strings), add_special_tokens=False)["input_ids"] if strings else []
        many = np.fromiter((min(len(ids), LIMIT - 1) for ids in tokens), np.float32, len(tokens))
        return np.asarray(-many * np.log(np.clip(self.perplexity(strings), 1e-30, 1e30)), np.float32)

    @torch.inference_mode()
    def next_words(self, asks: Sequence[NextWord]) -> list[Floats]:
        """Return for each request the log-probabilities of its words, by their first tokens; a text is read once."""
        whole = {text: self._next_logs(text) for text in dict.fromkeys(ask.text for ask in asks)}
        out = []
        for ask in asks:
            logs = whole[ask.text]
            before = self.tokenizer(ask.text[: ask.end].rstrip(), add_special_tokens=False)["input_ids"]
            words = [f" {word}" if ask.end else word for word in ask.words]
            firsts = [
                ids[0] if ids else self.begin for ids in self.tokenizer(words, add_special_tokens=False)["input_ids"]
            ]
            out.append(logs[min(len(before), len(logs) - 1), firsts].cpu().numpy().astype(np.float32))
        return out

    def _next_logs(self, text: str) -> Float[Tensor, "token word"]:
        """Return the log-probability of every token behind each token of a text, the begin-of-text token first."""
        ids = [self.begin, *self.tokenizer(text, add_special_tokens=False)["input_ids"]][:LIMIT]
        logits: Tensor = self.model(input_ids=torch.tensor([ids], device=self.device)).logits[0]
        return logits.float().log_softmax(1)

    def _losses(self, rows: list[list[int]]) -> Float[Tensor, " batch"]:
        ids = torch.full((len(rows), max(2, *map(len, rows))), self.begin)
        inside = torch.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = torch.tensor(row)
            inside[at, : len(row)] = 1
        return self._mean_loss(ids.to(self.device), inside.to(self.device))

    def _mean_loss(
        self, ids: Int[Tensor, "batch token"], inside: Int[Tensor, "batch token"]
    ) -> Float[Tensor, " batch"]:
        logits = self.model(input_ids=ids, attention_mask=inside).logits[:, :-1].float()
        losses = functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        counted = inside[:, 1:]
        mean: Tensor = (losses * counted).sum(1) / counted.sum(1).clamp(min=1)
        return mean


def load_language_model(folder: Path, *, device: str = "cpu", gguf: str | None = None) -> LanguageModel:
    """Load a causal model from a transformers folder, or from a GGUF file in it."""
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise AssetError("perplexity needs the transformers library; install malaprop[lm]") from None
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if gguf:
        options["gguf_file"] = gguf
    try:
        with (
            quietly(),
            redirect_stderr(StringIO()),
        ):  # unpacking a GGUF file has a progress bar that cannot be switched off
            tokenizer = AutoTokenizer.from_pretrained(folder, **options)
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options)
    except ImportError as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise AssetError(f"{folder} needs libraries that are not here ({reason}); install malaprop[lm]") from None
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise AssetError(f"{folder} cannot be read as a language model: {reason}") from None
    return LanguageModel(model, tokenizer, device=device)


def open_language_model(*, device: str = "cpu") -> LanguageModel:
    """Open the packaged model, SmolLM2; this takes about half a minute, to unpack its weights from four bits."""
    from malaprop.assets import store

    folder = store.locate("smollm2")
    files = sorted(folder.glob("*.gguf"))
    if not files:
        raise AssetError(f"{folder} holds no .gguf file; run: malaprop fetch smollm2")
    return load_language_model(folder, device=device, gguf=files[0].name)
