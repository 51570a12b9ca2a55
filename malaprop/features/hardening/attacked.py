"""Training on texts that break the model: a share of the texts is attacked by a recipe while the model learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from malaprop.attacks.recipes import RECIPES
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats
from malaprop.core.victim import Victim, Wrapper
from malaprop.features.hardening.attack_processes import NAME, AttackProcesses, TransformerInTraining, attack_texts
from malaprop.features.hardening.model_in_training import AddedRows, add_rows
from malaprop.models.gradients.tokens import pad_rows
from malaprop.models.padded_rows import Ragged
from malaprop.models.tokens.vocab import UNKNOWN
from malaprop.models.victims.tokens import TokenVictim
from malaprop.training.splits import Splits
from malaprop.zoo.finetune import FineTuning
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack

_NO_GRADIENTS = "its word vectors depend on the words around them, so it shows no gradients"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackTraining:
    """Adversarial training with any recipe: each batch is followed by a `share` as many attacked texts.

    They have their true labels, whether the attack turned the answer or went farthest towards it. A search takes as
    many rounds for one text as for many, so the texts for `every` steps are attacked in the first of them, on the
    weights of that step. `budget` bounds the queries of a text.
    """

    recipe: str = "pwws"
    share: float = 0.2
    every: int = 20
    budget: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.every < 1 or (self.budget is not None and self.budget < 1):
            raise SettingError(
                "training on attacked texts needs 0 < share <= 1, every and budget of at least 1, got "
                f"{self.share}, {self.every} and {self.budget}"
            )
        assert RECIPES[self.recipe]  # raises on an unknown recipe before data are read

    def __str__(self) -> str:
        return f"each batch followed by {self.share:.0%} as many texts that {self.recipe} attacked"

    @property
    def attack(self) -> Attack:
        from malaprop.frame.runs.make_attack import make_attack

        made = make_attack(self.recipe, dict(self.settings))
        return made if self.budget is None else made.but(budget=self.budget)

    def within(self, steps: int) -> AttackTraining:
        """Return a copy that attacks every `steps` steps or oftener, so that few timed steps include an attack."""
        return replace(self, every=min(self.every, steps))

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        attacker = AttackerInTraining.of(job, data, [self.attack])
        supply = AdversarySupply(attacker=attacker, share=self.share, every=self.every)
        return Hooks(batch=supply, memory=supply)


def train_a2t(
    *, share: float = 0.2, every: int = 20, count: int = 8, words: str = "near", budget: int | None = 100
) -> AttackTraining:
    """A2T (Yoo and Qi 2021): training on texts that the recipe `a2t` changes, by gradients and without an encoder.

    Differs: texts are attacked in every 20th step, for the steps up to the next, not at the start of each epoch for all
    of it; sentences are not compared, which would cost more than the training.
    """
    return AttackTraining(
        recipe="a2t",
        share=share,
        every=every,
        budget=budget,
        settings={"count": count, "words": words, "similarity": None},
    )


class ModelInTraining(Wrapper):
    """The model of a training as a victim, which answers with the weights of the moment; edits are spliced into tokens.

    On a GPU a copy of a transformer in bf16 answers, which `refresh` brings up to date.
    """

    def __init__(self, job: TrainingJob, labels: Sequence[str]) -> None:
        self.job = job
        self.transformer: TransformerInTraining | None = None
        self._victim = self._open(job, tuple(labels))

    @property
    def inside(self) -> Victim:
        return self._victim

    @property
    def withheld(self) -> str:
        return "" if Capability.GRADIENTS in self.offers else _NO_GRADIENTS

    fingerprint = ""
    lanes = 1
    renews = False

    def refresh(self) -> None:
        """Copy the current weights to the victim."""
        if self.transformer is not None:
            self.transformer.refresh()

    def _open(self, job: TrainingJob, labels: tuple[str, ...]) -> Victim:
        if isinstance(job, FineTuning):
            return self._open_transformer(job, labels)
        device, reader = str(next(job.model.parameters()).device), getattr(job, "reader", None)
        if reader is None:
            return self._by_strings(job, labels)
        from malaprop.zoo.victim import gradients_of

        return TokenVictim(
            name=NAME, cut=reader.cut, encode_whole=reader.encode, forward=job.model, labels=len(labels),
            limit=job.most, context_free=True, unknown=UNKNOWN, label_names=labels, device=device,
            gradients=gradients_of(job.model, reader, job.most, device),
        )  # fmt: skip

    def _open_transformer(self, job: FineTuning, labels: tuple[str, ...]) -> Victim:
        self.transformer = TransformerInTraining.of(
            job.network, job.tokenizer, most=job.most, labels=labels, separator=getattr(job.model, "separator", None)
        )
        return self._by_strings(job, labels) if self.transformer is None else self.transformer.victim

    def _by_strings(self, job: TrainingJob, labels: tuple[str, ...]) -> Victim:
        from malaprop.models.victims.strings import StringVictim

        device = str(next(job.model.parameters()).device)
        unknown = str(job.tokenizer.unk_token or "[UNK]") if isinstance(job, FineTuning) else UNKNOWN
        return StringVictim(
            call=self._ask, name=NAME, labels=len(labels), batch=256, unknown=unknown, device=device,
            label_names=labels,
        )  # fmt: skip

    @torch.inference_mode()
    def _ask(self, texts: Sequence[Any]) -> Floats:
        rows = self.job.rows([(text,) if isinstance(text, str) else tuple(text) for text in texts])
        ids, lengths = pad_rows([np.asarray(row, np.int64) for row in rows], self.job.parts[0].pad, self._victim.device)
        found: Floats = self.job.model(ids, lengths).float().softmax(-1).cpu().numpy()
        return found


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttackerInTraining:
    """Attacks training texts on the model with the weights of the current step."""

    job: TrainingJob
    data: Splits
    attacks: Sequence[Attack]  # they take turns
    victim: ModelInTraining
    processes: AttackProcesses | None = None  # where given, they attack in place of this process

    @classmethod
    def of(cls, job: TrainingJob, data: Splits, attacks: Sequence[Attack]) -> AttackerInTraining:
        """Open the model as a victim; raise CapabilityError where it cannot serve an attack."""
        from malaprop.core.capability import check

        victim = ModelInTraining(job, data.labels)
        for attack in attacks:
            check(attack.name, attack.needs, victim.name, victim.offers, victim.withheld)
        processes = None
        if isinstance(job, FineTuning) and victim.transformer is not None:
            processes = AttackProcesses.start(job, data.labels, attacks)
        return cls(job=job, data=data, attacks=attacks, victim=victim, processes=processes)

    def find_adversaries(self, rows: Sequence[int], turn: int, seed: int) -> AddedRows:
        """Attack these training texts; return the adversarial ones as token rows, each with its place in `rows`.

        A text without an adversarial one, such as one that the model misclassifies, is left out.
        """
        # places serve as ids, for a batch may hold a text twice
        named = [replace(self.data.train[row], id=str(at)) for at, row in enumerate(rows)]
        seed %= 1 << 31
        if self.processes is not None:
            found = self.processes.attack(named, turn, seed)
        else:
            model = self.job.model
            with torch.random.fork_rng(devices=[]):
                model.eval()
                self.victim.refresh()
                try:
                    found = attack_texts(self.attacks[turn % len(self.attacks)], self.victim, named, seed)
                finally:
                    model.train()
        order = sorted(map(int, found))
        return AddedRows(self.job.rows([found[str(at)] for at in order]), np.asarray(order, np.int64))


@dataclass(slots=True, eq=False, kw_only=True)
class AdversarySupply:
    """Appends adversarial texts to batches; the first of each `every` steps generates them for all, from any texts.

    Each step gets an equal part. The rest is saved with the training's state, so that a training that was killed
    resumes with the same texts.
    """

    attacker: AttackerInTraining
    share: float
    every: int
    _made: AddedRows = field(default=AddedRows([], np.empty(0, np.int64)), init=False)  # of[i] is a training row

    def __call__(self, batch: Batch) -> Batch:
        turn, later = divmod(batch.step, self.every)
        if not later:
            own = len(batch.rows) if batch.own < 0 else batch.own
            self._made = self._make(max(1, round(self.share * self.every * own)), turn)
        first, end = (len(self._made.of) * part // self.every for part in (later, later + 1))
        if first == end:
            return batch
        of, train = self._made.of[first:end], self.attacker.job.parts[0]
        labels = [train.labels[row] for row in of.tolist()]
        return add_rows(batch, self._made.rows[first:end], labels, of, train.pad)

    def _make(self, many: int, turn: int) -> AddedRows:
        seed = draw_seed()
        rows = torch.randperm(len(self.attacker.data.train))[:many].numpy()
        found = self.attacker.find_adversaries(rows.tolist(), turn, seed)
        return AddedRows(found.rows, rows[found.of])

    def state(self) -> dict[str, Tensor]:
        ragged = Ragged.of(list(self._made.rows))
        named = {"tokens": ragged.flat, "sizes": ragged.size, "of": self._made.of}
        return {name: torch.from_numpy(np.asarray(values, np.int64)) for name, values in named.items()}

    def fill(self, state: Mapping[str, Tensor]) -> None:
        if state:
            rows = torch.split(state["tokens"], state["sizes"].tolist())
            self._made = AddedRows([row.tolist() for row in rows], state["of"].numpy())


def draw_seed() -> int:
    """Draw the seed of an attack; in a hook torch draws from the step's own seed, so a resumed training repeats it."""
    return int(torch.randint(1 << 62, ()))
