"""Victims and training with the datasets at hand: joins `models`, which reads no data, and `data`."""

from __future__ import annotations

from typing import Any

from malaprop.core.errors import SettingError
from malaprop.core.victim import Victim
from malaprop.data.base import load as read


def device_of(asked: str) -> str:
    """`auto` is the GPU where there is one."""
    if asked == "cpu":
        return asked  # which every machine has: no reason to load torch
    import torch

    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=asked)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(f"device {asked!r} cannot be used here: {str(error).splitlines()[0]}") from None
    return asked


def victim(
    thing: Any, tokenizer: Any = None, *, device: str = "auto", precision: str = "auto", **options: Any
) -> Victim:
    """A victim of a function, scikit-learn pipeline, transformers model, torch module, folder or name.

    `thing` is a function from a list of texts to scores (n, labels), an object, or a string as `--victim` takes it; a
    torch module or a transformers model comes with its tokenizer. A victim is given back as it is. A zoo name that was
    not trained yet is trained on the packaged reviews, once. `precision` (auto, fp32, bf16) is for transformers; what
    bf16 finds is confirmed in fp32 before it counts.
    """
    from malaprop.models.victims.load import wrap

    return wrap(thing, tokenizer, device=device_of(device), precision=precision, read=read, **options)
