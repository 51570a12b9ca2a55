"""How an adversarial text reads, measured without people: likeness, surprise, mistakes of grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from malaprop.core.catalogue import unknown
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.runs.services import shared

MEASURES = ("similarity", "perplexity", "grammar", "agreement")
_SERVICES = {"similarity": "encoder", "perplexity": "language-model", "grammar": "grammar", "agreement": "agreement"}


def check(names: Sequence[str]) -> None:
    """Raises for a name that is no measure of texts."""
    for name in names:
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)


def quality(outcomes: Sequence[Outcome], names: Sequence[str], *, fields: Sequence[str] = ()) -> dict[str, list[float]]:
    """For each measure a number for each outcome, of its adversarial text; `_before` of its original.

    Similarity is the cosine of both texts in MiniLM, perplexity that of SmolLM2, grammar a count of mistakes. `fields`
    are those that were open to change, all where none is named: one that stays would hide what happened to the other.
    """
    check(names)
    before = [_whole(o.original.fields, fields) for o in outcomes]
    after = [_whole(o.adversarial.fields, fields) if o.adversarial is not None else "" for o in outcomes]
    out: dict[str, list[float]] = {}
    for name in names:
        old, new = _ask(_SERVICES[name], before), _ask(_SERVICES[name], after)
        if name == "similarity":
            out[name] = [float(np.dot(one, two)) for one, two in zip(old, new, strict=True)]
        else:
            out[f"{name}_before"], out[name] = [float(n) for n in old], [float(n) for n in new]
    return out


def _whole(texts: dict[str, str], fields: Sequence[str]) -> str:
    return " ".join(text for name, text in texts.items() if not fields or name in fields)


def _ask(service: str, texts: Sequence[str]) -> list[Any]:
    one = shared()[service]
    return one.finish(one.begin([texts]))[0]
