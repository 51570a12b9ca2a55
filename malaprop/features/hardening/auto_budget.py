"""The time budget of `harden auto`: its clock, how long epochs and trials would take, and which methods fit."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from time import monotonic, perf_counter, process_time, time
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from malaprop.core.errors import LimitReached, MalapropError
from malaprop.frame.records.autoharden import FEW, NONE

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.example import Example
    from malaprop.core.victim import Victim
    from malaprop.frame.study.training_methods import Hardening
    from malaprop.training.splits import Splits
    from malaprop.zoo.train import TrainingInput, TrainingJob
    from malaprop.zoo.training import Hooks


WARM = 2  # steps before the clock starts, which load and compile things once


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochTime:
    """Seconds of one step, on the clock and of the processor, and how many steps an epoch of these texts has."""

    step: float
    steps: int
    processor: float  # processor time of this process, which depends less on other processes

    @property
    def seconds(self) -> float:
        return self.step * self.steps


class _Enough(Exception):  # noqa: N818 - nothing is wrong: it ends a training that was only timed
    """Ends a training when enough steps are timed."""


class _Stopwatch:
    """A hook after each step that notes the time at the steps `at`, and ends the training after the last of them.

    `marks` has for each of these the time on the clock and that of the processor.
    """

    def __init__(self, at: Sequence[int], after: Callable[..., None] | None) -> None:
        self.at, self.after, self.step = at, after, 0
        self.marks = list[tuple[float, float]]()

    def __call__(self, model: Any, batch: Any) -> None:
        if self.after is not None:
            self.after(model, batch)
        self.step += 1
        if self.step in self.at:
            _wait(model)
            self.marks.append((perf_counter(), process_time()))
        if self.step == self.at[-1]:
            raise _Enough


def _wait(model: Any) -> None:
    """Wait until a GPU has done its work."""
    import torch

    if next(model.parameters()).device.type == "cuda":
        torch.cuda.synchronize()


def time_epoch(
    name: str,
    data: Splits,
    hardening: Hardening | None = None,
    *,
    given: TrainingInput | None = None,
    seed: int = 0,
    device: str = "cpu",
    steps: int = 6,
    again: bool = False,
) -> EpochTime:
    """Time a few steps of the training that `train_named` would do; the same seed takes the same batches.

    `again` times a second pass over the same texts, as in every epoch but the first, without what a method computes
    once for each text. For a method that works in every so many steps, the timed steps include a whole round, which is
    shortened where they are fewer.
    """
    from malaprop.frame.study.training_tasks import find_named
    from malaprop.zoo.train import InTheLoop, TrainingInput, train
    from malaprop.zoo.training import Hooks

    defence = None if hardening is None else hardening.defence
    named, watches = find_named(name, data, given or TrainingInput(), seed, hardening), list[_Stopwatch]()
    a_pass = list[int]()
    size = find_batch(named.spec, named.given, len(named.data.train))
    whole, data = named.data.train, named.data
    if again:
        data = data._replace(train=whole[: steps * size], held_out=named.data.held_out[:1])  # read between passes
        steps = math.ceil(len(data.train) / size)
    if defence is not None and hasattr(defence, "within"):
        defence = defence.within(steps)
    at = (steps, 2 * steps) if again else (WARM, WARM + steps)

    def hook(job: TrainingJob) -> Hooks:
        own = defence.hooks(job, data) if defence is not None else Hooks()
        watches.append(_Stopwatch(at, own.stepped))
        a_pass.append(len(job.parts[0].labels))
        return replace(own, stepped=watches[0])

    unending = {"epochs": at[-1], "patience": at[-1], "batch": size}
    with TemporaryDirectory(prefix="malaprop-") as room, suppress(_Enough):
        train(
            named.spec, data, Path(room) / "timed", seed=named.seed, device=device, quiet=True,
            given=replace(named.given, settings={**(named.given.settings or {}), **unending}),
            added=InTheLoop(hooks=hook),
        )  # fmt: skip
    (began, busy), (ended, idle) = watches[0].marks
    return EpochTime(
        step=(ended - began) / steps, processor=(idle - busy) / steps,
        steps=math.ceil((len(whole) if again else a_pass[0]) / size),
    )  # fmt: skip


def find_batch(spec: Any, given: TrainingInput, rows: int) -> int:
    """Return how many texts a step has."""
    from malaprop.zoo.train import change_training, find_training

    return change_training(find_training(spec, given.start, rows), given.settings or {}).batch


T = TypeVar("T")
LEAST = 20  # texts: on fewer no two methods can be told apart
_AGAIN = 5.0  # seconds until the alarm rings once more, where a destructor has swallowed the first
_SOON = 0.05  # ... and where it came in the middle of an import
_IMPORT = "<frozen importlib._bootstrap>"
_SHARE = 0.1  # of the time that is left, for texts after the first that are attacked to time attacks
_GROUPS = (1, 2, 4, 8, 16, 32)  # texts that are attacked to time attacks; a GPU needs many to be quick
_ASKED = 16  # texts whose answers are timed


class OutOfTime(BaseException):
    """The time for some work is over. No `Exception`: of these the engine makes outcomes of single texts."""


@contextmanager
def cut_at(end: float) -> Iterator[None]:
    """Raise `OutOfTime` in the context's body when the clock reaches `end`, a time of `time()`.

    It is raised by a signal, so it reaches a victim that waits. A running import ends first, for a half-imported module
    would stay. Outside the main thread, or where the system has no such timer, only work that would begin too late is
    refused.
    """
    left = end - time()
    if left <= 0:
        raise OutOfTime
    if current_thread() is not main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(_number: int, frame: FrameType | None) -> None:
        if _imports(frame):
            signal.setitimer(signal.ITIMER_REAL, _SOON, _AGAIN)
            return
        raise OutOfTime

    began, handler = monotonic(), signal.signal(signal.SIGALRM, ring)
    before, every = signal.setitimer(signal.ITIMER_REAL, left, _AGAIN)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:  # once more, for the alarm may ring just before it is turned off
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if before:  # somebody else's alarm goes on
            signal.setitimer(signal.ITIMER_REAL, max(0.001, before - (monotonic() - began)), every)


def _imports(frame: FrameType | None) -> bool:
    """Return whether a module is being imported, in this frame or one that called it."""
    while frame is not None and frame.f_code.co_filename != _IMPORT:
        frame = frame.f_back
    return frame is not None


def do_by(end: float, budget: str, work: Callable[[], T]) -> T:
    """Return the result of the work, or end the run if it is not done by `end`."""
    try:
        with cut_at(end):
            return work()
    except OutOfTime:
        raise LimitReached(f"--budget {budget} is used up") from None


def cut_pieces(pieces: Iterator[T], end: float, budget: str) -> Iterator[T]:
    """Yield pieces until `end`. The alarm is set only while the next one is made: what writes them is not cut."""
    while found := do_by(end, budget, lambda: [*islice(pieces, 1)]):
        yield from found


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPace:
    """Seconds of an epoch of training on this machine by method; `guessed` are methods that were not timed."""

    epochs: Mapping[str, float]
    guessed: tuple[str, ...] = ()


def time_methods(
    measure: Callable[[str], float], methods: Sequence[str], known: Mapping[str, float], end: float
) -> TrainingPace:
    """Time an epoch of each method until `end`; take those left over to be as slow as the slowest.

    A method that cannot be timed costs nothing: its trial ends at once, with the reason.
    """
    found, plain = dict(known), known[NONE]
    for method in methods:
        if method in found:
            continue
        with suppress(OutOfTime), cut_at(end):
            try:
                found[method] = measure(method)
            except MalapropError:
                found[method] = 0.0
    rest = tuple(method for method in methods if method not in found)
    slowest = max((found[method] for method in methods if method in found), default=plain)
    return TrainingPace(epochs={**found, **dict.fromkeys(rest, max(slowest, plain))}, guessed=rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackPace:
    """Seconds of attacks on this machine, and how many texts are attacked in this folder.

    `attack` is of one text under all attacks, for which `queries` are asked; `answers` has the seconds of one answer of
    the victim alone (none) and of the defences around it.
    """

    attack: float
    queries: float
    answers: Mapping[str, float]
    texts: int = 0
    plan: str = ""  # which methods the budget is enough for, in words
    guessed: tuple[str, ...] = ()  # defences that were not timed

    def of(self, method: str, draws: int) -> float:
        """Return the seconds to attack one text behind a method, and again with so many draws an answer if any."""
        plain, own = self.answers[NONE], self.answers.get(method, self.answers[NONE])
        active = self.attack + self.queries * max(0.0, own - plain)
        return active + (self.attack + self.queries * max(0.0, draws * own - plain) if draws else 0.0)


def time_attacks(
    attack: Callable[[Attack, Sequence[Example]], int], suite: Sequence[Attack], examples: Sequence[Example],
    left: float, end: float,
) -> tuple[float, float]:  # fmt: skip
    """Return seconds and queries for one text under all attacks, measured on the last of a few growing groups of texts.

    `attack` gives the queries of an attack on some texts. The first text also pays for what attacks load once. Groups
    after the second take no more than a share of the `left` seconds. Raises OutOfTime where not even the first text is
    done by `end`.
    """
    began, found, done, last = time(), (0.0, 0.0), 0, 0.0
    for size in _GROUPS:
        some = examples[done : done + size]
        spent = time() - began
        if not some or (done > 1 and spent + 2 * last > _SHARE * left):
            break
        clock = perf_counter()
        try:
            with cut_at(end):
                queries = sum(attack(one, some) for one in suite)
        except OutOfTime:
            if not done:
                raise
            break
        last = perf_counter() - clock
        found, done = (last / len(some), queries / len(some)), done + len(some)
    return found


def time_answers(victim: Victim, examples: Sequence[Example]) -> float:
    """Return the seconds for one answer in a batch of a few texts, without what is loaded once."""
    texts = [tuple(example.fields.values()) for example in examples[:_ASKED]]
    clock = perf_counter()
    victim.predict(texts[:1])
    if (alone := perf_counter() - clock) > 1:
        return alone
    clock = perf_counter()
    victim.predict(texts)
    return (perf_counter() - clock) / len(texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCosts:
    """Seconds of each trial that is left to do: `short` of the first stage, `full` of the second."""

    full: Mapping[str, float]
    short: Mapping[str, float] = field(default_factory=dict)  # empty where nothing is trained

    @property
    def all(self) -> float:
        """Return the seconds for all methods: each shortly, and the slowest few in full."""
        if not self.short:
            return sum(self.full.values())
        return sum(self.short.values()) + sum(sorted(self.full.values())[-FEW:])

    def fit(self, left: float) -> TrialPlan:
        """Choose the plan that tries most methods: in full at once, or shortly and then at least one in full."""
        direct = list[str]()
        for method in sorted(self.full, key=self.full.__getitem__):
            if sum(self.full[one] for one in (*direct, method)) <= left:
                direct.append(method)
        order = sorted(self.short, key=self.short.__getitem__)
        for many in range(len(order), 0, -1):
            some, more = order[:many], many > len(direct) or many == len(order)
            if more and sum(self.short[m] for m in some) + max(self.full[m] for m in some) <= left:
                return TrialPlan(methods=tuple(m for m in self.full if m in some), staged=True)
        return TrialPlan(methods=tuple(m for m in self.full if m in direct), staged=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """The methods for which the time is enough; not `staged`: each of them is tried in full at once."""

    methods: tuple[str, ...]
    staged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoPlan:
    """The plan of `harden auto` for the time that is left: its costs, and the trials that fit."""

    costs: TrialCosts
    plain: float  # seconds of the attacks on the plain model
    left: float

    @property
    def trials(self) -> TrialPlan:
        return self.costs.fit(self.left - self.plain)

    @property
    def all(self) -> float:
        """Return the seconds that all methods would take from now."""
        return self.plain + self.costs.all

    @property
    def one(self) -> float:
        """Return the seconds that the quickest method would take from now."""
        return self.plain + min(self.costs.full.values(), default=0.0)


def choose_texts(wanted: int, least: int, make: Callable[[int], AutoPlan]) -> int:
    """Return how many texts to attack: the number that leaves time for most methods, and of equal ones the largest."""
    sizes = [wanted]
    while sizes[-1] > least:
        sizes.append(max(least, sizes[-1] // 2))
    many, size = max((len(make(size).trials.methods), size) for size in sizes)
    return size if many else least
