"""Runs as a report shows them: with distinct names and colours, and grouped by victim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from malaprop.frame.records import Outcome, Rate, Run, Summary
from malaprop.frame.records.summary import Validity

COLORS = 8  # further lines repeat the colours with other dashes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunEntry:
    """One run with its summary, and the names and the colour that the report gives it."""

    run: Run
    outcomes: Sequence[Outcome]
    summary: Summary
    victim: str
    attack: str
    color: int

    @property
    def missing(self) -> int:
        """The number of examples that the run has not finished."""
        return max(0, self.run.n - len(self.outcomes))


def entries(runs: Sequence[tuple[Run, Sequence[Outcome]]]) -> list[RunEntry]:
    """Return the runs under distinct names, with the data if there are several, and the seed or budget if needed."""
    many_data = len({run.data for run, _ in runs}) > 1
    victims = _number([f"{run.victim} on {run.data}" if many_data else run.victim for run, _ in runs], runs)
    attacks = _distinct(victims, [run for run, _ in runs])
    colors = {name: number for number, name in enumerate(dict.fromkeys(attacks))}
    return [
        RunEntry(
            run=run,
            outcomes=found,
            summary=Summary.of(found, run.labels).cut_short(run),
            victim=victim,
            attack=attack,
            color=colors[attack],
        )
        for (run, found), victim, attack in zip(runs, victims, attacks, strict=True)
    ]


def _number(names: Sequence[str], runs: Sequence[tuple[Run, Sequence[Outcome]]]) -> list[str]:
    """Return the names of the victims; if models of one name ran the same attack, each further one gets a number."""
    marks = [run.fingerprints.get("victim", "") for run, _ in runs]
    models: dict[str, dict[str, int]] = {}
    ran: dict[tuple[str, str, int, int | None], str] = {}
    twice = set[str]()
    for name, mark, (run, _) in zip(names, marks, runs, strict=True):
        places = models.setdefault(name, {})
        places.setdefault(mark, len(places) + 1)
        if ran.setdefault((name, run.recipe, run.seed, run.budget), mark) != mark:
            twice.add(name)
    return [
        f"{name} #{models[name][mark]}" if name in twice and models[name][mark] > 1 else name
        for name, mark in zip(names, marks, strict=True)
    ]


def _seed(run: Run) -> str:
    return f"seed {run.seed}"


def _budget(run: Run) -> str:
    return f"budget {run.budget or 'none'}"


def _distinct(victims: Sequence[str], runs: Sequence[Run]) -> list[str]:
    names = [run.recipe for run in runs]
    for detail in (_seed, _budget):
        counts = Counter(zip(victims, names, strict=True))
        repeated = {name for (_, name), count in counts.items() if count > 1}
        varied = {
            name for name in repeated if len({detail(r) for r, n in zip(runs, names, strict=True) if n == name}) > 1
        }
        names = [f"{name}, {detail(run)}" if name in varied else name for name, run in zip(names, runs, strict=True)]
    seen: Counter[tuple[str, str]] = Counter()
    out = []
    for key in zip(victims, names, strict=True):
        seen[key] += 1
        out.append(key[1] if seen[key] == 1 else f"{key[1]} #{seen[key]}")
    return out


def by_victim(found: Iterable[RunEntry]) -> dict[str, list[RunEntry]]:
    groups: dict[str, list[RunEntry]] = {}
    for entry in found:
        groups.setdefault(entry.victim, []).append(entry)
    return groups


def describe_draws(found: Iterable[RunEntry]) -> str:
    """Return how many rows of which data were attacked, as text; empty if that is not known."""
    said = ((e.run.data, e.run.describe_draw()) for e in found)
    return "; ".join(dict.fromkeys(f"{data}: {draw}" for data, draw in said if draw))


def describe_stop(found: Iterable[RunEntry]) -> str:
    """Return how a spending limit ended the run that got least far, as text; empty if no run was stopped."""
    stopped = [e for e in found if e.summary.stopped]
    return min(stopped, key=lambda e: len(e.outcomes)).summary.stopped if stopped else ""


def describe_validity(found: Iterable[RunEntry]) -> str:
    """Return how many texts keep their meaning, of those whose label flipped; empty if no judge was asked."""
    judged = [e.summary.validity for e in found if e.summary.validity is not None]
    if not judged:
        return ""
    flipped, kept, unsure = (sum(getattr(one, name).hits for one in judged) for name in ("flipped", "kept", "unsure"))
    attacked = sum(one.flipped.total for one in judged)
    whole = Validity(Rate(flipped, attacked), Rate(kept, attacked), Rate(unsure, attacked), Rate(0, 0))
    return whole.sentence


def strongest(found: Iterable[RunEntry]) -> RunEntry | None:
    """Return the run with the highest attack success rate; None if no text was attacked."""
    attacked = [e for e in found if e.summary.broken.shown]
    return max(attacked, key=lambda e: e.summary.broken.value, default=None)


def cheapest(found: Iterable[RunEntry]) -> RunEntry | None:
    """Return the run with the fewest median queries among attacks that break more than half; None without any."""
    able = [e for e in found if e.summary.broken.shown and e.summary.broken.value > 0.5]
    return min(able, key=lambda e: e.summary.asked.median or 0.0, default=None)
