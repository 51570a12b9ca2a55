"""Victims and training with the datasets at hand: joins `models`, which reads no data, and `data`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from malaprop.core.errors import SettingError
from malaprop.core.victim import Victim
from malaprop.data.base import load as read


def device_of(asked: str) -> str:
    """`auto` is the GPU where there is one."""
    import torch

    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=asked)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(f"device {asked!r} cannot be used here: {str(error).splitlines()[0]}") from None
    return asked


def victim(thing: Any, tokenizer: Any = None, *, device: str = "auto", **options: Any) -> Victim:
    """A victim of a function, scikit-learn pipeline, transformers model, torch module, folder or name.

    `thing` is a function from a list of texts to scores (n, labels), an object, or a string as `--victim` takes it; a
    torch module or a transformers model comes with its tokenizer. A victim is given back as it is. A zoo name that was
    not trained yet is trained on the packaged reviews, once.
    """
    from malaprop.models.victims.load import wrap

    return wrap(thing, tokenizer, device=device_of(device), read=read, **options)


def train(
    name: str,
    data: str,
    folder: Path,
    *,
    seed: int = 0,
    text: str | None = None,
    label: str | None = None,
    device: str = "auto",
    quiet: bool = False,
) -> dict[str, float]:
    """Trains a zoo model on a dataset to a folder; gives its figures."""
    from malaprop.models.splits import splits
    from malaprop.models.train import train as fit
    from malaprop.models.zoo import ZooSpec

    spec = ZooSpec.of(name)
    parts = splits(partial(read, text=text, label=label), data)
    return fit(spec, parts, folder, seed=seed, device=device_of(device), quiet=quiet).figures
