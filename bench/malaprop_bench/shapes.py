"""Build victims of a given shape with random weights, or trained for some seconds on the given data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import VictimError
from malaprop.core.example import Example

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import nn

    from malaprop.training.splits import Splits

PREFIX = "shape:"
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}  # in the order of ids
_READ = 20_000  # texts that a tokenizer learns from
_BATCH = 128
_tokenizers: dict[tuple[str, str, str], Tokenizer] = {}  # learned in this process


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The architecture of a victim: the network of the model `zoo` with `settings`; if `zoo` is "", a transformers
    classifier of the architecture `kind` with these settings, and a tokenizer that cuts into `tokens`.

    `limit` is how many tokens it reads, `rate` the learning rate of its short training.
    """

    zoo: str = ""
    kind: str = "Bert"
    tokens: str = "pieces"
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 128
    rate: float = 1e-3


def _encoder(layers: int, dim: int, rate: float, kind: str = "Bert", tokens: str = "pieces", **more: Any) -> Shape:
    inner = {"num_hidden_layers": layers, "hidden_size": dim, "num_attention_heads": 12, "intermediate_size": 4 * dim}
    return Shape(settings={**inner, **more}, rate=rate, kind=kind, tokens=tokens)


_RELATIVE = {  # of DeBERTa v3
    "relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0, "max_relative_positions": -1,
}  # fmt: skip
SHAPES: Mapping[str, Shape] = {
    "cnn": Shape(zoo="CNN-W-Random-1", settings={"dim": 300}),
    "lstm": Shape(zoo="LSTM-W-Random-1", settings={"dim": 300, "hidden": 150}),
    "bilstm": Shape(zoo="BiLSTM-W-Random-1", settings={"dim": 300, "hidden": 150}),
    "minilm": _encoder(6, 384, 1e-4),
    "bert-base": _encoder(12, 768, 5e-5),
    "roberta-base": _encoder(12, 768, 5e-5, "Roberta", "bytes", type_vocab_size=1),
    "electra-base": _encoder(12, 768, 5e-5, "Electra", embedding_size=768),
    "distilbert": Shape(
        kind="DistilBert", settings={"n_layers": 6, "dim": 768, "n_heads": 12, "hidden_dim": 3072}, rate=5e-5
    ),
    "mpnet-base": _encoder(12, 768, 5e-5, "MPNet"),
    "deberta-v3-base": _encoder(12, 768, 5e-5, "DebertaV2", "unigrams", **_RELATIVE),
    "modernbert-base": _encoder(
        22, 768, 5e-5, "ModernBert", "bytes", intermediate_size=1152, cls_token_id=2, sep_token_id=3
    ),
    "qwen2-0.5b": _encoder(
        24, 896, 2e-5, "Qwen2", "bytes", num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864
    ),
}
TRANSFORMERS = tuple(name for name, shape in SHAPES.items() if not shape.zoo)


def is_shape(spec: str) -> bool:
    return spec.startswith(PREFIX)


def make(spec: str, data: Splits, folder: Path, *, seconds: float = 0.0, device: str = "cpu", seed: int = 0) -> Path:
    """Write a model of this shape to a folder for `--victim`; `seconds` of training, 0 for random weights."""
    name = spec.removeprefix(PREFIX).lower()
    if name not in SHAPES:
        raise unknown("shape", name, SHAPES)
    shape = SHAPES[name]
    write = _words if shape.zoo else _pieces
    write(shape, data, folder, seconds, device, seed)
    return folder


def draw(name: str, data: Splits, folder: Path, seed: int = 0) -> Path:
    """Write a word model of the zoo in its own shape, with random weights, to a folder; return the folder."""
    _words(Shape(zoo=name, limit=512), data, folder, 0.0, "cpu", seed)
    return folder


Rows = Sequence[Sequence[int]]


def _words(shape: Shape, data: Splits, folder: Path, seconds: float, device: str, seed: int) -> None:
    from malaprop.models.tokens.vocab import Vocab
    from malaprop.training.card import Card
    from malaprop.training.seeds import seeded
    from malaprop.zoo import checkpoint
    from malaprop.zoo import names as zoo

    spec = zoo.ZooSpec.of(shape.zoo)
    vocab = Vocab.build(_texts(data.train), least=2, most=30_000)
    settings = {**zoo.shape(spec, zoo.RANDOM_DIM), **shape.settings}
    with seeded(seed):
        model = zoo.network(spec, len(vocab), len(data.labels), settings).to(device)
    rows = [row[: shape.limit] for row in vocab.encode([tuple(e.fields.values()) for e in data.train])]
    took = _train(model, rows, data.train, 0, shape.rate, seconds, seed)
    card = Card(
        spec=spec.plain(),
        shape=settings,
        labels=data.labels,
        limit=shape.limit,
        data=data.name,
        data_fingerprint=data.fingerprint,
        seed=seed,
        figures={"seconds": round(took, 1)},
    )
    checkpoint.save(folder, card, model.cpu(), vocab)


