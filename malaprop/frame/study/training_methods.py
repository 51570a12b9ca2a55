"""Parse defences that act in training, and take a user's own classifier as a model to train."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example
from malaprop.core.settings import call
from malaprop.core.victim import find_rejected
from malaprop.data.matching import turn
from malaprop.frame.runs.wrap import read_settings
from malaprop.frame.study.model_kinds import DEFENCES

if TYPE_CHECKING:
    from malaprop.training.splits import Splits
    from malaprop.zoo.names import ZooSpec
    from malaprop.zoo.train import TrainingJob
    from malaprop.zoo.training import Hooks


class Defence(Protocol):
    """A defence that acts in training; its `str` describes what was done."""

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        """Return what the defence adds to the training of this model; raise if it cannot."""
        ...


def parse_defence(spec: str, **more: Any) -> Defence:
    """Make a defence from what is typed: ranmask, or with settings ranmask:keep=0.2."""
    name, *settings = spec.split(":")
    make = DEFENCES[name]
    made: Defence = call(make, {**more, **read_settings(name, settings)}, f"harden {name}")
    return made


@dataclass(frozen=True, slots=True)
class Hardening:
    """A defence that acts in training, and the name of a model that was trained with it."""

    name: str
    defence: Defence

    @classmethod
    def of(cls, spec: str, **more: Any) -> Hardening:
        """Parse what is typed: ranmask, ranmask:keep=0.2; `more` are further settings."""
        name = spec.partition(":")[0]
        defence = parse_defence(spec, **more)
        return cls(f"{name}-virtual" if getattr(defence, "virtual", False) else name, defence)

    def add_labels(self, data: Splits) -> Splits:
        """Return the data with the additional labels that this training gives a model, behind its own."""
        more: tuple[str, ...] = getattr(self.defence, "more_labels", ())
        return data._replace(labels=(*data.labels, *(label for label in more if label not in data.labels)))


def own_spec(folder: str) -> ZooSpec:
    """Return the spec of a user's own classifier, named after its folder."""
    from malaprop.training.card import OWN
    from malaprop.zoo.names import ZooSpec

    name = Path(folder).expanduser().resolve().name
    return ZooSpec(encoder=OWN, units="piece", embedding=name, depth=0)


def in_terms_of(parts: Splits, folder: Path) -> Splits:
    """Return the data with labels numbered and named as those of the classifier in the folder."""
    names, count = _labels_of(folder)
    places = turn(parts.name, parts.labels, names)
    if places is None:
        if len(parts.labels) != count - (find_rejected(names) >= 0):  # which no text of the data has
            raise DataError(
                f"{parts.name} has {len(parts.labels)} labels ({', '.join(parts.labels[:8])}), the model in {folder} "
                f"has {count}; rename them in the data to the model's names"
            )
        return parts._replace(labels=names or parts.labels)

    def renumber(examples: Sequence[Example]) -> list[Example]:
        return [replace(example, label=places[example.label]) for example in examples]

    return parts._replace(
        train=renumber(parts.train), held_out=renumber(parts.held_out), test=renumber(parts.test), labels=names
    )


def _labels_of(folder: Path) -> tuple[tuple[str, ...], int]:
    """Return the names of a classifier's labels, empty if they are the library's defaults, and their number."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        table = config.get("id2label") or {}
        names = tuple(str(table[key]) for key in sorted(table, key=int))
    except (OSError, ValueError, AttributeError):
        raise SettingError(f"{folder / 'config.json'} cannot be read as a model's configuration") from None
    count = len(names) or int(config.get("num_labels", 2))
    return (() if any(name.startswith("LABEL_") for name in names) else names), count
