"""Questions on short contexts, a reader that looks for the words of the question, and a tiny model of transformers."""

from __future__ import annotations

import json
import re
from pathlib import Path

CONTEXTS = {
    "Tesla moved to Prague in January 1880. His father died in Gospic.": [
        ("What city did Tesla move to in 1880?", ["Prague"]),
        ("Where did his father die?", ["Gospic"]),
    ],
    "The bridge was built by Robert Stevenson. Marie Curie was born in Warsaw.": [
        ("Who built the bridge?", ["Robert Stevenson", "Stevenson"]),
        ("Where was Marie Curie born?", ["Warsaw"]),
    ],
}
_WORD = re.compile(r"\w+")


def answer(pairs: list[tuple[str, str]]) -> list[dict[str, float]]:
    """The last name of each sentence, the likelier the more words the sentence shares with the question.

    Of sentences that share as many, the last counts more, as it is the nearest to the end.
    """
    out = []
    for question, context in pairs:
        asked = {word[:4].lower() for word in _WORD.findall(question)}
        found: dict[str, float] = {"nothing": 0.01}
        for place, sentence in enumerate(re.split(r"(?<=[.!?])\s+", context)):
            words = _WORD.findall(sentence)
            names = [w for w in words if w[0].isupper() and w[:4].lower() not in asked and w not in MONTHS]
            if names:
                found[names[-1]] = 3.0 ** sum(w[:4].lower() in asked for w in words) + 0.5 * place
        out.append(found)
    return out


MONTHS = ("January",)


def span(pairs: list[tuple[str, str]]) -> list[tuple[int, int]]:
    """The same, as the start and the end of the answer."""
    best = [max(found, key=found.__getitem__) for found in answer(pairs)]
    starts = [context.find(text) for text, (_, context) in zip(best, pairs, strict=True)]
    return [(max(start, 0), max(start, 0) + len(text)) for start, text in zip(starts, best, strict=True)]


def write(path: Path) -> Path:
    """Write the questions as JSONL, or in the form of SQuAD."""
    if path.suffix == ".json":
        paragraphs = [
            {"context": text, "qas": [{"question": q, "answers": [{"text": a} for a in true]} for q, true in asked]}
            for text, asked in CONTEXTS.items()
        ]
        paragraphs[0]["qas"].append({"question": "Why?", "answers": [], "is_impossible": True})
        path.write_text(json.dumps({"data": [{"title": "all", "paragraphs": paragraphs}]}))
    else:
        rows = [
            {"question": q, "context": text, "answers": true} for text, asked in CONTEXTS.items() for q, true in asked
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def tiny_model(folder: Path, kind: str = "Bert", most: int = 32) -> Path:
    """A question-answering model of a shape (Bert, DistilBert) with random weights, which reads `most` sub-words."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = sorted({w.lower() for text, asked in CONTEXTS.items() for q, _ in asked for w in _WORD.findall(text + q)})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", *words]
    own = Tokenizer(models.WordPiece({word: i for i, word in enumerate(pieces)}, unk_token="[UNK]"))
    own.normalizer = normalizers.BertNormalizer()
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=own, model_max_length=most, **names)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(pieces), max_position_embeddings=most, **shape)
    model = getattr(transformers, f"{kind}ForQuestionAnswering")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
