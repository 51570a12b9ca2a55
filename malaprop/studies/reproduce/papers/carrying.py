"""Why texts carry over as they do here: what a transfer study's own matrix shows when it is split further."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from malaprop.records.summary import Rate
from malaprop.records.transfer import Traits, TransferRecord

_SHOWN = {"character": "Character", "both": "ELMo", "piece": "BERT"}


def explain_factors(record: TransferRecord) -> str:
    """The embedding's part by the two embeddings, and how often twins of each embedding fall together."""
    split: dict[str, list[float]] = {}
    for source, target, gap in _gaps(record):
        same = (source.architecture, source.input, source.layers) == (target.architecture, target.input, target.layers)
        if same and source.embedding != target.embedding:
            split.setdefault(" and ".join(sorted((source.embedding, target.embedding))), []).append(gap)
    if not split:
        return ""
    told = ", ".join(f"{pair} {mean:.3f}" for mean, pair in sorted((fmean(gaps), pair) for pair, gaps in split.items()))
    twins: dict[str, list[float]] = {}
    for at, model in enumerate(record.models):
        if model.traits and model.traits.input == "word" and (rate := record.rate(at, at)):
            twins.setdefault(model.traits.embedding, []).append(rate.value)
    base = ", ".join(f"{name} {fmean(rates):.3f}" for name, rates in twins.items())
    return (
        f"The embedding's figure was split by the two embeddings: {told}. It is measured from the rate at which a "
        f"model's twin falls, and fixed vectors bring twins together: {base}."
    )


def explain_inputs(record: TransferRecord) -> str:
    """As targets, over the texts alone that the target had right before."""
    found: dict[str, list[int]] = {}
    many = range(len(record.models))
    for target in many:
        traits = record.models[target].traits
        if traits is None:
            continue
        counts = found.setdefault(_SHOWN.get(traits.input, traits.embedding), [0, 0])
        for source in many:
            if source != target and (before := record.before[source][target]):
                counts[0] += record.carried[source][target] or 0
                counts[1] += before
    rates = {name: Rate(*counts).value for name, counts in found.items() if counts[1]}
    told = ", ".join(f"{name} {rate:.3f}" for name, rate in sorted(rates.items(), key=lambda one: one[1]))
    return (
        "These rates count texts that the target gets wrong without an attack, too. Over those alone that it had right "
        f"the order is {told}. Our ELMo has no word vectors of its own and reads spellings, as the models of "
        "characters do."
    )


def _gaps(record: TransferRecord) -> Iterator[tuple[Traits, Traits, float]]:
    """Of every two models that are not fine-tuned: how far the rate lies from that of the target's twin."""
    for source, one in enumerate(record.models):
        for target, two in enumerate(record.models):
            if source == target or one.traits is None or two.traits is None:
                continue
            rate, base = record.rate(source, target), record.rate(target, target)
            if "piece" not in (one.traits.input, two.traits.input) and rate is not None and base is not None:
                yield one.traits, two.traits, abs(rate.value - base.value)
