"""Victims of random weights whose vectors can be moved: a network of words, and a BERT of two layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from malaprop.models.tokens.vocab import UNKNOWN, Vocab
from malaprop.models.victims.tokens import TokenVictim
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.victim import gradients_of

VOCAB = Vocab.build(["the good film , a bad one", "well made and not so dull", "great awful fine nice poor okay movie"])
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "good",
    "bad",
    "film",
    "the",
    ".",
    "gr",
    "##eat",
    "awful",
    "fine",
]


def words(limit: int = 20) -> TokenVictim:
    """An LSTM with random weights, large enough that words matter."""
    torch.manual_seed(0)
    model = WordLSTM(len(VOCAB), 2, dim=8, hidden=6, dropout=0).eval().requires_grad_(False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    gradients = gradients_of(model, VOCAB, limit, "cpu")
    assert gradients is not None
    return TokenVictim(
        name="small",
        cut=VOCAB.cut,
        encode_whole=VOCAB.encode,
        forward=model,
        labels=2,
        limit=limit,
        context_free=True,
        unknown=UNKNOWN,
        fingerprint="small",
        gradients=gradients,
    )


def bert() -> TokenVictim:
    """BERT's shape with random weights; `great` is two pieces."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    from malaprop.models.victims.hf import wrap_transformers

    own = Tokenizer(models.WordPiece({word: i for i, word in enumerate(PIECES)}, unk_token="[UNK]"))
    own.normalizer = normalizers.BertNormalizer()
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=own, model_max_length=32, **names)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = transformers.BertConfig(vocab_size=len(PIECES), max_position_embeddings=40, num_labels=2, **shape)
    model = transformers.BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    victim = wrap_transformers(model, fast, name="small-bert")
    assert isinstance(victim, TokenVictim)
    return victim


def detector(folder: Path) -> Path:
    """A folder with a detector for the small network, which takes rare words for signs of attack."""
    from malaprop.features.defending.detection.detector import Detector, DetectorCard, parse_method
    from malaprop.features.defending.detection.suspicion import Learnt

    card = DetectorCard(
        method="fgws", victim="small", labels=("0", "1"), data="none", false_positives=0.05, threshold=0.1
    )
    known = Learnt({"counts": np.asarray([9, 1]), "border": np.asarray([5])}, {"words": ["good", "nice"]})
    Detector(card=card, suspicion=parse_method("fgws"), learnt=known).write(folder / "detector")
    return folder / "detector"
