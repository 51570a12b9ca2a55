"""Hardening from Python: a transformers model with its tokenizer, a folder, or a model of the zoo by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError

if TYPE_CHECKING:
    from malaprop.models.checkpoint import Card


def harden(
    model: Any,
    tokenizer: Any = None,
    *,
    method: str = "blackbox",
    data: str | os.PathLike[str] = "mr",
    out: str | os.PathLike[str],
    seed: int = 0,
    device: str = "auto",
    text: str | None = None,
    label: str | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = True,
) -> Card:
    """Trains a model further against attacks, as `malaprop harden` does, writes it to `out` and gives its card.

    `model` is a transformers classifier with its tokenizer, the folder of one, or a model of the zoo by name; the one
    given stays as it is. `method` is written as on the command line (`blackbox`, `miyato:size=0.05`, `fact:words=5`),
    `settings` are those of training, such as epochs and rate.
    """
    from malaprop.defences.harden import harden as run
    from malaprop.defences.harden import typed
    from malaprop.models.train import Given
    from malaprop.runs.victims import device_of

    given = Given(settings=dict(settings or {}))
    called = method.partition(":")[0]

    def train(source: str) -> Card:
        return run(
            typed(method),
            called,
            source,
            os.fspath(data),
            Path(out),
            seed=seed,
            text=text,
            label=label,
            device=device_of(device),
            given=given,
            quiet=quiet,
        )

    if isinstance(model, (str, os.PathLike)):
        return train(os.fspath(model))
    if tokenizer is None or not hasattr(model, "save_pretrained") or not hasattr(tokenizer, "save_pretrained"):
        raise SettingError("give a transformers classifier with its tokenizer, a folder, or the name of a zoo model")
    with TemporaryDirectory(prefix="malaprop-") as room:
        folder = Path(room, Path(str(getattr(model.config, "_name_or_path", "")) or type(model).__name__).name)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return train(str(folder))
