"""Why texts carry over as they do here: a transfer study's own matrix split further, and studies of a few models that
vary which words a model knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from malaprop.records.summary import Rate
from malaprop.records.transfer import Traits, TransferRecord
from malaprop.studies.reproduce.claim import Step, order
from malaprop.studies.reproduce.weigh import pool, short

_SHOWN = {"character": "Character", "both": "ELMo", "piece": "BERT"}

# --- the settings, fixed before the run

_CNNS = ("CNN-W-Random-1", "CNN-W-GloVe-1", "CNN-W-Random-2")
_FEW = (
    "LSTM-W-Random-1", "LSTM-W-GloVe-1", "LSTM-C-Random-1", "LSTM-WC-ELMo-1", "CNN-W-Random-1", "CNN-W-GloVe-1",
    "CNN-C-Random-1", "CNN-WC-ELMo-1", "CNN-W-Random-2",
)  # fmt: skip
# How often a word must be seen to be known: three CNNs on packaged reviews. The claims want three times.
KNOWN = {"varied/words-1": 1, "varied/words-3": 3, "varied/words-10": 10}
OWN = "varied/elmo"  # with word vectors of ELMo models' own, as published: nine models on MR. The claims have none
_THEIRS = "transfer/mr-full"


def _vary(name: str, victims: tuple[str, ...], about: str, **more: Any) -> Step:
    does = order(
        "transfer", victims=victims, recipe="pwws:paper", zoo="{here}/models", jobs="{jobs}", out="{here}", **more
    )
    return Step(name=name, does={"full": (does,)}, about={"full": about})


def list_varied() -> tuple[Step, ...]:
    """The steps that decide nothing."""
    about = f"{len(_CNNS)} CNNs of two epochs, 100 texts, packaged reviews"
    known = (
        _vary(name, _CNNS, about, data="mr", n=100, draw=50, train_set={"least": least, "epochs": 2})
        for name, least in KNOWN.items()
    )
    about = f"{len(_FEW)} small models, 300 texts, MR"
    return (*known, _vary(OWN, _FEW, about, data="mr-full", n=300, draw=150, train_set={"least": 3}))


# --- what they say


def explain_known(root: Path) -> str:
    """The factors of a few models by how often a word must be seen to be known, where that was tried."""
    found = {least: record for name, least in KNOWN.items() if (record := TransferRecord.read(root / name))}
    if not found:
        return "How often a word must be seen to be known has not been varied."
    told = ". With ".join(f"{least} {_list_factors(record)}" for least, record in found.items())
    return (
        f"How often a word must be seen to be known was varied in {len(_CNNS)} CNNs over words, two epochs on packaged "
        f"reviews. With {told}."
    )


def _list_factors(record: TransferRecord) -> str:
    means = {factor.name: factor.mean for factor in record.factors}
    told = " > ".join(f"{name} {short(means[name])}" for name in record.order if name in means)
    return f"{told}, twins falling together at {short(record.base)}"


def explain_own(root: Path) -> str:
    """How often each input falls with and without word vectors of ELMo models' own, where that was tried."""
    own, theirs = (TransferRecord.read(root / name) for name in (OWN, _THEIRS))
    if own is None or theirs is None:
        return "Word vectors of ELMo models' own have not been varied."
    both = "; with them ".join(_list_targets(record) for record in (theirs, own))
    return f"Word vectors of ELMo models' own were varied in {len(_FEW)} models on MR: without them {both}."


def _list_targets(record: TransferRecord) -> str:
    """Of each input, how many texts of all other models carry to it, among the nine."""
    found: dict[str, list[Rate]] = {}
    for source, target, name in _aims(record):
        among = record.models[source].name in _FEW and record.models[target].name in _FEW
        if among and (rate := record.rate(source, target)):
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


def explain_classes(record: TransferRecord) -> str:
    """How far texts carry to models that share the class, the input, both or neither."""
    found: dict[str, list[Rate]] = {"class and input": [], "input alone": [], "class alone": [], "neither": []}
    for source, one in enumerate(record.models):
        for target, two in enumerate(record.models):
            a, b, rate = one.traits, two.traits, record.rate(source, target)
            if source == target or a is None or b is None or rate is None or "piece" in (a.input, b.input):
                continue
            kind, form = a.architecture == b.architecture, (a.input, a.embedding) == (b.input, b.embedding)
            name = ("class and input" if form else "class alone") if kind else ("input alone" if form else "neither")
            found[name].append(rate)
    told = ", ".join(f"{name} {pool(rates).value:.3f}" for name, rates in found.items() if rates)
    return f"Over all pairs of models that are not fine-tuned, texts carry by what the two share: {told}."


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
