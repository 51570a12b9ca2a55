"""Models of the zoo in the cache, trained at their first use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from malaprop.assets import store
from malaprop.assets.download import say
from malaprop.assets.folders import locked
from malaprop.core.errors import MalapropError
from malaprop.training.card import ROLES, Card, read_card
from malaprop.training.splits import Read, Splits, splits
from malaprop.zoo import checkpoint
from malaprop.zoo import names as zoo
from malaprop.zoo.names import ZooSpec
from malaprop.zoo.special_models import SPECIAL_MODELS

_READS = {
    "encoder": "texts",
    "translator": "sentences",
    "image classifier": "images",
    "image generator": "points",
    "sentence model": "sentences",
}


def find_or_train(
    name: str, data: str = "mr", *, read: Read, seed: int = 0, device: str = "cpu", quiet: bool = False
) -> Path:
    """Return the folder of a zoo model of a dataset; train it, announced in one line, where it is not cached.

    Two processes that ask at once train once.
    """
    from malaprop.zoo.train import train  # a library that is missing is reported before texts are fetched

    spec, seed = zoo.parse(name, seed)
    parts = splits(read, data)
    folder = home(spec, parts, seed)
    with locked(folder.name):
        if not checkpoint.is_checkpoint(folder):
            if not quiet:
                texts = f"{len(parts.train):,} texts"
                say(f"training {zoo.name_with_seed(spec, seed)} on {parts.name} ({texts}, once; kept in the cache)")
            card = train(spec, parts, folder, seed=seed, device=device, quiet=quiet)
            if not quiet:
                accuracy, seconds = card.figures["test_accuracy"], card.figures["seconds"]
                say(f"{card.name} is right on {accuracy:.1%} of {len(parts.test)} test texts after {seconds:.0f} s")
    return folder


def home(spec: ZooSpec, data: Splits, seed: int, given: Mapping[str, Any] | None = None) -> Path:
    """Return the folder of a trained model; its name holds all that decides its weights, and the user's settings."""
    recipe = [
        2,  # the format of models when the cache got its names
        spec.plain(),
        zoo.shape(spec, 0),
        zoo.limit(spec),
        asdict(zoo.training(spec, len(data.train))),
        _source(spec),
        data.fingerprint,
        given or {},
    ]
    digest = sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:10]
    plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in data.name)[:40]
    return store.cache_root() / "models" / f"{spec.name}-{plain}-{seed}-{digest}"


def _source(spec: ZooSpec) -> str:
    """Return a mark of the asset or the pre-trained encoder that the model starts from, where it has one."""
    start = spec.start
    if start is None or start in ("minilm", "mpnet", "glove"):
        return store.key(start) if start else ""
    from malaprop.zoo import pretrain as card

    folder = card.found(start)
    return sha256((folder / card.CARD).read_bytes()).hexdigest()[:12] if folder else ""


def listing() -> list[dict[str, Any]]:
    """List every model of the zoo by name, and all models in the cache: each trained one in a row of its own."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in zoo.names()}
    for role, known in ROLES.items():
        for path in sorted(store.cache_root().glob(f"*/*/{known.file}")):
            with suppress(MalapropError):  # of another role or version, or damaged: it is made again when asked for
                card = read_card(path.parent, role)
                rows.setdefault(ZooSpec.from_card(card).name if card.spec else card.name, []).append(
                    _row(card, path.parent)
                )
    blank = {"state": "on first use", "data": "", "accuracy": "", "MB": "", "parameters": "", "date": ""}
    return [
        row
        for name, found in rows.items()
        for row in found or [{"name": name, **blank, "reads": _reads(ZooSpec.of(name)), "role": "classifier"}]
    ]


def _row(card: Card, folder: Path) -> dict[str, Any]:
    accuracy = card.figures.get("test_accuracy")
    return {
        "name": card.name,
        "state": "ready",
        "data": card.data,
        "accuracy": f"{accuracy:.1%}" if accuracy is not None else "",
        "MB": round(sum(file.stat().st_size for file in folder.iterdir()) / 1e6, 2),
        "parameters": card.figures.get("parameters", ""),
        "date": card.made[:10],
        "reads": _reads(ZooSpec.from_card(card)) if card.spec else _READS[card.role],
        "role": card.role,
    }


def _reads(spec: ZooSpec) -> str:
    if spec.special:
        return str(SPECIAL_MODELS[spec.encoder].reads)
    return {"word": "words", "character": "characters of words", "both": "words and characters"}.get(
        spec.units, "pieces of words"
    )
