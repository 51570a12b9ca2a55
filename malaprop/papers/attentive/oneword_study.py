"""malaprop study oneword: attack models by changing one word, and compare the success with the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import DataError, RecordError
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import (
    CorrectTexts,
    attack_share,
    find_correct_texts,
    is_trained_here,
    name_models,
    settings_of,
)
from malaprop.frame.study.study import View
from malaprop.frame.study.training_tasks import train_named
from malaprop.frame.study.vocabulary import SEVERAL

if TYPE_CHECKING:
    from malaprop.data.base import Dataset
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.attentive.oneword import OneWordDesign, Texts
    from malaprop.papers.attentive.oneword_record import OneWordRecord

EXAMINED = 2000  # test texts that models are put to, if there are so many
RECIPES = ("random", "list", "asmin-gr", "asmax-gr", "asmin-ec", "asmax-ec", "gs-gr", "gs-ec")
_OF_RECIPES = ("layer", "direction", "probe", "near")  # settings of the attacks; all others are of the training


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWord:
    """Attack models by changing one word, and show the paper's figures beside ours.

    Names of the zoo are trained; the first test texts that every model answers correctly are attacked with each
    recipe. The same --out resumes an interrupted run; finished models and runs are kept.

    Examples:

      malaprop study oneword --victim BiLSTM-Attention,Transformer-3 --n 100 --vocabulary 2000 --trials 1000

      malaprop study oneword --victim models/mine --data reviews.csv --attack random,gs-ec --jobs 4
    """

    command: ClassVar[str] = "study oneword"

    models: tuple[Any, ...] = opt(
        ("BiLSTM-Attention", "Transformer-3", "BERT"),
        f"Folders, or names of the zoo, which are trained. {SEVERAL}",
        name="victim",
        old=("models",),
        repeat=True,
    )
    recipes: tuple[str, ...] = opt(
        RECIPES, f"Recipes that change one word. {SEVERAL}", name="attack", old=("recipes",), repeat=True, free=True
    )
    vocabulary: int = opt(20_000, "How many words may replace a word.", min=1)
    words: int = opt(1, "How many words may change.", min=1)
    trials: int = opt(100_000, "Random trials for each text.", min=1)
    measure: tuple[str, ...] = opt(
        (), "Measures of successes, with commas: similarity, perplexity, grammar.", free=True
    )
    gather_only: bool = opt(
        False, "Compute the figures from what is in --out. Trains and attacks nothing.", name="gather", free=True
    )
    training: Mapping[str, Any] = opt(
        {},
        "A setting of the training, as name=value. Or of the network, or layer, direction, probe and near of the "
        "attacks; may be repeated.",
        name="set",
    )
    texts: Selection = Selection(n=100)
    width: int = width_option()
    where: RunOptions = RunOptions()
    spending: BudgetOptions = BudgetOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def specs(self) -> dict[str, Any]:
        return name_models(self.models)

    @property
    def design(self) -> OneWordDesign:
        from malaprop.papers.attentive.oneword import OneWordDesign

        more = {name: self.training[name] for name in _OF_RECIPES if name in self.training}
        return OneWordDesign(
            models=tuple(self.specs), recipes=self.recipes, vocabulary=self.vocabulary, words=self.words,
            trials=self.trials, more=more,
        )  # fmt: skip

    @property
    def fitting(self) -> dict[str, Any]:
        """Return the settings of training, without those of the attacks."""
        return {name: value for name, value in self.training.items() if name not in _OF_RECIPES}

    def check(self) -> None:
        from malaprop.assets.measures import check_measures
        from malaprop.frame.runs.make_attack import recipe
        from malaprop.papers.attentive.oneword import check_quality_measures
        from malaprop.zoo.names import parse
        from malaprop.zoo.train import check_settings

        check_quality_measures(self.measure)
        check_measures(self.measure)
        check_settings(self.fitting, [parse(spec)[0] for spec in self.specs.values() if is_trained_here(spec)])
        for name in self.recipes:
            recipe(name, **self.design.settings(name))

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import JsonFile, OwnFolder, RunFolder
        from malaprop.frame.tasks.task import Task
        from malaprop.papers.attentive.oneword import Texts

        if self.gather_only:
            return
        for name, spec in self.specs.items():
            model = f"models/{name}"
            if is_trained_here(spec):
                yield Task(name=model, work=partial(self.train, name), output=OwnFolder())
            yield Task(
                name=f"examined/{name}", work=partial(self.examine, model), output=JsonFile(CorrectTexts),
                reads=self.read, holds=(name,), **self._given(name),
            )  # fmt: skip
        examined = tuple(f"examined/{name}" for name in self.specs)
        yield Task(name="texts", work=self.choose, output=JsonFile(Texts), after=examined, reads=self.read)
        for name, recipe in self.design.cells():
            given = self._given(name)
            yield Task(
                name=f"runs/{name}/{recipe}", work=partial(self.attack, name, recipe), output=RunFolder(),
                after=(*given["after"], "texts", f"examined/{name}"), victims=given["victims"], holds=(name,),
                items=partial(self.chosen, name),
            )  # fmt: skip

    def _given(self, name: str) -> dict[str, Any]:
        """Return the settings of a task that loads a model: the training task it waits for, or the named victim."""
        model, spec = f"models/{name}", self.specs[name]
        trained = is_trained_here(spec)
        return {"after": (model,) if trained else (), "victims": {} if trained else {model: spec}}

    def test(self) -> Dataset:
        """Read the test part, in the order of the seed."""
        trains = any(map(is_trained_here, self.models))
        return replace(self.texts, n=EXAMINED).held(self.models, trains=trains)

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"test": self.test()}

    def train(self, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        from malaprop.frame.tasks.outputs import Note
        from malaprop.zoo.train import TrainingInput

        del inputs
        spec, parts = self.specs[name], context.keep("parts of the data", self.texts.splits)
        given = TrainingInput(settings=settings_of(spec, self.fitting))
        card = train_named(context, spec, parts, context.folder, given=given, seed=self.texts.seed)
        yield Note(f"right on {card.figures['test_accuracy']:.1%} of the test texts")

    def examine(self, model: str, context: WorkerContext, inputs: Inputs) -> Iterator[CorrectTexts]:
        yield find_correct_texts(context.victim(inputs[model]), inputs["test"])

    def choose(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Choose the first texts that every model classifies correctly."""
        from malaprop.frame.tasks.outputs import Note
        from malaprop.papers.attentive.oneword import Texts, common

        del context
        test: Dataset = inputs["test"]
        seen: dict[str, CorrectTexts] = {name: inputs[f"examined/{name}"] for name in self.specs}
        ids, many = common(
            {name: one.right for name, one in seen.items()}, [e.id for e in test], self.texts.n or len(test)
        )
        said = ", ".join(f"{name} {sum(one.right) / len(test):.1%}" for name, one in seen.items())
        yield Note(f"of {len(test):,} test texts all models answer {many:,} correctly ({said})")
        if not ids:
            raise DataError(f"no text of {test.name} is answered correctly by all of {', '.join(self.specs)}")
        yield Texts(
            data=test.name, fields=test.fields, seed=self.texts.seed, examined=len(test), common=many, ids=ids,
            right={name: sum(one.right) for name, one in seen.items()},
            offers={name: list(one.offers) for name, one in seen.items()},
        )  # fmt: skip

    def chosen(self, name: str, inputs: Inputs) -> Dataset:
        """Return the chosen examples with the labels as the model numbers them."""
        from malaprop.data.matching import agree

        chosen: Texts = inputs["texts"]
        test = agree(self.test(), inputs[f"examined/{name}"])
        ids = set(chosen.ids)
        return replace(test, examples=tuple(e for e in test if e.id in ids))

    def attack(self, name: str, recipe: str, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        from malaprop.core.capability import Capability
        from malaprop.frame.runs.make_attack import recipe as make
        from malaprop.frame.tasks.outputs import Skipped

        made = make(recipe, **self.design.settings(recipe))
        offers = {Capability(one) for one in inputs[f"examined/{name}"].offers}
        if missing := made.needs - offers:
            yield Skipped(f"shows no {' and no '.join(sorted(missing))}")
            return
        made = made.but(measures=("distance",) if Capability.EMBEDDINGS in offers else ())
        target = context.victim(inputs[f"models/{name}"])
        yield from attack_share(context, made, target, share, seed=self.texts.seed, width=self.width)

    def gather(self, root: Path) -> OneWordRecord:
        from malaprop.data.base import choose, editable
        from malaprop.frame.tasks.outputs import read_skipped
        from malaprop.papers.attentive.oneword import Texts, gather, measure_quality

        if (texts := Texts.read(root)) is None:
            raise RecordError(f"{root} holds no study of one-word attacks; leave out --gather to begin one")
        lacking = {
            (name, recipe): why.reason
            for name, recipe in self.design.cells()
            if (why := read_skipped(root / "runs" / name / recipe)) is not None
        }
        fields = self.texts.fields
        opened = choose(texts.data, texts.fields, fields) if fields else editable(texts.fields)
        measure = partial(measure_quality, names=self.measure, fields=opened) if self.measure else None
        kin = {name: kin_of(spec) for name, spec in self.specs.items()}
        return gather(root, self.design, texts, kin=kin, lacking=lacking, quality=measure)

    def view(self, record: OneWordRecord) -> View:
        from malaprop.papers.attentive.oneword_record import markdown

        rates: dict[str, dict[str, Any]] = {model.name: {} for model in record.models}
        for cell in record.cells:
            if not cell.reason:
                rates[cell.model][cell.recipe] = cell.success.to_dict()
        models = {m.name: {"accuracy": m.accuracy.to_dict(), "success": rates[m.name]} for m in record.models}
        rows = [
            {"model": c.model, "recipe": c.recipe, "broken": c.success.hits, "of": c.success.total, "why not": c.reason}
            for c in record.cells
        ]
        return View(rows=rows, summary={"kind": "oneword", "models": models}, files={"oneword.md": markdown(record)})


def kin_of(spec: Any) -> str:
    """Return what the paper calls a model of this kind."""
    name = str(spec).lower()
    if "lstm-attention" in name:
        return "LSTM"
    if "transformer-3" in name or "pair-transformer" in name:
        return "BERT without pre-training"
    return "BERT" if Path(name).name.startswith("bert") else ""
