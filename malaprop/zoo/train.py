"""Training of a model of the zoo, from the texts of a dataset to its folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from malaprop.core.catalogue import unknown
from malaprop.core.errors import AssetError, DataError, SettingError, plain
from malaprop.core.example import PAIR, Example
from malaprop.core.victim import Fields
from malaprop.models.padded_rows import Ragged
from malaprop.models.tokens.vocab import PAD, SPECIAL, UNK, OpenVocab, Vocab
from malaprop.training.card import Card, read_card, stamp
from malaprop.training.folder import TrainingFolder, check_recipe, check_target, keep_recipe
from malaprop.training.seeds import seeded
from malaprop.training.splits import Splits
from malaprop.zoo import checkpoint
from malaprop.zoo import names as zoo
from malaprop.zoo.blocks.cnn import Channels
from malaprop.zoo.checkpoint import open_vocabulary
from malaprop.zoo.names import RANDOM_DIM, ZooSpec
from malaprop.zoo.start_vectors import check_width, starting
from malaprop.zoo.training import FittedClassifier, Hooks, Rows, Training, evaluate, fit


class WordRows(NamedTuple):
    """A dataset as word numbers: `vocab` is that of the training texts; further numbers are the words of `more`."""

    vocab: Vocab
    more: list[str]
    parts: tuple[Rows, Rows, Rows]  # to train on, to choose by, to judge by
    cased: bool

    @classmethod
    def of(cls, data: Splits, least: int = 1, cased: bool = False) -> WordRows:
        """Read a dataset; words seen less often than `least` times in training are unknown, there and later."""
        vocab = Vocab.build((value for e in data.train for value in e.fields.values()), least=least, cased=cased)
        opened = OpenVocab(vocab, cased=cased)
        parts = [_rows(part, opened) for part in (data.train, data.held_out, data.test)]
        return cls(vocab, opened.words[len(vocab) :], (parts[0], parts[1], parts[2]), cased)

    def closed(self, limit: int) -> list[Rows]:
        """Return the rows for a model that knows the vocabulary alone."""
        known = len(self.vocab)
        return [Rows(Ragged.of(p.tokens).cut(limit).capped(known, UNK), p.labels) for p in self.parts]

    def open(self, limit: int, vocab: OpenVocab) -> list[Rows]:
        """Return the rows for a model that reads any word; `vocab` learns the numbers of new words."""
        for word in self.more:
            vocab.number(word)
        return [Rows(Ragged.of(p.tokens).cut(limit), p.labels) for p in self.parts]


def _rows(examples: Sequence[Example], vocab: OpenVocab) -> Rows:
    encoded = vocab.encode([tuple(e.fields.values()) for e in examples])
    return Rows(Ragged.of(encoded), [e.label for e in examples])


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingInput:
    """The choices of a user about a training beyond the model's name.

    `vectors` is a file of word vectors, `start` a transformers folder or hub name, `settings` entries of `Training` or
    of the network's shape, which count where a model has them. A model of other casing than `words` reads its own.
    """

    vectors: Path | None = None
    start: str | None = None
    settings: Mapping[str, Any] | None = None
    words: WordRows | None = None  # the texts read before, once for many models; no part of what decides the weights

    def plain(self) -> dict[str, Any]:
        marks = [self.vectors.stat().st_size, self.vectors.stat().st_mtime_ns] if self.vectors else []
        return {
            "vectors": str(self.vectors or ""),
            "marks": marks,
            "start": self.start,
            "set": dict(self.settings or {}),
        }

    def __post_init__(self) -> None:
        if self.vectors is not None and not self.vectors.is_file():
            raise SettingError(
                f"--vectors {self.vectors} is not a file; give a .bin, .vec, .txt or .npz of word vectors"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class InTheLoop:
    """Additions of a defence to a training: its hooks, its name and its settings."""

    hooks: Callable[[TrainingJob], Hooks]
    name: str = ""
    about: str = ""


def train(
    spec: ZooSpec,
    data: Splits,
    folder: Path,
    *,
    seed: int = 0,
    device: str = "cpu",
    given: TrainingInput | None = None,
    added: InTheLoop | None = None,
    quiet: bool = False,
) -> Card:
    """Train a model, evaluate it on the test part, and write the folder whole or not at all.

    The same call resumes what was interrupted, and finds what is done.
    """
    given, about = given or TrainingInput(), added.about if added else ""
    _check_fields(spec, data)
    check_target(folder)
    how = change_training(find_training(spec, given.start, len(data.train)), given.settings or {})
    job = _job(spec, data, seed, given, how.least)
    job.model.to(device)
    recipe: dict[str, Any] = {
        "spec": spec.plain(),
        "shape": job.shape,
        "how": asdict(how),
        "seed": seed,
        "data": data.fingerprint,
    }
    recipe |= {"given": given.plain(), "start": _digest(job.model), **({"hardened": about} if about else {})}
    recipe |= {"added": data.added.about} if data.added else {}
    if checkpoint.is_checkpoint(folder):
        check_recipe(folder, recipe)
        return read_card(folder)
    unfinished = TrainingFolder.beside(folder, recipe)
    hooks = added.hooks(job) if added else None
    title = "" if quiet else f"training {spec.name}"
    learn, held_out, test = job.parts
    fitted = fit(job.model, learn, held_out, how, seed=seed, hooks=hooks, title=title, unfinished=unfinished)
    card = Card(
        spec=spec.plain(),
        shape=job.shape,
        labels=data.labels,
        limit=job.most,
        data=data.name,
        data_fingerprint=data.fingerprint,
        seed=seed,
        about=" ".join(filter(None, (job.about, about, data.added.about if data.added else ""))),
        hardened=added.name if added else "",
        settings=asdict(how),
        seconds=round(fitted.seconds, 1),
        **stamp(),
        figures=_figures(fitted, evaluate(job.model, test)[0], job.parts, job.model)
        | ({"added_rows": data.added.rows} if data.added else {}),
    )
    job.save(folder, card)
    keep_recipe(folder, recipe)
    unfinished.clear()
    return card


def _check_fields(spec: ZooSpec, data: Splits) -> None:
    fields = tuple(data.train[0].fields)
    if spec.pairs and len(fields) != len(PAIR):
        raise DataError(
            f"{spec.name} reads a premise and a hypothesis, {data.name} has {', '.join(fields)}; give pairs, such as "
            "entailment-synthetic, or train another model"
        )


class TrainingJob(Protocol):
    """A network with fresh or pre-trained weights, and the rows that it reads."""

    model: nn.Module
    shape: dict[str, Any]
    most: int
    about: str
    parts: list[Rows]

    def rows(self, texts: Sequence[Fields]) -> Sequence[Sequence[int]]:
        """Return token rows of other texts, in the form of `parts`."""
        ...

    def save(self, folder: Path, card: Card) -> None: ...


def _job(spec: ZooSpec, data: Splits, seed: int, given: TrainingInput, least: int) -> TrainingJob:
    if not spec.fine_tuned:
        cased = bool((given.settings or {}).get("cased")) and "cased" in zoo.shape(spec, 1)
        words = given.words if given.words and given.words.cased == cased else WordRows.of(data, least, cased)
        return _Words(spec, data, seed, given, words)
    from malaprop.zoo.finetune import FineTuning

    return FineTuning(spec, data, seed, given.start, limit=_limit(spec, given))


def _limit(spec: ZooSpec, given: TrainingInput) -> int:
    """Return how many tokens of a text the model reads."""
    return int((given.settings or {}).get("limit", zoo.limit(spec)))


def find_training(spec: ZooSpec, start: str | None, rows: int) -> Training:
    """Return the default training of a model, by the weights that it starts from, not by its name."""
    from malaprop.zoo.finetune import PACKAGED

    return zoo.training(ZooSpec.of(PACKAGED[start][0]) if spec.fine_tuned and start in PACKAGED else spec, rows)


def change_training(how: Training, settings: Mapping[str, Any]) -> Training:
    """Apply a user's settings; frozen=false also trains the parameters that the defaults leave as they are."""
    names = {field.name for field in fields(Training)}
    if settings.get("frozen") is False:
        how = replace(how, rates=())
    return replace(how, **{name: value for name, value in settings.items() if name in names})


