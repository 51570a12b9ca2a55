"""A random search for the settings of a defence on validation texts; the test part is used once.

Mein et al. 2021, section 3.2: time-boxed, random over the space of settings. The paper does not give the objective of
a trial; here it is the mean of two accuracies on the validation part: on its texts, and on adversarial examples
generated from them against the plain victim.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.core.example import Example
from malaprop.core.score import winners
from malaprop.core.victim import Victim
from malaprop.features.hardening.search_space import SPACES, Asker, RandomTrial, Space, draw, narrow
from malaprop.features.hardening.tuning_record import TunedAccuracy, TuningTrial
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.defended import Defended
from malaprop.frame.runs.pregenerated import PregeneratedExamples

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
    from malaprop.features.hardening.search_space import RealRange, Whole

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
