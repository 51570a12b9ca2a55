"""Tiny causal language models with random weights, and their tokenizers, made in a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tiny_folders
import torch

CHAT = (
    "{% for m in messages %}<s>{{ m.role }}\n{{ m.content }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
_BASE = {
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 256, "initializer_range": 0.25,
}  # fmt: skip
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", _BASE),
    "qwen2": ("Qwen2", {**_BASE, "tie_word_embeddings": True}),
    "mistral": ("Mistral", {**_BASE, "sliding_window": 12}),
    "gpt2": ("GPT2", {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 256, "initializer_range": 0.25}),
}


def model(name: str, vocabulary: int) -> Any:
    import transformers

    kind, settings = KINDS[name]
    config = getattr(transformers, f"{kind}Config")(vocab_size=vocabulary, bos_token_id=2, eos_token_id=3, **settings)
    torch.manual_seed(0)
    return getattr(transformers, f"{kind}{'LMHeadModel' if kind == 'GPT2' else 'ForCausalLM'}")(config).eval()


def folder(at: Path, name: str, *, chat: bool = False, frame: str = "<s> $A") -> Path:
    """A folder that transformers reads; with `chat` it has a template for chats, `frame` says what comes first."""
    tokenizer = tiny_folders.tokenizer("bytes", frame=frame)
    tokenizer.model_max_length = 256
    if chat:
        tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(at)
    model(name, len(tokenizer)).save_pretrained(at)
    return at
