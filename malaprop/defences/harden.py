"""Training against attacks: a model of the zoo by name, a dataset, a defence, and a folder that --victim takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from malaprop.core.errors import SettingError
from malaprop.core.settings import call, parse_value
from malaprop.data.base import load as read
from malaprop.defences import DEFENCES

if TYPE_CHECKING:
    from malaprop.models.checkpoint import Card
    from malaprop.models.splits import Splits
    from malaprop.models.train import Given, Job
    from malaprop.models.training import Epoch, Hooks


class Defence(Protocol):
    """Something that acts in training; `str` of it says what was done."""

    def hooks(self, job: Job, data: Splits) -> Hooks:
        """What it adds to the training of this model, or why it cannot."""
        ...


def typed(spec: str, **more: Any) -> Defence:
    """A defence as it is typed, with settings or without: ranmask, ranmask:keep=0.2."""
    name, *settings = spec.split(":")
    given = dict(more)
    for part in settings:
        key, equals, value = part.partition("=")
        if not equals:
            raise SettingError(f"a setting of {name} is written name=value, got {part!r}")
        given[key.strip().replace("-", "_")] = parse_value(value.strip())
    made: Defence = call(DEFENCES[name], given, f"harden {name}")
    return made


def harden(
    defence: Defence | None,
    called: str,
    name: str,
    data: str,
    folder: Path,
    *,
    seed: int = 0,
    text: str | None = None,
    label: str | None = None,
    device: str = "cpu",
    given: Given | None = None,
    quiet: bool = False,
    heard: Callable[[Epoch], None] | None = None,
) -> Card:
    """Trains as `malaprop train` does, with the defence in the loop; its name and settings go into the card.

    Without a defence it is plain training, for comparison. `heard` is told of every epoch.
    """
    from malaprop.models import zoo
    from malaprop.models.splits import splits
    from malaprop.models.train import Given as Nothing
    from malaprop.models.train import check_settings, train
    from malaprop.models.training import Hooks

    spec, seed = zoo.parse(name, seed)
    given = given or Nothing()
    check_settings(given.settings or {}, [spec])
    parts = splits(partial(read, text=text, label=label), data)
    return train(
        spec,
        parts,
        folder,
        seed=seed,
        device=device,
        given=given,
        hooks=lambda job: replace(defence.hooks(job, parts) if defence else Hooks(), epoch=heard),
        hardened=called if defence else "",
        about=f"Hardened: {defence}." if defence else "",
        quiet=quiet,
    )
