"""The record of tested claims: our figures beside the paper's, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from malaprop.frame.records.intervals import VERDICTS
from malaprop.frame.records.kinds import Record

FILE = "claims.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """One claim: the paper's figure, ours, the verdict, the data and models, and the commands."""

    id: str
    paper: str
    claim: str
    theirs: str
    ours: str
    verdict: str
    about: str = ""  # data and models here, where they are not the paper's
    commands: tuple[str, ...] = ()
    fails: str = ""  # what would have counted as a failure, written down before
    why: str = ""  # of a claim that does not hold: what the records show of the reason

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"no verdict is called {self.verdict!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsRecord(Record):
    """All claims of one `malaprop reproduce`; `failed` gives the reason for each failed step."""

    size: str
    rows: tuple[ClaimRow, ...]
    failed: dict[str, str] = field(default_factory=dict)  # steps that failed, and why

    @property
    def counts(self) -> dict[str, int]:
        """Count the rows of each verdict that occurs."""
        found = [row.verdict for row in self.rows]
        return {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}
