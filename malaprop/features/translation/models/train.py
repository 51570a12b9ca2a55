"""Trains a translation model from pairs to a folder: split, sub-words, network, training, figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example
from malaprop.core.text import word_pattern
from malaprop.data.packaged import tenth_of
from malaprop.features.translation.models import checkpoint, lstm, transformer
from malaprop.features.translation.models.decoding import translate
from malaprop.features.translation.models.fit import PairRows, TranslationEpoch, TranslationPlan, fit
from malaprop.features.translation.models.subwords import SubWords
from malaprop.models import bleu
from malaprop.models.padded_rows import Ragged
from malaprop.training.card import Card, stamp
from malaprop.training.folder import TrainingFolder, check_target, refuse_other
from malaprop.training.seeds import seeded
from malaprop.training.splits import Labelled, Read


class Pair(NamedTuple):
    """A source sentence and its translation."""

    source: str
    target: str


class Parts(NamedTuple):
    """Training, validation and test pairs; `own` if the test part is the dataset's own, so figures are comparable."""

    name: str
    train: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    test: tuple[Pair, ...]
    fingerprint: str
    own: bool


def parts(read: Read, spec: str) -> Parts:
    """Read the parts of a dataset; without parts, a tenth of the sources by their hash is held out for each."""
    train = read(spec, split="train")
    test, held_out = _maybe(read, spec, "test"), _maybe(read, spec, "validation")
    own = test is not None and test.fingerprint != train.fingerprint
    learnt, rest = pairs_of(train), (pairs_of(held_out) if held_out and own else ())
    if own and test is not None:
        judged = pairs_of(test)
        if not rest:
            learnt, rest = _without(learnt, 1), _only(learnt, 1)
    else:
        judged, rest = _only(learnt, 0), _only(learnt, 1)
        learnt = _without(_without(learnt, 0), 1)
    for what, found in (("train on", learnt), ("choose by", rest), ("judge on", judged)):
        if not found:
            raise DataError(f"{train.name} has {len(train.examples)} pairs, which leaves none to {what}; give more")
    return Parts(train.name.removesuffix(":train"), learnt, rest, judged, train.fingerprint, own)


def pairs_of(data: Labelled) -> tuple[Pair, ...]:
    """Return source and target of each example that has both."""
    first = data.examples[0] if data.examples else None
    if first is not None and set(first.fields) != {"source", "target"}:
        raise DataError(
            f"{data.name} has the columns {', '.join(first.fields)}; a translation needs source,target (or src,tgt)"
        )
    return tuple(pair for pair in map(_pair, data.examples) if pair.source and pair.target)


def _pair(example: Example) -> Pair:
    return Pair(example.fields["source"].strip(), example.fields["target"].strip())


def _maybe(read: Read, spec: str, split: str) -> Labelled | None:
    try:
        return read(spec, split=split)
    except DataError:
        return None


def _only(pairs: Sequence[Pair], tenth: int) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if tenth_of(pair.source) == tenth)


def _without(pairs: Sequence[Pair], tenth: int) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if tenth_of(pair.source) != tenth)


_SHAPES: dict[str, type] = {"nmt-lstm": lstm.LstmShape, "nmt-transformer": transformer.TransformerShape}
_PLANS = {
    "nmt-lstm": TranslationPlan(epochs=40, rate=0.001, warmup=400, patience=10),
    "nmt-transformer": TranslationPlan(epochs=80, rate=0.003, warmup=2000, patience=20),
}


def settings_of(kind: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], TranslationPlan, int, int]:
    """Return the shape, plan, vocabulary size and most training pairs (0: all) from settings by name."""
    if kind not in _SHAPES:
        raise unknown("translation model", kind, checkpoint.KINDS)
    shapes, plans = ({f.name for f in fields(of)} for of in (_SHAPES[kind], TranslationPlan))
    known = shapes | plans | {"vocab", "pairs"}
    for name in given:
        if name not in known:
            raise unknown("setting", name, known)
    try:
        shape = asdict(_SHAPES[kind](**{k: v for k, v in given.items() if k in shapes}))
        plan = TranslationPlan(**{**asdict(_PLANS[kind]), **{k: v for k, v in given.items() if k in plans}})
        return shape, plan, int(given.get("vocab", 8000)), int(given.get("pairs", 0))
    except (TypeError, ValueError) as error:
        raise SettingError(f"a setting of {kind} has a value of the wrong kind: {error}") from None


