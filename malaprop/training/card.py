"""Model cards: one format for every kind of model, in its folder as JSON and as a README."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from malaprop.core.codec import decode, encode
from malaprop.core.errors import AssetError, MalapropError, RecordError, VictimError
from malaprop.core.files import write_whole
from malaprop.core.versions import now, versions

if TYPE_CHECKING:
    Number = float
else:
    Number = int | float  # a count is read back as one

FORMAT = 3
README = "README.md"
_ATTACKED = "Made to be attacked: it was not checked for any other use."
UNITS = {"word": "W", "character": "C", "both": "WC"}  # what a network reads, as it stands in a model's name
SIZED = ("LSTM", "BiLSTM", "CNN")  # encoders that come with several inputs and depths; others are a model's whole name
OWN = "transformers"  # the encoder of a user's own classifier, which is trained further; `embedding` is its name


class Role(NamedTuple):
    """What a model serves as: the file of its card, and what is said where one is missing or damaged."""

    file: str
    noun: str
    made_by: str
    fault: type[MalapropError] = VictimError
    older: int | str = 1  # the format of cards from before there was one for all
    closing: str = _ATTACKED


ROLES = {
    "classifier": Role(
        "model.json",
        "text classifier",
        "malaprop train",
        older=2,
        closing=f"{_ATTACKED} Attack it with `malaprop audit --victim THIS_FOLDER`.",
    ),
    "encoder": Role(
        "pretrained.json",
        "pre-trained encoder",
        "malaprop pretrain",
        AssetError,
        closing="Perplexities and accuracies are on texts held out of the training; the unigram perplexity is that of "
        "a model which knows\nhow frequent each token is and nothing else. Made to stand under models that are "
        "attacked: it was not checked for any\nother use.",
    ),
    "translator": Role(
        "translator.json",
        "translation model",
        "malaprop train nmt-lstm",
        closing=f"{_ATTACKED} Attack it with `malaprop translate attack --victim THIS_FOLDER --keyword WORD`.",
    ),
    "image classifier": Role("image.json", "image classifier", "malaprop train lenet"),
    "image generator": Role("generator.json", "generative model of images", "malaprop train vae"),
    "sentence model": Role("model.json", "sentence model", "malaprop train arae", older="sentences-1"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The record of a model in its folder.

    `kind` is the model's name among those of its role; models of the zoo have a `spec` instead, the fields of a
    `ZooSpec`.

    `curves` hold, every so many steps, the step and the figures of the training.
    """

    role: str = "classifier"
    kind: str = ""
    spec: dict[str, Any] = field(default_factory=dict)
    shape: dict[str, Any] = field(default_factory=dict)  # what the network is made with
    labels: tuple[str, ...] = ()
    limit: int = 0  # tokens that are read
    data: str
    data_fingerprint: str
    seed: int
    start: str | None = None  # the weights before; None: random ones, or what `about` says
    settings: dict[str, Any] = field(default_factory=dict)  # of the training
    figures: dict[str, Number]
    seconds: float = 0.0
    curves: tuple[dict[str, Any], ...] = ()
    samples: tuple[str, ...] = ()
    about: str = ""  # where its vectors or weights come from, and what is a stand-in
    made: str = ""  # when, in UTC
    hardened: str = ""  # by which defence; models trained plainly say nothing
    versions: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def name(self) -> str:
        if not self.spec:
            return f"{self.kind}#{self.seed + 1}" if self.seed and self.role == "translator" else self.kind
        plain = add_seed(spec_name(**self.spec), self.seed)
        return f"{plain}+{self.hardened}" if self.hardened else plain


def spec_name(encoder: str, units: str = "word", embedding: str = "GloVe", depth: int = 1) -> str:
    """Return the name of a zoo model from the fields of its `ZooSpec`."""
    if encoder == OWN:
        return embedding
    return f"{encoder}-{UNITS[units]}-{embedding}-{depth}" if encoder in SIZED else encoder


def add_seed(name: str, seed: int) -> str:
    """Return the name of the model that was trained with a seed: of seed 0 it is the plain name, of seed 1 NAME#2."""
    return f"{name}#{seed + 1}" if seed else name


