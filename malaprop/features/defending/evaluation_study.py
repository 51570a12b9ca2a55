"""malaprop study defences: compare defences on clean texts, on adversarial examples, and under attack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import MalapropError, SettingError
from malaprop.features.defending.evaluation_columns import (
    DefenceColumn,
    DefenceCost,
    columns,
    open_defence,
    place_of,
    sort_by_id,
)
from malaprop.features.defending.evaluation_record import DefenceRow, DefencesRecord, Neighbourhood, NeighboursKept
from malaprop.frame.rooms import added, load
from malaprop.frame.study.attack_tasks import Conditions, DataReading
from malaprop.frame.study.run_options import OutputOptions, RunOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import slug
from malaprop.frame.study.study import View
from malaprop.frame.study.vocabulary import ATTACK, SEVERAL

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.data.base import Examples
    from malaprop.features.defending.certify import Certifier
    from malaprop.frame.runs.pregenerated import PregeneratedExamples
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext

NONE, TWIN = "none", "twin"
LAYOUTS = ("pca", "tsne")
_TIMED = 64  # texts whose answers are timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The neighbourhoods of the words that an attack inserted, as several models label them."""

    around: tuple[NeighboursKept, ...] = ()
    pictures: tuple[Neighbourhood, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DefenceTest:
    """Test defences of one victim under attacks: plain, knowing the defence, and transferred from no defence.

    Hardened models (every method of harden), votes and purification stand side by side, with certificates where there
    are some and what an answer costs. Compare defences by worst-case accuracy: under the strongest of the attacks.

    The same --out resumes an interrupted run, and takes more defences.

    Examples:

      malaprop study defences --victim BERT --defence none,twin,fuse,five,fact,five(fact),safer,ranmask --n 100

      malaprop study defences --victim models/plain --defence fact=models/fact,five(fact) --data reviews.csv --jobs 2

      malaprop study defences --victim ./my-bert --defence a2t,purify:spell --attack textfooler,pwws --data my.csv

      malaprop study defences --victim my:predict --defence stateful:limit=5 --surrogate BERT --data my.csv
    """

    command: ClassVar[str] = "study defences"

    victim: tuple[str, ...] = opt(("LSTM-W-GloVe-1",), repeat=True)
    defences: tuple[str, ...] = opt(
        help="The defences to test, such as fact or five. Any method of harden (fact, a2t ...), any defence around a "
        "victim (fuse, five, safer, ranmask, purify:spell ...), twin, none, one around another as five(fact), with "
        "settings as five:noise=2; see "
        f"malaprop list defences. {SEVERAL}",
        name="defence",
        old=("defences",),
        repeat=True,
        free=True,
    )
    attacks: tuple[Any, ...] = opt(
        ("textfooler",), f"{ATTACK} {SEVERAL} Certificates and pictures are of the first.",
        name="attack", old=("attacks",), repeat=True,
    )  # fmt: skip
    hardened: Mapping[str, Any] = opt(
        {}, "A model that is already hardened, as fact=FOLDER. May be repeated.", free=True
    )
    premade: Path | None = opt(
        None,
        "Pre-generated adversarial examples. A run folder, or a file with text,label; default: those of this test.",
    )
    draws: int = opt(4, "Random draws of the adaptive attack. It averages over them; 0 leaves that attack out.", min=0)
    fresh: int = opt(9, "Fresh draws that a success must mostly fool. Of the adaptive attack.", min=1)
    surrogate: str | None = opt(
        None, "With stateful: the model to search on. The attacker's own; the undefended victim if not given."
    )
    samples: int = opt(1000, "Noisy copies for a certificate; 0 for none. Of safer, ranmask or randel.", min=0)
    alpha: float = opt(0.05, "Significance level. The largest chance that a certificate is wrong.")
    pictures: int = opt(3, "Texts that are shown with their neighbourhoods. If a model was hardened.", min=0, free=True)
    layout: str = opt("pca", "With --pictures: the layout, pca or tsne. Of noisy vectors.", free=True)
    training: Mapping[str, Any] = opt(
        {}, "A setting of the training, as name=value. For models that are not there yet; may be repeated.", name="set"
    )
    conditions: Conditions = opt(Conditions(validity="valid"))
    texts: Selection = Selection()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    # --- what is asked for

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the defences in their order, none first; fact=FOLDER is named fact."""
        from malaprop.features.defending.defended_models import split_folders

        return (NONE, *(name for name in dict.fromkeys(split_folders(self.defences)[0]) if name != NONE))

    @cached_property
    def folders(self) -> dict[str, Path]:
        """Return the folders of the models that the user gave, by the name of the defence."""
        from malaprop.features.defending.defended_models import folders, split_folders

        return folders(
            (*split_folders(self.defences)[1], *(f"{name}={folder}" for name, folder in self.hardened.items()))
        )

    @cached_property
    def suite(self) -> tuple[Attack, ...]:
        """Return the attacks, each once."""
        from malaprop.frame.runs.make_attack import make_attack

        made = [self.conditions.apply(make_attack(named, {})) for named in self.attacks]  # before texts are read
        return tuple({attack.name: self.conditions.keep_meaning(attack, self._reads) for attack in made}.values())

    @cached_property
    def _reads(self) -> Inputs:
        """Return whether the judge of meaning can read the texts, as `Conditions.find_reader` does."""
        return self.conditions.find_reader(self.reading.examples)

    @property
    def attack(self) -> Attack:
        """Return the first attack: it makes the pre-generated examples, and certificates are compared with it."""
        return self.suite[0]

    @cached_property
    def reading(self) -> DataReading:
        """Return how the texts are read; of a file without parts, those that no model here was trained on."""
        from malaprop.zoo import checkpoint

        path = Path(self.victim[0]).expanduser()
        trains = checkpoint.is_checkpoint(path) or (path.is_dir() and bool(self.trained))
        return DataReading(
            selection=self.texts, victims=(self.victim[0], *map(str, self.folders.values())), trains=trains
        )

    @property
    def trained(self) -> list[str]:
        """Return the names of the models that this study has to train."""
        from malaprop.features.defending.defended_models import find_folder, name_model

        models = dict.fromkeys(map(name_model, self.names))
        return [model for model in models if model != NONE and find_folder(model, self.folders) is None]

    def check(self) -> None:
        from malaprop.features.defending.defended_models import check_defences

        if len(self.victim) != 1 or not self.attacks:
            raise SettingError("defences are tested on one victim, under one attack or several; name one victim")
        check_defences(self.names, self.folders)
        if self.layout not in LAYOUTS:
            raise SettingError(f"--layout takes pca or tsne, got {self.layout!r}")
        if self.samples:
            assert self.certifier
        if self.premade is not None:
            self.read_made({})  # raises on a bad file before a model is loaded
        self.conditions.check(self.where, *self.suite)  # the suite depends on the texts
        assert self.reading.examples is not None
        self.conditions.fetch_judge()

    @property
    def certifier(self) -> Certifier:
        from malaprop.features.defending.certify import Certifier

        return Certifier(samples=self.samples, alpha=self.alpha, seed=self.texts.seed)

    def cell(self, name: str, column: str) -> str:
        """Return the name of the task of a defence and a column."""
        return f"{place_of(name)}/{column}"

    # --- the table: a row a defence, a column a test

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import JsonFile, OwnFolder
        from malaprop.frame.tasks.task import Task

        for model in self.trained:
            yield Task(
                name=f"models/{slug(model)}", work=partial(self.train, model), output=OwnFolder(), optional=True,
                victims={"plain": self.victim[0]}, reads=partial(self.read_origin, model),
            )  # fmt: skip
        for name in self.names:
            yield from (self._task(name, column) for column in columns(self, name))
        if self.pictures and self.shown and "words" in added("neighbourhoods"):
            cells = [self.cell(NONE, self.attack.name), *(self.cell(name, "row") for name in self.shown)]
            given = [self._models(name) for name in self.shown]
            yield Task(
                name=self.pictured, work=self.draw, output=JsonFile(Surroundings),
                victims={"plain": self.victim[0], **{key: one for victims, _ in given for key, one in victims.items()}},
                after=(*cells, *(before for _, models in given for before in models)),
            )  # fmt: skip

    def _task(self, name: str, column: DefenceColumn) -> Task:
        from malaprop.features.defending.defended_models import name_model
        from malaprop.frame.tasks.task import Task

        victims, models = self._models(name)
        first = () if column.name == "clean" else ("clean",)
        before = [self.cell(name, one) for one in (*first, *column.sees)]
        before += [self.cell(NONE, one) for one in column.beside]
        plain = name == NONE
        surrogate = {} if self.surrogate is None else {"surrogate": self.surrogate}
        return Task(
            name=self.cell(name, column.name), work=partial(column.work, self, name), output=column.output,
            victims={"plain": self.victim[0], **surrogate, **victims}, after=tuple(dict.fromkeys((*models, *before))),
            holds=(name_model(name),), reads=column.reads, items=partial(self.choose, name) if column.shared else None,
            alone=column.alone, at=column.at, follows=True, vital=plain, optional=not plain,
            quiet=column.name in ("made", "row"),
        )  # fmt: skip

    def _models(self, name: str) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return where the model inside a defence comes from: victims by name, and the tasks that train it."""
        from malaprop.features.defending.defended_models import find_folder, name_model

        model = name_model(name)
        if model in self.trained:
            return {}, (f"models/{slug(model)}",)
        folder = find_folder(model, self.folders)
        return {} if folder is None else {f"model {model}": str(folder)}, ()

    @property
    def shown(self) -> list[str]:
        """Return the hardened models without a wrapper, whose neighbourhoods are drawn beside the plain model's."""
        from malaprop.frame.runs.wrap import parse

        return [name for name in self.names if not parse(name).layers and name not in (NONE, TWIN)]

    @property
    def pictured(self) -> str:
        return f"surroundings/{slug('-'.join([*self.shown, str(self.pictures), self.layout]))}"

    # --- what the driver reads

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"data": self.reading.examples}

    def read_some(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"texts": list(islice(self.reading.examples, _TIMED))}

    def read_made(self, inputs: Inputs) -> Inputs:
        """Return the pre-generated examples of the user, or else the successes of the attack on the plain victim."""
        from malaprop.frame.runs.pregenerated import from_outcomes, read_pregenerated

        if self.premade is not None:
            return {"premade": read_pregenerated(self.premade, text=self.texts.text, label=self.texts.label)}
        said = f"{self.attack.name} against {self.victim[0]}, in this run"
        return {"premade": from_outcomes(sort_by_id(inputs.get(self.cell(NONE, self.attack.name), ())), said)}

    def read_origin(self, model: str, inputs: Inputs) -> Inputs:
        """Return what a model is trained from, or the reason why it cannot be trained."""
        from malaprop.features.defending.defended_models import find_origin
        from malaprop.frame.tasks.outputs import Skipped

        del inputs
        try:
            return {"origin": find_origin(model, self.victim[0], self.texts.data, self.texts.columns)}
        except MalapropError as error:
            return {"origin": Skipped(str(error), failed=True)}

    def choose(self, name: str, inputs: Inputs) -> Examples:
        """Return the texts with their labels mapped to the victim's."""
        from malaprop.data.matching import agree

        return agree(self.reading.examples, inputs[self.cell(name, "clean")].seen)

    # --- tasks

    def train(self, model: str, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Train a model: in the cache, where other tests find it, or a user's own classifier further, outside of it."""
        from malaprop.assets.folders import locked
        from malaprop.features.defending.defended_models import harden_with
        from malaprop.frame.study.training_tasks import place_files, train_named
        from malaprop.frame.tasks.outputs import Note, Skipped
        from malaprop.training.card import read_card
        from malaprop.zoo.checkpoint import CARD, is_checkpoint
        from malaprop.zoo.train import TrainingInput

        origin = inputs["origin"]
        if isinstance(origin, Skipped):
            yield origin
            return
        parts, home = origin.parts, origin.home(model, self.training) or context.folder
        with locked(home.name):
            if not is_checkpoint(home):
                yield from map(Note, filter(None, (origin.note, origin.describe(model))))
                train_named(
                    context, origin.name(model) or str(inputs["plain"]), parts, home,
                    given=TrainingInput(settings=dict(self.training)), seed=origin.seed, hardening=harden_with(model),
                )  # fmt: skip
        if home != context.folder:
            place_files(home, context.folder, CARD)
        card = read_card(home)
        yield Note(f"{card.name} is right on {card.figures['test_accuracy']:.1%} of {len(parts.test)} test texts")

    def draw(self, context: WorkerContext, inputs: Inputs) -> Iterator[Surroundings]:
        """Label the neighbourhoods of the words that the attack inserted, with each hardened model that was tested."""
        from malaprop.frame.tasks.outputs import Skipped

        tested = [name for name in self.shown if not isinstance(inputs[self.cell(name, "row")], Skipped)]
        if not tested:
            yield Surroundings()
            return
        models = {name: open_defence(self, name, context, inputs) for name in (NONE, *tested)}
        outcomes = sort_by_id(inputs[self.cell(NONE, self.attack.name)])
        look_around = load(added("neighbourhoods")["words"])
        around, pictures = look_around(models, outcomes, many=self.pictures, layout=self.layout, seed=self.texts.seed)
        yield Surroundings(around=tuple(around), pictures=tuple(pictures))

    # --- what they add up to

    def gather(self, root: Path) -> DefencesRecord:
        found = self.gather_part(root)
        assert found is not None, "the victim without a defence is tested, or the study fails"
        return found

    def gather_part(self, root: Path) -> DefencesRecord | None:
        rows = [row for name in self.names if (row := self._read_row(root, name)) is not None]
        if not rows or rows[0].name != NONE:
            return None
        from malaprop.frame.tasks.outputs import read_json, value_file

        first, drawn = rows[0], value_file(root / self.pictured)
        seen = read_json(drawn, Surroundings) if self.pictures and self.shown and drawn.is_file() else Surroundings()
        made: PregeneratedExamples = self.read_made({})["premade"]
        source = f"{self.attack.name} against {first.about}, in this run" if self.premade is None else made.source
        return DefencesRecord(
            victim=first.about,
            data=self.reading.examples.name,
            attack=self.attack.name,
            texts=first.active.accuracy.total + first.active.errors,
            labels=self.reading.examples.labels,
            premade=source,
            rows=tuple(rows),
            around=seen.around,
            pictures=seen.pictures,
            learnt=_count_learnt(self.victim[0]),
            validity="paper" if self._reads["foreign"] else self.conditions.validity,
        )

    def _read_row(self, root: Path, name: str) -> DefenceRow | None:
        """Return the row of a defence with its cost in time; None where it is left out, or not finished."""
        from malaprop.frame.tasks.events import read_log
        from malaprop.frame.tasks.outputs import read_json, value_file

        row, cost = (value_file(root / self.cell(name, column)) for column in ("row", "cost"))
        if not row.is_file():
            return None
        found = read_json(row, DefenceRow)
        if found.certified is not None:
            task = self.cell(name, "certificates")
            seconds = sum(one.get("seconds", 0.0) for one in read_log(root) if one.get("task") == task)
            found = replace(found, certified=replace(found.certified, seconds=round(seconds, 2)))
        return replace(found, cost=read_json(cost, DefenceCost).ratio) if cost.is_file() else found

    def view(self, record: DefencesRecord) -> View:
        from malaprop.frame.tasks.outputs import read_skipped

        root = self.saving.out
        why = {} if root is None else {name: read_skipped(root / self.cell(name, "row")) for name in self.names}
        proofs = [(place_of(row.name), row.certified) for row in record.rows if row.certified is not None]
        return View(
            rows=[{"defence": row.name, **row.summary()} for row in record.rows],
            summary={"kind": "defences", "defences": {row.name: row.summary() for row in record.rows}},
            files=dict(proof.as_file(place) for place, proof in proofs),
            troubles=[f"{name} is left out: {reason.reason}" for name, reason in why.items() if reason is not None],
        )


def _count_learnt(victim: str) -> int:
    """Return how many texts a victim was trained on; 0 where its folder does not say."""
    from malaprop.training.card import read_card
    from malaprop.zoo.checkpoint import is_checkpoint

    folder = Path(victim).expanduser()
    return int(read_card(folder).figures.get("train_rows", 0)) if is_checkpoint(folder) else 0
