"""Sub-word tokenizers, trained on the text at hand as RoBERTa and ALBERT have them, or of a model to start from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.core.errors import AssetError
from malaprop.zoo.pretrain.masking import Symbols

if TYPE_CHECKING:
    from tokenizers import Tokenizer


import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from malaprop.assets.folders import offline
from malaprop.models.folder import quietly
from malaprop.zoo.pretrain import tokenizer as subwords

if TYPE_CHECKING:
    from tokenizers import Tokenizer


FILE, CONFIG = "tokenizer.json", "tokenizer_config.json"
ROBERTA = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}  # in the order of their ids
ALBERT = {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_READ = 10_000_000  # characters that a tokenizer learns from; more change it little and take long
_MARKS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def byte_level(texts: Sequence[str], vocab: int) -> Tokenizer:
    """Train byte-level BPE, cased, <s> text </s> (Liu et al. 2019)."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE(unk_token=None))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = [AddedToken(t, lstrip=name == "mask", special=True) for name, t in ROBERTA.items()]
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(_some(texts), trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def lower_cased(texts: Sequence[str], vocab: int) -> Tokenizer:
    """Train lower-cased pieces that begin with their blank, [CLS] text [SEP].

    Lan et al. 2020 use a unigram model. Ours is BPE: the trainer of unigram models gives another vocabulary each time.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE(unk_token=ALBERT["unk"]))
    made.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    made.decoder = decoders.Metaspace()
    special = [AddedToken(t, special=True) for t in ALBERT.values()]
    trainer = trainers.BpeTrainer(vocab_size=vocab, special_tokens=special, limit_alphabet=1000, show_progress=False)
    made.train_from_iterator(_some(texts), trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def _some(texts: Sequence[str]) -> Iterator[str]:
    """Yield texts from all over the corpus, up to about the most that a training reads."""
    size = sum(map(len, texts))
    step = max(1, -(-size // _READ))
    yield from texts[::step]


def pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Return the tokens of each text, special ones left out."""
    out: list[list[int]] = []
    for begin in range(0, len(texts), 4096):
        part = list(texts[begin : begin + 4096])
        out += [found.ids for found in tokenizer.encode_batch(part, add_special_tokens=False)]
    return out


def symbols(tokenizer: Tokenizer) -> Symbols:
    """Read off the tokenizer itself, whoever made it."""
    around = tokenizer.encode("").ids
    special = [i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special]
    ids = (tokenizer.token_to_id(name) for name in ("<mask>", "[MASK]"))
    mask = next((i for i in ids if i is not None), None)
    if len(around) < 2 or mask is None:
        raise AssetError("the tokenizer puts no special tokens around a text or has no mask; start from another model")
    return Symbols(around[0], around[-1], mask, tuple({*special, *around, mask}))


def load(folder: Path) -> Tokenizer:
    from tokenizers import Tokenizer as Reader

    try:
        found = Reader.from_file(str(folder / FILE))
    except Exception as error:  # noqa: BLE001 - the library raises bare exceptions
        raise AssetError(f"{folder / FILE} cannot be read as a tokenizer: {str(error)[:160]}") from None
    found.no_padding()
    found.no_truncation()
    return found


def save(tokenizer: Tokenizer, folder: Path, *, names: dict[str, str], length: int, lower: bool) -> None:
    """Write the two files from which transformers makes a tokenizer."""
    tokenizer.save(str(folder / FILE))
    roles = {f"{name}_token": token for name, token in names.items()}
    roles = {"cls_token": names.get("bos", ""), "sep_token": names.get("eos", ""), **roles}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": length,
        "do_lower_case": lower,
        "clean_up_tokenization_spaces": False,
        **{role: roles[role] for role in _MARKS if roles.get(role)},
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


_FILES = (subwords.FILE, subwords.CONFIG, "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt")


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A model and tokenizer to start from; `keep` writes the tokenizer, `name` is None for random weights."""

    model: Any
    tokenizer: Tokenizer
    keep: Callable[[Path], None]
    name: str | None = None

    @property
    def limit(self) -> int:
        """Return the length of the longest row the model reads."""
        config = self.model.config
        before = config.pad_token_id + 1 if config.model_type == "roberta" else 0
        return int(config.max_position_embeddings) - before


def open_start(start: str, kind: str, *, name: str | None = None) -> Start:
    """Open a masked language model of the kind, `bert`, `roberta` or `albert`; a missing head starts at random."""
    folder = Path(start).expanduser()
    local = folder.is_dir()
    if not local and (offline() or "/" not in start.removeprefix("hub:") or start.startswith((".", "/", "~"))):
        raise AssetError(
            f"--start {start} is not a folder; give a transformers folder, or a hub name where one is in reach"
        )
    source = folder if local else start.removeprefix("hub:")
    model = _model(source, local)
    if model.config.model_type != kind:
        raise AssetError(f"{start} is a {model.config.model_type}, not a {kind}; start from one of that kind")
    if local:
        return Start(model, subwords.load(folder), partial(_copy, folder), name or folder.resolve().name)
    tokenizer = _hub_tokenizer(source)
    return Start(model, tokenizer.backend_tokenizer, tokenizer.save_pretrained, name or start)


def _model(source: str | Path, local: bool) -> Any:
    from transformers import AutoModelForMaskedLM

    try:
        with quietly():
            return AutoModelForMaskedLM.from_pretrained(
                source, dtype=torch.float32, local_files_only=local, trust_remote_code=False, use_safetensors=True
            )
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise AssetError(f"{source} cannot be read as a masked language model: {reason}") from None


def _hub_tokenizer(source: str | Path) -> Any:
    from transformers import AutoTokenizer

    with quietly():
        found = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    if not getattr(found, "is_fast", False):
        raise AssetError(f"{source} has no fast tokenizer; start from a model that has one")
    return found


def _copy(source: Path, folder: Path) -> None:
    for name in _FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)