def stamp() -> dict[str, Any]:
    """Return the time and the versions that a new card records."""
    return {"made": now(), "versions": versions()}


def write_card(folder: Path, card: Card) -> None:
    """Write the card as JSON, and as a page to read."""
    write_whole(folder / README, _page(card))
    write_whole(folder / ROLES[card.role].file, json.dumps(encode(card), indent=1, ensure_ascii=False) + "\n")


def holds(folder: Path, role: str) -> bool:
    """Return whether a folder has a card of a role; the card may be damaged."""
    known = ROLES[role]
    if role != "sentence model":  # whose card is called as a classifier's
        return (folder / known.file).is_file()
    try:
        raw = json.loads((folder / known.file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(raw, Mapping) and role == raw.get("role", role if raw.get("format") == known.older else "")


def read_card(folder: Path, role: str = "classifier") -> Card:
    """Read the card in a folder; raise on a card of another role or version, or a damaged one."""
    known = ROLES[role]
    path = folder / known.file
    try:
        card = decode(Card, _upgrade(json.loads(path.read_text(encoding="utf-8")), role))
    except OSError:
        raise known.fault(
            f"{folder} is not {with_article(known.noun)}: no {known.file}; make one with: {known.made_by}"
        ) from None
    except (ValueError, KeyError, RecordError) as error:
        raise known.fault(f"{path} is damaged: {error}; train the model again") from None
    if card.role != role:
        raise known.fault(
            f"{folder} holds {with_article(card.role)}, not {with_article(known.noun)}; make one with: {known.made_by}"
        )
    if role == "classifier" and not _is_named(card):
        raise known.fault(f"{path} is damaged: it names no model of the zoo; train the model again")
    return card


def find_card(folder: Path) -> Card:
    """Return the card of the model in a folder, of whatever role."""
    role = next((role for role in reversed(ROLES) if holds(folder, role)), None)
    if role is None:
        raise VictimError(f"{folder} holds no model; train one with: malaprop train")
    return read_card(folder, role)


def _is_named(card: Card) -> bool:
    """Return whether the card says which model of the zoo it describes."""
    try:
        return bool(spec_name(**card.spec))
    except (TypeError, KeyError):
        return False


def _upgrade(raw: Any, role: str) -> dict[str, Any]:
    """Return a card in today's format, from one written before all roles shared one."""
    found = raw.get("format") if isinstance(raw, Mapping) else "none"
    if found == FORMAT:
        return dict(raw)
    if found != (older := ROLES[role].older):
        raise ValueError(f"it has format {found}, this version reads {older} and {FORMAT}")
    made = {**raw, "role": role, "format": FORMAT}
    made["settings"] = raw.get("settings") or raw.get("plan") or raw.get("how") or {}
    made.setdefault("seconds", raw.get("figures", {}).get("seconds", 0.0))
    if role == "image classifier":
        made["shape"] = {"image": raw["image"], "classes": raw["classes"]}
    if isinstance(curves := raw.get("curves"), Mapping):
        rows: dict[tuple[str, int], dict[str, Any]] = {}
        for label, points in curves.items():
            phase, _, name = label.partition(" ")
            for step, value in points:
                rows.setdefault((phase, step), {"phase": phase, "step": step})[name] = value
        made["curves"] = list(rows.values())
    return made


def _page(card: Card) -> str:
    known = ROLES[card.role]
    figures = "".join(f"| {name.replace('_', ' ')} | {_shown(value)} |\n" for name, value in card.figures.items())
    lines = [
        f"{with_article(known.noun).capitalize()} trained with Malaprop on `{card.data}` (fingerprint "
        f"{card.data_fingerprint}), seed {card.seed}{f', {card.made}' if card.made else ''}.",
        card.about,
        f"Labels: {', '.join(card.labels)}. It reads the first {card.limit} tokens of a text." if card.labels else "",
        f"Started from: {card.start}." if card.start else "",
        "Settings: " + ", ".join(f"{name} {value}" for name, value in card.settings.items()) + "."
        if card.settings
        else "",
    ]
    text = "\n".join(line for line in lines if line)
    return f"# {card.name}\n\n{text}\n\n| figure | value |\n| --- | --- |\n{figures}\n{known.closing}\n"


def with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
