"""malaprop rules measure: test several files of rules on the same texts and victims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError, VictimError
from malaprop.frame.study.attack_tasks import Conditions, DataReading, check_victim_task, run_task
from malaprop.frame.study.run_options import OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import View
from malaprop.papers.universal.rules.mine_study import MANY

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.frame.records.outcome import Outcome
    from malaprop.frame.tasks.task import Task
    from malaprop.papers.universal.rules.record import MeasuredRecord


from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from malaprop.core.seeds import generator
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate, Spread
from malaprop.papers.universal.rules.record import MeasuredCell, MeasuredRules

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_DRAWS = 2000


def find_least_share(outcome: Outcome) -> float:
    """Return the least share of words that allows the changes of a success; one change is always allowed."""
    many = len({(e.field, e.slot) for e in outcome.edits})
    return 0.0 if many <= 1 else outcome.changed_share


def cell(rules: str, victim: str, outcomes: Iterable[Outcome], shares: Sequence[float] = SHARES) -> MeasuredCell:
    found = [o for o in outcomes if o.status in ("success", "failed")]
    broken = [o for o in found if o.status == "success"]
    within = {f"{s:g}": Rate(sum(find_least_share(o) <= s + 1e-9 for o in broken), len(found)) for s in shares}
    return MeasuredCell(
        rules=rules,
        victim=victim,
        success=Rate(len(broken), len(found)),
        words=Spread.of(o.changed_share for o in broken),
        within=within,
    )


def break_everywhere(runs: Iterable[Sequence[Outcome]]) -> Rate:
    """Count the texts on which the rules succeed against every victim, of those that all classify correctly."""
    broken, right = list[set[str]](), list[set[str]]()
    for outcomes in runs:
        broken.append({o.id for o in outcomes if o.status == "success"})
        right.append(broken[-1] | {o.id for o in outcomes if o.status == "failed"})
    known = set.intersection(*right) if right else set()
    return Rate(len(known.intersection(*broken)), len(known))


def measure(
    runs: Mapping[tuple[str, str], Sequence[Outcome]], shares: Sequence[float] = SHARES
) -> tuple[tuple[MeasuredCell, ...], tuple[MeasuredRules, ...]]:
    """Compute the figures from outcomes by (file of rules, victim); every file must have every victim."""
    files, victims = (list(dict.fromkeys(key[i] for key in runs)) for i in (0, 1))
    ids = sorted({o.id for found in runs.values() for o in found})
    grids = {name: _grid([runs[name, v] for v in victims], ids) for name in files}
    draws = generator(0, "rules", "measure").integers(0, len(ids), (_DRAWS, len(ids))) if ids else None
    cells = tuple(cell(name, v, runs[name, v], shares) for name in files for v in victims)
    wholes = []
    for name in files:
        mean, drawn = _means(grids[name], draws)
        ahead = None
        if name != files[0]:
            base, others = _means(grids[files[0]], draws)
            ahead = (mean - base, *_middle(drawn - others))
        words = [c.words.mean for c in cells if c.rules == name and c.words.mean is not None]
        low, high = _middle(drawn)
        share = float(np.mean(words)) if words else None
        everywhere = break_everywhere([runs[name, v] for v in victims])
        wholes.append(
            MeasuredRules(rules=name, mean=mean, low=low, high=high, words=share, ahead=ahead, everywhere=everywhere)
        )
    return cells, tuple(wholes)


Grid = NDArray[np.float64]


def _grid(rows: Sequence[Sequence[Outcome]], ids: Sequence[str]) -> Grid:
    """Return a table [victim, text]: 1 for a success, 0 for a failure, nan where nothing was attacked."""
    place = {id: at for at, id in enumerate(ids)}
    grid = np.full((len(rows), len(ids)), np.nan)
    for line, row in zip(grid, rows, strict=True):
        for outcome in row:
            if outcome.status in ("success", "failed"):
                line[place[outcome.id]] = outcome.status == "success"
    return grid


def _means(grid: Grid, draws: NDArray[np.int64] | None) -> tuple[float, Grid]:
    """Return the mean success over victims, on all texts and on each bootstrap sample of texts."""
    if draws is None or np.isnan(grid).all():
        return float("nan"), np.full(1, np.nan)
    there, hits = ~np.isnan(grid), np.nan_to_num(grid)
    counts = np.stack([np.bincount(draw, minlength=grid.shape[1]) for draw in draws]).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.nanmean((counts @ hits.T) / (counts @ there.T), 1)
        mean = float(np.nanmean(hits.sum(1) / there.sum(1)))
    return mean, drawn


def _middle(drawn: Grid) -> tuple[float, float]:
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if not np.isnan(drawn).all() else (np.nan, np.nan)
    return float(low), float(high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Test several files of rules on the same texts and victims, and compare what each breaks.

    Examples:

      malaprop rules measure runs/pmi runs/uawr --victim LSTM-W-GloVe-1,BERT --n 500 --out runs/measured
    """

    command: ClassVar[str] = "rules measure"

    files: tuple[Path, ...] = opt(
        help="Files of rules. The others are compared with the first.", argument=True, repeat=True
    )
    victims: tuple[Any, ...] = opt(help=MANY, name="victim", old=("victims",), repeat=True)
    train_data: str = opt("mr", "The data that victims given by a zoo name are trained on.")
    share: float = opt(0.3, "Perturbation rate: largest share of words.", min=0)
    texts: Selection = Selection(n=500, split="test")
    width: int = width_option()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def attacks(self) -> dict[str, Attack]:
        """Return the attack that applies each file of rules, by the file's short name."""
        return _read_attacks(self.files, self.share)

    def check(self) -> None:
        if not self.files or not self.victims:
            raise SettingError("rules measure needs at least one file of rules and one victim; name both")
        if twice := [spec for spec, count in Counter(self.victims).items() if count > 1]:
            raise SettingError(f"--victim: {twice[0]} is named twice; name it once")
        _read_attacks.cache_clear()  # files may have changed since
        assert self.attacks

    def places(self) -> dict[str, tuple[Any, str]]:
        """Return the run folders, each with its victim and its file of rules."""
        from malaprop.papers.universal.study_models import expand_names

        out: dict[str, tuple[Any, str]] = {}
        for spec in expand_names(self.victims):
            for name in name_files(self.files):
                place = f"{slug(str(spec))}/{slug(name)}"
                if place in out:
                    raise SettingError(f"two runs would be written to {place}; give their victims or files other names")
                out[place] = spec, name
        return out

    def plan(self) -> Iterator[Task]:
        from malaprop.data.base import need_two_labels
        from malaprop.papers.universal.cached_models import StudyVictims

        study_victims, attacks = StudyVictims(self.victims, self.train_data), self.attacks
        reading = DataReading(selection=self.texts, victims=tuple(study_victims.specs))
        need_two_labels(reading.examples)
        for attack in attacks.values():
            attack.for_labels(reading.examples.labels)  # rules for other labels are refused before a model is loaded
        conditions = Conditions(width=self.width)
        yield from study_victims.train_tasks()
        looks = {spec: f"look at {spec}" for spec in study_victims.specs}
        for spec, look in looks.items():
            thing = study_victims.load_from(spec)
            yield check_victim_task(
                look, thing, conditions, tuple(attacks.values()), reading, after=study_victims.training_tasks(spec)
            )
        for place, (spec, name) in self.places().items():
            yield run_task(place, looks[spec], attacks[name], study_victims.load_from(spec), conditions, reading)

    def gather(self, root: Path) -> MeasuredRecord:
        from malaprop.frame.records.run import Run
        from malaprop.frame.records.store import read_outcomes
        from malaprop.papers.universal.rules.record import MeasuredRecord

        found: dict[tuple[str, str], list[Outcome]] = {}
        for place, (spec, name) in self.places().items():
            run = Run.read(root / place)
            called = run.victim if (name, run.victim) not in found else str(spec)
            found[name, called] = read_outcomes(root / place)
        if not any(o.status in ("success", "failed") for outcomes in found.values() for o in outcomes):
            raise VictimError(f"no victim has a text to try the rules on: {_explain_nothing(found)}")
        cells, wholes = measure(found)
        return MeasuredRecord(
            data=run.data, n=run.n, share=self.share, files=tuple(map(str, self.files)), cells=cells, wholes=wholes
        )

    def view(self, record: MeasuredRecord) -> View:
        rows = [
            {
                "rules": c.rules,
                "victim": c.victim,
                "broken": c.success.hits,
                "of": c.success.total,
                "words": c.words.mean,
            }
            for c in record.cells
        ]
        out = self.saving.out
        last = "" if out is None else f"runs in {out}; see them with: malaprop report {out}"
        return View(rows=rows, summary={"command": self.command, **record.to_dict()}, last=last)


