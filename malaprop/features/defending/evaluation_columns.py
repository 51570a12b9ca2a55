"""The tests of defences: each test is a column of the table, and a task for each defence.

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
SURROGATE, DISGUISE = EVASIONS = ("surrogate", "disguise")  # attacks that know that the service remembers queries
_LONG = 60  # the most characters of a folder's name


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceColumn:
    """One test: a task of this name for each defence; the row of a defence summarises its columns.

    `work` gets the defence, the context, the values of the columns named in `sees`, and those of the undefended victim
    named in `beside`. A `shared` test goes text by text, so several workers can divide the texts among them.
    """

    name: str
    work: Callable[..., Iterator[Any]]
    output: Output
    sees: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    shared: bool = False
    reads: Callable[[Inputs], Inputs] | None = None
    alone: bool = False
    at: str | None = None  # its folder, where that differs from its name


@dataclass(frozen=True, slots=True, kw_only=True)
class DefenceLook:
    """A defence on clean texts; `passes` are forward passes of the model inside for one text.

    Passes are counted over these texts alone, each read once: those of attacks depend on how workers divide the texts.
    """

    seen: CorrectTexts
    passes: float
    inside: Rate | None = None  # accuracy of the model inside, where the defence has certificates


@dataclass(frozen=True, slots=True)
class MadeAnswers:
    """The labels that a defence gives to the pre-generated adversarial examples, in the order of their ids."""

    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TransferredAnswers:
    """For each success against the undefended victim, by id: whether a defence labels the adversarial text rightly."""

    right: dict[str, bool]


@dataclass(frozen=True, slots=True)
class HeldCertificates:
    """A summary of certificates, and how many attacked texts contradict them."""

    certified: CertifiedRecord
    checked: Checked


@dataclass(frozen=True, slots=True)
class DefenceCost:
    """Time for a text behind a defence, as a multiple of the undefended victim's."""

    ratio: float | None


def columns(test: DefenceTest, name: str) -> Iterator[DefenceColumn]:
    """Yield the tests of a defence."""
    from malaprop.features.defending.challenge import within
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
    """Yield the tests of one attack: plain, knowing the defence, and transferred from the undefended victim."""
    from malaprop.frame.runs.wrap import draws_at_random, remembers_queries
    from malaprop.frame.tasks.outputs import JsonFile, RunFolder

    yield DefenceColumn(name=attack.name, work=partial(run_attack_column, attack), output=RunFolder(), shared=True)
    if remembers_queries(name):
        for way in EVASIONS:
            work = partial(run_evading_attack_column, way, attack)
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
    """Return the folder name of a defence; a long name is cut and gets a digest, so that it stays unique."""
    place = slug(name)
    return place if len(name) <= _LONG else f"{place[-_LONG + 9 :]}-{blake2b(name.encode(), digest_size=4).hexdigest()}"


