"""Train a sentence model, ARAE or VAE, for a number of steps or minutes, with curves, samples and quality."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import torch
from jaxtyping import Int
from torch import Tensor, nn

from malaprop.core.catalogue import unknown
from malaprop.core.errors import AssetError, DataError, SettingError
from malaprop.models.tokens.vocab import SPECIAL, Vocab, tokens
from malaprop.papers.natural.models.arae import Arae, TextVae
from malaprop.papers.natural.models.sentencemodel import NGrams, is_sentence_model, save
from malaprop.papers.natural.models.sentencenet import SentenceNet, SentenceShape
from malaprop.papers.natural.models.sentences import PAD, Codec, distinct
from malaprop.training.card import Card, read_card, stamp
from malaprop.training.fit import fit
from malaprop.training.folder import TrainingFolder, check_target, refuse_other
from malaprop.training.schedule import ParameterGroup
from malaprop.training.seeds import RowOrder, reseed, seeded
from malaprop.training.task import Assessment, Losses, Stage, Sums, TrainingStep, TrainingTask
from malaprop.zoo.pretrain.texts import Corpus
from malaprop.zoo.start_vectors import StartVectors, check_width, read_start

_BATCH = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The figures of a sentence model on held-out sentences, the end of each counted as a word.

    `shown` is the share of words right when the words before are given; `written` when the writer goes on from its own
    words; `through_z` the same on the way that a search begins on, through the dense space. Perplexities are by an
    n-gram model of the training sentences: of sentences held out, of what comes back of them through the dense
    space, and of what random points give.
    """

    sentences: int
    words: int
    unknown_share: float
    shown: float
    written: float
    through_z: float
    whole: float  # share of sentences that come back word for word through z
    bleu: float
    bleu_through_z: float
    perplexity_real: float
    perplexity_back: float
    perplexity_samples: float
    distinct: float  # share of different sentences among samples
    distinct_pairs: float  # share of different word pairs among all of as many samples as sentences
    distinct_pairs_real: float
    coverage: float  # share of the words of sentences held out that samples use

    def figures(self) -> dict[str, float]:
        return {name: round(float(getattr(self, name)), 4) for name in self.__dataclass_fields__}


@torch.inference_mode()
def judge(
    net: SentenceNet, codec: Codec, held_out: Sequence[str], yardstick: NGrams, *, direct: bool = True, seed: int = 0
) -> Quality:
    """Measure the model on sentences that it never saw, and on as many samples, at least 200.

    A model that is not `direct`, as a VAE, never learnt to write from codes: for it all ways lead through z.
    """
    net.eval()
    device = net.bias.device
    rows = torch.from_numpy(codec.rows(held_out)).to(device)
    written, through, shown = _ways(net, rows, direct)
    inside = rows != PAD
    many = max(200, len(held_out))
    z = torch.randn(many, net.shape.latent, generator=torch.Generator().manual_seed(seed)).to(device)
    samples = codec.strings(torch.cat([net.write(net.out(part)) for part in torch.split(z, _BATCH)]).cpu())
    back = codec.strings(through.cpu())
    known = codec.strings(rows.cpu())  # unknown words count as one
    return Quality(
        sentences=len(held_out),
        words=int(inside.sum()),
        unknown_share=float((rows == 1).sum() / inside.sum()),
        shown=shown,
        written=_share((written == rows) & inside, inside),
        through_z=_share((through == rows) & inside, inside),
        whole=float((through == rows).all(1).float().mean()),
        bleu=bleu(codec.strings(written.cpu()), known),
        bleu_through_z=bleu(back, known),
        perplexity_real=yardstick.perplexity(held_out),
        perplexity_back=yardstick.perplexity(back),
        perplexity_samples=yardstick.perplexity(samples),
        distinct=len(set(samples)) / len(samples),
        distinct_pairs=_distinct_pairs(samples[: len(held_out)]),
        distinct_pairs_real=_distinct_pairs(held_out),
        coverage=_coverage(samples, held_out),
    )


def _ways(
    net: SentenceNet, rows: Int[Tensor, "batch slot"], direct: bool
) -> tuple[Int[Tensor, "batch slot"], Int[Tensor, "batch slot"], float]:
    """Return the rows written from codes, those written from points, and the share right given the words before."""
    written, through, right = [], [], 0
    for part in torch.split(rows, _BATCH):
        code = net.encode(part)
        back = net.out(net.invert(code))
        code = code if direct else back
        written.append(net.write(code))
        through.append(net.write(back))
        right += int(((net.logits(code, part).argmax(-1) == part) & (part != PAD)).sum())
    return torch.cat(written), torch.cat(through), right / int((rows != PAD).sum())


def _share(hits: Tensor, of: Tensor) -> float:
    return float(hits.sum() / of.sum())


