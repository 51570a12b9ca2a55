"""malaprop certify: how many words of a text may change without a change of label, proved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.features.defending.certified_record import Challenge, TopCurve
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.shared_tasks import CorrectTexts, attack_share, find_correct_texts
from malaprop.frame.study.study import View

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.example import Example
    from malaprop.data.base import Examples
    from malaprop.features.defending.certified_record import CertifiedRecord
    from malaprop.features.defending.certify import Certifier
    from malaprop.features.defending.smooth import Noise
    from malaprop.frame.runs.defended import Method
    from malaprop.frame.study.study import Result
    from malaprop.frame.tasks.task import Inputs, Share, Task
    from malaprop.frame.tasks.worker_context import WorkerContext

_LINES = "certificates"  # the task that writes them, in the study's own folder
_ATTACK, _TOP, _TRIES = "attack", "top", "tries"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certify:
    """Prove, text by text, how many words may change before a smoothed victim changes its label.

    The victim is the model inside, best one that was trained with the same noise (malaprop harden ranmask).

    Examples:

      malaprop harden ranmask --model BERT --out models/ranmask

      malaprop certify --victim models/ranmask --defence ranmask --n 200 --samples 2000 --alpha 0.01

      malaprop certify --victim models/ranmask --defence ranmask:keep=0.1 --attack pwws --words 4 --tries 1000
    """

    command: ClassVar[str] = "certify"

    victim: Any = opt(repeat=True)
    defence: str = opt(
        "ranmask",
        "The defence to certify, such as ranmask. ranmask (any words replaced), randel (words replaced, added or "
        "deleted) or safer (synonyms), with settings after a colon: ranmask:keep=0.2, randel:delete=0.8, "
        "safer:sets=nearest.",
        repeat=True,
    )
    samples: int = opt(1000, "How many noisy copies a certificate counts.", min=1)
    select: int = opt(
        100, "How many noisy copies choose the label. Further ones, apart from those that are counted.", min=1
    )
    alpha: float = opt(0.05, "Significance level. The largest chance that a certificate is wrong.")
    attack: str = opt(
        "none",
        "A recipe that attacks the vote too. Accuracy under it is an upper bound, certificates give a lower one.",
        repeat=True,
    )
    words: int = opt(5, "The most words that --attack changes.", min=1)
    tries: int = opt(
        0,
        "Changed texts to test the certificates with. They lie inside the certificates and are voted on, to see "
        "whether any is wrong.",
        min=0,
    )
    width: int = width_option()
    texts: Selection = Selection()
    where: RunOptions = RunOptions()
    spending: BudgetOptions = BudgetOptions()
    saving: OutputOptions = OutputOptions()

    @property
    def certifier(self) -> Certifier:
        from malaprop.features.defending.certify import Certifier

        return Certifier(samples=self.samples, select=self.select, alpha=self.alpha, seed=self.texts.seed)

    @property
    def method(self) -> Method:
        from malaprop.frame.runs.wrap import parse, read_layer

        return read_layer(*parse(self.defence).layers[0])[0]

    @property
    def noise(self) -> Noise:
        from malaprop.features.defending.certify import noise_of_method

        noise = noise_of_method(self.method)
        assert noise is not None, "a defence without certificates is refused"
        return noise

    @property
    def limited(self) -> Attack:
        """Return the attack limited to `words` changed words, each within the certificate."""
        from malaprop.features.defending.challenge import limit_words
        from malaprop.frame.runs.make_attack import make_attack

        return limit_words(self.noise, make_attack(self.attack, {}), self.words, self.method.samples)

    def check(self) -> None:
        from malaprop.features.defending.defended_models import NOISY
        from malaprop.frame.runs.wrap import parse, read_layer

        assert self.certifier
        layers, inner = parse(self.defence)
        if len(layers) != 1 or inner or layers[0].name not in NOISY:
            raise SettingError(
                f"certificates are of {', '.join(NOISY[:-1])} and {NOISY[-1]}, with settings or without; got --defence "
                f"{self.defence}"
            )
        read_layer(*layers[0])  # raises on a wrong setting before a model is loaded
        assert self.attack == "none" or self.limited
        if self.texts.fields is not None:
            raise SettingError("certificates speak of all words of a text; leave out --fields")

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.outputs import JsonFile, RunFolder
        from malaprop.frame.tasks.task import Task

        given: dict[str, Any] = {"victims": {"victim": self.victim}, "holds": ("victim",), "vital": True}
        examined = JsonFile(CorrectTexts, again=True)
        yield Task(name="examined", work=self.examine, output=examined, reads=self.read, **given)
        lines = RunFolder(
            lines="malaprop.features.defending.certified_record:CERTIFICATES",
            error="malaprop.features.defending.certify_study:refuse_text",
            checks=True,
        )
        yield Task(
            name=_LINES, work=self.certify, output=lines, after=("examined",), items=self.choose, at=".", **given
        )
        if self.attack != "none":
            yield Task(
                name=_ATTACK, work=self.attack_vote, output=RunFolder(), after=("examined",), items=self.choose, **given
            )
            yield Task(name=_TOP, work=self.draw_top, output=JsonFile(TopCurve), after=(_LINES, _ATTACK), **given)
        if self.tries:
            challenge = JsonFile(Challenge)
            reads = self.read_agreed
            yield Task(
                name=_TRIES, work=self.challenge, output=challenge, after=("examined", _LINES), reads=reads, **given
            )

    def _examples(self) -> Examples:
        found = self.texts.examples([self.victim] if isinstance(self.victim, str) else [])
        names = next((tuple(example.fields) for example in found), ())
        if len(names) > 1:
            raise DataError(
                f"certificates are of single texts, and {found.name} has {len(names)} to an example "
                f"({', '.join(names)}); name one with --text-column"
            )
        return found

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        found = self._examples()
        if self.attack != "none":
            from malaprop.core.text import split_parts

            longest = max((len(split_parts("".join(one.fields.values()))) // 2 for one in found), default=0)
            if self.words > longest:
                raise SettingError(f"--words {self.words}: the longest of these texts has {longest} words; give fewer")
        return {"data": found}

    def examine(self, context: WorkerContext, inputs: Inputs) -> Iterator[CorrectTexts]:
        """Find the texts that the victim inside answers correctly; raise where the vote cannot serve the attack."""
        from malaprop.core.capability import check
        from malaprop.frame.runs.wrap import defend_by_spec

        if self.attack != "none":
            vote, attack = defend_by_spec(self.defence, context.victim(inputs["victim"])), self.limited
            check(attack.name, attack.needs, vote.name, vote.offers, vote.withheld)
        yield find_correct_texts(context.victim(inputs["victim"]), inputs["data"])

    def choose(self, inputs: Inputs) -> Examples:
        """Return the texts with their labels mapped to the victim's."""
        from malaprop.data.matching import agree

        return agree(self._examples(), inputs["examined"])

    def certify(self, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        from malaprop.features.defending.certify import describe_certificates, noise_of
        from malaprop.frame.runs.defended import Defended
        from malaprop.frame.runs.wrap import defend_by_spec

        made = defend_by_spec(self.defence, context.victim(inputs["victim"]))
        noise = noise_of(made)
        assert noise is not None
        assert isinstance(made, Defended)
        yield describe_certificates(self.certifier, made, noise, share.whole)
        yield from self.certifier.certify(made.victim, noise, share.items)

    def read_agreed(self, inputs: Inputs) -> Inputs:
        return {"data": list(self.choose(inputs))}

    def attack_vote(self, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Attack the vote on a share of the texts."""
        from malaprop.frame.runs.wrap import defend_by_spec

        vote = context.hold(lambda: defend_by_spec(self.defence, context.victim(inputs["victim"])))
        yield from attack_share(context, self.limited, vote, share, seed=self.texts.seed, width=self.width)

    def draw_top(self, context: WorkerContext, inputs: Inputs) -> Iterator[TopCurve]:
        from malaprop.features.defending.challenge import draw_top

        victim = context.victim(inputs["victim"])
        found = draw_top(self.certifier, victim, self.noise, inputs[_LINES], inputs[_ATTACK], self.words)
        yield replace(found, recipe=self.limited.name)

    def challenge(self, context: WorkerContext, inputs: Inputs) -> Iterator[Challenge]:
        """Vote on changed texts inside the certificates."""
        from malaprop.features.defending.challenge import challenge

        victim = context.victim(inputs["victim"])
        yield challenge(self.certifier, victim, self.noise, inputs["data"], inputs[_LINES], self.tries)

    def gather(self, root: Path) -> CertifiedRecord:
        from malaprop.features.defending.certified_record import read_certificates
        from malaprop.features.defending.certify import add_certificates
        from malaprop.frame.records.run import Run
        from malaprop.frame.records.summary import Rate
        from malaprop.frame.tasks.events import read_log
        from malaprop.frame.tasks.outputs import read_json, value_file

        right = read_json(value_file(root / "examined"), CorrectTexts).right
        seconds = sum(one.get("seconds", 0.0) for one in read_log(root) if one.get("task") == _LINES)
        found = add_certificates(
            Run.read(root), read_certificates(root), Rate(sum(right), len(right)), round(seconds, 2)
        )
        top, tried = (value_file(root / name) for name in (_TOP, _TRIES))
        return replace(
            found,
            top=read_json(top, TopCurve) if top.is_file() else None,
            challenge=read_json(tried, Challenge) if tried.is_file() else None,
        )

    def gather_part(self, root: Path) -> CertifiedRecord | None:
        from malaprop.frame.records.run import FILE

        return self.gather(root) if (root / FILE).is_file() else None

    def view(self, record: CertifiedRecord) -> View:
        rates, top, tried = [rate.to_dict() for rate in record.certified], record.top, record.challenge
        return View(
            rows=[
                {"changed words": changed, "certified": rate.hits, "of": rate.total}
                for changed, rate in enumerate(record.certified)
            ],
            summary={
                "clean_accuracy": record.clean.to_dict(),
                "plain_accuracy": record.plain.to_dict(),
                "certified_accuracy": rates,
                "certified_any": record.every.to_dict(),
                "certified_half": record.half,
                "attacked_accuracy": None if top is None else [rate.to_dict() for rate in top.accuracy],
                "inside": None if top is None else top.inside,
                "tries": None if tried is None else tried.tries,
                "contradicted": sum(one.contradicted for one in (top, tried) if one is not None),
                "seconds": record.seconds,
            },
        )


def refuse_text(example: Example, seed: int, why: str) -> NoReturn:
    """Raise: a text that failed would otherwise count as one without a certificate, which nobody has shown."""
    del seed
    raise VictimError(f"{example.id}: {why}")


def certify(
    victim: Any,
    data: Any = "mr",
    *,
    defence: str = "ranmask",
    out: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Result:
    """Prove how many words of each text may change before a smoothed victim changes its label.

    `victim` is what `mp.victim` takes, best a model that was trained with the noise of the defence; `data` is a name, a
    file, pairs or a frame. Further keywords are options of `malaprop certify`: n, samples, alpha, attack, seed, device.
    Without `out` a temporary folder is used, which goes with the result.

        found = mp.certify("models/ranmask", "reviews.csv", defence="ranmask:keep=0.1", n=50)
        found.show(); found.record.words
    """
    from malaprop.frame.study.settings import build
    from malaprop.frame.study.study import conduct

    given = {"victim": victim, "data": data, "defence": defence, **({} if out is None else {"out": out})}
    return conduct(build(Certify, {"quiet": True, **given, **settings}))
