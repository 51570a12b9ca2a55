"""A random search for the settings of a defence, on validation texts alone; the test part is looked at once.

Mein et al. 2021, section 3.2: time-boxed, random over the space of settings. What a trial is judged by, the paper
leaves open; here it is the mean of two accuracies on the validation part: on its texts, and on adversarial ones made of
them against the plain victim.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import DataError, MalapropError, RecordError, SettingError, VictimError, plain
from malaprop.core.example import Example
from malaprop.core.score import winners
from malaprop.core.victim import Victim
from malaprop.data.base import Dataset
from malaprop.data.base import load as read
from malaprop.data.matching import agree
from malaprop.defences.defended import Defended
from malaprop.defences.premade import Premade, from_outcomes
from malaprop.defences.space import SPACES, Asker, Plain, Space, drawn, narrowed
from malaprop.records.codec import decode, encode
from malaprop.records.lines import Lines
from malaprop.records.summary import Rate
from malaprop.records.tuning import TunedAccuracy, TuningRecord, TuningTest, TuningTrial

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.models.splits import Splits

SAMPLERS = ("random", "tpe", "plain")
TRIALS = "trials.jsonl"
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # what and how many: shows what is done
Make = Callable[[Mapping[str, Any], int], Victim]  # settings and the number of the trial to the defended victim


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Search:
    """One search in one folder. `make` gives the victim behind the defence with some settings."""

    defence: str
    victim: Victim
    data: str
    attack: Attack
    make: Make
    folder: Path
    n: int = 200
    seed: int = 0
    sampler: str = "random"
    model: str = ""  # fact: what is trained in every trial, and how
    fixed: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str | None] = field(default_factory=dict)
    labels: tuple[str, ...] = ()  # the victim's labels in its order, as the data calls them; empty: matched by name
    say: Callable[[str], None] = print
    bar: Bar = lambda what, total: nullcontext(lambda more: None)  # noqa: ARG005

    def __post_init__(self) -> None:
        if self.sampler not in SAMPLERS:
            raise SettingError(f"--sampler must be {', '.join(SAMPLERS)}, got {self.sampler!r}")
        narrowed(SPACES[self.defence], self.fixed)
        _check_fixed(self.defence, self.fixed)
        if self.sampler != "plain":
            _optuna()

    def run(self, *, seconds: float, trials: int) -> TuningRecord:
        """Goes on until the time is spent or there are so many trials in all; a trial that began is finished."""
        self.folder.mkdir(parents=True, exist_ok=True)
        before = self.check()
        if before is not None and before.test is not None:
            raise RecordError(
                f"{self.folder} has looked at its test part, which ends a search; begin another one with another --out"
            )
        began = time.monotonic()
        space = narrowed(SPACES[self.defence], self.fixed)
        with Lines(self.folder / TRIALS, what="trials") as lines:
            done = list(lines.read(partial(decode, TuningTrial)))
            lines.cut()
            texts, premade = self._judges("validation")
            record = before or self._begun(judged(self.victim, texts, premade))
            record = self._note(record, done)
            with self.bar("trials", trials) as move:
                move(len(done))
                while len(done) < trials and (time.monotonic() - began < seconds or not done):
                    done.append(self._trial(space, done, texts, premade))
                    lines.append(json.dumps(encode(done[-1]), ensure_ascii=False))
                    record = self._note(record, done)
                    move(1)
                    self.say(_line(done[-1], trials))
        return record

    def _note(self, record: TuningRecord, done: Sequence[TuningTrial]) -> TuningRecord:
        """The record with these trials, on disk: a search that is killed can be reported."""
        record = replace(record, trials=tuple(done))
        record.write(self.folder)
        return record

    def look(self, record: TuningRecord) -> TuningRecord:
        """Judges the best trial and the plain victim on the test part: once, and that ends the search."""
        best = record.best
        if best is None:
            raise RecordError(f"no trial in {self.folder} has succeeded, so there is nothing to put to the test part")
        texts, premade = self._judges("test")
        made = self.make(best.settings, best.number)
        test = TuningTest(
            plain=judged(self.victim, texts, premade), best=judged(made, texts, premade), number=best.number
        )
        record = replace(record, test=test)
        record.write(self.folder)
        return record

    def check(self) -> TuningRecord | None:
        """What the folder holds of this very search; of another one it is refused."""
        before = TuningRecord.read(self.folder)
        told = {**self._told(), "seed": self.seed}
        if before is not None and not before.model:
            del told["model"]  # of a record that does not tell
        if before is not None and (odd := [name for name in told if getattr(before, name) != told[name]]):
            raise RecordError(
                f"{self.folder} holds a search with {odd[0]} {getattr(before, odd[0])!r}, not {told[odd[0]]!r}; "
                "give another --out"
            )
        return before

    def _begun(self, plain: TunedAccuracy) -> TuningRecord:
        told = self._told()
        return TuningRecord(
            defence=told["defence"],
            victim=told["victim"],
            data=told["data"],
            recipe=told["recipe"],
            sampler=told["sampler"],
            model=told["model"],
            seed=self.seed,
            plain=plain,
        )

    def _told(self) -> dict[str, str]:
        fixed = "".join(f":{name}={value}" for name, value in self.fixed.items())
        return {
            "defence": self.defence + fixed,
            "victim": self.victim.name,
            "data": self.data,
            "recipe": self.attack.name,
            "sampler": self.sampler,
            "model": self.model,
        }

    def _judges(self, part: str) -> tuple[Sequence[Example], Premade]:
        """Texts of a part, and adversarial ones made of them against the plain victim."""
        from malaprop.models.splits import splits
        from malaprop.runs.folder import run_to_folder

        text, label = self.columns.get("text"), self.columns.get("label")
        found: Splits = splits(partial(read, text=text, label=label), self.data)
        rows = found.held_out if part == "validation" else found.test
        fields = tuple(rows[0].fields)
        name = f"{found.name}:{part}"
        whole = Dataset(name=name, examples=tuple(rows), labels=found.labels, fields=fields)
        whole = whole.ordered_as(self.labels) if self.labels else whole
        data = agree(whole.sample(self.n, self.seed), self.victim)
        folder = self.folder / f"adversarial-{part}"
        resume = (folder / "run.toml").is_file()
        self.say(f"{self.attack.name} against {self.victim.name} on {len(data)} {part} texts")
        with self.bar(f"{self.attack.name} on {self.victim.name}", len(data)) as move:
            outcomes = run_to_folder(
                self.attack, self.victim, data, folder, seed=self.seed, resume=resume,
                seen=lambda outcome: move(1),  # noqa: ARG005
            )  # fmt: skip
        if all(outcome.status == "error" for outcome in outcomes):
            raise VictimError(f"all {len(outcomes)} {part} texts ended in an error: {outcomes[0].reason}; see {folder}")
        premade = from_outcomes(outcomes, f"{self.attack.name} against {self.victim.name}")
        if not premade.examples:
            raise DataError(
                f"{self.attack.name} broke none of {len(data)} {part} texts, so there is nothing to defend against; "
                "take more with --n or a stronger --attack"
            )
        return data.examples, premade

    def _trial(self, space: Space, done: list[TuningTrial], texts: Sequence[Example], premade: Premade) -> TuningTrial:
        number, began = len(done), time.monotonic()
        settings = drawn(space, self.fixed, self._asker(space, done))
        try:
            found = judged(self.make(settings, number), texts, premade)
        except MalapropError as error:
            spent = time.monotonic() - began
            return TuningTrial(number=number, settings=settings, judged=None, seconds=spent, reason=plain(error))
        return TuningTrial(number=number, settings=settings, judged=found, seconds=round(time.monotonic() - began, 3))

    def _asker(self, space: Space, done: list[TuningTrial]) -> Asker:
        """What draws trial n: the same whether or not the search was stopped on the way."""
        if self.sampler == "plain":
            return Plain(self.seed, len(done))
        optuna = _optuna()
        from malaprop.core.seeds import generator

        seed = int(generator(self.seed, "trial", str(len(done))).integers(1 << 31))
        kind = optuna.samplers.RandomSampler if self.sampler == "random" else optuna.samplers.TPESampler
        study = optuna.create_study(direction="maximize", sampler=kind(seed=seed))
        if self.sampler == "tpe":
            study.add_trials([_told(optuna, space, one) for one in done if one.judged is not None])
        asker: Asker = study.ask()
        return asker


def _check_fixed(defence: str, fixed: Mapping[str, Any]) -> None:
    """Refuses a value that would fail in every trial."""
    from malaprop.core.settings import call
    from malaprop.defences import DEFENCES
    from malaprop.defences.wrap import method
    from malaprop.runs.victims import WRAPPERS

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


def _told(optuna: Any, space: Space, one: TuningTrial) -> Any:
    """A finished trial as optuna keeps it, for a sampler that learns from them."""
    from malaprop.defences.space import Real, Whole

    kinds = optuna.distributions
    known: dict[str, Any] = {}
    for name, part in space.items():
        if name not in one.settings:
            continue
        if isinstance(part, Whole):
            known[name] = kinds.IntDistribution(part.low, part.high)
        elif isinstance(part, Real):
            known[name] = kinds.FloatDistribution(part.low, part.high, log=part.log)
        else:
            known[name] = kinds.CategoricalDistribution(part.choices)
    assert one.judged is not None
    given = {name: one.settings[name] for name in known}
    return optuna.trial.create_trial(params=given, distributions=known, value=one.judged.value)


def judged(victim: Victim, texts: Sequence[Example], premade: Premade) -> TunedAccuracy:
    """Both accuracies of a victim, by its plain road."""
    answers = winners(victim.predict([tuple(example.fields.values()) for example in texts]))
    right = sum(int(a) == e.label for a, e in zip(answers.tolist(), texts, strict=True))
    return TunedAccuracy(clean=Rate(right, len(texts)), adversarial=premade.accuracy(victim))


def _line(one: TuningTrial, trials: int) -> str:
    settings = " ".join(f"{name}={value}" for name, value in one.settings.items())
    if one.judged is None:
        return f"trial {one.number + 1} of {trials}: {settings}: {one.reason}"
    both = one.judged
    return f"trial {one.number + 1} of {trials}: {settings}: clean {both.clean}, adversarial {both.adversarial}"


def around(defence: str, victim: Victim) -> Make:
    """fuse and five, which wrap the victim."""
    from malaprop.defences.wrap import method

    return lambda settings, _: Defended(victim=victim, method=method(defence, settings))
