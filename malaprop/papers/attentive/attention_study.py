"""malaprop study attention: measure what one changed word does to attention and states, and test Theorem 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import DataError, SettingError
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import attack_share, slug
from malaprop.frame.study.study import View
from malaprop.frame.study.vocabulary import SEVERAL

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.victim import Victim
    from malaprop.data.base import Dataset
    from malaprop.features.explain.record import AttentionRecord
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext

SHOWN = 1  # texts in figures, of each victim
_CHUNK = 256  # texts asked at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """How a victim numbers its labels."""

    name: str
    labels: int | None
    label_names: tuple[str, ...]

    @classmethod
    def of(cls, victim: Victim) -> Labelled:
        return cls(name=victim.name, labels=victim.labels, label_names=victim.label_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectlyClassified:
    """The ids of the texts that all victims classify correctly, and how each numbers its labels."""

    ids: tuple[str, ...]
    victims: Mapping[str, Labelled]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionStudy:
    """Look into victims: what one changed word does to attention and states, and Theorem 1 against measurements.

    The texts that all victims classify correctly are attacked, and also changed at random to compare. The same --out
    resumes an interrupted run.

    Examples:

      malaprop study attention --victim BiLSTM-Attention,Transformer-3 --n 100 --set vocabulary=2000 --out runs/look
    """

    command: ClassVar[str] = "study attention"

    models: tuple[str, ...] = opt(
        ("BiLSTM-Attention", "Transformer-3", "BERT"),
        f"Folders, or names of the zoo, which are trained. {SEVERAL}",
        name="victim",
        old=("models",),
        repeat=True,
    )
    recipe: str = opt(
        "gs-ec", "Whose adversarial texts are analysed. A recipe.", name="attack", old=("recipe",), repeat=True
    )
    settings: Mapping[str, Any] = opt({}, name="set")
    draws: int = opt(200, "Draws of each simulation of Theorem 1. 0: none.", min=0)
    texts: Selection = Selection(n=100)
    width: int = width_option()
    where: RunOptions = RunOptions()
    spending: BudgetOptions = BudgetOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def attack(self) -> Attack:
        from malaprop.frame.runs.make_attack import recipe

        return recipe(self.recipe, **self.settings)

    def check(self) -> None:
        if not self.models:
            raise SettingError("--victim names no model; name at least one")
        if len({slug(spec) for spec in self.models}) < len(self.models):
            raise SettingError(f"--victim names a model twice: {', '.join(self.models)}")
        assert self.attack

    def plan(self) -> Iterator[Task]:
        from malaprop.features.explain.record import AttentionRecord
        from malaprop.frame.tasks.outputs import JsonFile, RunFolder
        from malaprop.frame.tasks.task import Task

        everyone = {spec: spec for spec in self.models}
        yield Task(
            name="texts", work=self.choose, output=JsonFile(CorrectlyClassified), victims=everyone, reads=self.read
        )
        if self.draws:
            yield Task(name="theorem", work=self.simulate, output=JsonFile(AttentionRecord), after=("texts",))
        for spec in self.models:
            run = f"{slug(spec)}/{slug(self.attack.name)}"
            yield Task(
                name=run, work=partial(self.run, spec), output=RunFolder(), after=("texts",), victims={spec: spec},
                holds=(spec,), items=partial(self.examples, spec),
            )  # fmt: skip
            yield Task(
                name=f"looks/{slug(spec)}", work=partial(self.look, spec, run), output=JsonFile(AttentionRecord),
                after=("texts", run), victims={spec: spec}, holds=(spec,), reads=partial(self.read_both, spec),
            )  # fmt: skip

    def unseen(self) -> Dataset:
        """Return all texts that no victim was trained on, in the order of the seed."""
        return replace(self.texts, n=0).held(self.models)

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"data": self.unseen()}

    def choose(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Choose the first texts, in the order of the seed, that every victim classifies correctly."""
        from malaprop.core.capability import Capability, check
        from malaprop.core.score import winners
        from malaprop.data.matching import agree
        from malaprop.frame.tasks.outputs import Note

        victims = {spec: context.victim(inputs[spec]) for spec in self.models}
        for victim in victims.values():
            check("study attention", (Capability.STATES,), victim.name, victim.offers)
            check(self.attack.name, self.attack.needs, victim.name, victim.offers)
        whole: Dataset = inputs["data"]
        most, kept = self.texts.n or len(whole), list[str]()
        for at in range(0, len(whole), _CHUNK):
            part = replace(whole, examples=whole.examples[at : at + _CHUNK])
            right = [True] * len(part)
            for victim in victims.values():
                turned = agree(part, victim)
                answers = winners(victim.predict([tuple(e.fields.values()) for e in part])).tolist()
                right = [r and a == e.label for r, a, e in zip(right, answers, turned, strict=True)]
            kept += [example.id for example, fine in zip(part, right, strict=True) if fine]
            if len(kept) >= most:
                break
        if not kept:
            raise DataError(f"no text of {whole.name} is classified correctly by all models; give better models")
        chosen = tuple(kept[:most])
        yield Note(f"{len(chosen)} texts that all of {len(victims)} models answer rightly")
        yield CorrectlyClassified(ids=chosen, victims={spec: Labelled.of(victim) for spec, victim in victims.items()})

    def chosen(self, inputs: Inputs) -> Dataset:
        """Return the texts that are attacked."""
        data = self.unseen()
        by_id = {example.id: example for example in data}
        return replace(data, examples=tuple(by_id[id] for id in inputs["texts"].ids))

    def examples(self, spec: str, inputs: Inputs) -> Dataset:
        """Return the texts that are attacked, with the labels as one victim numbers them."""
        from malaprop.data.matching import agree

        return agree(self.chosen(inputs), inputs["texts"].victims[spec])

    def read_both(self, spec: str, inputs: Inputs) -> Inputs:
        return {"data": self.chosen(inputs), "examples": self.examples(spec, inputs)}

    def run(self, spec: str, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        target = context.victim(inputs[spec])
        yield from attack_share(context, self.attack, target, share, seed=self.texts.seed, width=self.width)

    def look(self, spec: str, run: str, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Measure one victim on its own adversarial texts and on random edits that all victims share."""
        from malaprop.core.capability import Capability
        from malaprop.features.explain.attention import average_over_texts, compare_texts, edit_one_word, pairs_of
        from malaprop.features.explain.record import AttentionRecord
        from malaprop.frame.tasks.outputs import Note
        from malaprop.papers.attentive.theorem import bound_trained

        victim = context.victim(inputs[spec])
        data: Dataset = inputs["examples"]
        own = pairs_of(inputs[run], data)
        shared = edit_one_word(inputs["data"].examples, self.texts.seed)
        models = (
            average_over_texts(victim, [pair for pair, _ in own], self.attack.name),
            average_over_texts(victim, shared, "a random word"),
        )
        for model in models:
            last = model.layers[-1].relative if model.layers else None
            yield Note(f"{model.edits}: R_e of the last layer {last}, of the vector read {model.pooled}")
        bound = bound_trained(victim.name, victim.parts[Capability.STATES], shared)
        yield AttentionRecord(
            data=data.name, recipe=self.attack.name, texts=len(data), models=models,
            sights=tuple(compare_texts(victim, *pair, said) for pair, said in own[:SHOWN]),
            bounds=() if bound is None else (bound,),
        )  # fmt: skip

    def simulate(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Simulate Theorem 1 on random vectors; yields a record with the bounds alone."""
        from malaprop.features.explain.record import AttentionRecord
        from malaprop.papers.attentive.theorem import simulate_all

        del context, inputs
        bounds = tuple(simulate_all(self.draws, self.texts.seed))
        yield AttentionRecord(data=self.texts.data, recipe=self.attack.name, texts=0, bounds=bounds)

    def gather(self, root: Path) -> AttentionRecord:
        from malaprop.features.explain.record import AttentionRecord
        from malaprop.frame.tasks.outputs import JsonFile

        part = JsonFile(AttentionRecord)
        looks = [part.value(root / "looks" / slug(spec)) for spec in self.models]
        theory = [part.value(root / "theorem")] if self.draws else []
        return AttentionRecord(
            data=looks[0].data,
            recipe=looks[0].recipe,
            texts=looks[0].texts,
            models=tuple(model for look in looks for model in look.models),
            sights=tuple(sight for look in looks for sight in look.sights),
            bounds=tuple(bound for part in (*theory, *looks) for bound in part.bounds),
        )

    def view(self, record: AttentionRecord) -> View:
        from malaprop.features.explain.attention import summarize_change
        from malaprop.features.explain.record import figure_files

        found = summarize_change(record)
        figures = figure_files(record.sights, record.bounds)
        return View(
            rows=found["models"],
            summary={"kind": "attention", **found},
            files={f"figures/{name}": content for name, content in figures.items()},
        )
