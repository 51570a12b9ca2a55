"""What attack and audit share: load data and victims, run recipes, say how it went."""

from __future__ import annotations

import json as _json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from malaprop.attacks.attack import Attack
from malaprop.cli.options import say, slug, tell
from malaprop.cli.progress import outcomes_bar
from malaprop.core.capability import check
from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.victim import Victim
from malaprop.data.base import Examples
from malaprop.data.matching import agree, describe_match
from malaprop.engine.cache import OnDisk
from malaprop.records.outcome import Outcome
from malaprop.records.store import check_writable
from malaprop.records.totals import Totals
from malaprop.runs.cautions import cautions
from malaprop.runs.folder import ENGINES, Engine, write_run
from malaprop.runs.local import Local

if TYPE_CHECKING:
    from malaprop.runs.cluster.session import Session
    from malaprop.studies.selection import Selection


@dataclass
class Work:
    """The settings of one command."""

    texts: Selection
    width: int
    device: str
    cache: Path | None
    quiet: bool
    precision: str = "auto"
    engine: str = "local"
    address: str | None = None
    workers: int | None = None
    _told: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        if self.engine == "local" and (self.address is not None or self.workers is not None):
            raise SettingError("--address and --workers are for --engine ray")
        if self.engine == "ray" and self.cache is not None:
            raise SettingError("--cache keeps answers in a file of one process; leave it out with --engine ray")

    @property
    def seed(self) -> int:
        return self.texts.seed

    def examples(self, specs: Sequence[str], *, trains: bool = False) -> Examples:
        """The texts to attack; what had to be decided about them is said."""
        found = self.texts.examples(specs, trains=trains)
        tell(found.notes, self.quiet)
        return found

    @property
    def options(self) -> dict[str, Any]:
        """What victims are made with, here and on workers."""
        return {"quiet": self.quiet, "precision": self.precision}

    def _tell_once(self, *lines: str) -> None:
        """What holds for every attack of a suite is said once."""
        tell((line for line in lines if line and line not in self._told), self.quiet)
        self._told.update(lines)

    def victim(self, spec: str) -> Victim:
        from malaprop.runs.victims import victim

        made = victim(spec, device=self.device, **self.options)
        if self.cache is not None and made.renews:
            raise SettingError(f"--cache would keep one draw of {made.name} for ever; leave out --cache or seed=fresh")
        return made if self.cache is None else OnDisk(made, self.cache)

    def one(self, attack: Attack, spec: str, folder: Path, *, resume: bool) -> dict[str, Any]:
        """One recipe on one victim."""
        check_writable(folder)
        data = self.examples([spec])  # first: what is wrong with a file should not wait for a model
        with self._cluster() as cluster, self._held(spec, cluster) as engine:
            return self._run(attack, engine, data, folder, resume)

    @contextmanager
    def _cluster(self) -> Iterator[Session | None]:
        if self.engine == "local":
            yield None
            return
        from malaprop.runs.cluster import join

        with join(self.address, workers=self.workers) as found:
            yield found

    @contextmanager
    def _held(self, spec: str, cluster: Session | None) -> Iterator[Engine]:
        """The engine with its victim loaded."""
        if cluster is None:
            yield Local(victim=self.victim(spec))
            return
        from malaprop.runs.cluster import Crew

        with Crew(
            cluster,
            spec,
            workers=self.workers,
            device=self.device,
            options=self.options,
            say=partial(say, quiet=self.quiet),
        ) as crew:
            machines = "1 machine" if cluster.machines == 1 else f"{cluster.machines} machines"
            say(f"{crew.about.name}: {crew.workers} workers on {machines}", self.quiet)
            yield crew

    def suite(self, attacks: Sequence[Attack], specs: Sequence[str], folder: Path, *, resume: bool) -> dict[str, Any]:
        """Every recipe on every victim, each in a folder of its own, and the report over all."""
        from malaprop.reports.page import write_report

        if not attacks or not specs:
            raise SettingError("an audit needs at least one victim and one attack")
        check_writable(folder)
        data = self.examples(specs)
        began = perf_counter()
        cells, failed = [], []
        with self._cluster() as cluster:
            for spec, place in zip(specs, _places(specs), strict=True):
                with self._held(spec, cluster) as engine:
                    victim = engine.about
                    for attack in attacks:
                        check(attack.name, attack.needs, victim.name, victim.offers, victim.withheld)
                    for attack in attacks:
                        try:
                            cells.append(self._run(attack, engine, data, folder / place / slug(attack.name), resume))
                        except VictimError as error:
                            say(f"malaprop: {victim.name} under {attack.name}: {error}")
                            failed.append(error)
        if not cells:
            raise failed[0]
        report = write_report([folder], folder / "report.html")
        summary = {
            "out": str(folder),
            "report": str(report),
            "data": data.name,
            "split": data.part,
            "n": len(data),
            "seconds": round(perf_counter() - began, 1),
            "runs": cells,
        }
        (folder / "summary.json").write_text(
            _json.dumps(summary, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
        return summary

    def _run(self, attack: Attack, engine: Engine, data: Examples, folder: Path, resume: bool) -> dict[str, Any]:
        """Writes the outcomes and gives what they add up to; none is held."""
        began = perf_counter()
        name, totals = engine.about.name, Totals()
        asked = engine.victim if isinstance(engine, Local) else engine.about  # who can say how many labels there are
        data = agree(data, asked)
        doubts = cautions(attack, engine.victim if isinstance(engine, Local) else None, data)
        self._tell_once(describe_match(data, asked), *doubts)
        with outcomes_bar(f"{attack.name} on {name}", len(data), self.quiet) as seen:

            def both(outcome: Outcome) -> None:
                totals.add(outcome)
                seen(outcome)

            write_run(
                attack, engine, data, folder, seed=self.seed, width=self.width, resume=resume, seen=both, notes=doubts
            )
        wall = perf_counter() - began
        for note in engine.about.notes:  # what a function's answers turned out to be
            say(note, self.quiet)
        many, errors = totals.counts.total(), totals.counts["error"]
        if errors > many / 2:  # a rate over what is left would say nothing about the victim
            reason, count = totals.reasons.most_common(1)[0]
            which = f"all {many}" if errors == many else f"{errors} of {many}"
            raise VictimError(f"{which} examples ended in an error ({count} of them: {reason}); see {folder}")
        for reason, count in totals.reasons.most_common(3):
            say(f"{count} of {many} examples ended in an error: {reason}", self.quiet)
        summary = totals.summary()
        tell((f"{attack.name} on {name}: {line}" for line in summary.warnings), self.quiet)
        about = {"victim": name, "recipe": attack.name, "data": data.name, "split": data.part, "labels": data.labels}
        found = summary.to_dict()
        return {**about, "wall": round(wall, 2), **found, "warnings": [*doubts, *found["warnings"]]}


def _places(specs: Sequence[str]) -> list[str]:
    """A folder name for each victim, distinct also where two slugs are alike."""
    seen: Counter[str] = Counter()
    out = []
    for spec in specs:
        name = slug(spec)
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return out
