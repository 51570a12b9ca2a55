"""Processes that attack training texts side by side, each on a copy of the transformer in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from malaprop.core.example import Example
from malaprop.core.victim import Victim
from malaprop.frame.tasks.workers.processes import Helpers
from malaprop.models.folder import quietly
from malaprop.models.precision import ROUNDING
from malaprop.models.scorers.plain import Plain, make_forward
from malaprop.models.tokens.batches import avoid_cudnn_attention, read_parts, share_gpu
from malaprop.models.victims.tokens import TokenVictim

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.zoo.finetune import FineTuning

Found = Mapping[str, tuple[str, ...]]  # adversarial texts by the ids of their examples
NAME = "the model in training"


@dataclass(frozen=True, slots=True)
class _Wanted:
    many: int
    stack: ExitStack


_wanted: ContextVar[_Wanted | None] = ContextVar("attack_processes", default=None)


@contextmanager
def attack_in(processes: int) -> Iterator[None]:
    """Inside this context, training attacks texts in this number of processes; they end with the context."""
    with ExitStack() as stack:
        token = _wanted.set(_Wanted(processes, stack))
        try:
            yield
        finally:
            _wanted.reset(token)


def attack_texts(attack: Attack, victim: Victim, examples: Sequence[Example], seed: int) -> Found:
    """Attack texts and return, by id, those that changed the label or came closest to it."""
    from malaprop.frame.runs.local import run

    found = {}
    for outcome in run(attack, victim, examples, seed=seed, width=len(examples)):
        if outcome.adversarial is not None:
            found[outcome.id] = tuple(outcome.adversarial.fields.values())
    return found


@dataclass(frozen=True, slots=True, eq=False)
class TransformerInTraining:
    """A transformer as a victim; on a GPU a copy in bf16 answers, which `refresh` brings up to date."""

    network: Any
    victim: Victim
    half: Any = None

    @classmethod
    def of(
        cls, network: Any, tokenizer: Any, *, most: int, labels: Sequence[str], separator: int | None
    ) -> TransformerInTraining | None:
        """Open the transformer as a victim; None where edits cannot be spliced into its tokens."""
        from malaprop.models.victims.hf import wrap_transformers

        made = wrap_transformers(network, tokenizer, limit=most, name=NAME)
        if not isinstance(made, TokenVictim):
            return None
        made = replace(made, scorer=None, label_names=tuple(labels), lanes=1)
        if torch.device(made.device).type != "cuda":
            return cls(network, made)
        half = deepcopy(network).to(torch.bfloat16).eval()
        fast = Plain(
            forward=make_forward(half, separator=separator), masks=made.masks, pad=made.pad, bounds=made.bounds
        )
        return cls(network, replace(made, scorer=fast, precision="bf16", rounding=ROUNDING["bf16"]), half)

    def refresh(self) -> None:
        """Copy the current weights to the bf16 copy."""
        if self.half is not None:
            with torch.no_grad():
                torch._foreach_copy_(list(self.half.parameters()), list(self.network.parameters()))


class AttackOrder(NamedTuple):
    """Texts to attack; `turn` chooses among the attacks."""

    examples: Sequence[Example]
    turn: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyInTraining:
    """Builds a copy of the transformer in another process; `weights` is memory that all processes share."""

    kind: type
    config: Any
    tokenizer: Any
    most: int
    labels: tuple[str, ...]
    separator: int | None
    attacks: tuple[Attack, ...]
    device: str
    processes: int
    weights: Tensor

    def __call__(self) -> Callable[[AttackOrder], Found]:
        if self.device.startswith("cuda"):
            avoid_cudnn_attention()
            share_gpu(max(2 * self.processes, read_parts()))  # half of the GPU's memory is for the training
        with quietly():
            network = self.kind(self.config).to(self.device).eval()
        copy = TransformerInTraining.of(
            network, self.tokenizer, most=self.most, labels=self.labels, separator=self.separator
        )
        assert copy is not None, "who asks for processes has seen that edits are spliced"

        def attack(order: AttackOrder) -> Found:
            copy_flat(self.weights, network, into=True)
            copy.refresh()
            wanted = self.attacks[order.turn % len(self.attacks)]
            return attack_texts(wanted, copy.victim, order.examples, order.seed)

        return attack


@dataclass(frozen=True, slots=True, eq=False)
class AttackProcesses:
    """Processes that attack texts on the current weights; outcomes do not depend on how texts are divided."""

    network: nn.Module
    weights: Tensor
    helpers: Helpers

    @classmethod
    def start(cls, job: FineTuning, labels: Sequence[str], attacks: Sequence[Attack]) -> AttackProcesses | None:
        """Start the processes that `attack_in` wants; None where it wants fewer than two."""
        wanted = _wanted.get()
        if wanted is None or wanted.many < 2:
            return None
        network, device = job.network, next(job.network.parameters()).device
        many, kind = sum(one.numel() for one in network.parameters()), torch.float32
        weights = torch.empty(many, dtype=torch.bfloat16 if device.type == "cuda" else kind)
        weights.share_memory_()  # type: ignore[no-untyped-call]
        make = CopyInTraining(
            kind=type(network), config=network.config, tokenizer=job.tokenizer, most=job.most, labels=tuple(labels),
            separator=getattr(job.model, "separator", None), attacks=tuple(attacks), device=str(device),
            processes=wanted.many, weights=weights,
        )  # fmt: skip
        made = cls(network, weights, Helpers(wanted.many, make))
        wanted.stack.callback(made.helpers.close)
        return made

    def attack(self, examples: Sequence[Example], turn: int, seed: int) -> Found:
        """Divide the texts among the processes and return the adversarial texts of all, by id."""
        copy_flat(self.weights, self.network, into=False)
        many = min(len(self.helpers), len(examples))
        found = self.helpers.ask([AttackOrder(examples[at::many], turn, seed) for at in range(many)])
        return {name: text for part in found for name, text in part.items()}


@torch.no_grad()
def copy_flat(flat: Tensor, network: nn.Module, *, into: bool) -> None:
    """Copy a vector of all weights into a network, or the network's weights into the vector."""
    begin = 0
    for parameter in network.parameters():
        part = flat[begin : begin + parameter.numel()].view_as(parameter)
        if into:
            parameter.copy_(part)
        else:
            part.copy_(parameter)
        begin += parameter.numel()
