"""A made language that is easy to guess, and settings small enough to learn it in seconds."""

from __future__ import annotations

import random
from pathlib import Path

TOPICS = ("dog bone", "sea ship", "king crown", "rain cloud", "book page", "milk cow", "road car", "tree leaf")
PLANS = {
    "elmo": {
        "dim": 16,
        "hidden": 24,
        "char_dim": 8,
        "filters": [[1, 8], [3, 16]],
        "vocab": 100,
        "length": 12,
        "batch": 16,
        "rate": 2e-2,
        "every": 5,
    },
    "roberta": {"layers": 1, "width": 32, "heads": 2, "inner": 64, "vocab": 340, "length": 24, "every": 5},
    "albert": {"layers": 2, "width": 64, "heads": 2, "inner": 128, "embedding": 32, "length": 24, "every": 5},
    "mlm-head": {"length": 24, "batch": 16, "rate": 1e-2, "pull": 1.0, "every": 5},
}
for _name in ("roberta", "albert"):
    PLANS[_name] |= {"batch": 16, "rate": 5e-3, "vocab": 340, "dropout": 0.05}


def sentences(count: int = 240) -> list[str]:
    """Each of the two words of one topic: who knows the words around knows a hidden one but for a coin's toss."""
    rng = random.Random(0)
    return [" ".join(rng.choice(topic.split()) for _ in range(20)) + " ." for topic in rng.choices(TOPICS, k=count)]


def write(folder: Path, count: int = 240) -> str:
    path = folder / "made.txt"
    path.write_text("\n".join(sentences(count)) + "\n", encoding="utf-8")
    return str(path)


def no_dataset(spec: str, *, split: str):
    raise AssertionError(f"asked for the dataset {spec} {split}")


def tiny_bert(folder: Path) -> Path:
    """A BERT encoder without a head, as MiniLM is packaged."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    from malaprop.models.folder import quietly
    from malaprop.training.seeds import seeded

    words = sorted({word for line in sentences() for word in line.split()})
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    made = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    made.add_special_tokens(names[:5])
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    config = BertConfig(
        vocab_size=len(names),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
    )
    with quietly(), seeded(0):
        BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    return folder
