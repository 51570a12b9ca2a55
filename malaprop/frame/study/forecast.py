"""`--dry-run`: estimate the queries and the cost of a whole run from a few of its texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from malaprop.core.budget import NO_LIMIT
from malaprop.core.errors import SettingError
from malaprop.frame.study.run_options import BudgetOptions
from malaprop.frame.study.study import Result, Spends, Study, TemporaryFolder, View, conduct

if TYPE_CHECKING:
    from malaprop.frame.records.outcome import Outcome
    from malaprop.frame.records.spending import SpendingRecord
    from malaprop.frame.study.attack_tasks import DataReading
    from malaprop.frame.tasks.events import Listen

SAMPLE = 5  # texts
_STUDENT = (12.71, 4.30, 3.18, 2.78)  # 97.5% points of Student's t with 1, 2, 3 and 4 degrees of freedom


@runtime_checkable
class Sampled(Spends, Protocol):
    """A study whose texts are sampled by a seed, so that a few of them represent all."""

    @property
    def reading(self) -> DataReading: ...


@runtime_checkable
class Wraps(Study, Protocol):
    """A study that runs the attacks of another one, as a check runs those of an audit."""

    @property
    def inner(self) -> Study: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForecast:
    """The expected queries of one attack on one victim over the whole run, with a 95% interval."""

    run: str
    queries: float
    low: float
    high: float
    minutes: float

    @classmethod
    def of(cls, run: str, found: Iterable[Outcome], texts: int, seconds: float) -> RunForecast:
        asked = [float(outcome.queries.forwarded) for outcome in found] or [0.0]
        many, mean = len(asked), fmean(asked)
        spread = _STUDENT[many - 2] * stdev(asked) / sqrt(many) if 1 < many < texts else mean * (many < texts)
        return cls(
            run=run, queries=mean * texts, low=max(sum(asked), (mean - spread) * texts), high=(mean + spread) * texts,
            minutes=seconds / 60 / many * texts,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The expected cost of all runs together; tokens and money are at the mean of the sampled queries."""

    texts: int
    sampled: int
    runs: tuple[RunForecast, ...]
    tokens_in: float | None  # of one query; None: not known
    tokens_out: float | None
    spending: BudgetOptions

    @property
    def queries(self) -> float:
        return sum(run.queries for run in self.runs)

    @property
    def minutes(self) -> float:
        return sum(run.minutes for run in self.runs)

    def totals(self) -> dict[str, float | None]:
        """Return the expected totals of the whole run for everything that can be limited."""
        known = self.tokens_in is not None and self.tokens_out is not None
        tokens = (self.queries * (self.tokens_in or 0), self.queries * (self.tokens_out or 0))
        priced = known and self.spending.limits.priced
        return {
            "queries": round(self.queries),
            "tokens_in": round(tokens[0]) if known else None,
            "tokens_out": round(tokens[1]) if known else None,
            "cost": round(self.spending.limits.cost_of(*tokens), 6) if priced else None,
            "minutes": round(self.minutes, 2),
        }

    def lines(self) -> list[str]:
        """Return the forecast as lines of text."""
        totals = self.totals()
        low, high = (sum(getattr(run, end) for run in self.runs) for end in ("low", "high"))
        said = [f"about {self.queries:,.0f} queries ({low:,.0f} to {high:,.0f})"]
        if totals["tokens_in"] is not None:
            said.append(f"{totals['tokens_in']:,.0f} tokens in and {totals['tokens_out']:,.0f} out")
        if totals["cost"] is not None:
            said.append(f"a cost of {totals['cost']:.4g}")
        said.append(f"{self.minutes:.1f} minutes on this machine")
        whole = f"the whole run would ask {', '.join(said)}; estimated from {self.sampled} of {self.texts:,} texts"
        return [*(f"{run.run}: about {run.queries:,.0f} queries" for run in self.runs), whole, *self._cut()]

    def _cut(self) -> list[str]:
        """Return a line for each limit that would end the run early."""
        limits, totals = self.spending.limits, self.totals()
        tokens = None if totals["tokens_in"] is None else totals["tokens_in"] + (totals["tokens_out"] or 0)
        asked = {
            "--max-queries": (totals["queries"], limits.queries),
            "--max-tokens": (tokens, limits.tokens),
            "--max-cost": (totals["cost"], limits.cost),
            "--max-minutes": (totals["minutes"], limits.minutes),
        }
        return [
            f"{name} {limit:g} would end it when about {100 * limit / wanted:.0f}% is done"
            for name, (wanted, limit) in asked.items()
            if limit is not None and wanted is not None and wanted > limit
        ]


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """Stands in for the study in the `Result` of a dry run."""

    study: Study

    @property
    def command(self) -> str:
        return self.study.command

    def view(self, record: Forecast) -> View:
        rows = [
            {"run": run.run, "queries": run.queries, "low": run.low, "high": run.high, "minutes": run.minutes}
            for run in record.runs
        ]
        said = {"dry_run": True, "texts": record.texts, "sampled": record.sampled, **record.totals(), "runs": rows}
        return View(
            rows=rows, summary=said, text=lambda: "\n".join(record.lines()), report=False, kept=False,
            last="nothing was written but answers that are paid for",
        )  # fmt: skip


def forecast(study: Study, listen: Iterable[Listen] = ()) -> Result:
    """Attack a few texts in a temporary folder and extrapolate to all; answers that are paid for are kept."""
    if isinstance(study, Wraps):
        study.check()
        return forecast(study.inner, listen)
    if not isinstance(study, Sampled):
        raise SettingError(f"--dry-run is for attack, audit and check, and not for {study.command}")
    study.spending.check()
    study.check()
    texts = len(study.reading.examples)
    sampled = min(SAMPLE, texts)
    room, spending = TemporaryFolder(), replace(study.spending, dry_run=False, max_queries=None, max_minutes=None)
    changed: dict[str, Any] = {
        "texts": replace(study.reading.selection, n=sampled),
        "spending": replace(spending, max_cost=None, max_tokens=NO_LIMIT),
        "saving": replace(study.saving, out=room.path / "sample", track=()),
    }
    found = conduct(replace(study, **changed), listen=listen)  # type: ignore[type-var]
    record = _extrapolate(found, texts, sampled, study.spending)
    return Result(DryRun(study=study), room.path, record, room)  # type: ignore[arg-type]


def _extrapolate(found: Result, texts: int, sampled: int, spending: BudgetOptions) -> Forecast:
    from malaprop.frame.study.attack_tasks import read_times

    times = read_times(found.folder)
    runs = []
    for name, outcomes in found.runs.items():
        seconds = times.get(name, sum(times.values()) if name == "." else 0.0)
        runs.append(RunForecast.of(found.study.command if name == "." else name, outcomes, texts, seconds))
    per_in, per_out = _per_query(found.spent)
    return Forecast(
        texts=texts, sampled=sampled, runs=tuple(runs), tokens_in=per_in, tokens_out=per_out, spending=spending
    )


def _per_query(spent: SpendingRecord | None) -> tuple[float | None, float | None]:
    """Return the mean tokens of one query, in and out; None if every answer was on disk already."""
    if spent is None or not spent.queries:
        return None, None
    return spent.tokens_in / spent.queries, spent.tokens_out / spent.queries
