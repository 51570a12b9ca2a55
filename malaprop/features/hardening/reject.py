"""Training to reject: one label more, for texts whose words were swapped to mislead the model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from malaprop.attacks.recipes import RECIPES
from malaprop.attacks.validity import VALIDITIES, set_validity
from malaprop.core.errors import CapabilityError, SettingError
from malaprop.core.victim import REJECTED
from malaprop.features.hardening.attacked import AdversarySupply, AttackerInTraining
from malaprop.features.hardening.word_swaps import WordSwapTraining, swap_words
from malaprop.models.gradients import log_odds
from malaprop.training.splits import Splits
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks, Network, Rows, answer

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack

_FAR = 64.0  # bound of the shift of the rejection logit


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectTraining(WordSwapTraining):
    """The model learns one label more, to reject a text, and may take it for swapped texts alone.

    Each text is followed by its adversary, as with `swaps`: the one of several `tries` about which the model is most
    wrong while it does not reject it. Of a text as it was the label counts; of its adversary the label or rejection,
    whichever the model can tell, and by the share `insist` rejection alone. So an attack has to find words that mislead
    the model and do not look swapped. One pass answers and rejects. `weight` is that of adversaries beside texts;
    `smoothing` keeps answers from being so sure that an attack would see no slope; the weights of the last epoch are
    kept. At the end the threshold of rejection is set on the texts held out: as low as costs at most `cost` of their
    accuracy, or with `least` as leaves so much of it. With `recipes`, names joined by +, one text in `every` is
    attacked too, by one of them in turn: the model is their victim, with rejection and all. The texts for `together`
    steps are attacked in the first of them; `budget` bounds the queries of a text. With a `validity` of `valid` these
    attacks must keep the meaning, as those of `malaprop study defences` must.
    """

    tries: int = 4
    recipes: str = ""
    every: int = 2
    together: int = 8
    budget: int | None = None
    validity: str = "paper"
    weight: float = 1.0
    insist: float = 0.0
    smoothing: float = 0.1
    cost: float = 0.01
    least: float | None = None
    kind: ClassVar[str] = "reject"
    more_labels: ClassVar[tuple[str, ...]] = (REJECTED,)

    def __post_init__(self) -> None:
        WordSwapTraining.__post_init__(self)
        if not (
            0 < self.weight < math.inf and 0 <= self.insist <= 1 and 0 <= self.smoothing < 1 and 0 <= self.cost < 1
        ):
            raise SettingError(
                f"reject needs weight above 0, and insist, smoothing and cost from 0 to 1, got {self.weight}, "
                f"{self.insist}, {self.smoothing} and {self.cost}"
            )
        if self.least is not None and not 0 < self.least < 1:
            raise SettingError(f"reject needs least between 0 and 1, the accuracy that is to be left, got {self.least}")
        if min(self.every, self.together, 1 if self.budget is None else self.budget) < 1:
            raise SettingError(
                f"reject needs every, together and budget of at least 1, got {self.every}, {self.together} and "
                f"{self.budget}"
            )
        if self.validity not in VALIDITIES:
            raise SettingError(f"reject needs a validity of {', '.join(VALIDITIES)}, got {self.validity!r}")
        assert all(RECIPES[name] for name in self._names)  # raises on an unknown recipe before data are read

    def __str__(self) -> str:
        kept = "" if self.validity == "paper" else " without changing its meaning"
        attacked = "".join(f", by what {name} makes of it{kept}" for name in dict.fromkeys(self._names))
        costs = f"costs at most {self.cost:.1%} of" if self.least is None else f"leaves {self.least:.1%} of"
        return (
            f"each text followed by the worst of {self.tries} with up to {self.share:.0%} of its words swapped"
            f"{attacked}, to be answered or rejected; that {costs} accuracy on texts held out"
        )

    def hooks(self, job: TrainingJob, data: Splits) -> Hooks:
        find_threshold(job.model, len(data.labels))
        swap = swap_words(job, data, self, len(data.labels) - 1)
        supply = None
        if self.attacks:
            attacker = AttackerInTraining.of(job, data, self.attacks)
            supply = AdversarySupply(attacker=attacker, share=1 / self.every, every=self.together)

        def add(batch: Batch) -> Batch:
            batch = swap(batch)
            return batch if supply is None else supply(batch)

        return Hooks(batch=add, loss=self.weigh_answers, last=True, finish=self.set_threshold, memory=supply)

    def within(self, steps: int) -> RejectTraining:
        """Return a copy that attacks every `steps` steps or oftener, so that few timed steps include an attack."""
        return replace(self, together=min(self.together, steps))

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """Return the attacks, without comparing sentences: the encoder for that would take longer than the training."""
        from malaprop.frame.runs.make_attack import make_attack

        named = [make_attack(name, {"similarity": None} if name == "textfooler" else {}) for name in self._names]
        made = [set_validity(one, self.validity, rated=False) for one in named]
        return tuple(one if self.budget is None else one.but(budget=self.budget) for one in made)

    @property
    def _names(self) -> list[str]:
        return [name for name in self.recipes.split("+") if name]

    def weigh_answers(self, model: Network, batch: Batch) -> Float[Tensor, ""]:
        """Return the cross entropy of the texts plus the loss of adversaries that are neither right nor rejected."""
        logits = model(batch.ids, batch.lengths).float()
        own = len(logits) if batch.own < 0 else batch.own
        loss = functional.cross_entropy(logits[:own], batch.labels[:own], label_smoothing=self.smoothing)
        if own == len(logits):
            return loss
        rejected, others = logits.shape[1] - 1, logits[own:]
        either = functional.softplus(log_odds(others, batch.labels[own:], rejected))
        alone = -functional.log_softmax(others, 1)[:, rejected]
        return (loss + self.weight * torch.lerp(either, alone, self.insist).mean()) / (1 + self.weight)

    def set_threshold(self, model: nn.Module, held_out: Rows) -> None:
        """Move the bias of rejection so that it costs as much held-out accuracy as `cost` or `least` allows."""
        parts = [(logits.cpu(), labels.cpu()) for logits, labels in answer(model, held_out)]
        if not parts:
            return
        logits, labels = (torch.cat(column) for column in zip(*parts, strict=True))
        cost = self.cost
        if self.least is not None:
            cost = max(0.0, float((logits[:, :-1].argmax(1) == labels).double().mean()) - self.least)
        move = find_shift(logits, labels, cost)
        with torch.no_grad():
            find_threshold(model, logits.shape[1])[-1] += move


def find_shift(logits: Float[Tensor, "text label"], labels: Tensor, cost: float) -> float:
    """Return the most to add to the last logit so that at most the share `cost` of texts, right before, is rejected.

    Right is a text whose label is the best of all but the last.
    """
    best, which = logits[:, :-1].max(1)
    room = (best - logits[:, -1])[which == labels].sort().values  # what may be added before it is rejected
    many = int(cost * len(labels))
    return float(room[many].clamp(-_FAR, _FAR)) - 1e-4 if len(room) > many else 0.0


def find_threshold(model: nn.Module, labels: int) -> nn.Parameter:
    """Return the bias of the layer that gives the logits; its last number is that of rejection."""
    found = [one for one in model.modules() if isinstance(one, nn.Linear) and one.out_features == labels]
    if not found or found[-1].bias is None:
        raise CapabilityError(
            "harden reject sets its threshold by the bias of the last layer, and this model has none; use harden swaps"
        )
    return found[-1].bias
