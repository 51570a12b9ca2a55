"""Tiny folders of many architectures with random weights, and tokenizers of every kind, made in a second."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

LIMIT = 40  # tokens that each of them reads
_COMMON = (  # noqa: SIM905 - a list of these would be forty lines
    "the a of and to in is it that this film movie good bad great dull moving funny poor story plot acting ending "
    "actor scene never always quite rather very not was were will can don't isn't it's man's well-made 3.5 2024 café "
    "naïve München İstanbul"
).split()
_SIGNS = [".", ",", "!", "?", ";", ":", "...", "(", ")", '"', "'", "-", "--", "&", "*"]
_ODD = ["\u3042\u3044", "\u4e2d\u6587", "\U0001f600", "\u00a0", "\t", "  ", "\n", "e\u0301", "\u200b", "xqzzt", "<b>"]


def texts(count: int, seed: int = 0) -> list[str]:
    """Of one word up to twice the limit, with signs, odd spaces and letters of other scripts."""
    draw = random.Random(seed)
    out = []
    for _ in range(count):
        parts: list[str] = []
        for _ in range(draw.randint(1, draw.choice([4, 12, 2 * LIMIT]))):
            word = draw.choice(_COMMON) if draw.random() < 0.97 else draw.choice(_ODD)
            word = draw.choice([str.lower, str.lower, str.title, str.upper])(word)
            parts.append(word + (draw.choice(_SIGNS) if draw.random() < 0.2 else ""))
        out.append(draw.choice(["", "", "", " "]).join(["", " ".join(parts)]))
    return out


def _list_pieces(special: Sequence[str], words: Counter[str]) -> dict[str, int]:
    """Letters, the most frequent words whole, of others an end: the library's trainer makes another list every time."""
    letters = sorted({letter for word in words for letter in word})
    order = sorted(words, key=lambda word: (-words[word], word))
    whole, rest = order[:40], [word for word in order[40:] if len(word) > 3]
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *whole, *(f"##{word[-3:]}" for word in rest)]
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def _learn(kind: str) -> Any:
    """The same tokenizer every time, so that a test which trains a model ends the same every time."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    read = texts(300, seed=1)
    options: dict[str, Any] = {"vocab_size": 260, "special_tokens": special, "show_progress": False}
    if kind in ("wordpiece", "cased"):
        normal, cut = normalizers.BertNormalizer(lowercase=kind == "wordpiece"), pre_tokenizers.BertPreTokenizer()
        words = Counter(word for text in read for word, _ in cut.pre_tokenize_str(normal.normalize_str(text)))
        own = Tokenizer(models.WordPiece(_list_pieces(special, words), unk_token="<unk>"))
        own.normalizer, own.pre_tokenizer = normal, cut
    elif kind in ("bytes", "bytes-spaced"):
        own = Tokenizer(models.BPE())
        own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind == "bytes-spaced")
        own.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        options["vocab_size"] = 420
        own.train_from_iterator(read, trainers.BpeTrainer(initial_alphabet=alphabet, **options))
    elif kind == "unigram":
        own = Tokenizer(models.Unigram())
        own.normalizer = normalizers.NFKC()
        own.pre_tokenizer = pre_tokenizers.Metaspace()
        own.train_from_iterator(read, trainers.UnigramTrainer(unk_token="<unk>", **options))
        learnt = [tuple(one) for one in json.loads(own.to_str())["model"]["vocab"]]
        first, rest = (
            learnt[: len(special)],
            sorted(learnt[len(special) :], key=lambda one: one[0]),
        )
        own.model = models.Unigram([*first, *rest], unk_id=special.index("<unk>"))
    else:
        assert kind == "characters", kind
        known = sorted({letter for text in read for letter in text})
        own = Tokenizer(models.BPE({t: i for i, t in enumerate([*special, *known])}, [], unk_token="<unk>"))
        own.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return own


def tokenizer(kind: str = "wordpiece", *, frame: str = "<s> $A </s>", pad: bool = True, **options: Any) -> Any:
    """A fast tokenizer of this kind; `frame` says where its special tokens stand around a text."""
    import transformers
    from tokenizers import processors

    own = _learn(kind)
    ids = {token: own.token_to_id(token) for token in ("<s>", "</s>")}
    second = {"<s> $A </s>": "<s> $A </s> $B:1 </s>:1"}.get(frame, f"{frame} {frame.replace('$A', '$B')}")
    if frame != "$A":
        own.post_processor = processors.TemplateProcessing(single=frame, pair=second, special_tokens=[*ids.items()])
    roles = {"unk": "<unk>", "cls": "<s>", "bos": "<s>", "sep": "</s>", "eos": "</s>", "mask": "<mask>"}
    roles |= {"pad": "<pad>"} if pad else {}
    options.setdefault("model_input_names", ["input_ids", "attention_mask"])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=own, model_max_length=LIMIT, **{f"{k}_token": v for k, v in roles.items()}, **options
    )


class Kind(NamedTuple):
    """An architecture in small, with a tokenizer of the kind that it usually has."""

    name: str  # of the classes in the library
    settings: dict[str, Any]
    tokens: str = "wordpiece"
    frame: str = "<s> $A </s>"
    pad: bool = True
    segments: bool = False
    fast: bool = True  # laid end to end


_BASE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
_PLACED = {**_BASE, "max_position_embeddings": LIMIT}
_ROPED = {**_PLACED, "num_key_value_heads": 1, "head_dim": 8}

KINDS = {
    "bert": Kind("Bert", _PLACED, segments=True),
    "distilbert": Kind(
        "DistilBert", {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": LIMIT}
    ),
    "roberta": Kind("Roberta", {**_BASE, "max_position_embeddings": LIMIT + 1, "type_vocab_size": 1}, "bytes"),
    "xlm-roberta": Kind("XLMRoberta", {**_BASE, "max_position_embeddings": LIMIT + 1, "type_vocab_size": 1}, "unigram"),
    "albert": Kind("Albert", {**_PLACED, "embedding_size": 8}, "unigram", segments=True),
    "electra": Kind("Electra", {**_PLACED, "embedding_size": 8}, "cased", segments=True),
    "deberta-v2": Kind(
        "DebertaV2",
        {
            **_PLACED,
            "relative_attention": True,
            "position_buckets": 8,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": False,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "type_vocab_size": 0,
        },
        "unigram",
        segments=True,
        fast=False,
    ),
    "mpnet": Kind("MPNet", {**_BASE, "max_position_embeddings": LIMIT + 2}, fast=False),
    "modernbert": Kind(
        "ModernBert",
        {
            **_BASE,
            "max_position_embeddings": LIMIT,
            "num_hidden_layers": 4,
            "local_attention": 8,
            "cls_token_id": 2,
            "sep_token_id": 3,
        },
        "bytes",
    ),
    "modernbert-mean": Kind(
        "ModernBert",
        {
            **_BASE,
            "max_position_embeddings": LIMIT,
            "local_attention": 8,
            "classifier_pooling": "mean",
            "cls_token_id": 2,
            "sep_token_id": 3,
        },
        "bytes",
    ),
    "bart": Kind(
        "Bart",
        {
            "d_model": 16,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "encoder_ffn_dim": 24,
            "decoder_ffn_dim": 24,
            "max_position_embeddings": LIMIT,
            "decoder_start_token_id": 3,
            "forced_eos_token_id": 3,
        },
        "bytes-spaced",
        fast=False,
    ),
    "xlnet": Kind(
        "XLNet", {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24}, "unigram", "$A </s> <s>", fast=False
    ),
    "gpt2": Kind("GPT2", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": LIMIT}, "bytes", "$A"),
    "gpt2-unpadded": Kind(
        "GPT2", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": LIMIT}, "bytes", "$A", pad=False
    ),
    "llama": Kind("Llama", _ROPED, "characters", "<s> $A"),
    "llama-unpadded": Kind("Llama", _ROPED, "unigram", "<s> $A </s>", pad=False),
    "qwen2": Kind("Qwen2", _ROPED, "bytes", "$A"),
    "gemma": Kind("Gemma", _ROPED, "unigram", "<s> $A"),
    "mistral-window": Kind("Mistral", {**_ROPED, "sliding_window": 7}, "bytes", "<s> $A"),
}


def classifier(name: str, vocabulary: int, labels: int = 3, **more: Any) -> Any:
    """Weights as drawn, made larger than a fresh model's so that answers differ from text to text."""
    import transformers

    kind = KINDS[name]
    pad = 0 if kind.pad else None
    config = getattr(transformers, f"{kind.name}Config")(
        vocab_size=vocabulary,
        num_labels=labels,
        pad_token_id=pad,
        bos_token_id=2,
        eos_token_id=3,
        **{**kind.settings, **more},
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind.name}ForSequenceClassification")(config).eval()
    with torch.no_grad():
        for part in model.parameters():
            part.add_(0.2 * torch.randn_like(part))
    return model


