"""An original text or image and its adversarial version, in one form for every kind of run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from malaprop.frame.records.run import Run

Fields = dict[str, str]
IMAGE = "image"  # the field of an image: a data URL with its PNG


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """An original and its adversarial version; `changed` is None where the attack did not succeed."""

    id: str
    label: str  # the name of the label, or its number
    original: Fields
    changed: Fields | None
    last: int = 0  # the largest label that the victim knows, by number


class AlterationReader(NamedTuple):
    """How to read a run folder that holds `file`: `read` returns the alterations of each recipe."""

    file: str
    kind: str  # outcomes, sentences or images
    read: Callable[[Path, Run], dict[str, list[Alteration]]]
