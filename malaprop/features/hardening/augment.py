"""Perturbed copies of a dataset, written as a file that can be trained on."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from malaprop.core.catalogue import Catalogue
from malaprop.core.errors import DataError, SettingError
from malaprop.core.files import partial_path, remove_partial_files
from malaprop.core.seeds import generator
from malaprop.core.settings import call
from malaprop.core.text import word_pattern
from malaprop.core.victim import Fields, Victim
from malaprop.data.base import Dataset
from malaprop.frame.rooms import added
from malaprop.frame.runs.wrap import read_settings

_AT_ONCE = 512  # texts
_SUFFIXES = {".csv": ",", ".tsv": "\t", ".jsonl": ""}

AUGMENTERS = Catalogue("way to augment", added("augmenters"))


class Augmenter(Protocol):
    """Writes perturbed copies of texts; the copies of a text depend on the seed and that text alone."""

    @property
    def needs_victim(self) -> bool: ...

    def copies_of(self, texts: Sequence[Fields], victim: Victim | None, seed: int) -> list[list[Fields]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyboard:
    """Replaces a share `r` of the letters of a text by those of neighbouring keys."""

    copies: int = 4
    r: float = 0.05
    needs_victim: bool = False

    def __post_init__(self) -> None:
        _check(self.r)

    def copies_of(self, texts: Sequence[Fields], victim: Victim | None, seed: int) -> list[list[Fields]]:  # noqa: ARG002
        from malaprop.assets.lexicon import keyboard

        keys = keyboard()
        return [[tuple(self._typed(f, keys, rng) for f in t) for rng in _each(t, seed, self.copies)] for t in texts]

    def _typed(self, string: str, keys: dict[str, tuple[str, ...]], rng: np.random.Generator) -> str:
        places = [i for found in word_pattern().finditer(string) for i in range(*found.span()) if keys.get(string[i])]
        if not places:
            return string
        out = list(string)
        for i in rng.choice(places, max(1, int(len(places) * self.r)), replace=False).tolist():
            near = keys[string[i]]
            out[i] = near[int(rng.integers(len(near)))]
        return "".join(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistyped:
    """Replaces a share `r` of the characters of a text by random letters or digits, as `harden blackbox` does."""

    copies: int = 4
    r: float = 0.2
    needs_victim: bool = False

    def __post_init__(self) -> None:
        _check(self.r)

    def copies_of(self, texts: Sequence[Fields], victim: Victim | None, seed: int) -> list[list[Fields]]:  # noqa: ARG002
        from malaprop.features.hardening.key_star import mistype

        return [[mistype(text, self.r, rng) for rng in _each(text, seed, self.copies)] for text in texts]


def _check(r: float) -> None:
    if not isinstance(r, (int, float)) or not 0 < r <= 1:
        raise SettingError(f"r is a share of the characters, above 0 and up to 1, got {r!r}")


def _each(text: Fields, seed: int, copies: int) -> list[np.random.Generator]:
    return [generator(seed, "copy", str(number), *text) for number in range(copies)]


def augmenter(spec: str, copies: int) -> Augmenter:
    """Return the augmenter that a user typed: switch, switch:words=3, keyboard:r=0.1."""
    name, *settings = spec.split(":")
    given = read_settings(name, settings)
    made: Augmenter = AUGMENTERS[name](given, copies)
    return made


def read_keyboard(given: Mapping[str, Any], copies: int) -> Keyboard:
    """Return the augmenter of typing slips that a user typed: keyboard, keyboard:r=0.1."""
    made: Keyboard = call(Keyboard, {"copies": copies, **given}, "augment keyboard")
    return made


def read_mistyped(given: Mapping[str, Any], copies: int) -> Mistyped:
    """Return the augmenter of random characters that a user typed: blackbox, blackbox:r=0.1."""
    made: Mistyped = call(Mistyped, {"copies": copies, **given}, "augment blackbox")
    return made


class Counts(NamedTuple):
    texts: int
    rows: int
    bare: int  # texts without a copy


def write(
    path: Path,
    data: Dataset,
    make: Augmenter,
    victim: Victim | None,
    *,
    seed: int = 0,
    originals: bool = True,
    say: Callable[[str], None] = print,
) -> Counts:
    """Write texts and their copies to a file, all or nothing; `source` is the id of a row's original."""
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise SettingError(f"--out {path} should end in {', '.join(_SUFFIXES)}, which say how rows are written")
    half = partial_path(path)
    texts = rows = bare = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_partial_files(path.parent, path.name)
        with half.open("w", encoding="utf-8", newline="") as file:
            put = _writer(file, suffix, (*data.fields, "label", "source"))
            for example, copies in _copies(data, make, victim, seed):
                texts += 1
                bare += not copies
                name = data.labels[example.label] if example.label < len(data.labels) else str(example.label)
                own = [tuple(example.fields.values())] if originals else []
                for fields in (*own, *copies):
                    put((*fields, name, example.id))
                    rows += 1
                if texts % (20 * _AT_ONCE) == 0:
                    say(f"{texts:,} of {len(data):,} texts")
        half.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        half.unlink(missing_ok=True)
    return Counts(texts, rows, bare)


def _copies(data: Dataset, make: Augmenter, victim: Victim | None, seed: int) -> Iterator[tuple[Any, list[Fields]]]:
    for begin in range(0, len(data.examples), _AT_ONCE):
        some = data.examples[begin : begin + _AT_ONCE]
        texts = [tuple(example.fields.values()) for example in some]
        for example, text, copies in zip(some, texts, make.copies_of(texts, victim, seed), strict=True):
            yield example, [copy for copy in dict.fromkeys(copies) if copy != text]


def _writer(file: Any, suffix: str, names: tuple[str, ...]) -> Callable[[tuple[str, ...]], Any]:
    if suffix == ".jsonl":
        return lambda row: file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")
    writer = csv.writer(file, delimiter=_SUFFIXES[suffix])
    writer.writerow(names)
    return writer.writerow
