"""Checkpoints: a folder with weights, vocabulary and what is known of a model; loading one runs no code."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.leftovers import half_of, leftovers
from malaprop.models.tokens.vocab import Vocab
from malaprop.models.zoo import ZooSpec, called, network

if TYPE_CHECKING:
    from torch import Tensor, nn

    from malaprop.models.tokens.openvocab import OpenVocab

FORMAT = 2
CARD, WEIGHTS, VOCAB, README = "model.json", "model.safetensors", "vocab.txt", "README.md"
_FROZEN = "embedding.elmo."  # weights that did not learn here; two bytes each hold them exactly


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a checkpoint says of itself, apart from its weights and vocabulary."""

    spec: dict[str, Any]
    shape: dict[str, Any]  # settings of the network
    labels: tuple[str, ...]
    limit: int  # tokens that are read
    data: str
    data_fingerprint: str
    seed: int
    figures: dict[str, float]
    about: str = ""  # where its vectors or weights come from, and what is a stand-in
    made: str = ""  # when, in UTC
    hardened: str = ""  # by which defence; models trained plainly say nothing
    format: int = FORMAT

    @property
    def name(self) -> str:
        plain = called(self.zoo, self.seed)
        return f"{plain}+{self.hardened}" if self.hardened else plain

    @property
    def zoo(self) -> ZooSpec:
        return ZooSpec(**self.spec)


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `target` in one step at the end of the block and never if the block fails."""
    check_target(target)
    room: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        room = half_of(target)
        shutil.rmtree(room, ignore_errors=True)  # of a dead process that had this one's number
        made = room / "made"
        made.mkdir(parents=True)
        yield made
        if target.exists():
            target.rename(room / "old")
        made.rename(target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "no room left on the disk" if full else error.strerror or str(error)
        raise SettingError(f"cannot write {target}: {reason}; name another folder") from None
    finally:
        if room is not None:
            shutil.rmtree(room, ignore_errors=True)


def _mend(target: Path) -> None:
    """Clears what killed processes left beside a model; one that was about to take its place takes it."""
    for room in leftovers(target.parent):
        if not room.name.startswith(f".{target.name}."):
            continue
        with suppress(OSError):
            if (room / "old").is_dir() and not target.exists():
                (room / "made").rename(target)
            shutil.rmtree(room)


def check_target(target: Path) -> None:
    """Refuses a folder that holds anything but an earlier model, before work is put in."""
    _mend(target)
    if target.exists() and not _replaceable(target):
        raise SettingError(f"{target} is there and is no model; name another folder")


def _replaceable(target: Path) -> bool:
    return target.is_dir() and ((target / CARD).is_file() or not any(target.iterdir()))


def write_card(folder: Path, card: Card) -> None:
    """The card as JSON, and as a page to read."""
    (folder / CARD).write_text(json.dumps(asdict(card), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / README).write_text(_page(card), encoding="utf-8")


def _page(card: Card) -> str:
    figures = "".join(f"| {name.replace('_', ' ')} | {value:g} |\n" for name, value in card.figures.items())
    made = f", {card.made}" if card.made else ""
    return (
        f"# {card.name}\n\n"
        f"A text classifier trained with Malaprop on `{card.data}` (fingerprint {card.data_fingerprint}), "
        f"seed {card.seed}{made}.\n{card.about}\n"
        f"Labels: {', '.join(card.labels)}. It reads the first {card.limit} tokens of a text.\n\n"
        f"| figure | value |\n| --- | --- |\n{figures}\n"
        "Made to be attacked: it was not checked for any other use. "
        "Attack it with `malaprop audit --victim THIS_FOLDER`.\n"
    )


def save(folder: Path, card: Card, model: nn.Module, vocab: Vocab) -> None:
    """A model that reads words or their characters, as a whole folder."""
    from safetensors.torch import save_file

    with appearing(folder) as made:
        weights = {name: _stored(name, tensor) for name, tensor in model.state_dict().items()}
        save_file(weights, made / WEIGHTS, metadata={"format": "pt"})
        vocab.save(made / VOCAB)
        write_card(made, card)


def _stored(name: str, tensor: Tensor) -> Tensor:
    kept = tensor.detach().cpu().contiguous()
    return kept.half() if name.startswith(_FROZEN) else kept


def opened(model: nn.Module, vocab: Vocab) -> Vocab | OpenVocab:
    """The vocabulary by which texts are numbered for a model: one that reads characters meets new words."""
    from malaprop.models.blocks.charwords import CharWords
    from malaprop.models.blocks.elmowords import ElmoWords

    embedding = model.get_submodule("embedding")
    return embedding.open_to(vocab) if isinstance(embedding, CharWords | ElmoWords) else vocab


def is_checkpoint(folder: Path) -> bool:
    return (folder / CARD).is_file()


def read_card(folder: Path) -> Card:
    """What the checkpoint says of itself; one of another version, or one cut short, says so."""
    try:
        raw = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except OSError:
        raise VictimError(f"{folder} is no model folder: it has no {CARD}; train one with: malaprop train") from None
    except ValueError as error:
        raise VictimError(f"{folder / CARD} is damaged: {error}; train the model again") from None
    if not isinstance(raw, Mapping) or raw.get("format") != FORMAT:
        found = raw.get("format") if isinstance(raw, Mapping) else "none"
        raise VictimError(f"{folder} has checkpoint format {found}, this version reads {FORMAT}; train the model again")
    names = {field.name for field in fields(Card)}
    if {*raw, "hardened"} != names:  # which older ones lack
        odd = ", ".join(sorted(names ^ set(raw)))
        raise VictimError(f"{folder / CARD} is damaged: missing or unknown entries ({odd}); train the model again")
    try:
        card = Card(**{**raw, "labels": tuple(raw["labels"])})
        assert card.zoo.name
    except (TypeError, KeyError, AssertionError):
        raise VictimError(f"{folder / CARD} is damaged: it names no model of the zoo; train the model again") from None
    return card


def load(folder: Path) -> tuple[Card, nn.Module, Vocab | OpenVocab]:
    """A model that reads words or their characters, in evaluation mode, and the vocabulary that numbers its texts."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    card = read_card(folder)
    if card.zoo.fine_tuned:
        raise VictimError(f"{folder} holds a fine-tuned transformer, not a word model")
    vocab = Vocab.load(folder / VOCAB)
    try:
        model = network(card.zoo, len(vocab), len(card.labels), card.shape)
        model.load_state_dict(load_file(folder / WEIGHTS))
        reader = opened(model, vocab)
    except (OSError, SafetensorError, RuntimeError, TypeError, KeyError, ValueError, SettingError) as error:
        reason = str(error).splitlines()[0][:160]
        raise VictimError(f"{folder / WEIGHTS} is damaged or cut short ({reason}); train the model again") from None
    return card, model.eval(), reader


def fingerprint(folder: Path) -> str:
    """Sixteen hex digits of the weights and of what says how to read them."""
    digest = sha256()
    for name in (WEIGHTS, VOCAB, "tokenizer.json", "config.json"):
        if (path := folder / name).is_file():
            digest.update(f"{name}:{os.stat(path).st_size}:".encode())
            with path.open("rb") as stream:
                digest.update(file_digest(stream, sha256).digest())
    if is_checkpoint(folder):
        card = read_card(folder)
        digest.update(json.dumps([card.spec, card.shape, card.limit], sort_keys=True).encode())
    return digest.hexdigest()[:16]
