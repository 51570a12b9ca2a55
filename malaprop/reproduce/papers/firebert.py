"""FireBERT: hardening BERT-based classifiers against adversarial attack (Mein, Hartman and Morris 2021)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from malaprop.core.errors import RecordError
from malaprop.records.defences import DefenceRow, DefencesRecord
from malaprop.reproduce.claim import Claim, Paper, Reading, Step
from malaprop.reproduce.papers.reading import need
from malaprop.reproduce.weigh import above, short, worst


def _row(record: DefencesRecord, name: str) -> DefenceRow:
    """By its name without settings."""
    for row in record.rows:
        if _plain(row.name) == name:
            return row
    raise RecordError(f"the test has no defence {name}")


def _plain(name: str) -> str:
    head, bracket, inner = name.partition("(")
    head = head.partition(":")[0].partition("=")[0]
    return f"{head}({_plain(inner.removesuffix(')'))})" if bracket else head


def _made(folder: str) -> Callable[[Path], Reading]:
    """FACT is right on more of the samples that were made against the plain model than a twin is."""

    def read(root: Path) -> Reading:
        record = need(DefencesRecord.read, root / folder)
        told = "; ".join(f"{row.name}: {short(row.clean)}, made {short(row.premade)}" for row in record.rows)
        fact, twin, plain = (_row(record, name) for name in ("fact", "twin", "none"))
        return Reading(
            ours=told, verdict=worst((above(fact.premade, twin.premade), above(twin.premade, plain.premade)))
        )

    return read


def _active(root: Path) -> Reading:
    record = need(DefencesRecord.read, root / "defences")
    told = "; ".join(
        f"{row.name}: {short(row.active.accuracy)}, under both attacks {short(row.worst)}" for row in record.rows
    )
    plain = _row(record, "none").active.accuracy
    rows = [row for row in record.rows if _plain(row.name) not in ("none", "twin")]
    return Reading(ours=told, verdict=worst(above(row.active.accuracy, plain) for row in rows))


def _twin(root: Path) -> Reading:
    twin = _row(need(DefencesRecord.read, root / "defences"), "twin").premade
    low, high = twin.interval
    ours = f"a twin is right on {short(twin)} of them"
    if not twin.total:
        return Reading(ours=ours, verdict="does not show")
    near = 0.35 <= twin.value <= 0.65
    if near:
        return Reading(ours=ours, verdict="holds" if low >= 0.35 and high <= 0.65 else "leans")
    return Reading(ours=ours, verdict="does not show" if low <= 0.65 and high >= 0.35 else "fails")


def _around(root: Path) -> Reading:
    record = need(DefencesRecord.read, root / "defences")
    rows = {around.model: around for around in record.around}
    fact = next((around for name, around in rows.items() if _plain(name) == "fact"), None)
    plain = next((around for name, around in rows.items() if name != (fact.model if fact else "")), None)
    if fact is None or plain is None:
        raise RecordError("the test has no neighbourhoods of the plain model and of FACT")
    told = "; ".join(
        f"{a.model}: right for {short(a.original)} of the neighbours of the original word, "
        f"{short(a.adversarial)} of the adversarial one's"
        for a in (plain, fact)
    )
    verdicts = (above(plain.original, plain.adversarial), above(fact.adversarial, plain.adversarial))
    return Reading(ours=told, verdict=worst(verdicts))


FIREBERT = Paper(
    letter="F",
    title="FireBERT: hardening BERT-based classifiers against adversarial attack",
    steps=(
        Step(
            name="defences",
            commands={
                "small": (
                    "study defences --victim LSTM-W-GloVe-1 --data mr --n 60 --defences "
                    '"none,twin,fuse:words=9,five:noise=1,fact,five:noise=1(fact)" --out {here}',
                ),
                "full": (
                    "train BERT --data imdb-full --set epochs=2 --out {here}/plain",
                    "harden fact:ranker={here}/plain:words=25:candidates=30:alternatives=4 --model BERT "
                    "--data imdb-full --set epochs=2 --out {here}/fact",
                    "study defences --victim {here}/plain --data imdb-full --n 200 "
                    '--defences "none,twin,fuse:imdb,five:imdb,fact,five:imdb(fact)" '
                    "--hardened fact={here}/fact --set epochs=2 --out {here}",
                ),
            },
            about={
                "small": "an LSTM on packaged reviews, 60 texts, TextFooler with MiniLM in place of its encoder",
                "full": "a fine-tuned MiniLM on IMDB, 200 texts, TextFooler with MiniLM in place of its encoder",
            },
        ),
        Step(
            name="defences-pairs",
            commands={
                "full": (
                    "train BERT --data snli --set epochs=2 --out {here}/plain",
                    "study defences --victim {here}/plain --data snli --n 200 "
                    '--defences "none,twin,fuse,five,fact,five(fact)" '
                    "--set epochs=2 --out {here}",
                ),
            },
            about={"full": "a fine-tuned MiniLM on a part of SNLI in place of MNLI, 200 pairs"},
        ),
    ),
    claims=(
        Claim(
            id="F1",
            claim="of samples made by TextFooler on MNLI, FACT gets more right than a twin, and a twin more than none",
            theirs="clean / made: none .843/.029, twin .833/.501, FIVE .757/.632, FuSE .725/.591, FACT .827/.800",
            step="defences-pairs",
            read=_made("defences-pairs"),
        ),
        Claim(
            id="F2",
            claim="the same of reviews",
            theirs="IMDB, clean / made: none .906/.002, twin .905/.827, FIVE .884/.620, FuSE .518/.778, FACT .900/.872",
            step="defences",
            read=_made("defences"),
        ),
        Claim(
            id="F3",
            claim="under active attack each defence leaves more right than none",
            theirs="MNLI: none .127, FuSE .276, FIVE .463, FACT .316, FIVE(FACT) .545",
            step="defences",
            read=_active,
        ),
        Claim(
            id="F4",
            claim="samples made against one model fool a retuned twin in about half of the cases",
            theirs="a twin is right on .501 of MNLI's, .827 of IMDB's",
            step="defences",
            read=_twin,
        ),
        Claim(
            id="F5",
            claim="an adversarial word lies among wrong answers, and FACT clears them",
            theirs="Figures 5 to 7",
            step="defences",
            read=_around,
        ),
    ),
)
