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

from malaprop.core.errors import AssetError
from malaprop.core.score import Floats
from malaprop.models.quiet import quietly
from malaprop.models.tokens.batches import Bounds, batches

LIMIT = 512  # tokens


class LanguageModel:
    """A transformers causal model. Each text is read after a begin-of-text token, so that its first word counts."""

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
        """exp of the mean loss a token; 1 for a text without a token. Lower is more fluent."""
        if not strings:
            return np.empty(0, np.float32)
        tokens = self.tokenizer(list(strings), add_special_tokens=False)["input_ids"]
        rows = [[self.begin, *ids][:LIMIT] for ids in tokens]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        out = np.empty(len(rows), np.float32)
        for part in batches(lengths, self.bounds):
            out[part] = self._losses([rows[i] for i in part.tolist()]).exp().cpu().numpy()
        return out

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
    """A causal model from a transformers folder, or from a GGUF file in it."""
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
    """The packaged model, SmolLM2; loading takes about half a minute, as its weights are unpacked from four bits."""
    from malaprop.assets import store

    folder = store.locate("smollm2")
    files = sorted(folder.glob("*.gguf"))
    if not files:
        raise AssetError(f"{folder} holds no .gguf file; run: malaprop fetch smollm2")
    return load_language_model(folder, device=device, gguf=files[0].name)
