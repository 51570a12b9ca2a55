"""Trains a sentence model: ARAE or VAE, by steps or minutes, with curves, samples and an exact resume."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from malaprop.core.catalogue import unknown
from malaprop.core.errors import AssetError, DataError, SettingError
from malaprop.core.seeds import generator
from malaprop.core.text import Ints
from malaprop.models.checkpoint import check_target
from malaprop.models.encoders.vectors import Start, check_width, read_file
from malaprop.models.fitting.finished import refuse_other
from malaprop.models.fitting.seeds import seeded
from malaprop.models.fitting.state import Unfinished
from malaprop.models.generative.arae import Arae, Losses
from malaprop.models.generative.ngrams import NGrams
from malaprop.models.generative.sentencemodel import SentenceCard, is_sentence_model, read_card, save
from malaprop.models.generative.sentencenet import SentenceNet, Shape
from malaprop.models.generative.sentencequality import judge
from malaprop.models.generative.sentences import Codec, distinct
from malaprop.models.generative.textvae import TextVae
from malaprop.models.pretrain.loop import Budget, progress_bar
from malaprop.models.pretrain.texts import Corpus, corpus
from malaprop.models.splits import Read
from malaprop.models.tokens.vocab import SPECIAL, Vocab

KINDS: Mapping[str, type[Arae] | type[TextVae]] = {"arae": Arae, "vae": TextVae}
_LOOK = 20  # steps between two looks at the losses
_POINTS = 200  # of a curve
_HELD_OUT = 2_000  # sentences that judge at most
_FLOOR = 0.05  # where the rate ends
_ENDS = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the kinds share. Only a budget of steps alone gives the same weights every time."""

    steps: int | None = None
    minutes: float | None = None
    batch: int = 128
    least: int = 2  # times that a word of the vocabulary was seen
    words: int = 20_000  # most words of the vocabulary

    def __post_init__(self) -> None:
        if min(self.batch, self.least) < 1 or self.words <= len(SPECIAL):
            raise SettingError(f"batch and least must be above 0 and words above {len(SPECIAL)}, got {self}")

    @property
    def budget(self) -> Budget:
        none = self.steps is None and self.minutes is None
        return Budget(steps=4_000 if none else self.steps, minutes=self.minutes)


class Work(Protocol):
    """A way of learning, one batch at a time."""

    optimisers: dict[str, torch.optim.Optimizer]

    def step(self, rows: Int[Tensor, "batch slot"], progress: float) -> Losses: ...

    def parts(self) -> Mapping[str, nn.Module]: ...