def _distinct_pairs(sentences: Sequence[str]) -> float:
    pairs = [pair for sentence in sentences for pair in pairwise(tokens(sentence))]
    return len(set(pairs)) / len(pairs) if pairs else 0.0


def _coverage(samples: Sequence[str], real: Sequence[str]) -> float:
    used = {word for sentence in samples for word in tokens(sentence)}
    wanted = [word for sentence in real for word in tokens(sentence)]
    return sum(word in used for word in wanted) / max(1, len(wanted))


def bleu(made: Sequence[str], real: Sequence[str]) -> float:
    """Compute corpus BLEU with four-word grams, from 0 to 100; one reference each, in our tokens, not smoothed."""
    hits, totals, ours, theirs = [0] * 4, [0] * 4, 0, 0
    for one, other in zip(made, real, strict=True):
        a, b = tokens(one), tokens(other)
        ours, theirs = ours + len(a), theirs + len(b)
        for size in range(1, 5):
            grams = [Counter(tuple(row[i : i + size]) for i in range(len(row) - size + 1)) for row in (a, b)]
            hits[size - 1] += sum((grams[0] & grams[1]).values())
            totals[size - 1] += sum(grams[0].values())
    if min(hits) == 0:
        return 0.0
    short = min(0.0, 1 - theirs / ours)
    return 100 * math.exp(short + sum(math.log(h / t) for h, t in zip(hits, totals, strict=True)) / 4)


KINDS: Mapping[str, type[Arae] | type[TextVae]] = {"arae": Arae, "vae": TextVae}
_LOOK = 20  # steps between two looks at the losses
_POINTS = 200  # of a curve
_HELD_OUT = 2_000  # sentences that judge at most
_STEPS = 4_000  # where neither steps nor minutes are given
_ENDS = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePlan:
    """The training settings that both kinds share. Weights are repeatable only if steps alone end the training."""

    steps: int | None = None
    minutes: float | None = None
    batch: int = 128
    least: int = 2  # times that a word of the vocabulary was seen
    words: int = 20_000  # most words of the vocabulary

    def __post_init__(self) -> None:
        if min(self.batch, self.least) < 1 or self.words <= len(SPECIAL):
            raise SettingError(f"batch and least must be above 0 and words above {len(SPECIAL)}, got {self}")
        if self.steps == 0:
            raise SettingError("steps must be above 0, got 0")


class SentenceWork(Protocol):
    """The protocol of a way of learning: the losses of one batch."""

    @property
    def modules(self) -> Mapping[str, nn.Module]: ...
    @property
    def groups(self) -> Mapping[str, ParameterGroup]: ...

    def losses(self, rows: Int[Tensor, "batch slot"], progress: float) -> Losses: ...


def sentences_of(texts: Corpus, longest: int) -> tuple[list[str], list[str]]:
    """Return training and held-out sentences; a text that is too long gives those of its sentences that fit."""

    def cut(strings: Sequence[str]) -> Iterator[str]:
        for string in strings:
            yield string
            yield from _ENDS.split(string) if _ENDS.search(string) else ()

    train = distinct(cut(texts.train), longest)
    known = set(train)
    held_out = [sentence for sentence in distinct(cut(texts.held_out), longest) if sentence not in known]
    if len(train) < 2 or not held_out:
        raise DataError(
            f"{texts.name} has {len(train)} sentences of up to {longest} words to learn from and {len(held_out)} to "
            "hold out; give more texts, or --set longest=20"
        )
    return train, held_out[:_HELD_OUT]


def train_sentences(
    kind: str,
    texts: Corpus,
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    vectors: Path | None = None,
    seed: int = 0,
    device: str = "cpu",
    quiet: bool = True,
) -> Card:
    """Train on the sentences of texts into a folder; the same call resumes a training, or returns its card."""
    check_target(folder, "sentence model")
    shape, plan, how = _settings(kind, settings or {})
    train, held_out = sentences_of(texts, shape.longest)
    codec = Codec(Vocab.build(train, least=plan.least, most=plan.words), shape.longest)
    own = "dim" in (settings or {})
    start = None if own and vectors is None else _vectors(codec.vocab.words, vectors)
    if start is not None:
        start = check_width(start, shape.dim, kind) if own else start
        shape = replace(shape, dim=start.table.shape[1])
    if is_sentence_model(folder):
        card = read_card(folder, "sentence model")
        ours = {"kind": kind, "shape": asdict(shape), "settings": {**asdict(how), **asdict(plan)}, "seed": seed}
        theirs = {name: getattr(card, name) for name in ours}
        refuse_other(folder, {**ours, "data": texts.fingerprint}, {**theirs, "data": card.data_fingerprint})
        return card
    with seeded(seed):
        net = SentenceNet(len(codec.vocab), shape).to(device)
        about = _begin(net, start)
        work: SentenceWork = how.work(net)
    recipe = {"kind": kind, "shape": asdict(shape), "how": asdict(how), "plan": asdict(plan), "seed": seed}
    unfinished = TrainingFolder.beside(folder, {**recipe, "data": texts.fingerprint, "about": about})
    course = _course(work, torch.from_numpy(codec.rows(train)).to(device), plan, seed)
    fitted = fit(course, unfinished=unfinished, quiet=quiet, title=f"training {kind}")
    _halve(net)
    quality = judge(net, codec, held_out, NGrams(train), direct=kind == "arae", seed=seed)
    figures = {
        **quality.figures(), "train_sentences": len(train), "vocabulary": len(codec.vocab),
        "parameters": sum(p.numel() for p in net.parameters()), "steps": fitted.steps,
        "seconds": round(fitted.seconds, 1),
    }  # fmt: skip
    card = Card(
        role="sentence model",
        kind=kind,
        shape=asdict(shape),
        settings={**asdict(how), **asdict(plan)},
        data=texts.name,
        data_fingerprint=texts.fingerprint,
        seed=seed,
        figures=figures,
        curves=tuple(_curves(fitted.looks)),
        samples=tuple(_samples(net, codec, seed)),
        about=about,
        seconds=round(fitted.seconds, 1),
        **stamp(),
    )
    save(folder, card, net, codec.vocab, train)
    unfinished.clear()
    return card


