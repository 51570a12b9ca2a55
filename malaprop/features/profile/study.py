"""malaprop profile: rank victims by their accuracy under everyday noise and under attack, with one score."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import SettingError
from malaprop.frame.study.attack_tasks import check_judge, validity_option
from malaprop.frame.study.prompt_options import Prompting
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt, type_command
from malaprop.frame.study.shared_tasks import CorrectTexts, name_models
from malaprop.frame.study.study import View
from malaprop.frame.study.vocabulary import ATTACK, SEVERAL, VICTIM
from malaprop.frame.tasks.outputs import JsonFile, RunFolder
from malaprop.frame.tasks.task import Inputs, Share, Task

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.data.base import Dataset
    from malaprop.features.profile.record import ProfileRecord
    from malaprop.frame.study.study import Result
    from malaprop.frame.tasks.worker_context import WorkerContext

VICTIMS = ("LSTM-W-GloVe-1", "CNN-W-GloVe-1", "BERT")
ATTACKS = ("textfooler", "pwws", "deepwordbug")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Rank victims by accuracy against the share of changed words, under everyday noise and under attack.

    Noise is misspellings, keyboard slips, casing, lost punctuation and OCR errors; all victims read the same copies.
    The worst case is the fewest words with which the attacks break a text. The score, 0 to 100, is the area under the
    mean of both curves up to 20% of the words. Further figures: queries to break a text, and how many adversarial texts
    of the other victims mislead a victim.

    Examples:

      malaprop profile --victim my_model:predict --data reviews.csv --n 100

      malaprop profile --victim models/plain,models/hardened --data mr --jobs 2 --out runs/profile

      malaprop profile --victim ./my-distilbert --surrogate CNN-W-GloVe-1 --data hub:rotten_tomatoes --json
    """

    command: ClassVar[str] = "profile"

    victim: tuple[Any, ...] = opt(VICTIMS, f"{VICTIM} {SEVERAL}", old=("model",), repeat=True, grows=True)
    surrogate: Any = opt(
        None, "Measure transfer from this model alone. Default: the adversarial texts of every other victim."
    )
    attacks: tuple[str, ...] = opt(ATTACKS, f"{ATTACK} {SEVERAL} They are tried in turn.", name="attack", repeat=True)
    validity: str = validity_option("valid")
    draws: int = opt(1, "How many noisy copies of a text for each noise.", min=1)
    budget: int | None = opt(None, min=1)
    prompting: Prompting = opt(Prompting())
    texts: Selection = Selection(n=200)
    width: int = width_option()
    spending: BudgetOptions = BudgetOptions()
    where: RunOptions = RunOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def named(self) -> dict[str, Any]:
        """The victims by the names of their folders."""
        return _name_victims(self.victim, "--victim")

    @property
    def surrogate_named(self) -> dict[str, Any]:
        """The surrogate by the name of its folder; empty without one."""
        return {} if self.surrogate is None else _name_victims((self.surrogate,), "--surrogate")

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the models whose adversarial texts are tried on the other victims."""
        return tuple(self.surrogate_named or self.named)

    def make_attack(self, conditions: Inputs) -> Attack:
        """Return the attack with the guards and judge of `--validity`; without them if the texts are not English."""
        from malaprop.features.profile.fewest import make_attack

        validity = "paper" if conditions["foreign"] else self.validity
        return make_attack(self.attacks, self.budget, validity=validity, rated=conditions["rated"])

    def check(self) -> None:
        named = self.named
        for name, spec in self.surrogate_named.items():
            if name in named and named[name] != spec:
                raise SettingError(f"--surrogate and --victim name two models {name}; rename one of the folders")
        self.prompting.check(self.victim, self.texts.fields)
        assert self.make_attack({"foreign": False, "rated": False})
        self.data()
        check_judge(self.validity)

    def data(self) -> Dataset:
        return self.texts.held([*self.victim, *self.surrogate_named.values()])

    def plan(self) -> Iterator[Task]:
        data = self.data()  # an error in the data is raised once, before any victim is loaded
        if not len(data):
            raise SettingError(f"{data.name} has no texts")
        equipped = {
            name: self.prompting.equip(spec, self.texts, data)
            for name, spec in {**self.named, **self.surrogate_named}.items()
        }
        for name, spec in equipped.items():
            yield Task(
                name=f"clean/{name}", work=self.classify, output=JsonFile(CorrectTexts), victims={"victim": spec},
                holds=(name,), reads=self.read, vital=True,
            )  # fmt: skip
        for name, spec in equipped.items():
            yield from self._of_victim(name, spec)
        for name in self.named:
            yield from (self._transfer(name, source, equipped[name]) for source in self.sources if source != name)

    def _of_victim(self, name: str, spec: Any) -> Iterator[Task]:
        """Yield the tasks that need one victim: noise and worst case; a surrogate has no noise."""
        from malaprop.features.profile.answers import NoiseAnswers

        clean, at = f"clean/{name}", {"victim": spec}
        if name in self.named:
            yield Task(
                name=f"noise/{name}", work=self.query_noisy_copies, output=JsonFile(NoiseAnswers), victims=at,
                holds=(name,), after=(clean,), reads=self.read, optional=True,
            )  # fmt: skip
        yield Task(
            name=f"runs/{name}", work=self.attack, output=RunFolder(), victims=at, holds=(name,), after=(clean,),
            reads=self.find_judge_conditions, items=partial(self.examples, name), optional=True,
        )  # fmt: skip

    def _transfer(self, name: str, source: str, spec: Any) -> Task:
        from malaprop.features.profile.answers import Transferred

        return Task(
            name=f"transfer/{name}/{source}", work=partial(self.query_adversarial_texts, name, source),
            output=JsonFile(Transferred), victims={"victim": spec}, holds=(name,),
            after=(f"clean/{name}", f"runs/{source}"), reads=self.read, optional=True, follows=True,
        )  # fmt: skip

    def read(self, inputs: Inputs) -> Inputs:
        return {**inputs, "data": self.data()}

    def find_judge_conditions(self, inputs: Inputs) -> Inputs:
        """Add `foreign` (the texts are not English) and `rated` (the judge, which reads English, can run)."""
        from malaprop.assets.measures import why_no_judge
        from malaprop.frame.runs.cautions import describe_foreign

        foreign = bool(describe_foreign(self.data()))
        return {**inputs, "foreign": foreign, "rated": not foreign and not why_no_judge()}

    def examples(self, name: str, inputs: Inputs) -> Dataset:
        from malaprop.data.matching import agree

        return agree(self.data(), inputs[f"clean/{name}"])

    def classify(self, worker: WorkerContext, inputs: Inputs) -> Iterator[CorrectTexts]:
        from malaprop.features.profile.answers import classify

        yield classify(worker.victim(inputs["victim"]), inputs["data"])

    def query_noisy_copies(self, worker: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        from malaprop.features.profile.answers import query_noisy_copies

        yield query_noisy_copies(
            worker.victim(inputs["victim"]), inputs["data"], draws=self.draws, seed=self.texts.seed
        )

    def attack(self, worker: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Attack a share of the texts with ever fewer words; yield the run's description and the outcomes."""
        from malaprop.core.victim import VictimDescription
        from malaprop.features.profile.fewest import attack_with_fewest
        from malaprop.frame.runs.folder import describe
        from malaprop.frame.runs.victims import assume_labels

        victim, seed = worker.victim(inputs["victim"]), self.texts.seed
        assume_labels(victim, share.whole.labels)
        attack = self.make_attack(inputs).for_labels(share.whole.labels)
        yield describe(attack, VictimDescription.of(victim), share.whole, seed=seed, width=self.width)
        found = attack_with_fewest(
            attack, victim, share.items, seed=seed, width=self.width, services=worker.services(victim)
        )
        for outcome in found:
            if worker.budget_client is not None:
                worker.budget_client.end()
            yield outcome

    def query_adversarial_texts(self, name: str, source: str, worker: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        from malaprop.features.profile.answers import query_adversarial_texts

        victim = worker.victim(inputs["victim"])
        yield query_adversarial_texts(victim, inputs["data"], inputs[f"clean/{name}"], inputs[f"runs/{source}"])

    def gather(self, root: Path) -> ProfileRecord:
        from malaprop.features.profile.gather import gather

        return gather(self, root, self.data())

    def view(self, record: ProfileRecord) -> View:
        from malaprop.features.profile.gather import to_rows

        rows = to_rows(record)
        notes = [f"{one.victim}: {note}" for one in record.entries for note in one.notes]
        return View(
            rows=rows,
            summary={"kind": "profile", "data": record.data, "texts": record.texts, "ranking": rows},
            notes=[*record.notes, *notes],
            troubles=[f"{one.victim}: {one.reason}" for one in record.entries if one.reason],
            next=f"see where it breaks: {type_command('audit', victim=self.victim, data=self.texts.data)}",
        )


def _name_victims(specs: Sequence[Any], option: str) -> dict[str, Any]:
    """Return the victims by distinct names; the name of a file is its own and its folder's, as in models/plain.onnx."""
    short = [Path(*Path(one).parts[-2:]).as_posix() if isinstance(one, str) and Path(one).is_file() else one
             for one in specs]  # fmt: skip
    return dict(zip(name_models(short, option), specs, strict=True))


def profile(
    victim: Any = VICTIMS,
    data: Any = "mr",
    *,
    attack: str | Sequence[str] | None = None,
    n: int = 200,
    out: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Result:
    """Rank victims by accuracy under noise and attack, as `malaprop profile` does, and return the profiles.

    `victim` is what `mp.victim` takes, or a list of them; `data` is a name, a file, (text, label) pairs or a frame; `n`
    0 takes all examples. Further keywords are options of the command: surrogate, draws, seed, jobs.

        found = mp.profile([plain, hardened], "reviews.csv", n=100)
        found.show(); found.to_frame(); found.record; found.report()
    """
    from malaprop.frame.study.settings import build
    from malaprop.frame.study.study import conduct

    victims = tuple(victim) if isinstance(victim, (list, tuple)) else victim if isinstance(victim, str) else (victim,)
    given = {"victim": victims, "data": data, "n": n}
    known = {"attack": attack, "out": out}
    more = {name: value for name, value in known.items() if value is not None}
    return conduct(build(Profile, {"quiet": True, **given, **more, **settings}))
