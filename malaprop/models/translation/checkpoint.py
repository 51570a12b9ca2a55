"""A translation model as a folder: weights, sub-words, the words of its sources, and a card; loading runs no code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError
from malaprop.models.checkpoint import CARD as OTHER
from malaprop.models.checkpoint import appearing
from malaprop.models.translation.subwords import FILE as PIECES
from malaprop.models.translation.subwords import SubWords

if TYPE_CHECKING:
    from torch import nn

FORMAT = 1
CARD, WEIGHTS, WORDS, README = "translator.json", "model.safetensors", "words.txt", "README.md"
KINDS = ("nmt-lstm", "nmt-transformer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a folder says of itself, apart from its weights and words."""

    kind: str
    shape: dict[str, Any]
    plan: dict[str, Any]
    data: str
    data_fingerprint: str
    seed: int
    figures: dict[str, float]
    made: str = ""
    format: int = FORMAT

    @property
    def name(self) -> str:
        return self.kind if not self.seed else f"{self.kind}#{self.seed + 1}"


def network(kind: str, vocab: int, shape: Mapping[str, Any]) -> nn.Module:
    """Fresh weights in that shape."""
    from malaprop.models.translation import lstm, transformer

    if kind not in KINDS:
        raise unknown("translation model", kind, KINDS)
    try:
        if kind == "nmt-lstm":
            return lstm.Lstm(vocab, lstm.Shape(**shape))
        return transformer.Transformer(vocab, transformer.Shape(**shape))
    except TypeError as error:
        raise SettingError(f"{kind} cannot be built: {error}") from None


def is_translator(folder: Path) -> bool:
    return (folder / CARD).is_file()


def check_target(folder: Path) -> None:
    """Refuses a folder that holds anything but an earlier model, before work is put in."""
    if folder.exists() and not (folder.is_dir() and (is_translator(folder) or not any(folder.iterdir()))):
        raise SettingError(f"{folder} is there and is no translation model; name another folder")


def save(folder: Path, card: Card, model: nn.Module, subwords: SubWords, words: list[str]) -> None:
    """Writes the folder whole or not at all; weights take two bytes each."""
    from safetensors.torch import save_file

    with appearing(folder) as made:
        weights = {name: tensor.detach().cpu().half().contiguous() for name, tensor in model.state_dict().items()}
        save_file(weights, made / WEIGHTS, metadata={"format": "pt"})
        subwords.save(made)
        (made / WORDS).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        (made / CARD).write_text(json.dumps(asdict(card), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (made / README).write_text(_page(card), encoding="utf-8")


def _page(card: Card) -> str:
    figures = "".join(f"| {name.replace('_', ' ')} | {value:g} |\n" for name, value in card.figures.items())
    return (
        f"# {card.name}\n\nA translation model trained with Malaprop on `{card.data}` (fingerprint "
        f"{card.data_fingerprint}), seed {card.seed}, {card.made}.\n\n"
        f"| figure | value |\n| --- | --- |\n{figures}\n"
        "Made to be attacked: it was not checked for any other use. "
        "Attack it with `malaprop translate attack --victim THIS_FOLDER --keyword WORD`.\n"
    )


def read_card(folder: Path) -> Card:
    try:
        raw = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except OSError:
        other = ", it is a classifier" if (folder / OTHER).is_file() else ""
        raise VictimError(f"{folder} is no translation model{other}; train one with: malaprop train nmt-lstm") from None
    except ValueError as error:
        raise VictimError(f"{folder / CARD} is damaged: {error}; train the model again") from None
    names = {field.name for field in fields(Card)}
    if not isinstance(raw, Mapping) or raw.get("format") != FORMAT or set(raw) != names:
        raise VictimError(f"{folder / CARD} is damaged or of another version; train the model again")
    return Card(**raw)


def load(folder: Path) -> tuple[Card, nn.Module, SubWords, list[str]]:
    """The model in evaluation mode and in fp32, its sub-words, and the words of its sources, most frequent first."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    card = read_card(folder)
    subwords = SubWords.load(folder)
    try:
        model = network(card.kind, len(subwords), card.shape)
        model.load_state_dict({name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()})
        words = (folder / WORDS).read_text(encoding="utf-8").split("\n")[:-1]
    except (OSError, SafetensorError, RuntimeError, TypeError, ValueError, SettingError) as error:
        reason = str(error).splitlines()[0][:160]
        raise VictimError(f"{folder / WEIGHTS} is damaged or cut short ({reason}); train the model again") from None
    return card, model.eval(), subwords, words


def fingerprint(folder: Path) -> str:
    """Sixteen hex digits of the weights and of what says how to read them."""
    digest = sha256()
    for name in (WEIGHTS, PIECES, WORDS):
        with (folder / name).open("rb") as stream:
            digest.update(file_digest(stream, sha256).digest())
    card = read_card(folder)
    digest.update(json.dumps([card.kind, card.shape], sort_keys=True).encode())
    return digest.hexdigest()[:16]
