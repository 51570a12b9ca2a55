"""Helpers of several studies: names of models, the texts that a model classifies correctly, the run of one attack."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.victim import Victim
    from malaprop.data.base import Examples
    from malaprop.frame.records.outcome import Outcome
    from malaprop.frame.records.paired_texts import CleanAnswers
    from malaprop.frame.tasks.task import Share
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.zoo.training import Epoch

BLOCK = 512  # texts in one query


def name_models(specs: Sequence[Any], option: str = "--victim") -> dict[str, Any]:
    """Return the models by distinct names that are fit for folders."""
    out: dict[str, Any] = {}
    for spec in specs:
        name = slug(_name(spec))
        if name in out:
            raise SettingError(f"{option} names {name} twice; each model is attacked once")
        out[name] = spec
    if not out:
        raise SettingError(f"{option} names no model; as BiLSTM-Attention,BERT,Transformer-3")
    return out


def _name(spec: Any) -> str:
    """Return a model's name: a folder's last part, or a Python object's `name` or `__name__`."""
    if isinstance(spec, (str, os.PathLike)):
        return Path(spec).name if Path(spec).is_dir() else os.fspath(spec)
    found = getattr(spec, "name", None) or getattr(spec, "__name__", None)
    return found if isinstance(found, str) else type(spec).__name__


def slug(name: str) -> str:
    """Return a name that is fit for a folder and for a URL, in which a # would end the path."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
    return kept[-60:] or "unnamed"


def is_trained_here(spec: Any) -> bool:
    """Return whether a model is a zoo name, which a study trains itself, and not a folder."""
    from malaprop.zoo.names import is_name

    return isinstance(spec, str) and is_name(spec) and not Path(spec).is_dir()


def settings_of(spec: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the training settings that this model has."""
    from malaprop.zoo.names import parse
    from malaprop.zoo.train import check_settings

    def has(setting: str) -> bool:
        try:
            check_settings({setting: settings[setting]}, [parse(spec)[0]])
        except SettingError:
            return False
        return True

    return {setting: value for setting, value in settings.items() if has(setting)}


def epoch_line(epoch: Epoch) -> str:
    """Describe one epoch of training in a line."""
    return f"epoch {epoch.number}: loss {epoch.loss:.3f}, right on {epoch.accuracy:.1%}, {epoch.seconds:.0f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectTexts:
    """Which texts a model classifies correctly, its label names, and what it offers to attacks."""

    name: str
    labels: int | None
    label_names: tuple[str, ...]
    offers: tuple[str, ...]
    data: str
    ids: tuple[str, ...]
    right: tuple[bool, ...]


def find_correct_texts(victim: Victim, data: Examples) -> CorrectTexts:
    """Ask a model for all texts and compare its labels with theirs."""
    from malaprop.core.score import winners
    from malaprop.data.matching import agree
    from malaprop.frame.runs.victims import assume_labels

    matched = agree(data, victim)
    assume_labels(victim, matched.labels)
    rest = iter(matched)
    flags: list[bool] = []
    while part := list(islice(rest, BLOCK)):
        given = winners(victim.predict([tuple(e.fields.values()) for e in part]))
        flags += [e.label == label for e, label in zip(part, given.tolist(), strict=True)]
    return CorrectTexts(
        name=victim.name,
        labels=victim.labels,
        label_names=victim.label_names,
        offers=tuple(sorted(victim.offers)),
        data=data.name,
        ids=tuple(example.id for example in data),
        right=tuple(flags),
    )


def attack_share(
    context: WorkerContext, attack: Attack, victim: Victim, share: Share, *, seed: int, width: int,
    notes: Sequence[str] = (), clean: CleanAnswers | None = None,
) -> Iterator[Any]:  # fmt: skip
    """Attack a share of the examples: yield the `Run` with its warnings (`notes`), then each outcome as its line.

    `clean` holds the victim's answers for the unchanged examples, if they were asked before all attacks.
    """
    from malaprop.core.victim import VictimDescription
    from malaprop.frame.records.store import EncodedLine
    from malaprop.frame.runs.folder import describe
    from malaprop.frame.runs.local import run
    from malaprop.frame.runs.victims import assume_labels

    assume_labels(victim, share.whole.labels)
    attack = attack.for_labels(share.whole.labels)
    about = describe(attack, VictimDescription.of(victim), share.whole, seed=seed, width=width, notes=notes)
    yield about if clean is None else replace(about, clean=clean.counts)
    services, known = context.services(victim), {} if clean is None else clean.scores
    for outcome in run(attack, victim, share.items, seed=seed, width=width, services=services, known=known):
        if context.budget_client is not None:
            context.budget_client.end()
        yield EncodedLine.of(outcome)


def describe_errors(run: Sequence[Outcome], what: str = "texts") -> str:
    """Describe how many texts of a run ended in an error, with the commonest reason; empty if none did."""
    reasons = Counter(one.reason or "no reason given" for one in run if one.status == "error")
    if not reasons:
        return ""
    return f"{reasons.total()} of {len(run)} {what} ended in an error: {reasons.most_common(1)[0][0]}"
