"""The tests that defences are put to: each a column of the table, and for each defence a task.

A new test is a function here, a line in `columns`, and a field of `DefenceRow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from malaprop.features.defending.certified_record import CertifiedRecord
from malaprop.features.defending.evaluation_record import Checked, DefenceRow
from malaprop.frame.records.summary import Rate
from malaprop.frame.study.shared_tasks import CorrectTexts, attack_share, find_correct_texts, slug

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.victim import Victim
    from malaprop.features.defending.evaluation_study import DefenceTest
    from malaprop.features.defending.smooth import Noise
    from malaprop.frame.records.outcome import Outcome
    from malaprop.frame.runs.defended import Defended
    from malaprop.frame.tasks.outputs import Output
    from malaprop.frame.tasks.task import Inputs, Share
    from malaprop.frame.tasks.worker_context import WorkerContext

NONE = "none"
SURROGATE, DISGUISE = EVASIONS = ("surrogate", "disguise")  # attacks that know of a memory of queries
_LONG = 60  # characters of a folder's name


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceColumn:
    """One test: a task of this name for each defence. The row of a defence is added up from its columns.

    `work` is called with the defence, the context, and the values of the columns that it `sees`, those of the victim
    without a defence `beside` them. `shared`: it works through the texts, which can be shared out among workers.
    """

    name: str
    work: Callable[..., Iterator[Any]]
    output: Output
    sees: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    shared: bool = False
    reads: Callable[[Inputs], Inputs] | None = None
    alone: bool = False
    at: str | None = None  # its folder, where that is not its name


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceLook:
    """A defence on the texts as they are; `passes` are forward passes of the model inside for one of them.

    They are counted over these texts alone, each asked once: what attacks ask depends on how far they were shared out.
    """

    seen: CorrectTexts
    passes: float
    inside: Rate | None = None  # where there are certificates: accuracy of the model inside


@dataclass(frozen=True, slots=True)
class MadeAnswers:
    """What a defence reads in each of the made samples, in the order of their ids."""

    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TransferredAnswers:
    """By text that an attack on the undefended victim broke: whether a defence reads the adversarial text rightly."""

    right: dict[str, bool]


@dataclass(frozen=True, slots=True)
class HeldCertificates:
    """Certificates added up, and what attacks say of them."""

    certified: CertifiedRecord
    checked: Checked


@dataclass(frozen=True, slots=True)
class DefenceCost:
    """Time for a text behind a defence, as a multiple of no defence's."""

    ratio: float | None


def columns(test: DefenceTest, name: str) -> Iterator[DefenceColumn]:
    """The tests that a defence is put to."""
    from malaprop.features.defending.certifiable import within
    from malaprop.frame.tasks.outputs import JsonFile, RunFolder

    noise, first = find_noise(test, name), test.attack.name
    yield DefenceColumn(name="clean", work=look, output=JsonFile(DefenceLook), reads=test.read)
    runs, carried = list[str](), list[str]()
    for attack in test.suite:
        found = list(_attack_columns(test, name, attack))
        yield from found
        runs += [column.name for column in found if column.shared]
        carried += [column.name for column in found if not column.shared]
    yield DefenceColumn(name="made", work=answer, output=JsonFile(MadeAnswers), beside=(first,), reads=test.read_made)
    seen = ["clean", *runs, *carried, "made"]
    if noise is not None:
        narrow = within(noise, test.attack)
        lines = RunFolder(
            lines="malaprop.features.defending.certified_record:CERTIFICATES",
            error="malaprop.features.defending.certify_study:refuse_text",
        )
        yield DefenceColumn(name="certificates", work=certify, output=lines, shared=True, at=place_of(name))
        work = partial(run_adaptive_attack_column, narrow, 1)
        yield DefenceColumn(name=narrow.name, work=work, output=RunFolder(), shared=True)
        yield DefenceColumn(
            name="checked", work=hold_against, output=JsonFile(HeldCertificates), reads=test.read,
            sees=("certificates", *runs, narrow.name),
        )  # fmt: skip
        seen.append("checked")
    yield DefenceColumn(
        name="row", work=add_up, output=JsonFile(DefenceRow), sees=tuple(seen),
        beside=tuple(attack.name for attack in test.suite), reads=test.read_made,
    )  # fmt: skip
    yield DefenceColumn(name="cost", work=time, output=JsonFile(DefenceCost), reads=test.read_some, alone=True)


