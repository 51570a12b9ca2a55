"""Pack the records that claims are read from, so that every figure of the page can be derived again.

A folder of kept records has the layout of a `reproduce` folder, each record packed as NAME.json.gz and without pictures
and examples. The readings read either.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from malaprop.core.errors import RecordError
from malaprop.frame.records.kinds import find
from malaprop.frame.records.store import FILE as OUTCOMES
from malaprop.frame.records.store import iter_outcomes

Made = TypeVar("Made")
COUNTS = "counts.json"  # of outcomes, by status
PRINTED = "output-0.txt"
_MISSING = "not run yet"  # without a path: the page that shows it is the same wherever the records lie
_BULKY = {  # fields that no reading reads
    "AttentionRecord": ("sights",),
    "DefencesRecord": ("pictures",),
    "NaturalRecord": ("gallery", "sheet"),
    "NaturalTextRecord": ("samples", "shown", "around"),
    "TranslationRecord": ("sights",),
}

_EXAMPLES = ("sightings",)  # texts of the data, wherever they stand in a record


def need(read: Callable[[Path], Made | None], folder: Path) -> Made:
    """Read the record of a folder; raise if it has none."""
    found = read(folder)
    if found is None:
        raise RecordError(_MISSING)
    return found


def count_outcomes(folder: Path) -> Counter[str]:
    """Count the outcomes of an attack by status."""
    if (packed := folder / f"{COUNTS}.gz").is_file():
        return Counter(_load(packed.name, _unpack(packed)))
    if not (folder / OUTCOMES).is_file():
        raise RecordError(_MISSING)
    return Counter(outcome.status for outcome in iter_outcomes(folder))


def read_printed(folder: Path) -> dict[str, Any]:
    """Read the JSON object that a step's command printed in its last line."""
    path = folder / PRINTED
    packed = path.with_name(f"{path.name}.gz")
    if not packed.is_file() and not path.is_file():
        raise RecordError(_MISSING)
    text = _unpack(packed) if packed.is_file() else path.read_text(encoding="utf-8", errors="replace")
    lines = text.strip().splitlines()
    found = _load(str(path), lines[-1] if lines else "")
    if not isinstance(found, dict):
        raise RecordError(f"{path} holds no JSON object; run it again")
    return found


def keep(step: Path, to: Path, root: Path | None = None) -> list[Path]:
    """Write the records of a step, packed and without bulky parts, to another folder; return the files.

    Paths below `root`, the folder of the study, are written as seen from there.
    """
    made = []
    for found in find([step]):
        place = to / found.folder.relative_to(step)
        slim = _slim(found.record).to_dict()
        made.append(_pack(place / f"{found.kind.file}.gz", _shorten(slim, f"{(root or step).absolute()}/")))
    if (step / OUTCOMES).is_file():
        made.append(_pack(to / f"{COUNTS}.gz", dict(count_outcomes(step))))
    if not made and (printed := _find_printed(step)) is not None:
        made.append(_pack(to / f"{PRINTED}.gz", printed))
    return made


def _find_printed(step: Path) -> dict[str, Any] | None:
    """Return what a step's command printed as JSON; None if it printed none."""
    try:
        return read_printed(step)
    except RecordError:
        return None


def _slim(record: Any) -> Any:
    """Return the record without the parts that no claim reads, such as pictures."""
    bulky = _BULKY.get(type(record).__name__, ())
    empty = {one.name: type(getattr(record, one.name))() for one in fields(record) if one.name in bulky}
    return replace(record, **empty) if empty else record


def _shorten(value: Any, root: str) -> Any:
    """Return the value without texts of the data, and with paths below `root` relative to it."""
    if isinstance(value, str):
        return value.replace(root, "")
    if isinstance(value, dict):
        return {name: _shorten(one, root) for name, one in value.items() if name not in _EXAMPLES}
    return [_shorten(one, root) for one in value] if isinstance(value, (list, tuple)) else value


def _pack(path: Path, value: Any) -> Path:
    """Write a value as packed JSON; the same value gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return path


def _unpack(path: Path) -> str:
    try:
        return gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, ValueError) as error:
        raise RecordError(f"{path} cannot be read ({error}); run it again") from None


def _load(shown: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RecordError(f"{shown} cannot be read ({error}); run it again") from None
