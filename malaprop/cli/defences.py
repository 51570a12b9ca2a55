"""The work of malaprop audit --defences: models are found or trained, defences tested, several at a time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.attacks.attack import Attack
from malaprop.cli.options import say, slug
from malaprop.cli.progress import Seen, outcomes_bar
from malaprop.cli.work import Work
from malaprop.core.errors import MalapropError, SettingError
from malaprop.records.defences import DefenceRow, DefencesRecord
from malaprop.records.store import check_writable, read_outcomes

if TYPE_CHECKING:
    from malaprop.core.victim import Victim
    from malaprop.data.base import Examples
    from malaprop.defences.premade import Premade
    from malaprop.defences.stock import Stock
    from malaprop.defences.trial import Rules

NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Test:
    """All that a process needs to know to test one defence."""

    work: Work
    attack: Attack
    root: Path
    victim: str
    defences: tuple[str, ...]
    hardened: Mapping[str, Path]
    settings: Mapping[str, Any]  # of training
    premade: Path | None
    draws: int
    fresh: int
    samples: int  # of a certificate; 0: none
    alpha: float
    pictures: int
    layout: str
    jobs: int

    def run(self) -> DefencesRecord:
        """Everything that is not there yet, and the record over all."""
        names = (NONE, *(name for name in dict.fromkeys(self.defences) if name != NONE))
        stock, rules = self._stock(), self._rules()
        stock.check(names)
        _layout(self.layout)
        made = self._premade()  # a bad file should not wait for a model
        check_writable(self.root)
        first = self.row(NONE)
        say(_line(first), self.work.quiet)
        record = DefencesRecord(
            victim=first.about,
            data=self._data.name,
            attack=rules.attack.name,
            texts=first.active.accuracy.total + first.active.errors,
            labels=self._data.labels,
            premade=made.source if made else f"{rules.attack.name} against {first.about}, in this run",
            rows=(first,),
        )
        for row in self._others(names[1:]):
            rows = sorted((*record.rows, row), key=lambda one: names.index(one.name))
            record = replace(record, rows=tuple(rows))
            record.write(self.root)  # what is tested is kept, whatever comes
        record = replace(record, rows=tuple(self._timed(record.rows, stock)))
        if self.pictures and (shown := self._shown(tuple(row.name for row in record.rows), stock)):
            record = self._pictured(record, shown)
        record.write(self.root)
        return record

    def row(self, name: str) -> DefenceRow:
        """One defence, tested."""
        from malaprop.defences.trial import Bench

        stock = self._stock()
        bench = Bench(data=self._data, root=self.root, rules=self._rules(), premade=self._premade())
        if name != NONE:
            bench.start(self._plain_outcomes())
        return bench.test(name, stock.defended(name), slug(name))

    def _others(self, names: tuple[str, ...]) -> Iterator[DefenceRow]:
        if self.jobs == 1 or len(names) < 2:
            for name in names:
                if (row := self._tried(name)) is not None:
                    say(_line(row), self.work.quiet)
                    yield row
            return
        context = multiprocessing.get_context("spawn")
        quiet = replace(self, work=replace(self.work, quiet=True))
        with ProcessPoolExecutor(min(self.jobs, len(names)), context, one_thread) as pool:
            for done in as_completed([pool.submit(quiet._tried, name) for name in names]):
                if (row := done.result()) is not None:
                    say(_line(row), self.work.quiet)
                    yield row

    def _tried(self, name: str) -> DefenceRow | None:
        """None where this defence and this victim do not go together; the others are tested all the same."""
        try:
            return self.row(name)
        except MalapropError as error:
            say(f"malaprop: {name} is left out: {error}")
            return None

    def _stock(self) -> Stock:
        from malaprop.defences.stock import Stock
        from malaprop.runs.victims import device_of

        return Stock(
            victim=self.victim,
            data=self.work.texts.data,
            given=self.hardened,
            columns=self.work.texts.columns,
            settings=self.settings,
            open=self.work.victim,
            device=device_of(self.work.device),
            say=partial(say, quiet=False),
        )

    def _rules(self) -> Rules:
        from malaprop.defences.certify import Certifier
        from malaprop.defences.trial import Rules

        seed = self.work.seed
        return Rules(
            attack=self.attack,
            seed=seed,
            width=self.work.width,
            draws=self.draws,
            fresh=self.fresh,
            certifier=Certifier(samples=self.samples, alpha=self.alpha, seed=seed) if self.samples else None,
            watch=_watch(self.work.quiet),
        )

    @cached_property
    def _data(self) -> Examples:
        """The texts of the test; of a file that has no parts, those that no model here was trained on."""
        from malaprop.models import checkpoint

        specs = [self.victim, *map(str, self.hardened.values())]
        return self.work.examples(specs, trains=checkpoint.is_checkpoint(Path(self.victim).expanduser()))

    def _premade(self) -> Premade | None:
        from malaprop.defences.premade import from_outcomes, read_premade

        if self.premade is not None:
            return read_premade(self.premade, text=self.work.texts.text, label=self.work.texts.label)
        folder = self._plain_folder()
        if not (folder / "run.toml").is_file():
            return None
        return from_outcomes(read_outcomes(folder), f"{self.attack.name} against {self.victim}, in this run")

    def _plain_folder(self) -> Path:
        return self.root / NONE / self.attack.name

    def _plain_outcomes(self) -> list[Any]:
        return read_outcomes(self._plain_folder())

    def _timed(self, rows: Sequence[DefenceRow], stock: Stock) -> Iterator[DefenceRow]:
        """The rows with what they cost in time, one after another, so that they compare."""
        from malaprop.defences.trial import best_time

        data = list(self._data)
        plain = best_time(stock.defended(NONE), data)
        for row in rows:
            spent = plain if row.name == NONE else best_time(stock.defended(row.name), data)
            yield replace(row, cost=round(spent / plain, 3) if plain else None)

    def _shown(self, names: tuple[str, ...], stock: Stock) -> dict[str, Victim]:
        """The models whose neighbourhoods are looked at: the plain one, and the hardened ones without a vote."""
        from malaprop.defences.wrap import parse

        plain = [name for name in names if not parse(name).layers and name not in (NONE, "twin")]
        return {name: stock.model(name) for name in (NONE, *plain)} if plain else {}

    def _pictured(self, record: DefencesRecord, models: dict[str, Victim]) -> DefencesRecord:
        from malaprop.defences.neighbourhood import around, pictures

        outcomes = self._plain_outcomes()
        looks = pictures(models, outcomes, many=self.pictures, layout=_layout(self.layout), seed=self.work.seed)
        return replace(record, around=tuple(around(models, outcomes)), pictures=tuple(looks))


def _layout(name: str) -> Any:
    if name not in ("pca", "tsne"):
        raise SettingError(f"--layout takes pca or tsne, got {name!r}")
    return name


def _watch(quiet: bool) -> Callable[[str, int], Any]:
    @contextmanager
    def watched(what: str, total: int) -> Iterator[Seen]:
        with outcomes_bar(what, total, quiet) as seen:
            yield seen

    return watched


def _line(row: DefenceRow) -> str:
    """One line on a defence."""
    knowing = f", knowing it {row.adaptive.accuracy}" if row.adaptive else ""
    return (
        f"{row.name}: clean {row.clean}, made samples {row.premade}, under attack {row.active.accuracy}{knowing}; "
        f"{row.verdict}"
    )


def one_thread() -> None:
    """Several processes on one machine: each keeps to one core."""
    import os

    import torch

    torch.set_num_threads(max(1, int(os.environ.get("OMP_NUM_THREADS", "1"))))