def _pieces(shape: Shape, data: Splits, folder: Path, seconds: float, device: str, seed: int) -> None:
    try:
        import transformers
    except ImportError:
        raise VictimError("this shape needs the transformers library; install malaprop[hf]") from None
    from malaprop.models.folder import quietly
    from malaprop.models.tokens.wordpieces import WordPieces
    from malaprop.training.seeds import seeded
    from malaprop.zoo.finetune import TransformerClassifier

    tokenizer = _learned(shape.tokens, data)
    config = getattr(transformers, f"{shape.kind}Config")(
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=shape.limit + 2,  # some count places from behind the number of the padding token
        num_labels=len(data.labels),
        pad_token_id=0,
        **shape.settings,
    )
    with seeded(seed):
        model = getattr(transformers, f"{shape.kind}ForSequenceClassification")(config).to(device)
    if seconds > 0:
        rows = WordPieces.of(tokenizer).rows([tuple(e.fields.values()) for e in data.train], shape.limit)
        _train(TransformerClassifier(model, None), rows, data.train, 0, shape.rate, seconds, seed)
    with quietly():
        model.cpu().save_pretrained(folder)
    _save_tokenizer(tokenizer, folder, shape.limit)


def _learned(tokens: str, data: Splits) -> Tokenizer:
    """Return a tokenizer of this kind learned from the data; shapes on the same data share it."""
    key = (tokens, data.name, data.fingerprint)
    if key not in _tokenizers:
        learn = {"pieces": word_pieces, "bytes": byte_pairs, "unigrams": unigrams}[tokens]
        _tokenizers[key] = learn(_texts(data.train[:_READ]))
    return _tokenizers[key]


def word_pieces(texts: Iterator[str], vocab: int = 30_000) -> Tokenizer:
    """Learn a lower-casing WordPiece tokenizer from the texts, with BERT's special tokens."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    made = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk"]))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=vocab, special_tokens=list(SPECIAL.values()), show_progress=False)
    made.train_from_iterator(texts, trainer)
    return _framed(made)


def byte_pairs(texts: Iterator[str], vocab: int = 30_000) -> Tokenizer:
    """Learn a byte-level tokenizer from the texts, as RoBERTa has it: a space is a part of the next token."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab, special_tokens=list(SPECIAL.values()), initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    return _framed(made)


def unigrams(texts: Iterator[str], vocab: int = 30_000) -> Tokenizer:
    """Learn a tokenizer of SentencePiece's unigram kind from the texts, as DeBERTa v3 has it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab, special_tokens=list(SPECIAL.values()), unk_token=SPECIAL["unk"], show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    return _framed(made)


def _framed(tokenizer: Tokenizer) -> Tokenizer:
    """Add special tokens around a text and between two, as in BERT."""
    from tokenizers import processors

    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in (SPECIAL["cls"], SPECIAL["sep"])],
    )
    return tokenizer


def _save_tokenizer(tokenizer: Tokenizer, folder: Path, limit: int) -> None:
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": limit}
    roles = {f"{role}_token": token for role, token in SPECIAL.items()}
    inputs = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
    text = json.dumps({**about, **roles, **inputs}, indent=1)
    (folder / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


def _texts(examples: Sequence[Example]) -> Iterator[str]:
    return (value for example in examples for value in example.fields.values())


def _train(
    model: nn.Module, rows: Rows, examples: Sequence[Example], pad: int, rate: float, seconds: float, seed: int
) -> float:
    """Train until the time is over, with the rate falling to 0 by then; return the seconds it took."""
    import torch
    from torch.nn import functional

    step = _steps(model, rows, [e.label for e in examples], pad, seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    cuda = next(model.parameters()).is_cuda
    model.train()
    began = perf_counter()
    while (past := perf_counter() - began) < seconds:
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, 10 * past / seconds, (1 - past / seconds) / 0.5)
        ids, lengths, labels = step()
        with torch.autocast("cuda", torch.bfloat16, enabled=cuda):
            loss = functional.cross_entropy(model(ids, lengths).float(), labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if cuda:
            torch.cuda.synchronize()
    model.eval()
    return perf_counter() - began


def _steps(model: nn.Module, rows: Rows, labels: Sequence[int], pad: int, seed: int) -> Callable[[], Any]:
    """Return a function that gives a random batch of rows, lengths and labels at each call."""
    import torch

    from malaprop.core.seeds import generator
    from malaprop.models.padded_rows import Placed, Ragged

    device = next(model.parameters()).device
    ragged = Ragged.of(rows)
    placed = Placed.of(ragged, labels, pad, device)
    rng = generator(seed, "shape")

    def batch() -> Any:
        chosen = rng.integers(len(ragged), size=min(_BATCH, len(ragged)))
        return placed.gather(torch.from_numpy(chosen).to(device), max(1, int(ragged.size[chosen].max())))

    return batch