def check_settings(settings: Mapping[str, Any], specs: Sequence[ZooSpec]) -> None:
    """Raise on a setting that none of these models has, and on a value that no training takes."""
    known = {field.name for field in fields(Training)} | {"limit"}
    for spec in specs:
        known |= set(zoo.shape(spec, 1))
    if specs and all(spec.fine_tuned for spec in specs):
        known -= {"least"}  # whose words are those of their tokenizer
    if not any(spec.units == "both" for spec in specs):
        known -= {"words"}
    if any(spec.fine_tuned for spec in specs):
        known |= {"frozen"}  # whether word vectors that the default settings leave as they are stay so
    known -= {"chars", "elmo", "both", "rates"}  # which no word on the command line can be
    for name in settings:
        if name not in known:
            raise unknown("setting", name, known)
    limit, frozen = settings.get("limit", 512), settings.get("frozen", True)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 8:
        raise SettingError(f"limit is how many tokens of a text are read, at least 8, got {limit!r}")
    if not isinstance(frozen, bool):
        raise SettingError(f"frozen takes true or false, got {frozen!r}")
    change_training(Training(), settings)  # a wrong value should not wait for the data


def _digest(model: nn.Module) -> str:
    """Return a digest of the weights that the training starts from."""
    digest = sha256()
    for name, tensor in model.state_dict().items():
        digest.update(json.dumps([name, list(tensor.shape), float(tensor.double().sum())]).encode())
    return digest.hexdigest()[:16]


