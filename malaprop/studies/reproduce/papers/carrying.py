"""Why texts carry over as they do here: a transfer study's own matrix split further, and studies of a few models on MR
that vary which words a model knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from malaprop.records.summary import Rate
from malaprop.records.transfer import Traits, TransferRecord
from malaprop.studies.reproduce.claim import Step, order
from malaprop.studies.reproduce.weigh import pool, short

_SHOWN = {"character": "Character", "both": "ELMo", "piece": "BERT"}

# --- the settings, fixed before the run

_FEW = (
    "LSTM-W-Random-1", "LSTM-W-GloVe-1", "LSTM-C-Random-1", "LSTM-WC-ELMo-1", "CNN-W-Random-1", "CNN-W-GloVe-1",
    "CNN-C-Random-1", "CNN-WC-ELMo-1", "CNN-W-Random-2",
)  # fmt: skip
# How often a word must be seen to be known; the claims are read from models that want three times.
KNOWN = {"varied/words-1": 1, "varied/words-3": 3, "varied/words-10": 10}
OWN = "varied/elmo"  # with word vectors of ELMo models' own, as published; the claims are read from models without
USUAL = "varied/words-3"


def list_varied() -> tuple[Step, ...]:
    """The steps that decide nothing."""
    trained = {name: {"least": least, "words": 0} for name, least in KNOWN.items()} | {OWN: {"least": KNOWN[USUAL]}}
    return tuple(
        Step(
            name=name,
            does={
                "full": (
                    order(
                        "transfer", victims=_FEW, data="mr-full", recipe="pwws:paper", n=300, draw=150, train_set=how,
                        zoo="{here}/models", jobs="{jobs}", out="{here}",
                    ),
                )
            },
            about={"full": f"{len(_FEW)} small models, 300 texts, MR"},
        )
        for name, how in trained.items()
    )  # fmt: skip


# --- what they say


def explain_known(root: Path) -> str:
    """The factors of a few models by how often a word must be seen to be known, where that was tried."""
    told = []
    for name, least in KNOWN.items():
        if record := TransferRecord.read(root / name):
            means = {factor.name: factor.mean for factor in record.factors}
            order = " > ".join(f"{factor} {short(means[factor])}" for factor in record.order if factor in means)
            share = record.order_share
            papers = "" if share is None else f" (the paper's order in {100 * share:.1f}% of resamples)"
            told.append(f"{least}: {order}{papers}")
    if not told:
        return "How often a word must be seen to be known has not been varied."
    return f"Varied in {len(_FEW)} models on MR, by how often a word must be seen to be known: {'; '.join(told)}."


def explain_own(root: Path) -> str:
    """How often ELMo models fall with and without word vectors of their own, where that was tried."""
    rates = {said: _hit_alike(root / name) for name, said in ((USUAL, "without"), (OWN, "with"))}
    told = [f"{said} them {rate}" for said, rate in rates.items() if rate]
    if len(told) < 2:
        return "Word vectors of ELMo models' own have not been varied."
    return f"Word vectors of ELMo models' own were varied in {len(_FEW)} models on MR. As targets, {'; '.join(told)}."


def _hit_alike(folder: Path) -> str:
    """Of each input, how many texts of all other models carry to it."""
    record = TransferRecord.read(folder)
    if record is None:
        return ""
    found: dict[str, list[Rate]] = {}
    for source, target, name in _aims(record):
        if rate := record.rate(source, target):
            found.setdefault(name, []).append(rate)
    return ", ".join(f"{name} {short(pool(rates))}" for name, rates in found.items())


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
    for source, target, name in _aims(record):
        if before := record.before[source][target]:
            counts = found.setdefault(name, [0, 0])
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


def _aims(record: TransferRecord) -> Iterator[tuple[int, int, str]]:
    """Every two models, by their numbers, and what the second one reads."""
    many = range(len(record.models))
    for target in many:
        if traits := record.models[target].traits:
            name = _SHOWN.get(traits.input, traits.embedding)
            yield from ((source, target, name) for source in many if source != target)