def sentences_of(texts: Corpus, longest: int) -> tuple[list[str], list[str]]:
    """Sentences to learn from and sentences held out; a text that is too long gives those of its sentences that fit."""

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
    data: str,
    read: Read,
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    vectors: Path | None = None,
    seed: int = 0,
    device: str = "cpu",
    quiet: bool = True,
) -> SentenceCard:
    """Trains on the sentences of `data` to a folder; the same call goes on with what was killed, or finds it done."""
    check_target(folder)
    shape, plan, how = _settings(kind, settings or {})
    texts = corpus(data, read)
    train, held_out = sentences_of(texts, shape.longest)
    codec = Codec(Vocab.build(train, least=plan.least, most=plan.words), shape.longest)
    own = "dim" in (settings or {})
    start = None if own and vectors is None else _vectors(codec.vocab.words, vectors)
    if start is not None:
        start = check_width(start, shape.dim, kind) if own else start
        shape = replace(shape, dim=start.table.shape[1])
    if is_sentence_model(folder):
        card = read_card(folder)
        refuse_other(
            folder,
            {"kind": kind, "shape": asdict(shape), "how": {**asdict(how), **asdict(plan)}, "seed": seed,
             "data": texts.fingerprint},
            {"kind": card.kind, "shape": card.shape, "how": card.how, "seed": card.seed, "data": card.data_fingerprint},
        )  # fmt: skip
        return card
    with seeded(seed):
        net = SentenceNet(len(codec.vocab), shape).to(device)
        about = _begin(net, start)
        work: Work = how.work(net)
    recipe = {"kind": kind, "shape": asdict(shape), "how": asdict(how), "plan": asdict(plan), "seed": seed}
    unfinished = Unfinished(
        folder=folder.absolute().with_name(f".{folder.name}.unfinished"),
        recipe={**recipe, "data": texts.fingerprint, "about": about},
    )
    curves, seconds, steps = _run(
        work, torch.from_numpy(codec.rows(train)), plan, unfinished, seed=seed, quiet=quiet, kind=kind
    )
    _halve(net)
    quality = judge(net, codec, held_out, NGrams(train), direct=kind == "arae", seed=seed)
    card = SentenceCard(
        kind=kind,
        shape=asdict(shape),
        how={**asdict(how), **asdict(plan)},
        data=texts.name,
        data_fingerprint=texts.fingerprint,
        seed=seed,
        figures={
            **quality.figures(),
            "train_sentences": len(train),
            "vocabulary": len(codec.vocab),
            "parameters": sum(p.numel() for p in net.parameters()),
            "steps": steps,
            "seconds": round(seconds, 1),
        },
        curves=tuple(curves),
        samples=tuple(_samples(net, codec, seed)),
        about=about,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    save(folder, card, net, codec.vocab, train)
    unfinished.clear()
    return card


def _settings(kind: str, given: Mapping[str, Any]) -> tuple[Shape, Plan, Arae | TextVae]:
    """Each setting goes where its name is; one that nothing has is refused."""
    if kind not in KINDS:
        raise unknown("sentence model", kind, KINDS)
    made: list[Any] = []
    known: set[str] = set()
    parts: tuple[Any, ...] = (Shape, Plan, KINDS[kind])
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


def _vectors(words: Sequence[str], given: Path | None) -> Start | None:
    """Vectors for the vocabulary: a file's, the packaged GloVe's, or none where that cannot be had."""
    if given is not None:
        held, matrix = read_file(given)
        index = {word: row for row, word in reversed(list(enumerate(held)))}
        rows = np.fromiter((index.get(word, -1) for word in words), np.int64, len(words))
        table = np.where(rows[:, None] >= 0, matrix[rows], 0).astype(np.float32)
        return Start(table, rows >= 0, f"Word vectors: {given.name}, as given.")
    from malaprop.assets.vectors import open_vectors

    try:
        vectors = open_vectors("glove")
    except AssetError:
        return None
    table, known = vectors.raw(words)
    return Start(table, known, f"Word vectors: the packaged GloVe, {vectors.dim} dimensions.")


def _begin(net: SentenceNet, start: Start | None) -> str:
    """Puts vectors of length 1 where a word has one; the others keep their random ones."""
    if start is None:
        return "Word vectors: drawn at random."
    known = torch.from_numpy(start.known.copy())
    known[: len(SPECIAL)] = False
    table = nn.functional.normalize(torch.from_numpy(start.table), dim=1).to(net.bias.device)
    with torch.no_grad():
        net.words.weight[known.to(net.bias.device)] = table[known.to(net.bias.device)]
    return f"{start.about} {int(known.sum()):,} of {len(known):,} words have one."


def _run(
    work: Work,
    rows: Int[Tensor, "sentence slot"],
    plan: Plan,
    unfinished: Unfinished,
    seed: int,
    quiet: bool,
    kind: str,
) -> tuple[list[dict[str, float]], float, int]:
    """All steps; gives the curves, the seconds and the steps in all. Each step draws from a seed of its own."""
    net = work.parts()["net"]
    device = next(net.parameters()).device
    placed = rows.to(device)
    order = _Order(len(rows), min(plan.batch, len(rows)), seed)
    state = _State(work)
    before = unfinished.restore(state.keep, state.fill)
    began, budget = time.perf_counter(), plan.budget
    rates = [group["lr"] for group in work.optimisers["coder"].param_groups]
    seen: dict[str, list[Tensor]] = {}
    net.train()
    with seeded(seed), progress_bar(f"training {kind}", quiet) as show:
        while True:
            seconds = before + time.perf_counter() - began
            progress = budget.spent(state.step, seconds)
            if progress >= 1 and state.step:
                break
            torch.manual_seed(int(generator(seed, "step", str(state.step)).integers(1 << 62)))
            slope = min(1.0, (progress + 1e-3) / 0.05) * max(_FLOOR, 1 - progress)
            for group, rate in zip(work.optimisers["coder"].param_groups, rates, strict=True):
                group["lr"] = rate * slope
            losses = work.step(placed[torch.from_numpy(order.rows_of(state.step)).to(device)], progress)
            for name, value in losses.items():
                seen.setdefault(name, []).append(value.detach())
            state.step += 1
            if state.step % _LOOK == 0:
                state.look({name: float(torch.stack(values).mean()) for name, values in seen.items()}, show, progress)
                seen.clear()
                unfinished.maybe(state.keep, before + time.perf_counter() - began)
    return state.curves, before + time.perf_counter() - began, state.step


class _Order:
    """Which sentences each step reads: every pass in an order of its own, known from the seed and the step alone."""

    def __init__(self, rows: int, size: int, seed: int) -> None:
        self.rows, self.size, self.seed = rows, size, seed
        self._known: tuple[int, Ints] | None = None

    def rows_of(self, step: int) -> Ints:
        number, at = divmod(step, self.rows // self.size)
        if self._known is None or self._known[0] != number:
            self._known = (number, generator(self.seed, "pass", str(number)).permutation(self.rows))
        return self._known[1][at * self.size : (at + 1) * self.size]


class _State:
    """Where a training stands: weights, optimisers, step and curves."""

    def __init__(self, work: Work) -> None:
        self.work, self.step, self.every = work, 0, _LOOK
        self.curves: list[dict[str, float]] = []

    def look(self, losses: dict[str, float], show: Any, progress: float) -> None:
        worst = max(losses.values(), key=lambda value: abs(value) if math.isfinite(value) else math.inf)
        if not math.isfinite(worst):
            raise SettingError(f"training broke down: a loss became {worst}; use a smaller rate")
        if self.step % self.every == 0:
            self.curves.append({"step": self.step, **{name: round(value, 4) for name, value in losses.items()}})
        if len(self.curves) > _POINTS:
            self.curves, self.every = self.curves[1::2], 2 * self.every
        show(progress, next(iter(losses.values())))

    def keep(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors: dict[str, Tensor] = {}
        names: dict[int, str] = {}
        for part, module in self.work.parts().items():
            for name, parameter in module.named_parameters():
                tensors[f"now|{part}.{name}"] = parameter
                names[id(parameter)] = f"{part}.{name}"
        for which, optimiser in self.work.optimisers.items():
            for weight, held in optimiser.state.items():
                tensors |= {f"{which}/{key}|{names[id(weight)]}": value for key, value in held.items()}
        return tensors, {"step": self.step, "every": self.every, "curves": self.curves}

    def fill(self, tensors: dict[str, Tensor], notes: dict[str, Any]) -> None:
        parameters = {
            f"{part}.{name}": parameter
            for part, module in self.work.parts().items()
            for name, parameter in module.named_parameters()
        }
        with torch.no_grad():
            for label, tensor in tensors.items():
                key, _, name = label.partition("|")
                if key == "now":
                    parameters[name].copy_(tensor)
                else:
                    which, _, what = key.partition("/")
                    device = "cpu" if what == "step" and tensor.device.type == "cpu" else parameters[name].device
                    self.work.optimisers[which].state[parameters[name]][what] = tensor.to(device)
        self.step, self.every, self.curves = int(notes["step"]), int(notes["every"]), list(notes["curves"])


@torch.no_grad()
def _halve(net: SentenceNet) -> None:
    """Weights as they will be written, so that the figures are of what is loaded again."""
    for weight in net.state_dict().values():
        weight.copy_(weight.half().float())


def _samples(net: SentenceNet, codec: Codec, seed: int, many: int = 20) -> list[str]:
    z = torch.randn(many, net.shape.latent, generator=torch.Generator().manual_seed(seed + 1)).to(net.bias.device)
    return codec.strings(net.write(net.out(z)).cpu())
