"""Training on texts that break the model: in every step a share of the batch is attacked by a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from malaprop.attacks.recipes import RECIPES
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words
from malaprop.core.victim import ANSWERS, Around, Fields, Victim
from malaprop.defences.fact import append_rows, itself
from malaprop.models.splits import Splits
from malaprop.models.tokens.ragged import Ragged
from malaprop.models.zoo.finetune import FineTuning
from malaprop.models.zoo.train import Job
from malaprop.models.zoo.training import Batch, Hooks

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackTraining:
    """Adversarial training with any recipe: `share` of the texts are attacked, each on the model as it is then.

    The adversarial texts, whether they turned the label or went farthest towards it, stand behind the batch with the
    true labels. A search takes as many rounds for one text as for many, so the attacks of `every` steps are made in one
    of them. `budget` bounds the queries of a text. An attack sees the weights of its step alone, so a training that
    was killed goes on as if it had not been.
    """

    recipe: str = "pwws"
    share: float = 0.2
    every: int = 1
    budget: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.every < 1 or (self.budget is not None and self.budget < 1):
            raise SettingError(
                "training on attacked texts wants 0 < share <= 1, every and budget of at least 1, got "
                f"{self.share}, {self.every} and {self.budget}"
            )
        assert RECIPES[self.recipe]  # a name that is none is said before any data is read

    def __str__(self) -> str:
        return f"{self.share:.0%} of each batch attacked by {self.recipe}"

    @property
    def attack(self) -> Attack:
        from malaprop.runs.api import make_attack

        made = make_attack(self.recipe, dict(self.settings))
        return made if self.budget is None else made.but(budget=self.budget)

    def hooks(self, job: Job, data: Splits) -> Hooks:
        from malaprop.core.capability import check

        victim, attack = ModelInTraining(job, len(data.labels)), self.attack
        check(attack.name, attack.needs, victim.name, victim.offers, victim.withheld)
        attacked = AttackedBatch(
            job=job, data=data, attack=attack, share=min(1.0, self.share * self.every), every=self.every, victim=victim
        )
        return Hooks(batch=attacked)


def train_a2t(
    *, share: float = 0.2, every: int = 5, count: int = 8, words: str = "near", budget: int | None = 100
) -> AttackTraining:
    """A2T (Yoo and Qi 2021): training on texts that the recipe `a2t` changes, by gradients and without an encoder.

    Differs: texts are attacked in every fifth step, all of its batch, not at the start of each epoch; sentences are not
    compared, which would cost more than the training.
    """
    return AttackTraining(
        recipe="a2t",
        share=share,
        every=every,
        budget=budget,
        settings={"count": count, "words": words, "similarity": None},
    )


class ModelInTraining(Around):
    """The model of a training as a victim: plain forward passes over finished texts, and its gradients."""

    def __init__(self, job: Job, labels: int) -> None:
        from malaprop.models.victims.strings import StringVictim

        self.job = job
        device = str(next(job.model.parameters()).device)
        unknown = str(job.tokenizer.unk_token or "[UNK]") if isinstance(job, FineTuning) else "<unk>"
        self._plain = StringVictim(
            call=self._ask, name="the model in training", labels=labels, batch=256, unknown=unknown, device=device
        )
        self._gradients = None if not _shows_gradients(job) else itself(job)

    @property
    def inside(self) -> Victim:
        return self._plain

    @property
    def name(self) -> str:
        return self._plain.name

    @property
    def parts(self) -> Mapping[Capability, Any]:
        return {} if self._gradients is None else self._gradients.parts

    @property
    def offers(self) -> frozenset[Capability]:
        return ANSWERS | frozenset(self.parts)

    @property
    def withheld(self) -> str:
        return "" if self.parts else "its word vectors depend on the words around them, so it shows no gradients"

    fingerprint = ""
    rounding = 0.0
    lanes = 1
    renews = False

    def classes(self, table: Words) -> Ints | None:
        return self._plain.classes(table)

    def begin(self, pool: Pool, wanted: Ints) -> Any:
        return self._plain.begin(pool, wanted)

    def finish(self, begun: Any) -> Floats:
        return self._plain.finish(begun)

    def predict(self, texts: Sequence[Fields | str]) -> Floats:
        return self._plain.predict(texts)

    @torch.inference_mode()
    def _ask(self, texts: Sequence[Any]) -> Floats:
        rows = self.job.rows([(text,) if isinstance(text, str) else tuple(text) for text in texts])
        sizes = Ragged.of(rows).size
        ids = np.full((len(rows), max(1, int(sizes.max(initial=1)))), self.job.parts[0].pad)
        for line, row in zip(ids, rows, strict=True):
            line[: len(row)] = row
        device = self._plain.device
        logits = self.job.model(torch.from_numpy(ids).to(device), torch.from_numpy(sizes).to(device))
        found: Floats = logits.float().softmax(-1).cpu().numpy()
        return found


def _shows_gradients(job: Job) -> bool:
    return isinstance(job, FineTuning) or getattr(job, "reader", None) is not None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttackedBatch:
    """Puts behind a batch the adversarial texts of a share of it."""

    job: Job
    data: Splits
    attack: Attack
    share: float
    every: int
    victim: ModelInTraining

    def __call__(self, batch: Batch) -> Batch:
        from malaprop.runs.local import run

        if batch.step % self.every:
            return batch
        seed = int(torch.randint(1 << 62, ()))  # torch draws from the step's own seed here
        many = max(1, round(self.share * len(batch.rows)))
        chosen = torch.randperm(len(batch.rows))[:many].tolist()
        texts = {str(at): self.data.train[int(batch.rows[at])] for at in chosen}
        model, found = self.job.model, {}
        with torch.random.fork_rng(devices=[]):
            model.eval()
            try:
                named = list(_name_by_place(texts))
                for outcome in run(self.attack, self.victim, named, seed=seed % (1 << 31), width=many):
                    if outcome.adversarial is not None:
                        found[int(outcome.id)] = tuple(outcome.adversarial.fields.values())
            finally:
                model.train()
        if not found:
            return batch
        order = sorted(found)
        rows = self.job.rows([found[at] for at in order])
        return append_rows(batch, rows, np.asarray(order, np.int64), self.job.parts[0].pad)


def _name_by_place(texts: Mapping[str, Any]) -> Any:
    """The examples under the names of their places, for a batch may hold a text twice."""
    from dataclasses import replace

    for at, example in texts.items():
        yield replace(example, id=at)
