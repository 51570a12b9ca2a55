"""The work of malaprop rules: data and victims are put together, files are written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.cli.options import say, slug, tell
from malaprop.cli.progress import count_bar, outcomes_bar
from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.data.base import Dataset, need_two_labels
from malaprop.data.matching import agree
from malaprop.records.documents import write_whole
from malaprop.records.rules import Rule, write_rules
from malaprop.records.settings import compare_settings, keep_settings
from malaprop.records.store import check_writable, read_outcomes
from malaprop.runs.folder import ENGINES

if TYPE_CHECKING:
    from malaprop.core.victim import Victim
    from malaprop.records.measured import MeasuredRecord
    from malaprop.records.outcome import Outcome
    from malaprop.rules.mine import Method, Mined, Miner
    from malaprop.studies.selection import Selection

ABOUT = "mined.json"


def read(texts: Selection, victims: Sequence[str] = (), *, quiet: bool = False) -> Dataset:
    """The texts, of at least two labels; what had to be decided about them is said."""
    found = need_two_labels(texts.held(victims))
    tell(found.notes, quiet)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Mining:
    """The settings of `rules mine`."""

    victims: Sequence[str]
    method: str
    shrink: float | None  # None: fitted
    every: bool
    best: bool  # of each word and label the strongest alone
    least: int  # counts that a rule must have
    check: int
    width: int
    device: str
    precision: str
    engine: str = "local"
    address: str | None = None
    workers: int | None = None
    quiet: bool = False
    train_data: str = "mr"  # of zoo names

    def __post_init__(self) -> None:
        from malaprop.rules.mine import METHODS

        if not self.victims:
            raise SettingError("--victims names no victim")
        if self.method not in METHODS:
            raise unknown("method of mining", self.method, METHODS)
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        if self.engine == "local" and (self.address is not None or self.workers is not None):
            raise SettingError("--address and --workers are for --engine ray")

    @property
    def options(self) -> dict[str, Any]:
        return {"quiet": self.quiet, "precision": self.precision, "data": self.train_data}

    def open(self) -> tuple[Victim, ...]:
        from malaprop.runs.victims import victim
        from malaprop.transferability.entrants import spread

        return tuple(victim(spec, device=self.device, **self.options) for spec in spread(self.victims))

    def run(self, texts: Selection, path: Path) -> dict[str, Any]:
        """Writes the rules, and beside them what they were mined from and with."""
        from malaprop.rules.diagnose import strongest
        from malaprop.rules.mine import Miner
        from malaprop.rules.shelf import Shelf
        from malaprop.rules.tally import Shrinkage

        check_writable(path.parent)
        data = read(texts, quiet=self.quiet)  # first: what is wrong with a file should not wait for a model
        opened = self.open()
        for victim in opened:
            agree(data, victim)
        method: Method = "exact" if self.method == "exact" else "gradient"
        labels = () if data.ordered else data.labels  # what the user ordered is in the victims' terms already
        miner = Miner(victims=opened, method=method, width=self.width, labels=labels)
        if method == "gradient" and (
            lack := [v.name for v, slope in zip(opened, miner.slopes, strict=True) if not slope]
        ):
            say(f"{', '.join(lack)}: no gradients, so every replaced text is scored", self.quiet)
        marks = [victim.fingerprint or victim.name for victim in opened]
        decisive = self._decisive(data, texts, [f"{v.name} {v.fingerprint}".strip() for v in opened])
        compare_settings(path.parent, decisive)
        agreed = self._compared(miner, data) if self.check else None
        whole = "\x1f".join([method, data.fingerprint, str(len(data)), *map(str, (texts.seed, *marks))])
        shelf = Shelf.at(path.parent, blake2b(whole.encode(), digest_size=8).hexdigest())
        with count_bar(f"weighing the words of {data.name}", len(data), self.quiet) as seen:
            mined = self._mined(miner, data, seen, shelf)
        shrinkage = Shrinkage.fitted(mined.sums) if self.shrink is None else Shrinkage(self.shrink)
        rules = mined.rules(data.labels, shrinkage.strength, every=self.every)
        rules = [rule for rule in rules if rule.count >= self.least]
        if self.best:
            rules = sorted((r for lines in strongest(rules).values() for r in lines), key=lambda r: r.number or 0)
        if not rules:
            raise DataError(
                f"no replacement in {data.name} lowers its label (weighed {self.least} times or more); give more "
                "texts, a smaller --least, or other victims"
            )
        keep_settings(path.parent, decisive)
        write_rules(rules, path)
        for reason, count in Counter(mined.faults).most_common(3):
            say(f"{count} of {mined.texts} texts were left out: {reason}", self.quiet)
        about = {
            "method": method,
            "victims": [victim.name for victim in opened],
            "data": data.name,
            "labels": list(data.labels),
            "seed": texts.seed,
            "texts": mined.texts,
            "left_out": sum(mined.faults.values()),
            "replacements": mined.swaps,
            "weighed": len(mined.sums.keys),
            "rules": len(rules),
            "by_label": by_label(rules),
            "shrinkage": {"strength": shrinkage.strength, "within": shrinkage.within, "between": shrinkage.between},
            "seconds": {"finding": round(mined.finding, 2), "asking": round(mined.asking, 2)},
            "processor_seconds": round(mined.processor, 2),
            "agreement": agreed,
        }
        write_whole(path.with_name(ABOUT), json.dumps(about, ensure_ascii=False, indent=1) + "\n")
        shelf.clear()
        return {"out": str(path), **about}

    def _decisive(self, data: Dataset, texts: Selection, victims: Sequence[str]) -> dict[str, Any]:
        """What the rules depend on."""
        own = {name: getattr(self, name) for name in ("method", "every", "best", "least")}
        shrink = "auto" if self.shrink is None else self.shrink
        return {
            **own,
            "shrink": shrink,
            "victims": victims,
            "data": data.name,
            "fingerprint": data.fingerprint,
            "texts": asdict(texts),
        }

    def _mined(self, miner: Miner, data: Dataset, seen: Callable[[int], None], shelf: Any) -> Mined:
        from malaprop.rules.mine import mine

        if self.engine == "local":
            return mine(miner, data, seen, shelf)
        from malaprop.rules.onray import mine_on
        from malaprop.tasks.workers.session import join
        from malaprop.transferability.entrants import spread

        with join(self.address, workers=self.workers) as session:
            return mine_on(
                session,
                spread(self.victims),
                data,
                method=miner.method,
                width=self.width,
                labels=miner.labels,
                workers=self.workers,
                device=self.device,
                options=self.options,
                seen=seen,
                keeps=shelf,
            )

    def _compared(self, miner: Miner, data: Dataset) -> dict[str, Any]:
        """Both ways on the same texts."""
        from malaprop.rules.agree import agreement, plain_seconds
        from malaprop.rules.mine import mine

        some = data.first(self.check)
        warm = some.first(min(32, len(some)))
        found = {}
        for method in ("exact", "gradient"):
            made = replace(miner, method=method)
            mine(made, warm)  # tables and kernels are made before anything is timed
            found[method] = mine(made, some)
        plain = plain_seconds(miner, some) * found["exact"].swaps
        agreed = agreement(found["exact"], found["gradient"], plain=plain)
        say(
            f"exact and gradient on {agreed.texts} texts: rank correlation {agreed.rank:.3f} "
            f"({agreed.low:.3f} to {agreed.high:.3f}, {agreed.rules:,} rules), {agreed.often_rank:.3f} over the "
            f"{agreed.often_rules:,} rules weighed {agreed.often} times or more; {agreed.shared} of the {agreed.top} "
            f"strongest are the same; the gradient takes 1/{agreed.speedup:.1f} of the time in the victims "
            f"(1/{agreed.processor_speedup:.1f} of the processor's; 1/{agreed.plain_speedup:.1f} of that of scoring "
            "every text whole)",
            self.quiet,
        )
        return agreed.to_dict()


def by_label(rules: Sequence[Rule]) -> dict[str, int]:
    return dict(Counter(rule.label for rule in rules))


def measure(
    files: Sequence[Path], specs: Sequence[str], texts: Selection, folder: Path, *, share: float, width: int,
    device: str, precision: str, resume: bool, train_data: str = "mr", quiet: bool = False,
) -> MeasuredRecord:  # fmt: skip
    """Every file of rules on every victim, each in a run folder of its own; what they add up to goes beside them."""
    from malaprop.attacks.recipes.rules import rules as recipe
    from malaprop.records.measured import MeasuredRecord
    from malaprop.rules.measure import measure as weigh
    from malaprop.runs.folder import write_run
    from malaprop.runs.local import Local
    from malaprop.runs.victims import victim
    from malaprop.transferability.entrants import spread

    if not files or not specs:
        raise SettingError("rules measure wants at least one file of rules and one victim")
    if twice := [spec for spec, count in Counter(specs).items() if count > 1]:
        raise SettingError(f"--victims: {twice[0]} is named twice; name it once")
    check_writable(folder)
    data = read(texts, spread(specs), quiet=quiet)
    attacks = dict(zip(_names(files), (recipe(file=str(path), share=share) for path in files), strict=True))
    for attack in attacks.values():
        attack.for_labels(data.labels)
    runs: dict[tuple[str, str], list[Outcome]] = {}
    for spec in spread(specs):
        opened = victim(spec, device=device, quiet=quiet, precision=precision, data=train_data)
        turned = agree(data, opened)
        for name, attack in attacks.items():
            place = folder / slug(spec) / slug(name)
            with outcomes_bar(f"{name} on {opened.name}", len(data), quiet) as seen:
                write_run(
                    replace(attack, name=f"rules {name}"), Local(victim=opened), turned, place,
                    seed=texts.seed, width=width, resume=resume, seen=seen,
                )  # fmt: skip
            called = opened.name if (name, opened.name) not in runs else spec
            runs[name, called] = read_outcomes(place)
    if not any(o.status in ("success", "failed") for outcomes in runs.values() for o in outcomes):
        raise VictimError(f"there is nothing to try rules on: {_why_none(runs)}")
    cells, wholes = weigh(runs)
    record = MeasuredRecord(
        data=data.name, n=len(data), share=share, files=tuple(map(str, files)), cells=cells, wholes=wholes
    )
    record.write(folder)
    return record


def _why_none(runs: Mapping[tuple[str, str], Sequence[Outcome]]) -> str:
    """Of each victim why it has no text to attack."""
    out = {}
    for (_, victim), outcomes in runs.items():
        reasons = Counter(o.reason or "no reason given" for o in outcomes if o.status == "error")
        wrong = sum(o.status == "skipped" for o in outcomes)
        most = f"{reasons.total()} texts ended in an error ({reasons.most_common(1)[0][0]})" if reasons else ""
        out[victim] = " and ".join(filter(None, (f"gets {wrong} texts wrong without an attack" if wrong else "", most)))
    return "; ".join(f"{victim}: {why}" for victim, why in out.items())


def _names(files: Sequence[Path]) -> list[str]:
    """A short name for each file: its own, or its folder's where it is called rules."""
    stems = [path.parent.name if path.is_file() and path.stem == "rules" else path.stem for path in files]
    stems = [stem or "rules" for stem in stems]
    seen: Counter[str] = Counter()
    out = []
    for stem in stems:
        seen[stem] += 1
        out.append(stem if seen[stem] == 1 else f"{stem}-{seen[stem]}")
    return out