def _attack_columns(test: DefenceTest, name: str, attack: Attack) -> Iterator[DefenceColumn]:
    """One attack: as it is, as one that knows the defence, and as it broke the undefended victim."""
    from malaprop.frame.runs.wrap import draws_at_random, remembers_queries
    from malaprop.frame.tasks.outputs import JsonFile, RunFolder

    yield DefenceColumn(name=attack.name, work=partial(run_attack_column, attack), output=RunFolder(), shared=True)
    if remembers_queries(name):
        for way in EVASIONS:
            work = partial(assail_evading, way, attack)
            yield DefenceColumn(name=_name_evasion(attack, way), work=work, output=RunFolder(), shared=True)
    if test.draws and draws_at_random(name):
        work = partial(run_adaptive_attack_column, attack, test.draws)
        yield DefenceColumn(name=_name_adaptive(attack), work=work, output=RunFolder(), shared=True)
    if name != NONE:
        yield DefenceColumn(
            name=_name_transfer(attack), work=partial(transfer, attack), output=JsonFile(TransferredAnswers),
            sees=(attack.name,), beside=(attack.name,),
        )  # fmt: skip


def _name_adaptive(attack: Attack) -> str:
    return f"{attack.name}-adaptive"


def _name_evasion(attack: Attack, way: str) -> str:
    return f"{attack.name}-{way}"


def _name_transfer(attack: Attack) -> str:
    return f"{attack.name}-transferred"


def place_of(name: str) -> str:
    """The folder of a defence; of a long name, which is cut, with a digest, so that it is the only one."""
    place = slug(name)
    return place if len(name) <= _LONG else f"{place[-_LONG + 9 :]}-{blake2b(name.encode(), digest_size=4).hexdigest()}"


