"""A text and its adversary, side by side inside one victim: attention and states before and after."""

from __future__ import annotations

from collections.abc import Mapping

from malaprop.attacks.attack import Attack
from malaprop.core.capability import Capability, check
from malaprop.core.errors import CapabilityError, SettingError, VictimError
from malaprop.core.example import Example
from malaprop.core.score import winner
from malaprop.core.text import Text, Words
from malaprop.core.victim import Victim
from malaprop.features.explain.attention import same_slots, sight
from malaprop.features.explain.record import AttentionSight
from malaprop.frame.runs.local import run


def compare_inside(
    victim: Victim,
    source: str | Mapping[str, str],
    *,
    against: str | None,
    attack: Attack | None,
    seed: int = 0,
    label: int | None = None,
    attention: bool = False,
) -> AttentionSight | None:
    """What the victim shows of both texts; with neither a second text nor an attack, of the one alone.

    None where the attack finds nothing.
    """
    if attention:
        if Capability.ATTENTION not in victim.offers:
            raise CapabilityError(
                f"{victim.name} has no attention to show, only {', '.join(sorted(victim.offers))}; it is shown by "
                "BiLSTM-Attention, Transformer-3, their kin for pairs, BERT and other transformers"
            )
    elif not {Capability.ATTENTION, Capability.STATES} & victim.offers:
        raise CapabilityError(
            f"{victim.name} shows neither attention nor states, only {', '.join(sorted(victim.offers))}; before and "
            "after can be seen in models of the zoo and in transformers"
        )
    table = Words()
    origin = Text.of(source, table)
    final = origin
    if against is not None:
        final = Text.of(against if isinstance(source, str) else {**source, origin.names[-1]: against}, table)
        same_slots(origin, final)
    elif attack is not None:
        found = _attack(victim, origin, attack, seed, label)
        if found is None:
            return None
        final = Text.of(found, table)
        same_slots(origin, final)
    return sight(victim, origin, final, _answer(victim, origin, final))


def _answer(victim: Victim, *texts: Text) -> tuple[str, str]:
    names = victim.label_names
    answers = [winner(answer) for answer in victim.predict([text.values() for text in texts])]
    before, after = (names[n] if n < len(names) else str(n) for n in answers)
    return before, after


def _attack(victim: Victim, origin: Text, attack: Attack, seed: int, label: int | None) -> Mapping[str, str] | None:
    """The adversarial text's fields; the true label is the one given, or what the victim says."""
    check(attack.name, attack.needs, victim.name, victim.offers)
    (answer,) = victim.predict([origin.values()])
    says = winner(answer)
    if label is not None and label != says:
        raise SettingError(f"label {label} is not what {victim.name} says ({says}): there is nothing to attack")
    example = Example("explained", origin.fields, says, origin.names[-1:])
    (outcome,) = run(attack, victim, [example], seed=seed)
    if outcome.status == "error":
        raise VictimError(f"{attack.name} on {victim.name}: {outcome.reason}")
    return outcome.adversarial.fields if outcome.status == "success" and outcome.adversarial else None
