"""Perturbed copies of texts by SWITCH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from malaprop.core.settings import call
from malaprop.core.victim import Fields, Victim
from malaprop.papers.firebert.switch import Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """By SWITCH; its words are ranked by the victim."""

    switch: Switch
    needs_victim: bool = True

    def copies_of(self, texts: Sequence[Fields], victim: Victim | None, seed: int) -> list[list[Fields]]:
        assert victim is not None
        return self.switch.alternatives_of(texts, victim, seed=seed)


def read_switched(given: Mapping[str, Any], copies: int) -> Switched:
    """SWITCH as it is typed: switch, switch:words=3."""
    return Switched(switch=call(Switch, {"alternatives": copies, **given}, "augment switch"))
