"""A random search for the settings of a defence: its space, and trials on validation texts; the test part is used once.

Mein et al. 2021, section 3.2: time-boxed, random over the space of settings. The paper does not give the objective of
a trial; here it is the mean of two accuracies on the validation part: on its texts, and on adversarial examples
generated from them against the plain victim.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from malaprop.core.catalogue import unknown
from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.core.example import Example
from malaprop.core.score import winners
from malaprop.core.seeds import generator
from malaprop.core.victim import Victim
from malaprop.features.hardening.tuning_record import TunedAccuracy, TuningTrial
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.defended import Defended
from malaprop.frame.runs.pregenerated import PregeneratedExamples


class Asker(Protocol):
    """The part of an optuna trial that draws values."""

    def suggest_int(self, name: str, low: int, high: int) -> int: ...

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...

    def suggest_categorical(self, name: str, choices: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number, both ends included."""

    low: int
    high: int

    def ask(self, trial: Asker, name: str) -> int:
        return trial.suggest_int(name, self.low, self.high)


@dataclass(frozen=True, slots=True)
class RealRange:
    low: float
    high: float
    log: bool = False

    def ask(self, trial: Asker, name: str) -> float:
        return float(f"{trial.suggest_float(name, self.low, self.high, log=self.log):.4g}")


@dataclass(frozen=True, slots=True)
class OneOf:
    choices: tuple[Any, ...]

    def ask(self, trial: Asker, name: str) -> Any:
        return trial.suggest_categorical(name, self.choices)


Space = Mapping[str, Whole | RealRange | OneOf]
_VOTE = OneOf(("majority", "logits", "probabilities"))

# The ranges include what the paper's own search found: 1 to 23 words, noise of 2.3 and 8.14, 4 to 14 samples.
SPACES: Mapping[str, Space] = {
    "five": {"words": Whole(1, 10), "noise": RealRange(0.02, 10.0, log=True), "samples": Whole(4, 16), "vote": _VOTE},
    "fuse": {
        "words": Whole(1, 10),
        "candidates": Whole(3, 30),
        "samples": Whole(4, 16),
        "vote": _VOTE,
        "part": OneOf(("same", "any")),
        "similarity": OneOf(("off", "rank", "filter")),
        "multiplier": Whole(1, 4),
        "floor": RealRange(0.0, 0.6),
    },
    "fact": {
        "words": Whole(1, 25),
        "candidates": Whole(3, 30),
        "alternatives": Whole(1, 6),
        "part": OneOf(("same", "any")),
    },
}
_IDLE = {"off": ("multiplier", "floor"), "rank": ("floor",)}  # settings that a kind of similarity does not read


def narrow(space: Space, fixed: Mapping[str, Any]) -> Space:
    """Return the space without the fixed settings; raise on a fixed setting that the space does not have."""
    for name in fixed:
        if name not in space:
            raise unknown("setting to fix", name, space)
    left = {name: part for name, part in space.items() if name not in fixed}
    if not left:
        raise SettingError("every setting is fixed, so there is nothing to search; leave out a --fix")
    return left


def draw(space: Space, fixed: Mapping[str, Any], trial: Asker) -> dict[str, Any]:
    """Draw one set of settings, without those that the others make meaningless."""
    found = {name: part.ask(trial, name) for name, part in space.items()} | dict(fixed)
    idle = _IDLE.get(str(found.get("similarity", "")), ())
    return {name: value for name, value in found.items() if name not in idle}


class RandomTrial:
    """Draws values as an optuna trial does, without optuna."""

    def __init__(self, seed: int, number: int) -> None:
        self._rng = generator(seed, "trial", str(number))

    def suggest_int(self, name: str, low: int, high: int) -> int:  # noqa: ARG002
        return int(self._rng.integers(low, high + 1))

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:  # noqa: ARG002
        if log:
            return float(np.exp(self._rng.uniform(np.log(low), np.log(high))))
        return float(self._rng.uniform(low, high))

    def suggest_categorical(self, name: str, choices: Any) -> Any:  # noqa: ARG002
        return choices[int(self._rng.integers(len(choices)))]


