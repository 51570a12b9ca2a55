"""Answered: a victim of which the answers for some texts are known, so that detectors need not ask for them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from malaprop.core.text import Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Around, Victim


@dataclass(frozen=True, slots=True, eq=False)
class Answered(Around):
    """The victim inside, and log-probabilities [label] that it gave for texts as they are; `exact`: by which road.

    It lives as long as one answer of a defence. Who asks it directly is answered by the victim inside; `suspicion.ask`
    looks at what is known first.
    """

    victim: Victim
    known: Mapping[Text, NDArray[Any]]
    exact: bool

    @property
    def inside(self) -> Victim:
        return self.victim

    def knows(self, group: Variants, *, exact: bool) -> bool:
        """Whether the first of these variants is a text, without any edit, whose answer came by the same road."""
        itself = group.rows is not None and group.count > 0 and 0 not in group.rows
        return itself and exact == self.exact and group.base in self.known