def train(
    kind: str,
    data: Parts,
    folder: Path,
    *,
    seed: int = 0,
    device: str = "cpu",
    settings: Mapping[str, Any] | None = None,
    quiet: bool = False,
    on_epoch: Callable[[TranslationEpoch], None] | None = None,
) -> Card:
    """Train a model, evaluate it on the test part and write its folder; the same call resumes after a kill."""
    shape, plan, vocab, most = settings_of(kind, settings or {})
    check_target(folder, "translator")
    if checkpoint.is_translator(folder):
        whole = {**asdict(plan), "vocab": vocab, "pairs": most}
        return _finished(folder, kind=kind, shape=shape, settings=whole, data_fingerprint=data.fingerprint, seed=seed)
    pairs = data.train[:most] if most else data.train
    subwords = SubWords.learn((text for pair in pairs for text in pair), vocab)
    rows = _rows(pairs, subwords, shape["limit"])
    with seeded(seed):
        model = checkpoint.network(kind, len(subwords), shape).to(device)
    held_out = _sorted(data.held_out[:2000])
    recipe = {"kind": kind, "shape": shape, "plan": asdict(plan), "vocab": vocab, "pairs": most, "seed": seed}
    recipe |= {"data": data.fingerprint, "device": torch.device(device).type}
    unfinished = TrainingFolder.beside(folder, recipe)

    def judge(now: nn.Module) -> float:
        return bleu.corpus(
            translate(now, subwords, [p.source for p in held_out], width=1), [p.target for p in held_out]
        )

    title = "" if quiet else f"training {kind}"
    history = fit(model, rows, plan, judge, seed=seed, unfinished=unfinished, title=title, on_epoch=on_epoch)
    figures = {
        **_judge(model, subwords, _sorted(data.test), seed),
        "held_out_bleu": round(max(epoch.bleu for epoch in history), 2),
        "test_pairs": len(data.test),
        "train_pairs": len(rows.sources),
        "epochs": len(history),
        "seconds": round(history[-1].seconds, 1),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    card = Card(
        role="translator",
        kind=kind,
        shape=shape,
        settings={**asdict(plan), "vocab": vocab, "pairs": most},
        data=data.name,
        data_fingerprint=data.fingerprint,
        seed=seed,
        figures=figures,
        seconds=round(history[-1].seconds, 1),
        **stamp(),
    )
    checkpoint.save(folder, card, model, subwords, words_of(p.source for p in pairs))
    unfinished.clear()
    return card


def _judge(model: nn.Module, subwords: SubWords, pairs: Sequence[Pair], seed: int) -> dict[str, float]:
    """Return test BLEU of beam search with its interval."""
    found = bleu.counts(translate(model, subwords, [p.source for p in pairs]), [p.target for p in pairs])
    low, high = bleu.interval(found, seed)
    named = {"test_bleu": bleu.from_counts(found.sum(0)), "test_bleu_low": low, "test_bleu_high": high}
    return {name: round(value, 2) for name, value in named.items()}


def _finished(folder: Path, **ours: Any) -> Card:
    """Return the card of the finished model; raise if another training made it."""
    card = checkpoint.read_card(folder)
    refuse_other(folder, ours, {name: getattr(card, name) for name in ours})
    return card


def words_of(texts: Any) -> list[str]:
    """Return the words of the sources, most frequent first, as the vocabulary of sweeps."""
    find = word_pattern().findall
    counted = Counter(word for text in texts for word in find(text))
    return sorted(counted, key=lambda word: (-counted[word], word))


def _rows(pairs: Sequence[Pair], subwords: SubWords, limit: int) -> PairRows:
    cut = [(subwords.ids(pair.source), subwords.ids(pair.target)) for pair in pairs]
    kept = [(source, target) for source, target in cut if max(len(source), len(target)) <= limit]
    if not kept:
        raise DataError(f"all {len(cut)} pairs are longer than limit={limit} sub-words; set a larger limit")
    return PairRows(Ragged.of([source for source, _ in kept]), Ragged.of([target for _, target in kept]))


def _sorted(pairs: Sequence[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda pair: len(pair.source))
