"""The work of a study in pieces that any process can do: look at victims, attack them, ask them about texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from malaprop.attacks.attack import Attack
from malaprop.core.errors import MalapropError, VictimError, plain
from malaprop.core.example import Example
from malaprop.core.score import winners
from malaprop.core.text import Ints
from malaprop.core.victim import About, Fields, Victim
from malaprop.records.outcome import Outcome
from malaprop.transfer.shelf import Ref, Shelf
from malaprop.transfer.together import Source, attack_together

if TYPE_CHECKING:
    from malaprop.models.victims.tokens import TokenVictim

_EVERY = 0.25  # seconds after which finished outcomes are handed over
_CHUNK = 8192  # texts asked about at once
_SAMPLE = 2048  # texts over which the plain forward is timed


class Task(Protocol):
    """`parts` names what has to be loaded: who holds it already is asked first."""

    @property
    def parts(self) -> tuple[str, ...]: ...

    def pieces(self, shelf: Shelf, shared: Any) -> Iterator[Any]:
        """Does the work; `shared` is what all tasks of one kind are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What each victim says of itself."""

    refs: tuple[Ref, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part for ref in self.refs for part in ref.parts)

    def pieces(self, shelf: Shelf, shared: Fields) -> Iterator[About]:
        """`shared` is a text: a function's labels are not known before it has answered once."""
        for ref in self.refs:
            victim = _loaded(shelf, ref)
            found = About.of(victim)
            yield found if found.labels is not None else replace(found, labels=_counted(victim, shared))


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """Attacks on several victims side by side.

    The examples are shared; `left` numbers those that are still to be attacked on each victim, and `turns` gives the
    victim's number for each label of the data, None where they are the same.
    """

    refs: tuple[Ref, ...]
    left: tuple[tuple[int, ...], ...]
    turns: tuple[tuple[int, ...] | None, ...]
    attack: Attack
    seed: int
    width: int

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part for ref in self.refs for part in ref.parts)

    def pieces(self, shelf: Shelf, shared: Sequence[Example]) -> Iterator[tuple[int, list[Outcome]] | float]:
        """(number of the victim, its outcomes) as they come, and at the end the seconds it took."""
        sources = []
        for ref, left, turn in zip(self.refs, self.left, self.turns, strict=True):
            victim = _loaded(shelf, ref)
            sources.append(Source(victim, [turned(shared[i], turn) for i in left]))
        lanes = 2 if shelf.place.device.startswith("cuda") else 1
        ready: dict[int, list[Outcome]] = {}
        began = sent = perf_counter()
        for number, outcome in attack_together(self.attack, sources, seed=self.seed, width=self.width, lanes=lanes):
            ready.setdefault(number, []).append(outcome)
            if perf_counter() - sent > _EVERY:
                yield from ready.items()
                ready, sent = {}, perf_counter()
        yield from ready.items()
        yield perf_counter() - began


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The labels a victim gives, -1 where it could not answer; seconds in all, and plain forwards a second."""

    labels: Ints
    seconds: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Score:
    """One victim's label for some of the shared texts."""

    ref: Ref
    wanted: Ints

    @property
    def parts(self) -> tuple[str, ...]:
        return self.ref.parts

    def pieces(self, shelf: Shelf, shared: Sequence[Fields]) -> Iterator[Scored]:
        victim = _loaded(shelf, self.ref)
        texts = [shared[i] for i in self.wanted.tolist()]
        began = perf_counter()
        parts = [labels_of(victim, texts[at : at + _CHUNK]) for at in range(0, len(texts), _CHUNK)]
        seconds = perf_counter() - began
        labels = np.concatenate(parts) if parts else np.empty(0, np.int64)
        yield Scored(labels, seconds, _rate(victim, texts[:_SAMPLE], len(texts) / max(seconds, 1e-9)))


def turned(example: Example, turn: Sequence[int] | None) -> Example:
    """The example with its label in a victim's own terms."""
    return example if turn is None else replace(example, label=turn[example.label])


def _counted(victim: Victim, text: Fields) -> int | None:
    """How many labels it scores; None where it cannot say, which the attack will find out."""
    try:
        return int(victim.predict([text]).shape[1])
    except Exception:  # noqa: BLE001 - a victim may raise anything
        return None


def _loaded(shelf: Shelf, ref: Ref) -> Victim:
    try:
        return shelf.victim(ref)
    except MalapropError as error:
        raise type(error)(f"{ref.name}: {plain(error)}") from None
    except Exception as error:
        raise VictimError(f"{ref.name} cannot be loaded: {plain(error)[:300]}") from error


def labels_of(victim: Victim, texts: Sequence[Fields]) -> Ints:
    """The label of each text by the victim's plain road; a text it fails on alone gets -1."""
    try:
        scores = victim.predict(texts)
        if scores.ndim != 2 or len(scores) != len(texts) or not np.isfinite(scores).all():
            raise VictimError(f"{victim.name} answered {len(texts)} texts with no score for each")
        return winners(scores)
    except Exception as error:
        if len(texts) == 1:
            return np.asarray([-1])
        if isinstance(error, MemoryError):
            raise
    half = len(texts) // 2
    return np.concatenate([labels_of(victim, texts[:half]), labels_of(victim, texts[half:])])


def _rate(victim: Victim, texts: Sequence[Fields], otherwise: float) -> float:
    """Plain forwards a second over texts that lie ready as tokens; what reads strings is taken as it came."""
    from malaprop.models.victims.tokens import TokenVictim

    if not isinstance(victim, TokenVictim) or len(texts) < 2:
        return otherwise
    took = min(_forward_seconds(victim, texts) for _ in range(2))
    return len(texts) / max(took, 1e-9)


def _forward_seconds(victim: TokenVictim, texts: Sequence[Fields]) -> float:
    import torch

    from malaprop.core.text import BREAK
    from malaprop.models.precision import full_precision
    from malaprop.models.scorers.plain import Plain
    from malaprop.models.splice import Splice

    rows = victim.encode_whole(texts) if victim.encode_whole else victim.cut([BREAK.join(t) for t in texts])
    work = Splice.of_rows(
        rows, limit=victim.limit, head=victim.head, tail=victim.tail, pad=victim.pad, device=victim.device
    )
    began = perf_counter()
    with torch.inference_mode(), full_precision(victim.device):
        Plain(forward=victim.forward, masks=victim.masks, pad=victim.pad).logits(work).sum().item()
    return perf_counter() - began
