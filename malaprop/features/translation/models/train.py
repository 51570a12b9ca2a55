"""Trains a translation model from pairs to a folder: split, sub-words, network, training, figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, word_pattern
from malaprop.data.packaged import tenth_of
from malaprop.features.translation.models import checkpoint, lstm, transformer
from malaprop.features.translation.models.decoding import translate
from malaprop.features.translation.models.subwords import BOS, PAD, SubWords
from malaprop.models import bleu
from malaprop.models.padded_rows import Ragged
from malaprop.training import fit as loop
from malaprop.training.card import Card, stamp
from malaprop.training.folder import TrainingFolder, check_target, refuse_other
from malaprop.training.schedule import ParameterGroup, Schedule, follow, inverse_root
from malaprop.training.seeds import reseed, seeded
from malaprop.training.splits import Labelled, Read
from malaprop.training.task import Assessment, GradientLoss, Losses, Stage, Sums, TrainingStep, TrainingTask


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationPlan:
    """The settings of a training.

    `tokens` is the size of a batch with padding. The learning rate rises over `warmup` steps and then falls as one over
    the root of the step.

    `average` is the decay of the running mean of the weights; 0 uses the weights themselves. Training ends after
    `patience` evaluations of held-out BLEU without improvement, one an epoch from `look_from` on.
    """

    epochs: int = 60
    tokens: int = 4096
    rate: float = 0.002
    warmup: int = 1000
    smoothing: float = 0.1
    decay: float = 0.0001
    clip: float = 1.0
    average: float = 0.998
    patience: int = 15
    look_from: int = 1
    minutes: float = 0.0  # no new epoch begins later than this; 0: no such bound, and the same weights every time

    def __post_init__(self) -> None:
        if min(self.epochs, self.tokens, self.patience, self.look_from) < 1 or self.warmup < 0 or self.minutes < 0:
            raise SettingError(f"epochs, tokens, patience and look_from must be 1 or more, got {self}")
        if min(self.rate, self.clip) <= 0 or not (0 <= self.smoothing < 1 and 0 <= self.average < 1):
            raise SettingError(f"rate and clip must be above 0, smoothing and average from 0 to below 1, got {self}")


class TranslationEpoch(NamedTuple):
    """The figures of one epoch; `bleu` is -1 where it was not evaluated."""

    number: int
    loss: float
    bleu: float
    seconds: float


class PairRows(NamedTuple):
    """The training pairs as pieces, each side with its end mark."""

    sources: Ragged
    targets: Ragged


Judge = Callable[[nn.Module], float]


class Translating:
    """The training task of a translation model; it evaluates and keeps a running mean of the weights."""

    def __init__(self, model: nn.Module, rows: PairRows, plan: TranslationPlan, judge: Judge, *, seed: int) -> None:
        self.model, self.rows, self.plan, self.judge, self.seed = model, rows, plan, judge, seed
        self.device = next(model.parameters()).device
        self.mean = deepcopy(model).requires_grad_(False)
        self._batches: tuple[int, list[Ints]] = (0, _batches(rows, plan.tokens, seed, 0))
        self.a_pass = len(self._batches[1])  # the same in every epoch: it depends on the lengths alone
        stage = Stage(
            losses=self.losses,
            steps=plan.epochs * self.a_pass,
            look=self.look,
            every=self.a_pass,
            patience=plan.patience,
        )
        schedule = Schedule(
            rate=plan.rate,
            slope=inverse_root(plan.warmup),
            decay=plan.decay,
            clip=plan.clip,
            betas=(0.9, 0.98),
            eps=1e-9,
        )
        self.task = TrainingTask(
            stages=(stage,),
            modules={"model": model, "mean": self.mean},
            groups={"model": ParameterGroup(schedule, model.named_parameters())},
            best="mean",
        )

    def losses(self, now: TrainingStep) -> Losses:
        reseed(self.seed, now.step)
        epoch, at = divmod(now.step, self.a_pass)
        if self._batches[0] != epoch:
            self._batches = (epoch, _batches(self.rows, self.plan.tokens, self.seed, epoch))
        half = self.device.type == "cuda" and bool(self.model.half_precision)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            loss = _loss(self.model, self.rows, self._batches[1][at], self.device, self.plan.smoothing)
        yield GradientLoss("model", loss)
        follow(self.mean, self.model, self.plan.average, now.step + 1)
        return {"loss": loss}

    def look(self, now: TrainingStep, sums: Sums) -> Assessment:
        """Evaluate held-out BLEU of the averaged weights."""
        epoch, loss = now.step // self.a_pass, sums["loss"].mean
        late = 0 < 60 * self.plan.minutes <= now.seconds
        if epoch < self.plan.look_from and epoch != self.plan.epochs:
            return Assessment({"loss": loss, "bleu": -1.0}, over=late)
        bleu = self.judge(self.mean)
        return Assessment({"loss": loss, "bleu": bleu}, (bleu,), late)


def fit(
    model: nn.Module,
    rows: PairRows,
    plan: TranslationPlan,
    judge: Judge,
    *,
    seed: int,
    unfinished: TrainingFolder,
    title: str = "",
    on_epoch: Callable[[TranslationEpoch], None] | None = None,
) -> list[TranslationEpoch]:
    """Train a model in place and leave the best weights in it; `title` is the progress bar's.

    On a CPU a killed training resumes to the very same weights.
    """
    work = Translating(model, rows, plan, judge, seed=seed)

    def epoch(step: int, figures: Mapping[str, float], seconds: float) -> TranslationEpoch:
        return TranslationEpoch(step // work.a_pass, figures["loss"], figures["bleu"], seconds)

    def listen(now: TrainingStep, look: Assessment) -> None:
        if on_epoch:
            on_epoch(epoch(now.step, look.figures, now.seconds))

    fitted = loop.fit(work.task, unfinished=unfinished, title=title, quiet=not title, listen=[listen])
    model.load_state_dict(work.mean.state_dict())
    return [epoch(look["step"], look, look["seconds"]) for look in fitted.looks]


def _batches(rows: PairRows, tokens: int, seed: int, epoch: int) -> list[Ints]:
    """Group pairs of similar length into batches; they depend on the seed and the epoch alone."""
    rng = generator(seed, "epoch", str(epoch))
    order = rng.permutation(len(rows.sources))
    longest = np.maximum(rows.sources.size, rows.targets.size)[order]
    order = order[np.argsort(longest, kind="stable")]
    out: list[Ints] = []
    begin = 0
    sizes = np.maximum(rows.sources.size, rows.targets.size)[order].tolist()
    for at, size in enumerate(sizes):
        if at > begin and (at - begin + 1) * size > tokens:
            out.append(order[begin:at])
            begin = at
    out.append(order[begin:])
    return [out[i] for i in rng.permutation(len(out))]


def padded(rows: Ragged, picked: Ints) -> tuple[Int[Tensor, "batch slot"], Int[Tensor, " batch"]]:
    """Return the picked rows with padding, and their lengths."""
    size = rows.size[picked]
    column = np.arange(int(size.max()))
    inside = column < size[:, None]
    place = np.where(inside, rows.start[picked][:, None] + column, 0)
    return torch.from_numpy(np.where(inside, rows.flat[place], PAD)), torch.from_numpy(size)


def _loss(model: nn.Module, rows: PairRows, picked: Ints, device: torch.device, smoothing: float) -> Float[Tensor, ""]:
    sources, lengths = padded(rows.sources, picked)
    targets, _ = padded(rows.targets, picked)
    sources, targets = sources.to(device, non_blocking=True), targets.to(device, non_blocking=True)
    before = torch.cat([torch.full_like(targets[:, :1], BOS), targets[:, :-1]], 1)
    logits = model.decode(model.encode(sources, lengths), before)  # type: ignore[operator]
    return functional.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


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
            raise DataError(f"{train.name} has {len(train.examples)} pairs, too few to have some to {what}; give more")
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
