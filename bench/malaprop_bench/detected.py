"""Tables of detectors, from the `--json` lines of `malaprop detect score` and of attacks on detectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malaprop.frame.records.summary import Rate

HEAD = ("victim", "texts", "detector", "attack", "goal", "AUC", "caught at 5%", "clean rejected")
EVADED = ("victim", "texts", "detector", "attack", "right without attack", "right under attack", "not knowing it")


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each detector and run."""
    return [
        [
            one["victim"], one["texts"], f"`{one['method']}`", run["recipe"], run["goal"],
            f"{run['auc']:.3f} ({run['auc_low']:.3f}-{run['auc_high']:.3f})", _rate(run["caught"]),
            _rate(run["rejected_clean"]),
        ]
        for one in held["scores"]
        for run in one["runs"]
    ]  # fmt: skip


def evaded_rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each attack that sees the detector; the last column is of an attack on the model alone."""
    return [
        [
            one["victim"], one["texts"], f"`{one['method']}`", one["recipe"], _rate(one["clean"]),
            _rate(one["knowing"]), _rate(one["plain"]),
        ]
        for one in held["evaded"]
    ]  # fmt: skip


def _rate(found: Mapping[str, Any]) -> str:
    return str(Rate(found["hits"], found["total"]))
