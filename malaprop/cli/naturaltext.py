"""malaprop train arae and text-vae: models of sentences."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from malaprop.cli import options as o

NAMES = ("arae", "text-vae")


def train_text(
    spec: str,
    data: str,
    out: Path | None,
    *,
    seed: int,
    settings: dict[str, Any],
    vectors: Path | None,
    columns: dict[str, Any],
    device: str,
    json: bool,
    quiet: bool,
) -> None:
    """Trains a sentence model into --out; what was killed goes on there."""
    from malaprop.data.base import load
    from malaprop.models.generative.sentencetraining import train_sentences
    from malaprop.runs.victims import device_of

    folder = o.out_folder(out, False, "train", spec, data)
    card = train_sentences(
        spec.removeprefix("text-"),
        data,
        partial(load, **columns),
        folder,
        settings=settings,
        vectors=vectors,
        seed=seed,
        device=device_of(device),
        quiet=quiet,
    )
    if not quiet:
        print(", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in card.figures.items()))
        for sample in card.samples[:5]:
            print(f"  {sample}")
        o.say(f"model in {folder}; use it with: malaprop natural --generator {folder} --data {data}")
    o.finish({"command": "train", "spec": spec, "out": str(folder), **card.figures}, json)