def _figures(fitted: FittedClassifier, accuracy: float, parts: Sequence[Rows], model: nn.Module) -> dict[str, float]:
    return {
        "test_accuracy": round(accuracy, 4),
        "validation_accuracy": round(fitted.accuracy, 4),
        "train_rows": len(parts[0].labels),
        "test_rows": len(parts[2].labels),
        "epochs": len(fitted.epochs),
        "seconds": round(fitted.seconds, 1),
        "parameters": sum(p.numel() for p in model.parameters()),
    }


class _Words:
    """A model that reads words, their characters, or both."""

    def __init__(self, spec: ZooSpec, data: Splits, seed: int, given: TrainingInput, words: WordRows) -> None:
        self.vocab, self.about = words.vocab, ""
        self.most = _limit(spec, given)
        self._given = given.settings or {}
        with seeded(seed):
            if spec.vectors:
                self._from_vectors(spec, data, given.vectors)
            elif spec.units == "both":
                self._from_elmo(spec, data)
            else:
                self._make(spec, data, zoo.shape(spec, RANDOM_DIM))
                self.about = (
                    "Word vectors: drawn at random." if spec.units == "word" else "Characters: drawn at random."
                )
        self.reader = reader = open_vocabulary(self.model, self.vocab)
        self.parts = words.closed(self.most) if isinstance(reader, Vocab) else words.open(self.most, reader)

    def rows(self, texts: Sequence[Fields]) -> Sequence[Sequence[int]]:
        return [row[: self.most] for row in self.reader.encode(texts)]

    def _make(self, spec: ZooSpec, data: Splits, shape: dict[str, Any]) -> None:
        self.shape = {**shape, **{name: value for name, value in self._given.items() if name in shape}}
        try:
            self.model = zoo.network(spec, len(self.vocab), len(data.labels), self.shape)
        except (TypeError, ValueError, RuntimeError) as error:
            raise SettingError(f"{spec.name} cannot be built with {self.shape}: {plain(error)[:200]}") from None

    def _from_vectors(self, spec: ZooSpec, data: Splits, path: Path | None) -> None:
        start = starting(spec.embedding, self.vocab.words, data, path)
        dim = int(self._given.get("dim", start.table.shape[1]))
        start = check_width(start, dim, spec.name)
        self._make(spec, data, zoo.shape(spec, dim))
        table, known = torch.from_numpy(start.table), torch.from_numpy(start.known)
        known[: len(SPECIAL)] = False
        self.about = f"{start.about} {int(known.sum()):,} of {len(self.vocab):,} words have one."
        fresh = torch.empty_like(table).normal_(0, 0.1)  # words without a vector: short ones, so that they say little
        fresh[known] = table[known]
        fresh[PAD] = 0
        embedding = self.model.get_submodule("embedding")
        if isinstance(embedding, Channels):
            embedding.start(fresh)
        else:
            assert isinstance(embedding, nn.Embedding)
            embedding.weight.data.copy_(fresh)

    def _from_elmo(self, spec: ZooSpec, data: Splits) -> None:
        from malaprop.zoo import pretrain as pretrained
        from malaprop.zoo.pretrain.elmo import load_elmo

        folder = pretrained.found("elmo")
        if folder is None:
            raise AssetError(
                f"{spec.name} needs a pretrained ELMo, and none is in the cache; run: malaprop pretrain elmo"
            )
        card = read_card(folder, "encoder")
        elmo = load_elmo(folder)
        words = self._given.get("words", RANDOM_DIM)
        if not isinstance(words, int) or words < 0:
            raise SettingError(f"words is the width of the words' own vectors, or 0 for none, got {words!r}")
        self._given = {name: value for name, value in self._given.items() if name not in ("dim", "words")}
        below = json.loads(json.dumps(card.shape))
        width = {"words": words, "dim": 2 * elmo.dim + words}
        self._make(spec, data, zoo.shape(spec, 2 * elmo.dim, below) | width)
        frozen = self.model.get_submodule("embedding.elmo")
        # two bytes a weight, as they will be written: what is trained on top is what is loaded again
        frozen.load_state_dict({name: tensor.half().float() for name, tensor in elmo.state_dict().items()})
        self.about = f"Frozen below: {card.about}"

    def save(self, folder: Path, card: Card) -> None:
        checkpoint.save(folder, card, self.model, self.vocab)
