"""The cache of fitted detectors: one folder for each method, its settings and the victim."""

from __future__ import annotations

import json
from hashlib import blake2b
from inspect import signature
from pathlib import Path
from typing import Any

from malaprop.assets.folders import cache_root
from malaprop.core.victim import Victim
from malaprop.features.defending.detection import DETECTORS
from malaprop.features.defending.detection.detector import CARD
from malaprop.frame.runs.wrap import read_settings


def place_kept(method: str, victim: Victim) -> Path:
    """Return the cache folder of a detector, named by its method, settings other than defaults, and victim."""
    marks = (_take_name(method), mark_settings(method), _mark_victim(victim))
    return cache_root() / "detectors" / "-".join(filter(None, marks))


def find_kept(method: str, victim: Victim) -> Path | None:
    """Return the folder of the cached detector with these settings; None where there is none.

    Before settings had folders of their own, the last detector of a method lay in that of the default ones.
    """
    places = (place_kept(method, victim), place_kept(_take_name(method), victim))
    return next((place for place in places if _holds(place, method)), None)


def list_kept(method: str, victim: Victim) -> list[str]:
    """List the cached detectors of this method for a victim, with their settings as they were typed."""
    places = (cache_root() / "detectors").glob(f"{_take_name(method)}-*{_mark_victim(victim)}")
    found = (_read_method(place) for place in sorted(places))
    return [one for one in found if one and _take_name(one) == _take_name(method)]


def mark_settings(method: str) -> str:
    """Return a digest of a method's settings, the same however they are typed; empty for the defaults."""
    name, *typed = method.split(":")
    usual = {key: _unify(one.default) for key, one in signature(DETECTORS[name.strip()]).parameters.items()}
    given = {key: _unify(value) for key, value in read_settings(name, typed).items()}
    own = sorted((key, repr(value)) for key, value in given.items() if key not in usual or usual[key] != value)
    return blake2b(repr(own).encode(), digest_size=6).hexdigest() if own else ""


def _unify(value: Any) -> Any:
    """Return a number as a float, so that 50 equals 50.0; anything else as it is."""
    return float(value) if isinstance(value, (int, float)) else value


def _take_name(method: str) -> str:
    return method.partition(":")[0].strip()


def _mark_victim(victim: Victim) -> str:
    """Return the fingerprint of a victim, or a digest of its name where it has none."""
    return victim.fingerprint or blake2b(victim.name.encode(), digest_size=8).hexdigest()


def _holds(folder: Path, method: str) -> bool:
    """Return whether a folder has a detector with these settings; a damaged one counts, and reading it raises."""
    if not (folder / CARD).is_file():
        return False
    said = _read_method(folder)
    return not said or mark_settings(said) == mark_settings(method)


def _read_method(folder: Path) -> str:
    """Return the method of a detector as it was typed; empty where its card cannot be read."""
    try:
        return str(json.loads((folder / CARD).read_text(encoding="utf-8"))["method"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