def open_defence(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Victim:
    """Open the victim of a defence: its model, wrapped in the defence."""
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
    """Label each text once with the defence, and with the model inside where certificates follow."""
    from malaprop.core.capability import check
    from malaprop.features.defending.evaluation_figures import count_passes

    victim = open_defence(test, name, context, inputs)
    for attack in test.suite:
        check(attack.name, attack.needs, victim.name, victim.offers, victim.withheld)
    test.conditions.open_judge(context, victim, ())
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
    """Attack a share of the texts."""
    victim = context.hold(lambda: open_defence(test, name, context, inputs))
    width = test.conditions.width
    yield from attack_share(context, attack, victim, share, seed=test.texts.seed, width=width)


def run_adaptive_attack_column(
    attack: Attack, draws: int, test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs, share: Share
) -> Iterator[Any]:
    """Attack knowing the defence: scores are means over some draws, and a success must fool most of the fresh ones."""
    from malaprop.features.defending.evasion import Adaptive

    def make() -> Adaptive:
        return Adaptive(defended=_open_vote(test, name, context, inputs), draws=draws, fresh=test.fresh)

    width = test.conditions.width
    yield from attack_share(context, attack, context.hold(make), share, seed=test.texts.seed, width=width)


def run_evading_attack_column(
    way: str, attack: Attack, test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs, share: Share
) -> Iterator[Any]:
    """Attack knowing that the service remembers queries: search on an own model, or with disguised queries."""
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
    """Label the pre-generated adversarial examples with a defence; a rejected one does no harm and counts as right."""
    from malaprop.core.victim import find_rejected

    made, victim = inputs["premade"], open_defence(test, name, context, inputs)
    rejected = find_rejected(victim.label_names)
    pairs = zip(made.examples, made.answers(victim), strict=True)
    yield MadeAnswers(tuple(one.label if found == rejected else found for one, found in pairs))


def transfer(
    attack: Attack, test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs
) -> Iterator[TransferredAnswers]:
    """Label with a defence the successes against the undefended victim; the true labels are those of its own run."""
    from malaprop.core.victim import find_rejected
    from malaprop.frame.runs.pregenerated import from_outcomes

    labels = {outcome.id: outcome.label for outcome in inputs[test.cell(name, attack.name)]}
    made = from_outcomes(sort_by_id(inputs[test.cell(NONE, attack.name)]), attack.name)
    victim = open_defence(test, name, context, inputs)
    pairs = zip(made.examples, made.answers(victim), strict=True)
    rejected = find_rejected(victim.label_names)  # a rejection is not a success of the attack
    yield TransferredAnswers({one.id: found in (labels.get(one.id), rejected) for one, found in pairs})


def certify(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
    """Certify a share of the texts."""
    from malaprop.features.defending.certify import describe_certificates

    victim = context.hold(lambda: _open_vote(test, name, context, inputs))
    noise = find_noise(test, name)
    assert noise is not None
    yield describe_certificates(test.certifier, victim, noise, share.whole)
    yield from test.certifier.certify(victim.victim, noise, share.items)


def hold_against(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[HeldCertificates]:
    """Summarise certificates, and compare every attacked text with the certificate of its original."""
    from malaprop.features.defending.certify import add_certificates, describe_certificates
    from malaprop.features.defending.challenge import within
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
    """Yield the row of a defence from its columns, and a note with it."""
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
    yield Note(_line(row), once=True)


def time(test: DefenceTest, name: str, context: WorkerContext, inputs: Inputs) -> Iterator[DefenceCost]:
    """Time a defence and the undefended victim in the same process, and yield the ratio."""
    from malaprop.features.defending.evaluation_figures import best_time

    texts = inputs["texts"]
    plain = best_time(open_defence(test, NONE, context, inputs), texts)
    spent = plain if name == NONE else best_time(open_defence(test, name, context, inputs), texts)
    yield DefenceCost(round(spent / plain, 3) if plain else None)


def find_noise(test: DefenceTest, name: str) -> Noise | None:
    """Return the noise of a defence's certificates; None where it has none, or the test wants none."""
    from malaprop.features.defending.certify import noise_of_method
    from malaprop.frame.runs.wrap import parse, read_layer

    layers = parse(name).layers
    return noise_of_method(read_layer(*layers[0])[0]) if layers and test.samples else None


def sort_by_id(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return outcomes in the order of their ids, for workers finish in any order."""
    return sorted(outcomes, key=lambda outcome: outcome.id)


def _line(row: DefenceRow) -> str:
    """Return a line that sums up a defence."""
    knowing = f", knowing it {row.adaptive.accuracy}" if row.adaptive else ""
    carried = f", transferred {row.transferred}" if row.transferred else ""
    return (
        f"{row.name}: clean {row.clean}, pre-generated texts {row.premade}, under attack {row.active.accuracy}{knowing}"
        f"{carried}; under the worst {row.worst}; {row.verdict}"
    )
