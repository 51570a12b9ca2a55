"""The record of one tool's run of one recipe over the rows, as both sides of a comparison write it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from statistics import median
from typing import Any

from malaprop.core.errors import DataError
from malaprop.core.text import Text, Words
from malaprop.frame.records.summary import Rate

Row = tuple[str, int]  # a text and its label


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One attacked row; `text` is the adversarial one, or the strongest attempt of a failed attack.

    `start` is the row as the tool rewrites it before the attack, if it does: changed words are counted from there.
    """

    status: str
    text: str
    queries: int
    start: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One tool's run. `outcomes` are of the first rows, in order; `texts` the distinct queries, if the tool keeps them.

    `model_s` of `wall_s` was spent in the model, `lookup_s` in finding candidates (0: not known). `processor_s` is the
    processor time of the process, which other work on the machine changes less. `forwarded` counts
    texts that reached the model.
    """

    tool: str
    threads: int
    wall_s: float
    model_s: float
    forwarded: int
    outcomes: tuple[Ended, ...]
    texts: tuple[str, ...] = ()
    unique: int = 0
    lookup_s: float = 0.0
    processor_s: float = 0.0
    quality: dict[str, float] = field(default_factory=dict)  # of the successes: see `quality`

    @property
    def asked(self) -> int:
        return sum(o.queries for o in self.outcomes)

    @property
    def median_queries(self) -> float:
        """Return the median number of queries of the attacked rows."""
        return float(median([o.queries for o in self.outcomes if o.status in ("success", "failed")] or [0]))

    @property
    def distinct(self) -> int:
        return self.unique or len(self.texts)

    @property
    def success(self) -> Rate:
        """Return the success rate over the rows that the victim gets right."""
        tried = [o for o in self.outcomes if o.status in ("success", "failed")]
        return Rate(sum(o.status == "success" for o in tried), len(tried))

    def changed(self, rows: Sequence[Row]) -> float | None:
        """Return the mean share of words changed over successes; None without a success."""
        shares = [
            changed_share(o.start or text, o.text)
            for (text, _), o in zip(rows, self.outcomes, strict=False)
            if o.status == "success"
        ]
        return sum(shares) / len(shares) if shares else None

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Measured:
        try:
            values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            ended = tuple(Ended(**row) for row in values.pop("outcomes"))
            return cls(outcomes=ended, texts=tuple(values.pop("texts", ())), **values)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} does not hold what a bench run writes ({error}); run it again") from None


def changed_share(before: str, after: str) -> float:
    """Return the share of words that differ: slot by slot if both have as many, else by matching runs of words."""
    table = Words()
    one, two = Text.of(before, table), Text.of(after, table)
    if not one.slots:
        return 0.0
    if one.slots == two.slots:
        return len(two.changed(one)) / one.slots
    same = SequenceMatcher(None, one.strings, two.strings, autojunk=False).get_matching_blocks()
    return min(1.0, (max(one.slots, two.slots) - sum(block.size for block in same)) / one.slots)


def write_rows(rows: Sequence[Row], path: Path) -> Path:
    path.write_text("".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows), encoding="utf-8")
    return path


def read_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as lines:
        return [(row["text"], int(row["label"])) for row in map(json.loads, lines)]