SAMPLERS = ("random", "tpe", "plain")
Make = Callable[[Mapping[str, Any], int], Victim]  # settings and the number of the trial to the defended victim


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSearch:
    """A search over the settings of a defence: how it draws them, and which are `fixed`."""

    defence: str
    seed: int = 0
    sampler: str = "random"
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sampler not in SAMPLERS:
            raise SettingError(f"--sampler must be {', '.join(SAMPLERS)}, got {self.sampler!r}")
        assert self.space
        _check_fixed(self.defence, self.fixed)
        if self.sampler != "plain":
            _optuna()

    @property
    def space(self) -> Space:
        return narrow(SPACES[self.defence], self.fixed)

    def run(
        self, make: Make, judge: Callable[[Victim], TunedAccuracy], done: Sequence[TuningTrial], *, seconds: float,
        trials: int,
    ) -> Iterator[TuningTrial]:  # fmt: skip
        """Yield trials until the time is spent or there are so many, finished ones of earlier calls included.

        A trial that began is finished, and there is at least one. `make` gives the victim behind the defence.
        """
        began, known = time.monotonic(), list(done)
        while len(known) < trials and (time.monotonic() - began < seconds or not known):
            known.append(self._try(make, judge, known))
            yield known[-1]

    def _try(self, make: Make, judge: Callable[[Victim], TunedAccuracy], done: Sequence[TuningTrial]) -> TuningTrial:
        number, began = len(done), time.monotonic()
        settings = draw(self.space, self.fixed, self._asker(done))
        found, reason = None, ""
        try:
            found = judge(make(settings, number))
        except MalapropError as error:
            reason = plain(error)
        seconds = round(time.monotonic() - began, 3)
        return TuningTrial(number=number, settings=settings, judged=found, seconds=seconds, reason=reason)

    def _asker(self, done: Sequence[TuningTrial]) -> Asker:
        """Return the source of settings for the next trial, the same whether or not the search was interrupted."""
        if self.sampler == "plain":
            return RandomTrial(self.seed, len(done))
        optuna = _optuna()
        from malaprop.core.seeds import generator

        seed = int(generator(self.seed, "trial", str(len(done))).integers(1 << 31))
        kind = optuna.samplers.RandomSampler if self.sampler == "random" else optuna.samplers.TPESampler
        study = optuna.create_study(direction="maximize", sampler=kind(seed=seed))
        if self.sampler == "tpe":
            study.add_trials([_as_optuna(optuna, self.space, one) for one in done if one.judged is not None])
        asker: Asker = study.ask()
        return asker


def _check_fixed(defence: str, fixed: Mapping[str, Any]) -> None:
    """Raise SettingError on a fixed value that would fail in every trial."""
    from malaprop.core.settings import call
    from malaprop.frame.runs.victims import WRAPPERS
    from malaprop.frame.runs.wrap import method
    from malaprop.frame.study.training_methods import DEFENCES

    if defence in WRAPPERS:
        method(defence, fixed)
    else:
        call(DEFENCES[defence], fixed, f"tune {defence}")


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise SettingError(
            "--sampler random and tpe need optuna; install it with: pip install 'malaprop[tuning]', or take plain"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _as_optuna(optuna: Any, space: Space, one: TuningTrial) -> Any:
    """Return a finished trial in optuna's form, for a sampler that learns from them."""

    kinds = optuna.distributions
    known: dict[str, Any] = {}
    for name, part in space.items():
        if name not in one.settings:
            continue
        if isinstance(part, Whole):
            known[name] = kinds.IntDistribution(part.low, part.high)
        elif isinstance(part, RealRange):
            known[name] = kinds.FloatDistribution(part.low, part.high, log=part.log)
        else:
            known[name] = kinds.CategoricalDistribution(part.choices)
    assert one.judged is not None
    given = {name: one.settings[name] for name in known}
    return optuna.trial.create_trial(params=given, distributions=known, value=one.judged.value)


def judge(victim: Victim, texts: Sequence[Example], premade: PregeneratedExamples) -> TunedAccuracy:
    """Measure both accuracies of a victim with `predict`."""
    answers = winners(victim.predict([tuple(example.fields.values()) for example in texts]))
    right = sum(int(a) == e.label for a, e in zip(answers.tolist(), texts, strict=True))
    return TunedAccuracy(clean=Rate(right, len(texts)), adversarial=premade.accuracy(victim))


def around(defence: str, victim: Victim) -> Make:
    """Return a maker of victims behind a defence that wraps one: fuse or five."""
    from malaprop.frame.runs.wrap import method

    return lambda settings, _: Defended(victim=victim, method=method(defence, settings))
