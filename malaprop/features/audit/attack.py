"""malaprop attack: attack a dataset with one recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError
from malaprop.frame.study.attack_tasks import (
    Conditions,
    DataReading,
    RunFigures,
    attack_tasks,
    check_victim_task,
    clean_task,
    read_times,
    summary_text,
)
from malaprop.frame.study.prompt_options import Prompting, on_prompt, split_sides
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt, type_command
from malaprop.frame.study.study import View

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.frame.records.outcome import Outcomes
    from malaprop.frame.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class AttackRun:
    """Attack a dataset with one recipe and write the outcomes.

    Examples:

      malaprop attack pwws --victim LSTM-W-GloVe-1 --n 200

      malaprop attack textfooler --victim my_model:predict --data reviews.csv --budget 500 --out runs/mine

      malaprop attack genetic --victim BERT --set size=20 --set rounds=10 --out runs/mine

      malaprop attack gs-ec --victim BiLSTM-Attention --words 2 --set vocabulary=5000 --measure distance,similarity

      malaprop attack pwws --victim openai:MODEL@http://host/v1 --prompt prompt.txt --labels negative,positive --n 20

      malaprop attack typos --victim BERT --data large.jsonl --n all --engine ray --address head:6379 --out runs/large
    """

    command: ClassVar[str] = "attack"

    recipe: Any = opt(name="attack", old=("recipe",), placed="RECIPE", repeat=True)
    victim: Any = opt(repeat=True)
    defence: str = opt("none", repeat=True)
    settings: Mapping[str, Any] = opt({}, name="set")
    words: int | None = opt(None, "How many words one-word recipes change. For gs-gr, list and their kind.", min=1)
    conditions: Conditions = opt(Conditions())
    prompting: Prompting = opt(Prompting())
    texts: Selection = Selection()
    spending: BudgetOptions = BudgetOptions()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @cached_property
    def target(self) -> Any:
        """Return the victim, behind its defence where it has one."""
        from malaprop.frame.runs.victims import behind

        if self.defence == "none":
            return self.victim
        if not isinstance(self.victim, str):
            raise SettingError(
                "--defence wraps a victim given by name, and this one is a Python object; wrap it with mp.defend"
            )
        return behind(self.defence, self.victim)

    @cached_property
    def prompted_victim(self) -> Any:
        """Return the victim, with its prompt where it is a language model."""
        return self.prompting.equip(self.target, self.texts, self.reading.examples)

    @cached_property
    def attack(self) -> Attack:
        from malaprop.frame.runs.make_attack import make_attack

        settings = {**self.settings, **({} if self.words is None else {"words": self.words})}
        made = self.conditions.apply(make_attack(self.recipe, settings))
        _, texts, prompt = split_sides(self.texts.fields)
        if texts and prompt:
            raise SettingError("malaprop attack changes texts or the prompt; malaprop audit takes --fields text,prompt")
        return on_prompt(made, self.prompting.panel) if prompt else made

    @cached_property
    def reading(self) -> DataReading:
        rest, _, _ = split_sides(self.texts.fields)
        trains = self.prompting.shots > 0 or self.attack.together is not None
        return DataReading(selection=replace(self.texts, fields=rest), victims=(self.target,), trains=trains)

    def check(self) -> None:
        self.prompting.check((self.target,), self.texts.fields)
        self.conditions.check(self.where, self.attack)
        assert self.reading.examples is not None  # an error in the data should not wait for a model to load
        assert self.prompted_victim is not None
        self.conditions.fetch_judge()

    def plan(self) -> Iterator[Task]:
        attack, look = self.attack, "look at the victim"
        yield check_victim_task(look, self.prompted_victim, self.conditions, (attack,), self.reading)
        clean, limits = "", self.spending.limits
        if limits.bound and attack.together is None:
            task = clean_task("the victim", look, self.prompted_victim, self.conditions, self.reading, limits, at=".")
            clean = task.name
            yield task
        yield from attack_tasks(
            attack.name,
            look,
            attack,
            self.prompted_victim,
            self.conditions,
            self.reading,
            at=".",
            vital=True,
            clean=clean,
        )

    def gather(self, root: Path) -> RunFigures:
        return RunFigures.of(root, read_times(root).get(self.attack.name, 0.0))

    def view(self, record: RunFigures) -> View:
        folder = record.folder
        return View(
            rows=[record.to_row()],
            summary=record.to_dict(),
            text=partial(summary_text, [folder]),
            notes=record.notes(),
            last=f"outcomes in {folder}",
            next=f"malaprop report {folder}, or try more attacks: "
            + type_command("audit", victim=self.victim, data=self.texts.data),
            report=False,
        )


def attack(  # noqa: PLR0913 - users set them by name
    recipe: str | Attack,
    victim: Any,
    examples: Any,
    *,
    seed: int = 0,
    width: int = 256,
    budget: int | None = None,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    labels: Sequence[str] = (),
    **settings: Any,
) -> Outcomes:
    """Attack every example and return the outcomes in the order of the examples, a list with `to_pandas()`.

    `victim` is what `mp.victim` takes, or a victim; examples are (text, label) pairs, ((premise, hypothesis), label)
    pairs, Examples, dictionaries, a DataFrame or a set of the `datasets` library. A label is a number of the victim's
    scores or a name, which is matched with the victim's names; `labels` are those names in the order of its scores, for
    a victim that does not know them. Further keywords are settings of the recipe. `engine="ray"` does the same work on
    the Ray cluster at `address`, or on a temporary one that it starts on this machine.
    """
    from malaprop.core.catalogue import unknown
    from malaprop.frame.runs import make_attack as api
    from malaprop.frame.study.run_options import ENGINES

    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    if engine == "local":
        if address is not None or workers is not None:
            raise SettingError("address and workers need engine='ray', got engine='local'; leave them out")
        return api.attack(recipe, victim, examples, seed=seed, width=width, budget=budget, labels=labels, **settings)
    from malaprop.data.base import of
    from malaprop.frame.records.outcome import Outcomes
    from malaprop.frame.study.study import conduct

    made, data = api.make_attack(recipe, settings), api.unique(of(examples))
    study = AttackRun(
        recipe=made,
        victim=victim,
        conditions=Conditions(budget=budget, width=width),
        texts=Selection(data=data, n=0, seed=seed, labels=tuple(labels)),
        where=RunOptions(engine=engine, address=address, jobs=workers),
        saving=OutputOptions(quiet=True),
    )
    found = {outcome.id: outcome for outcome in conduct(study).outcomes}
    return Outcomes(found[example.id] for example in data)
