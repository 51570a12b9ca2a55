"""malaprop study defences: each defence on clean texts, on made samples, under attack, and under one that knows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import MalapropError, SettingError
from malaprop.records.defences import DefenceRow, DefencesRecord, Neighbourhood, NeighboursKept
from malaprop.studies.attacking import VICTIM, Conditions, DataReading
from malaprop.studies.common import slug
from malaprop.studies.selection import Selection
from malaprop.studies.settings import opt
from malaprop.studies.study import View
from malaprop.studies.where import Saving, Where

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.defences.premade import Premade
    from malaprop.defences.stock import Stock
    from malaprop.defences.trial import TrialRules
    from malaprop.tasks.desk import Desk
    from malaprop.tasks.task import Inputs, Task

NONE, TWIN = "none", "twin"
LAYOUTS = ("pca", "tsne")


@dataclass(frozen=True, slots=True)
class DefenceCost:
    """Time for a text behind a defence, as a multiple of no defence's."""

    ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What models say around the words that an attack put."""

    around: tuple[NeighboursKept, ...] = ()
    pictures: tuple[Neighbourhood, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DefenceTest:
    """Test defences of one victim under one attack, also one that knows them, with certificates where there are some.

    The same --out goes on with what was killed, and takes more defences.

    Examples:

      malaprop study defences --victim BERT --defences none,twin,fuse,five,fact,five(fact),safer,ranmask --n 100

      malaprop study defences --victim models/plain --defences fact=models/fact,five(fact) --data reviews.csv --jobs 2
    """

    command: ClassVar[str] = "study defences"

    victim: tuple[str, ...] = opt(("LSTM-W-GloVe-1",), f"One victim. {VICTIM}")
    defences: tuple[str, ...] = opt(
        help="Defences to test, separated by commas: fuse, five, safer, ranmask, fact, miyato, hotflip, twin, none, "
        "one around another as five(fact), with settings as five:noise=2.",
        free=True,
    )
    attacks: tuple[Any, ...] = opt(("textfooler",), "One recipe: see malaprop list recipes.")
    hardened: Mapping[str, Any] = opt({}, "A model that is there already, as fact=FOLDER; may be repeated.", free=True)
    premade: Path | None = opt(
        None, "Adversarial texts made before, a run folder or a file with text,label; if not given, those of this test."
    )
    draws: int = opt(4, "Draws that the adaptive attack averages.", min=1)
    fresh: int = opt(9, "Fresh draws of which most must be fooled.", min=1)
    samples: int = opt(1000, "Copies behind a certificate of safer or ranmask; 0 for none.", min=0)
    alpha: float = opt(0.05, "The chance at most that a certificate is wrong.")
    pictures: int = opt(3, "Where a model was hardened: texts whose neighbourhoods are drawn.", min=0, free=True)
    layout: str = opt("pca", "With --pictures: noisy vectors are laid out by pca or tsne.", free=True)
    training: Mapping[str, Any] = opt(
        {}, "A setting of the training of models that are not there yet, as name=value; may be repeated.", name="set"
    )
    conditions: Conditions = opt(Conditions())
    texts: Selection = Selection()
    where: Where = Where()
    saving: Saving = Saving()

    # --- what is asked for

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The defences in their order, none first; what is written fact=FOLDER is called fact."""
        from malaprop.defences.stock import split_folders

        return (NONE, *(name for name in dict.fromkeys(split_folders(self.defences)[0]) if name != NONE))

    @cached_property
    def folders(self) -> dict[str, Path]:
        """The models that are there already, by the defence that they are."""
        from malaprop.defences.stock import folders, split_folders

        return folders(
            (*split_folders(self.defences)[1], *(f"{name}={folder}" for name, folder in self.hardened.items()))
        )

    @cached_property
    def attack(self) -> Attack:
        from malaprop.runs.api import make_attack

        return self.conditions.apply(make_attack(self.attacks[0], {}))

    @cached_property
    def reading(self) -> DataReading:
        """The texts of the test; of a file that has no parts, those that no model here was trained on."""
        from malaprop.models.zoo import checkpoint

        trained = checkpoint.is_checkpoint(Path(self.victim[0]).expanduser())
        return DataReading(
            selection=self.texts, victims=(self.victim[0], *map(str, self.folders.values())), trains=trained
        )

    def check(self) -> None:
        if len(self.victim) != 1 or len(self.attacks) != 1:
            raise SettingError("defences are tested on one victim under one attack; name one of each")
        if self.where.engine != "local":
            raise SettingError("study defences runs on this machine; leave out --engine and use --jobs")
        self.conditions.check(self.where, self.attack)
        self.stock(None).check(self.names)
        if self.layout not in LAYOUTS:
            raise SettingError(f"--layout takes pca or tsne, got {self.layout!r}")
        self.made(None)  # a bad file should not wait for a model
        assert self.reading.examples is not None

    # --- tasks

    def plan(self) -> Iterator[Task]:
        from malaprop.tasks.outputs import JsonFile
        from malaprop.tasks.task import Task

        places = {name: slug(name) for name in self.names}
        rows = {name: f"{place}/row" for name, place in places.items()}
        for name, place in places.items():
            first = name == NONE
            yield Task(
                name=rows[name], work=partial(self.test, name), output=JsonFile(DefenceRow), reads=self.read,
                holds=(place,), after=() if first else (rows[NONE],), vital=first,
            )  # fmt: skip
        for name, place in places.items():
            yield Task(
                name=f"{place}/cost", work=partial(self.time, name), output=JsonFile(DefenceCost), reads=self.read,
                holds=(place,), after=(rows[name],), alone=True,
            )  # fmt: skip
        if self.pictures and self.shown:
            yield Task(name=self.pictured, work=self.draw, output=JsonFile(Surroundings), after=tuple(rows.values()))

    @property
    def shown(self) -> list[str]:
        """The hardened models without a vote, whose neighbourhoods are looked at beside the plain one's."""
        from malaprop.defences.wrap import parse

        return [name for name in self.names if not parse(name).layers and name not in (NONE, TWIN)]

    @property
    def pictured(self) -> str:
        return f"surroundings/{slug('-'.join([*self.shown, str(self.pictures), self.layout]))}"

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"data": self.reading.examples}

    def test(self, name: str, desk: Desk, inputs: Inputs) -> Iterator[Any]:
        """One defence, tested; its runs lie beside its row, and go on where they were killed."""
        from malaprop.defences.trial import Bench
        from malaprop.tasks.outputs import Note, Skipped

        root = desk.place.root
        made = self.made(None if name == NONE else root)  # a run that was killed has not made all of them
        bench = Bench(data=inputs["data"], root=root, rules=self.rules, premade=made)
        try:
            if name != NONE:
                bench.start(self.plain_outcomes(root))
            row = bench.test(name, self.stock(desk).defend(name), slug(name))
        except MalapropError as error:  # this defence and this victim do not go together
            if name == NONE:
                raise
            yield Skipped(str(error), failed=True)
            return
        yield row
        yield Note(_line(row))

    def time(self, name: str, desk: Desk, inputs: Inputs) -> Iterator[Any]:
        """What a defence costs, beside no defence in the same process."""
        from malaprop.defences.trial import best_time
        from malaprop.tasks.outputs import Skipped

        if isinstance(left_out := inputs[f"{slug(name)}/row"], Skipped):
            yield left_out
            return
        data, stock = list(inputs["data"]), self.stock(desk)
        plain = best_time(stock.defend(NONE), data)
        spent = plain if name == NONE else best_time(stock.defend(name), data)
        yield DefenceCost(round(spent / plain, 3) if plain else None)

    def draw(self, desk: Desk, inputs: Inputs) -> Iterator[Surroundings]:
        """The neighbourhoods of words that the attack put, in the hardened models that could be tested."""
        from malaprop.defences.neighbourhood import around, pictures
        from malaprop.tasks.outputs import Skipped

        stock = self.stock(desk)
        tested = [name for name in self.shown if not isinstance(inputs[f"{slug(name)}/row"], Skipped)]
        if not tested:
            yield Surroundings()
            return
        models = {name: stock.model(name) for name in (NONE, *tested)}
        outcomes = self.plain_outcomes(desk.place.root)
        layout: Any = self.layout
        looks = pictures(models, outcomes, many=self.pictures, layout=layout, seed=self.texts.seed)
        yield Surroundings(around=tuple(around(models, outcomes)), pictures=tuple(looks))

    @property
    def rules(self) -> TrialRules:
        from malaprop.defences.certify import Certifier
        from malaprop.defences.trial import TrialRules

        seed = self.texts.seed
        return TrialRules(
            attack=self.attack, seed=seed, width=self.conditions.width, draws=self.draws, fresh=self.fresh,
            certifier=Certifier(samples=self.samples, alpha=self.alpha, seed=seed) if self.samples else None,
        )  # fmt: skip

    def stock(self, desk: Desk | None) -> Stock:
        """Models by the names of defences; without a desk none of them is opened."""
        from malaprop.defences.stock import Stock

        return Stock(
            victim=self.victim[0], data=self.texts.data, given=self.folders, columns=self.texts.columns,
            settings=self.training, open=lambda spec: self.conditions.open(_sure(desk), spec),
            device="cpu" if desk is None else desk.device, say=print if desk is None else desk.note,
        )  # fmt: skip

    def made(self, root: Path | None) -> Premade | None:
        """The made texts that were given, or those that the attack on the plain victim made."""
        from malaprop.defences.premade import from_outcomes, read_premade

        if self.premade is not None:
            return read_premade(self.premade, text=self.texts.text, label=self.texts.label)
        if root is None or not (root / NONE / self.attack.name / "run.toml").is_file():
            return None
        return from_outcomes(self.plain_outcomes(root), f"{self.attack.name} against {self.victim[0]}, in this run")

    def plain_outcomes(self, root: Path) -> list[Any]:
        from malaprop.records.store import read_outcomes

        return read_outcomes(root / NONE / self.attack.name)

    # --- what they add up to

    def gather(self, root: Path) -> DefencesRecord:
        from malaprop.tasks.outputs import read_json, read_skipped, value_file

        rows = []
        for name in self.names:
            place = root / slug(name)
            if read_skipped(place / "row") is None:
                row = read_json(value_file(place / "row"), DefenceRow)
                rows.append(replace(row, cost=read_json(value_file(place / "cost"), DefenceCost).ratio))
        first, made = rows[0], self.made(None)
        seen = read_json(value_file(root / self.pictured), Surroundings) if self.pictures and self.shown else None
        return DefencesRecord(
            victim=first.about,
            data=self.reading.examples.name,
            attack=self.attack.name,
            texts=first.active.accuracy.total + first.active.errors,
            labels=self.reading.examples.labels,
            premade=made.source if made else f"{self.attack.name} against {first.about}, in this run",
            rows=tuple(rows),
            around=() if seen is None else seen.around,
            pictures=() if seen is None else seen.pictures,
        )

    def view(self, record: DefencesRecord) -> View:
        from malaprop.tasks.outputs import read_skipped

        root = self.saving.out
        why = {} if root is None else {name: read_skipped(root / slug(name) / "row") for name in self.names}
        return View(
            rows=[{"defence": row.name, **row.summary()} for row in record.rows],
            summary={"kind": "defences", "defences": {row.name: row.summary() for row in record.rows}},
            troubles=[f"{name} is left out: {reason.reason}" for name, reason in why.items() if reason is not None],
        )


def _sure(desk: Desk | None) -> Desk:
    assert desk is not None, "models are opened where tasks run"
    return desk


def _line(row: DefenceRow) -> str:
    """One line on a defence."""
    knowing = f", knowing it {row.adaptive.accuracy}" if row.adaptive else ""
    return (
        f"{row.name}: clean {row.clean}, made samples {row.premade}, under attack {row.active.accuracy}{knowing}; "
        f"{row.verdict}"
    )