@lru_cache(maxsize=1)
def _read_attacks(files: tuple[Path, ...], share: float) -> dict[str, Attack]:
    """Make the attack of each file; cached, as the check and the plan need it and large files take seconds to read."""
    from malaprop.attacks.recipes.rules import rules

    made = (rules(file=str(path), share=share) for path in files)
    return {name: replace(one, name=f"rules {name}") for name, one in zip(name_files(files), made, strict=True)}


def _explain_nothing(runs: Mapping[tuple[str, str], Sequence[Outcome]]) -> str:
    """Say for each victim why it has no text to attack."""
    out = {}
    for (_, victim), outcomes in runs.items():
        reasons = Counter(o.reason or "no reason given" for o in outcomes if o.status == "error")
        wrong = sum(o.status == "skipped" for o in outcomes)
        most = f"{reasons.total()} texts ended in an error ({reasons.most_common(1)[0][0]})" if reasons else ""
        out[victim] = " and ".join(filter(None, (f"gets {wrong} texts wrong without an attack" if wrong else "", most)))
    return "; ".join(f"{victim}: {why}" for victim, why in out.items())


def name_files(files: Sequence[Path]) -> list[str]:
    """Return a short name for each file: its own, or its folder's if the file is called rules."""
    stems = [path.parent.name if path.is_file() and path.stem == "rules" else path.stem for path in files]
    seen: Counter[str] = Counter()
    out = []
    for stem in (stem or "rules" for stem in stems):
        seen[stem] += 1
        out.append(stem if seen[stem] == 1 else f"{stem}-{seen[stem]}")
    return out