def open_defence(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Victim:
    """The model behind a defence."""
    from malaprop.features.defending.defended_models import name_model, put_behind

    model = name_model(name)
    place = inputs["plain"] if model == NONE else inputs.get(f"model {model}", inputs.get(f"models/{slug(model)}"))
    return put_behind(name, test.conditions.open(context, place))


def _open_vote(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Defended:
    from malaprop.frame.runs.defended import Defended

    made = open_defence(test, name, context, inputs)
    assert isinstance(made, Defended), "columns for draws and certificates are those of defences that vote"
    return made


def look(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[DefenceLook]:
    """Each text once; where there will be certificates, by the model inside too."""
    from malaprop.core.capability import check
    from malaprop.features.defending.evaluation_figures import count_passes

    victim = open_defence(test, name, context, inputs)
    for attack in test.suite:
        check(attack.name, attack.needs, victim.name, victim.offers, victim.withheld)
    seen, inside = find_correct_texts(victim, inputs["data"]), None
    passes = count_passes(victim)
    if find_noise(test, name) is not None:
        assert victim.inside is not None
        plain = find_correct_texts(victim.inside, inputs["data"]).right
        inside = Rate(sum(plain), len(plain))
    yield DefenceLook(seen=seen, passes=passes, inside=inside)


def run_attack_column(
    attack: Attack, test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs, share: Share
) -> Iterator[Any]:
    """An attack on a share of the texts."""
    victim = context.hold(lambda: open_defence(test, name, context, inputs))
    width = test.conditions.width
    yield from attack_share(context, attack, victim, share, seed=test.texts.seed, width=width)


def run_adaptive_attack_column(
    attack: Attack, draws: int, test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs, share: Share
) -> Iterator[Any]:
    """An attack that knows the defence: it averages some draws, and must fool most of others."""
    from malaprop.features.defending.adaptive import Adaptive

    def make() -> Adaptive:
        return Adaptive(defended=_open_vote(test, name, context, inputs), draws=draws, fresh=test.fresh)

    width = test.conditions.width
    yield from attack_share(context, attack, context.hold(make), share, seed=test.texts.seed, width=width)


def assail_evading(
    way: str, attack: Attack, test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs, share: Share
) -> Iterator[Any]:
    """An attack that knows of a memory of queries: it searches on a model of its own, or by queries in disguise."""
    from malaprop.features.defending.evasion import ThroughDisguise, ThroughSurrogate

    def make() -> ThroughDisguise | ThroughSurrogate:
        defended = _open_vote(test, name, context, inputs)
        if way == DISGUISE:
            return ThroughDisguise(defended=defended)
        own = test.conditions.open(context, inputs.get("surrogate", inputs["plain"]))
        return ThroughSurrogate(defended=defended, own=own)

    width = test.conditions.width
    yield from attack_share(context, attack, context.hold(make), share, seed=test.texts.seed, width=width)


def answer(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[MadeAnswers]:
    """The made samples, put to a defence; one that it rejects does no harm and counts as read rightly."""
    from malaprop.core.victim import find_rejected

    made, victim = inputs["premade"], open_defence(test, name, context, inputs)
    rejected = find_rejected(victim.label_names)
    pairs = zip(made.examples, made.answers(victim), strict=True)
    yield MadeAnswers(tuple(one.label if found == rejected else found for one, found in pairs))


def transfer(
    attack: Attack, test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs
) -> Iterator[TransferredAnswers]:
    """The texts that broke the undefended victim, put to a defence; labels are those that its own run has."""
    from malaprop.core.victim import find_rejected
    from malaprop.frame.runs.pregenerated import from_outcomes

    labels = {outcome.id: outcome.label for outcome in inputs[test.cell(name, attack.name)]}
    made = from_outcomes(sort_by_id(inputs[test.cell(NONE, attack.name)]), attack.name)
    victim = open_defence(test, name, context, inputs)
    pairs = zip(made.examples, made.answers(victim), strict=True)
    rejected = find_rejected(victim.label_names)  # which is no success of the attack
    yield TransferredAnswers({one.id: found in (labels.get(one.id), rejected) for one, found in pairs})


def certify(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
    """A certificate a text."""
    from malaprop.features.defending.certify import describe_certificates

    victim = context.hold(lambda: _open_vote(test, name, context, inputs))
    noise = find_noise(test, name)
    assert noise is not None
    yield describe_certificates(test.certifier, victim, noise, share.whole)
    yield from test.certifier.certify(victim.victim, noise, share.items)


def hold_against(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[HeldCertificates]:
    """Certificates added up, and every attacked text held against that of its original."""
    from malaprop.features.defending.certifiable import within
    from malaprop.features.defending.certify import add_certificates, describe_certificates
    from malaprop.features.defending.evaluation_figures import add_outcomes, check

    victim, noise, certifier = _open_vote(test, name, context, inputs), find_noise(test, name), test.certifier
    assert noise is not None
    lines = inputs[test.cell(name, "certificates")]
    attacks = [run for attack in test.suite for run in (attack.name, _name_adaptive(attack))]
    cells = [test.cell(name, run) for run in (*attacks, within(noise, test.attack).name)]
    runs = [sort_by_id(inputs[cell]) for cell in cells if cell in inputs]  # an attack may have been left out
    plain = inputs[test.cell(name, "clean")].inside
    record = add_certificates(
        describe_certificates(certifier, victim, noise, inputs["data"]), lines, plain, seconds=0.0
    )
    found = check(certifier, victim.victim, noise, lines, [outcome for run in runs for outcome in run])
    yield HeldCertificates(record, replace(found, within=add_outcomes(runs[-1], 1, test.fresh)))


def add_up(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
    """The row of a defence, from its columns."""
    from malaprop.features.defending.evaluation_figures import AttackFindings, DefenceFindings, take_worst
    from malaprop.frame.runs.wrap import remembers_queries
    from malaprop.frame.tasks.outputs import Note

    del context
    look: DefenceLook = inputs[test.cell(name, "clean")]
    held: HeldCertificates | None = inputs.get(test.cell(name, "checked"))

    def read(attack: Attack) -> AttackFindings:
        evading = [inputs[cell] for way in EVASIONS if (cell := test.cell(name, _name_evasion(attack, way))) in inputs]
        carried: TransferredAnswers | None = inputs.get(test.cell(name, _name_transfer(attack)))
        return AttackFindings(
            attack=attack.name, plain=inputs[test.cell(NONE, attack.name)],
            active=inputs[test.cell(name, attack.name)],
            adaptive=take_worst(evading) if evading else inputs.get(test.cell(name, _name_adaptive(attack))),
            transferred=None if carried is None else carried.right,
        )  # fmt: skip

    row = DefenceFindings(
        name=name, about=look.seen.name, passes=look.passes, attacks=[read(attack) for attack in test.suite],
        draws=0 if remembers_queries(name) else test.draws, fresh=test.fresh,
        premade=inputs["premade"], answers=inputs[test.cell(name, "made")].answers,
        certified=held.certified if held else None, checked=held.checked if held else None,
    ).add_up()  # fmt: skip
    yield row
    yield Note(_line(row))


def time(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[DefenceCost]:
    """What a defence costs, beside no defence in the same process."""
    from malaprop.features.defending.evaluation_figures import best_time

    texts = inputs["texts"]
    plain = best_time(open_defence(test, NONE, context, inputs), texts)
    spent = plain if name == NONE else best_time(open_defence(test, name, context, inputs), texts)
    yield DefenceCost(round(spent / plain, 3) if plain else None)


def find_noise(test: DefenceTest, name: str) -> Noise | None:
    """The noise that the certificates of a defence are of; None where there are none, or none are asked for."""
    from malaprop.features.defending.certify import noise_of_method
    from malaprop.frame.runs.wrap import parse, read_layer

    layers = parse(name).layers
    return noise_of_method(read_layer(*layers[0])[0]) if layers and test.samples else None


def sort_by_id(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Workers finish in any order."""
    return sorted(outcomes, key=lambda outcome: outcome.id)


def _line(row: DefenceRow) -> str:
    """One line on a defence."""
    knowing = f", knowing it {row.adaptive.accuracy}" if row.adaptive else ""
    carried = f", transferred {row.transferred}" if row.transferred else ""
    return (
        f"{row.name}: clean {row.clean}, made samples {row.premade}, under attack {row.active.accuracy}{knowing}"
        f"{carried}; under the worst {row.worst}; {row.verdict}"
    )
