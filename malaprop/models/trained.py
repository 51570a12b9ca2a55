"""Models of the zoo in the cache, trained when they are first asked for."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from malaprop.assets import store
from malaprop.assets.download import say
from malaprop.assets.folders import locked
from malaprop.core.errors import VictimError
from malaprop.models import checkpoint, zoo
from malaprop.models.splits import Read, Splits, splits
from malaprop.models.zoo import FINE_TUNED, ZooSpec


def trained(
    name: str, data: str = "mr", *, read: Read, seed: int = 0, device: str = "cpu", quiet: bool = False
) -> Path:
    """The folder of a zoo model trained on a dataset; trains and announces it in one line where it is not cached.

    Two processes that ask at once train once.
    """
    spec, parts = ZooSpec.of(name), splits(read, data)
    folder = _folder(spec, parts, seed)
    with locked(folder.name):
        if not checkpoint.is_checkpoint(folder):
            from malaprop.models.train import train

            if not quiet:
                say(f"training {spec.name} on {parts.name} ({len(parts.train):,} texts, once; kept in the cache)")
            card = train(spec, parts, folder, seed=seed, device=device, quiet=quiet)
            if not quiet:
                accuracy, seconds = card.figures["test_accuracy"], card.figures["seconds"]
                say(f"{spec.name} is right on {accuracy:.1%} of {len(parts.test)} test texts after {seconds:.0f} s")
    return folder


def _folder(spec: ZooSpec, data: Splits, seed: int) -> Path:
    """Named by all that decides the weights: settings, data, and the asset that the model starts from."""
    start = {FINE_TUNED: "minilm"}.get(spec.encoder, "glove" if spec.embedding == "GloVe" else None)
    recipe = [
        checkpoint.FORMAT,
        spec.plain(),
        zoo.shape(spec, 0),
        zoo.limit(spec),
        asdict(zoo.training(spec)),
        store.key(start) if start else "",
        data.fingerprint,
    ]
    digest = sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:10]
    plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in data.name)[:40]
    return store.cache_root() / "models" / f"{spec.name}-{plain}-{seed}-{digest}"


def listing() -> list[dict[str, Any]]:
    """Every model of the zoo by name, and what is in the cache of it: on which data, how accurate."""
    cards: dict[str, list[checkpoint.Card]] = {name: [] for name in zoo.names()}
    for folder in sorted((store.cache_root() / "models").glob(f"*/{checkpoint.CARD}")):
        with suppress(VictimError):  # of another version, or damaged: it is trained again when asked for
            card = checkpoint.read_card(folder.parent)
            cards.setdefault(card.zoo.name, []).append(card)
    return [
        {
            "name": name,
            "state": "ready" if found else "trained on first use",
            "data": ", ".join(dict.fromkeys(card.data for card in found)),
            "accuracy": ", ".join(f"{card.figures['test_accuracy']:.1%}" for card in found),
        }
        for name, found in cards.items()
    ]