def _settings(kind: str, given: Mapping[str, Any]) -> tuple[SentenceShape, SentencePlan, Arae | TextVae]:
    """Sort the settings by the part that has them; raise on one that no part has."""
    if kind not in KINDS:
        raise unknown("sentence model", kind, KINDS)
    made: list[Any] = []
    known: set[str] = set()
    parts: tuple[Any, ...] = (SentenceShape, SentencePlan, KINDS[kind])
    for part in parts:
        names = {field.name for field in fields(part)}
        known |= names
        mine = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items() if name in names}
        try:
            made.append(part(**mine))
        except TypeError as error:
            raise SettingError(f"a setting of {kind} has a value that cannot be used: {error}") from None
    for name in given:
        if name not in known:
            raise unknown("setting", name, known)
    return made[0], made[1], made[2]


def _vectors(words: Sequence[str], given: Path | None) -> StartVectors | None:
    """Return vectors for the vocabulary from a file or from packaged GloVe; None where GloVe is not available."""
    try:
        return read_start(words, given)
    except AssetError:
        if given is not None:
            raise
        return None


def _begin(net: SentenceNet, start: StartVectors | None) -> str:
    """Start words with their vectors, scaled to length 1; the others keep random ones. Returns a note for the card."""
    if start is None:
        return "Word vectors: drawn at random."
    known = torch.from_numpy(start.known.copy())
    known[: len(SPECIAL)] = False
    table = nn.functional.normalize(torch.from_numpy(start.table), dim=1).to(net.bias.device)
    with torch.no_grad():
        net.words.weight[known.to(net.bias.device)] = table[known.to(net.bias.device)]
    return f"{start.about} {int(known.sum()):,} of {len(known):,} words have one."


def _course(work: SentenceWork, rows: Int[Tensor, "sentence slot"], plan: SentencePlan, seed: int) -> TrainingTask:
    passes = RowOrder(len(rows), plan.batch, seed)

    def losses(now: TrainingStep) -> Losses:
        reseed(seed, now.step)
        picked = torch.from_numpy(passes.rows_of(now.step)).to(rows.device)
        return (yield from work.losses(rows[picked], now.progress))

    def look(_: TrainingStep, sums: Sums) -> Assessment:
        return Assessment({name: round(total.mean, 4) for name, total in sums.items()})

    steps = _STEPS if plan.steps is None and plan.minutes is None else plan.steps
    stage = Stage(losses=losses, steps=steps, minutes=plan.minutes, look=look, every=_LOOK)
    return TrainingTask(stages=(stage,), modules=work.modules, groups=work.groups)


def _curves(looks: Iterable[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the learning curve, thinned by halves to at most as many points as a curve may have."""
    every, out = _LOOK, list[dict[str, float]]()
    for look in looks:
        if look["step"] % every == 0:
            out.append({name: value for name, value in look.items() if name not in ("phase", "seconds")})
        if len(out) > _POINTS:
            out, every = out[1::2], 2 * every
    return out


@torch.no_grad()
def _halve(net: SentenceNet) -> None:
    """Round the weights to the two bytes they are saved in, so that the figures hold for the model loaded again."""
    for weight in net.state_dict().values():
        weight.copy_(weight.half().float())


def _samples(net: SentenceNet, codec: Codec, seed: int, many: int = 20) -> list[str]:
    z = torch.randn(many, net.shape.latent, generator=torch.Generator().manual_seed(seed + 1)).to(net.bias.device)
    return codec.strings(net.write(net.out(z)).cpu())
