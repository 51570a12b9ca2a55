"""An original text or image beside what an attack made of it, whatever kind of run it is from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from malaprop.frame.records.run import Run

Fields = dict[str, str]
IMAGE = "image"  # the field of an image: an address that holds its PNG


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """An original and what was made of it, if that broke the victim."""

    id: str
    label: str  # by its name, or its number
    original: Fields
    changed: Fields | None
    last: int = 0  # the largest label that the victim knows, by number


class AlterationReader(NamedTuple):
    """How the folders of one kind of run are read: those that hold `file`; `read` gives alterations by recipe."""

    file: str
    kind: str  # outcomes, sentences or images
    read: Callable[[Path, Run], dict[str, list[Alteration]]]
