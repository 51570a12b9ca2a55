"""Generating universal language adversarial examples by understanding and enhancing the transferability (2021)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.records.diagnosis import DiagnosisRecord
from malaprop.records.ensembles import EnsemblesRecord
from malaprop.records.summary import Rate
from malaprop.records.transfer import ClassTable, Estimate, TransferRecord
from malaprop.reproduce.claim import Claim, Paper, Reading, Step
from malaprop.reproduce.papers.reading import need, values, whole
from malaprop.reproduce.weigh import above, falling, points, short, sign, worst

_FACTORS = ("input form", "architecture", "embedding", "capacity")
_SMALL = "LSTM-W-Random-1,LSTM-W-GloVe-1,CNN-W-Random-1,CNN-W-GloVe-1,CNN-C-Random-1,CNN-W-Random-2"
_DEPTHS = {"LSTM": (1, 2, 4), "BiLSTM": (1, 2, 4), "CNN": (1, 2, 4, 6)}
_INPUTS = ("W-Random", "W-GloVe", "W-W2vec", "W-fastText", "C-Random", "WC-ELMo")
_ZOO = (
    *(f"{kind}-{form}-{depth}" for kind, depths in _DEPTHS.items() for depth in depths for form in _INPUTS),
    *("BERT", "RoBERTa", "ALBERT"),
)
_FAMILIES = {"word": "-W-", "ELMo": "-WC-", "character": "-C-"}


def _zoo(root: Path) -> Reading:
    names = {str(item["name"]) for item in values(root / "zoo" / "output-0.txt")["items"]}
    missing = [name for name in _ZOO if name not in names]
    ours = f"{len(_ZOO) - len(missing)} of {len(_ZOO)} can be trained by name"
    return Reading(ours=ours, verdict="fails" if missing else "holds")


def _factors(folder: str) -> Callable[[Path], Reading]:
    def read(root: Path) -> Reading:
        record = need(TransferRecord.read, root / folder)
        found = {factor.name: factor.mean for factor in record.factors}
        told = " > ".join(f"{name} {short(found[name])}" for name in record.order if name in found)
        share = record.order_share
        if share is None:
            return Reading(ours=told or "no factor can be told", verdict="does not show")
        ours = f"{told}; the paper's order in {100 * share:.1f}% of resamples of the models"
        if record.order[: len(_FACTORS)] == _FACTORS:
            return Reading(ours=ours, verdict="holds" if share >= 0.95 else "leans")
        return Reading(ours=ours, verdict="fails" if share <= 0.05 else "does not show")

    return read


def _table(record: TransferRecord, name: str) -> ClassTable:
    for found in record.tables:
        if found.name == name:
            return found
    raise RecordError(f"the study has no table by {name}")


def _architectures(root: Path) -> Reading:
    table = _table(need(TransferRecord.read, root / "transfer"), "architecture")
    told, verdicts = [], []
    for at, name in enumerate(table.classes):
        own, row = table.cells[at][at], [cell for place, cell in enumerate(table.cells[at]) if place != at and cell]
        if own is None or not row:
            continue
        told.append(f"{name} to itself {short(own)}, to others {', '.join(f'{cell.value:.3f}' for cell in row)}")
        verdicts += [above(own, cell) for cell in row]
    return Reading(ours="; ".join(told) or "one class alone", verdict=worst(verdicts))


def _inputs(root: Path) -> Reading:
    table = _table(need(TransferRecord.read, root / "transfer"), "input form and embedding")
    means = {name: mean for name, mean in zip(table.classes, table.targets, strict=True) if mean is not None}
    told = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
    hard = [name for name in ("Character", "BERT") if name in means]
    easy = [mean for name, mean in means.items() if name not in hard]
    shows = bool(hard and easy) and all(means[name] < min(easy) for name in hard)
    return Reading(ours=f"as targets: {told}", verdict=points(shows))


def _matrix(root: Path) -> Reading:
    record = need(TransferRecord.read, root / "transfer")
    many = range(len(record.models))
    rates = [rate.value for s in many for t in many if s != t and (rate := record.rate(s, t)) is not None]
    if not rates:
        raise RecordError("no text of any model was tried on another")
    means = f"mean {short(record.pairs)}, base {short(record.base)}"
    ours = f"{len(many)} x {len(many)} rates, {min(rates):.2f} to {max(rates):.2f}; {means}"
    return Reading(ours=ours, verdict="figure")


def _broken(root: Path) -> Reading:
    record = need(TransferRecord.read, root / "transfer")
    rates = [model.success.value for model in record.models if model.success.total]
    if not rates:
        raise RecordError("no text of any model was attacked")
    ours = f"mean of {len(rates)} models {100 * fmean(rates):.1f}%, {100 * min(rates):.1f}% to {100 * max(rates):.1f}%"
    return Reading(ours=ours, verdict="figure")


def _ensembles(root: Path) -> Reading:
    record = need(EnsemblesRecord.read, root / "transfer")
    found = [c for c in record.contrasts if (c.first, c.second) == ("genetic", "expert")]
    if not found:
        raise RecordError("the study has no expert's ensemble to compare with")
    told = "; ".join(f"size {c.size}: {short(c.difference)} over the expert's" for c in found)
    verdicts = (sign(c.difference.value, c.difference.low, c.difference.high) for c in found)
    return Reading(ours=told, verdict=worst(verdicts))


def _measured(root: Path) -> dict[str, Any]:
    return whole(root / "rules" / "measured" / "measured.json")


def _mean(whole_: Mapping[str, Any]) -> str:
    return f"{100 * whole_['mean']:.1f}% ({100 * whole_['low']:.1f}-{100 * whole_['high']:.1f})"


def _rules(root: Path) -> Reading:
    found = _measured(root)["wholes"]
    base, best = found[0], found[-1]
    gap, low, high = best["ahead"]
    words = f"{100 * best['words']:.1f}% of the words against {100 * base['words']:.1f}%"
    points_ahead = f"{100 * gap:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
    ours = f"{_mean(best)} against {_mean(base)}, {points_ahead}, {words}"
    verdict = sign(gap, low, high)
    return Reading(ours=ours, verdict=verdict if best["words"] <= base["words"] else worst((verdict, "leans")))


def _added(rates: Sequence[Mapping[str, Any]]) -> Rate:
    """Over several victims; the interval rests on the texts, which are the same for all of them."""
    total = sum(rate["total"] for rate in rates)
    return Rate(sum(rate["hits"] for rate in rates), total, units=max(1, total // len(rates)))


def _families(root: Path) -> Reading:
    found = _measured(root)
    last = found["wholes"][-1]["rules"]
    rates: dict[str, list[Mapping[str, Any]]] = {}
    for cell in found["cells"]:
        if cell["rules"] == last:
            name = next((family for family, mark in _FAMILIES.items() if mark in cell["victim"]), "BERT")
            rates.setdefault(name, []).append(cell["success"])
    added = {name: _added(rows) for name, rows in rates.items()}
    order = [name for name in ("word", "ELMo", "character", "BERT") if name in added]
    told = ", ".join(f"{name} {short(added[name])}" for name in order)
    return Reading(ours=told, verdict=falling([added[name] for name in order]))


def _growth(root: Path) -> Reading:
    found = _measured(root)
    sizes = [entry["mean"] for entry in found["wholes"][1:]]
    last = found["wholes"][-1]["rules"]
    cells = [cell["within"] for cell in found["cells"] if cell["rules"] == last]
    shares = {share: _added([cell[share] for cell in cells]) for share in cells[0]}
    told = ", ".join(f"{100 * float(share):.0f}%: {100 * rate.value:.1f}%" for share, rate in shares.items())
    grown = falling(list(reversed(shares.values())))
    members = points(all(one < two for one, two in pairwise(sizes)))
    ours = f"members: {', '.join(f'{100 * x:.1f}%' for x in sizes)}; words allowed: {told}"
    return Reading(ours=ours, verdict=worst((grown, members)))


def _bias(root: Path) -> Reading:
    record = need(DiagnosisRecord.read, root / "rules" / "shown")
    half = Estimate(0.5, 0.5, 0.5)
    told = [f"away from {one.label}: falls {short(one.falls)}, others rise {short(one.rises)}" for one in record.found]
    verdicts = [above(rate, half) for one in record.found for rate in (one.falls, one.rises)]
    return Reading(ours="; ".join(told), verdict=worst(verdicts))


_MINED = (
    "rules mine --victims {first} --data {data} --train-data {data} --out {{here}}/one",
    "rules mine --victims {second} --data {data} --train-data {data} --out {{here}}/two",
    "rules mine --victims {third} --data {data} --train-data {data} --out {{here}}/three",
)
_MEASURED = (
    "rules measure {{root}}/rules/pmi {{root}}/rules/one {{root}}/rules/two {{root}}/rules/three --victims {victims} "
    "--data {data} --train-data {data} --n {n} --out {{here}} --resume"
)
_SHOWN = "rules show {{root}}/rules/three --data {data} --top 100 --out {{here}}"


def _mining(**given: str) -> tuple[str, ...]:
    return tuple(line.format(**given) for line in ("rules pmi --data {data} --out {{here}}/pmi", *_MINED))


UNIVERSAL = Paper(
    letter="U",
    title="Generating universal language adversarial examples by understanding and enhancing the transferability "
    "across neural models",
    steps=(
        Step(
            name="zoo",
            commands={"small": ("list models --json",), "full": ("list models --json",)},
            about={"small": "the names alone; accuracies are in docs/zoo.md", "full": "the names alone"},
        ),
        Step(
            name="transfer",
            commands={
                "small": (f"transfer --victims {_SMALL} --n 100 --jobs {{jobs}} --out {{here}}",),
                "full": ("transfer --victims all63 --data ag_news --jobs {jobs} --out {here}",),
            },
            about={
                "small": "six models on packaged reviews, 100 texts",
                "full": "63 small models on AG News, 1,000 texts",
            },
        ),
        Step(
            name="transfer-genetic",
            commands={
                "small": (
                    f"transfer --victims {_SMALL} --recipe genetic:wordnet --n 60 --jobs {{jobs}} --out {{here}}",
                ),
                "full": (
                    "transfer --victims all63 --data ag_news --recipe genetic:wordnet --jobs {jobs} --out {here}",
                ),
            },
            about={
                "small": "six models on packaged reviews, 60 texts",
                "full": "63 small models on AG News, 1,000 texts",
            },
        ),
        Step(
            name="ensembles",
            commands={
                "small": ("ensemble --from {root}/transfer --size 2..3 --jobs {jobs}",),
                "full": ("ensemble --from {root}/transfer --size 2..7 --jobs {jobs}",),
            },
            about={"small": "chosen from six models", "full": "chosen from 63 models"},
            needs=("transfer",),
        ),
        Step(
            name="rules",
            commands={
                "small": _mining(
                    first="CNN-W-GloVe-1",
                    second="CNN-W-GloVe-1,CNN-W-Random-1",
                    data="mr",
                    third="CNN-W-GloVe-1,CNN-W-Random-1,LSTM-W-GloVe-1",
                ),
                "full": _mining(
                    first="BiLSTM-W-W2vec-2,BiLSTM-W-GloVe-4",
                    data="ag_news",
                    second="BiLSTM-W-GloVe-1,BiLSTM-W-W2vec-2,CNN-W-W2vec-1,CNN-WC-ELMo-1",
                    third="BiLSTM-W-fastText-1,BiLSTM-W-W2vec-2,BiLSTM-W-GloVe-4,CNN-W-W2vec-1,CNN-WC-ELMo-1,"
                    "CNN-W-fastText-6",
                ),
            },
            about={
                "small": "rules of one to three models, packaged reviews",
                "full": "rules of two, four and six models, AG News",
            },
        ),
        Step(
            name="rules/measured",
            commands={
                "small": (_MEASURED.format(victims=_SMALL, data="mr", n=300),),
                "full": (_MEASURED.format(victims="all63", data="ag_news", n=500),),
            },
            about={
                "small": "rules of one to three models, put to six, packaged reviews, 300 texts",
                "full": "rules of two, four and six models, put to 63, AG News, 500 texts",
            },
            needs=("rules",),
        ),
        Step(
            name="rules/shown",
            commands={"small": (_SHOWN.format(data="mr"),), "full": (_SHOWN.format(data="ag_news"),)},
            about={"small": "rules of three models, packaged reviews", "full": "rules of six models, AG News"},
            needs=("rules",),
        ),
    ),
    claims=(
        Claim(id="U1", claim="a zoo of 63 models", theirs="Table 7", step="zoo", read=_zoo),
        Claim(
            id="U2",
            claim="what decides whether PWWS carries over: input form > architecture > embedding > capacity",
            theirs="AG News .286 > .197 > .085 > .066; MR .285 > .145 > .114 > .045",
            step="transfer",
            read=_factors("transfer"),
        ),
        Claim(
            id="U3",
            claim="the same order under the genetic attack",
            theirs=".030 > .018 > .015 > .013",
            step="transfer-genetic",
            read=_factors("transfer-genetic"),
        ),
        Claim(
            id="U4",
            claim="within a class of architectures texts carry further than across",
            theirs="LSTM to LSTM .448, CNN to CNN .442, BERT to BERT .396, CNN to BERT .169, BERT to CNN .348",
            step="transfer",
            read=_architectures,
        ),
        Claim(
            id="U5",
            claim="characters and BERT are hardest to hit",
            theirs="Random .415, Character .263, ELMo .383, BERT .210",
            step="transfer",
            read=_inputs,
        ),
        Claim(id="U6", claim="the transfer matrix", theirs="Figure 3", step="transfer", read=_matrix),
        Claim(
            id="U7",
            claim="genetic search finds ensembles that carry further than the expert's",
            theirs="Figure 1, most at small sizes",
            step="ensembles",
            read=_ensembles,
        ),
        Claim(
            id="U8",
            claim="rules from models beat rules from counts, at most 30% of words changed",
            theirs="AG News 62.7% against 29.0%, MR 86.8% against 68.0%",
            step="rules/measured",
            read=_rules,
        ),
        Claim(
            id="U9",
            claim="rules break word models most, then ELMo, characters, BERT",
            theirs="AG News / MR: word 69.9/90.1, ELMo 57.5/89.3, character 49.2/80.0, BERT 33.4/65.8 (%)",
            step="rules/measured",
            read=_families,
        ),
        Claim(
            id="U10",
            claim="rules break more with more members and with more words allowed",
            theirs="5% to 30% of words: 16.3 to 63.2 (AG News), 36.2 to 87.0 (MR)",
            step="rules/measured",
            read=_growth,
        ),
        Claim(
            id="U11",
            claim="rules show the bias of the data: the word's PMI with its label falls, with others it rises",
            theirs="Table 6",
            step="rules/shown",
            read=_bias,
        ),
        Claim(
            id="U12",
            claim="word models agree on few important words, BERT spreads over many",
            theirs="Figures 5 and 6",
            instead="pictures: malaprop explain TEXT --victim A,B,C --label L --out DIR; spread over 100 texts in "
            "docs/rules.md",
        ),
        Claim(
            id="U13",
            claim="PWWS breaks most texts",
            theirs="66.6% (AG News), 90.8% (MR)",
            step="transfer",
            read=_broken,
        ),
    ),
)
