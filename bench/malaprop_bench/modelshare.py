"""An upper bound of the speed-up of recipes that use an encoder or a masked language model: the time of the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEAD = (
    "recipe",
    "victim",
    "texts",
    "processor s, ours",
    "of it in encoder and masked language model",
    "processor s, TextAttack",
    "times faster",
    "times faster if all else took no time",
)


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each record; the bound is the peer's time over the time of our models alone."""
    out = []
    for held in records:
        ours, theirs = held["ours"]["processor_s"], held["theirs"]["processor_s"]
        models = held["ours"]["encoder_s"] + held["ours"]["masked_lm_s"]
        ratios = f"{theirs / ours:.1f}", f"{theirs / models:.1f}"
        counts = f"{ours:.2f}", f"{models / ours:.0%}", f"{theirs:.2f}"
        out.append([held["recipe"], held["victim"], str(held["texts"]), *counts, *ratios])
    return out