def tokenizer_of(name: str, **options: Any) -> Any:
    kind = KINDS[name]
    if kind.segments:
        options.setdefault("model_input_names", ["input_ids", "token_type_ids", "attention_mask"])
    return tokenizer(kind.tokens, frame=kind.frame, pad=kind.pad, **options)


def folder(
    at: Path, name: str, *, dtype: torch.dtype = torch.float32, shard: str = "5GB", labels: int = 3, **options: Any
) -> Path:
    """The folder of a model and its tokenizer, written by the library."""
    own = tokenizer_of(name, **options)
    own.save_pretrained(at)
    classifier(name, len(own), labels).to(dtype).save_pretrained(at, max_shard_size=shard)
    return at


def by_library(at: Path, wanted: Sequence[str] | Sequence[dict[str, str]]) -> np.ndarray[Any, Any]:
    """The scores of the library's own text-classification pipeline, each text alone."""
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(at, dtype=torch.float32).eval()
    own = transformers.AutoTokenizer.from_pretrained(at)
    pipe: Callable[..., Any] = transformers.pipeline("text-classification", model=model, tokenizer=own)
    found = pipe(list(wanted), top_k=None, truncation=True, max_length=LIMIT, function_to_apply="softmax")
    return np.asarray([[s["score"] for s in sorted(row, key=lambda s: s["label"])] for row in found])
