"""What `malaprop natural` does for texts: train a sentence model once, search around sentences, compute the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import DataError, SettingError
from malaprop.frame.study.selection import Selection
from malaprop.frame.tasks.outputs import OwnFolder, RunFolder, TimeTaken
from malaprop.frame.tasks.task import Task
from malaprop.papers.natural.latent_tasks import (
    GENERATOR,
    GROUND,
    TEXT_VICTIM,
    Latent,
    LatentJob,
    describe_run,
    order_lines,
)
from malaprop.papers.natural.text_record import NaturalTextRecord, TextFigures, TextRunFigures

if TYPE_CHECKING:
    from malaprop.core.example import Example
    from malaprop.data.base import Dataset
    from malaprop.frame.study.run_options import RunOptions
    from malaprop.frame.tasks.task import Inputs, Share
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.natural.models.sentencemodel import SentenceModel
    from malaprop.papers.natural.search.service import LatentData, LatentSearch
    from malaprop.papers.natural.sentences import ClassifierUnderSearch, TranslatorUnderSearch

_TASK = "natural adversaries of text"
_SHOWN = 30  # turns of each victim that the record keeps
_ORIGINALS = 6  # sentences whose surroundings are shown
_JUDGED = 2_000  # examples that accuracy is measured on
_KINDS = ("arae", "vae")
# The searches' default settings here: the paper's N for text, and steps that fit our space.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "iterative": {"samples": 100, "step": 0.05},
    "hybrid": {"samples": 100, "step": 0.05},
    "boundary": {"samples": 100},
}
# Sizes that learn in a few minutes where no GPU is.
_SMALL: dict[str, Any] = {
    "steps": 800,
    "batch": 64,
    "words": 4000,
    "filters": (64, 96, 128),
    "code": 128,
    "latent": 50,
    "hidden": 128,
}


@dataclass(frozen=True, kw_only=True)
class TextDomain:
    """Sentences as the items of latent searches; with `compares` misclassified sentences are searched around, too."""

    asked: Latent
    victims: tuple[Any, ...] = ()
    probe: str | None = None
    labels: tuple[str, ...] = ()
    compares: bool = False
    small: bool = True

    record: ClassVar[type[NaturalTextRecord]] = NaturalTextRecord
    figures: ClassVar[type[TextFigures]] = TextFigures
    shown: ClassVar[str] = "shown"
    judges: ClassVar[dict[str, Any]] = {}
    costs: ClassVar[tuple[str, ...]] = ("seconds", "forwarded")
    has_baseline: ClassVar[bool] = False
    output: ClassVar[RunFolder] = RunFolder(
        lines="malaprop.papers.natural.text_record:TURNS",
        error="malaprop.papers.natural.sentences:error_turn",
        checks=True,
    )

    @property
    def goal(self) -> str:
        return self.probe or "another label"

    # --- what the driver reads

    @cached_property
    def whole(self) -> Dataset:
        """Return the texts that examples are sampled from: the chosen part, with labels in the chosen order."""
        return Selection(data=self.asked.data, split=self.asked.split, labels=self.labels).whole(self.victims)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "whole"}  # texts travel as inputs

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"whole": self.whole}

    def read_more(self, inputs: Inputs) -> Inputs:
        """Read sources with their translations, for the translations of verbs; none if the data has no translations."""
        from malaprop.data.base import load
        from malaprop.papers.natural.probes import BOTH, VERB

        del inputs
        if self.probe not in (VERB, BOTH):
            return {}
        try:
            train = load(self.asked.data, split="train")
        except DataError:
            train = self.whole
        both = train.fields == ("source", "target")
        return {"pairs": [(e.fields["source"], e.fields["target"]) for e in train] if both else []}

    def list_items(self, inputs: Inputs) -> Dataset:
        items: Dataset = inputs[GROUND].items
        return items

    # --- models

    @property
    def generator(self) -> str:
        return self.asked.generator or "arae"

    @property
    def is_named(self) -> bool:
        """Return whether the sentence model is given by its kind and trained here, not by a folder."""
        return self.generator in _KINDS and not Path(self.generator).is_dir()

    def make_search(self, name: str) -> LatentSearch:
        from malaprop.papers.natural.search import make_search

        return make_search(name, self.asked.settings, _DEFAULTS.get(name))

    def check(self, victims: Sequence[Any], where: RunOptions) -> None:
        from malaprop.papers.natural.models.image_victim import KINDS
        from malaprop.papers.natural.probes import parse

        del where
        for victim in victims:
            if isinstance(victim, str) and victim in KINDS:
                raise SettingError(
                    f"{victim} is a classifier of images, and {self.asked.data} holds texts; name a victim of texts, "
                    f"or leave it out for {TEXT_VICTIM}"
                )
        if self.probe is not None:
            parse(self.probe)
        assert self.whole  # what is wrong with the data should not wait for a model

    def train(self, models: Mapping[str, Any]) -> Iterator[Task]:
        """Yield the task that trains a sentence model given only by its kind to the cache, for these texts."""
        from malaprop.assets.folders import cache_root
        from malaprop.data.base import load

        del models
        if not self.is_named:
            return
        kind, data = self.generator, self.asked.data
        learnt = ("mr", "imdb") if data in ("mr", "imdb") else (data,)
        mark = load(data, split="train").fingerprint
        key = sha256(f"{','.join(learnt)}|{mark}|{self.asked.seed}|{self.small}".encode()).hexdigest()[:12]

        def read(inputs: Inputs) -> Inputs:
            del inputs
            return {"learnt": {part: load(part, split="train") for part in learnt}}

        place = cache_root() / "generators" / f"{kind}-text-{key}"
        work = partial(self.train_generator, kind)
        yield Task(name=GENERATOR, at=str(place), work=work, output=OwnFolder(), reads=read, vital=True)

    def train_generator(self, kind: str, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        from malaprop.papers.natural.models.sentencetraining import train_sentences
        from malaprop.zoo.pretrain.texts import corpus

        learnt: Mapping[str, Dataset] = inputs["learnt"]
        data = ",".join(learnt)
        context.note(f"training an {kind.upper()} on the sentences of {data} (once; kept in the cache)")
        train_sentences(
            kind, corpus(data, lambda spec, *, split: learnt[spec]),  # noqa: ARG005 - there is one part alone
            context.folder, settings=_SMALL if self.small else {}, seed=self.asked.seed, device=context.device,
            quiet=context.quiet,
        )  # fmt: skip
        yield from ()

    def open_generator(self, context: WorkerContext, inputs: Inputs) -> SentenceModel:
        from malaprop.papers.natural.models.sentencemodel import SentenceModel

        folder = Path(inputs[GENERATOR]).expanduser()
        return context.keep(GENERATOR, lambda: SentenceModel.load(folder, device=context.device))

    def open_victim(
        self, context: WorkerContext, inputs: Inputs, job: LatentJob, examples: Dataset
    ) -> tuple[ClassifierUnderSearch | TranslatorUnderSearch, Sequence[Example]]:
        """Load the classifier or translator, and return the examples with labels and fields as it reads them."""
        from malaprop.core.example import Example
        from malaprop.data.matching import agree
        from malaprop.papers.natural.sentences import ClassifierUnderSearch, place, sentence_of

        if self.probe is None:
            victim = context.victim(inputs[job.model])
            matched = agree(examples, victim)
            return ClassifierUnderSearch(victim=victim, names=matched.labels, wrong=self.compares), matched.examples
        fields = [Example(e.id, {list(e.fields)[place(e)]: sentence_of(e)}, 0) for e in examples]
        return context.keep("translator", lambda: self._open_translator(context, inputs, job)), fields

    def _open_translator(self, context: WorkerContext, inputs: Inputs, job: LatentJob) -> TranslatorUnderSearch:
        from malaprop.features.translation.models.victim import load
        from malaprop.papers.natural.probes import BOTH, VERB, make
        from malaprop.papers.natural.sentences import TranslatorUnderSearch

        assert self.probe is not None
        made, model = load(inputs[job.model], device=context.device, beam=1), self.open_generator(context, inputs)
        pairs = inputs.get("pairs", [])
        if self.probe in (VERB, BOTH) and not pairs:
            some = list(model.sentences[:_JUDGED])
            pairs = list(zip(some, made.translate(some), strict=True))
        probe = make(self.probe, model.sentences, pairs)
        return TranslatorUnderSearch(translate=made.translate, probe=probe, fingerprint=made.fingerprint)

    # --- tasks

    def find_starts(self, context: WorkerContext, inputs: Inputs) -> Iterator[LatentData]:
        """Draw examples whose sentence fits into the model, and find where their searches start."""
        from malaprop.papers.natural.sentences import make_sentence_data, sentence_of

        model, whole = self.open_generator(context, inputs), inputs["whole"]
        if not self.asked.force and not self.is_named:
            check_data(model, self.asked.data, self.generator)
        longest = model.codec.longest
        fits = [e for e in whole if model.codec.fits(sentence_of(e))]
        if not fits:
            raise DataError(
                f"{whole.name} has no sentence of up to {longest} words among {len(whole):,}; train a sentence model "
                "with --set longest=20"
            )
        fits, what = self._choose(fits, model)
        items = replace(whole, examples=tuple(fits), notes=()).sample(self.asked.n, self.asked.seed)
        notes = [
            f"{len(fits):,} of {len(whole):,} sentences of {whole.name} have up to {longest} words{what}; "
            f"{len(items):,} of them were drawn"
        ]
        odd = [unknown for e in items if (unknown := model.codec.unknown(sentence_of(e)))]
        if odd:
            words = list(dict.fromkeys(word for one in odd for word in one))
            shown = ", ".join(words[:5]) + (" ..." if len(words) > 5 else "")
            notes.append(
                f"{len(odd):,} of those hold words that the sentence model does not know ({shown}): they come back "
                "with other words in their place"
            )
        yield make_sentence_data(items, model, self.asked.refine, notes=(*notes, *whole.notes))

    def _choose(self, fits: list[Example], model: SentenceModel) -> tuple[list[Example], str]:
        """Keep the sentences that have two verbs, if the probe needs two."""
        from malaprop.papers.natural.probes import BOTH, count_verbs, verbs_of
        from malaprop.papers.natural.sentences import sentence_of

        if self.probe != BOTH:
            return fits, ""
        verbs = verbs_of(model.sentences)
        found = [e for e in fits if count_verbs(sentence_of(e), verbs) >= 2]
        if not found:
            raise DataError(f"none of {len(fits):,} sentences has two verbs; use --probe verb-dropped")
        return found, " and two verbs"

    def search(self, job: LatentJob, width: int, context: WorkerContext, inputs: Inputs, share: Share) -> Iterator[Any]:
        """Yield the description of a run, then the result of each sentence."""
        from malaprop.papers.natural.search.service import LatentRun
        from malaprop.papers.natural.sentences import SentenceTarget

        latent_data, model = inputs[GROUND], self.open_generator(context, inputs)
        asked, examples = self.open_victim(context, inputs, job, latent_data.items)
        method = self.make_search(job.search)
        part = (
            latent_data.items.part if latent_data.items.part in ("train", "validation") else "test"
        )  # as runs of before say it
        parts = {"task": _TASK, "split": part, "goal": self.goal, "wrong": self.compares, "search": method}
        marks = {"victim": asked.fingerprint, "generator": model.fingerprint}
        more = {"split": latent_data.items.part, "width": width, "fingerprints": marks}
        yield describe_run(self.asked, latent_data, job.search, job.victim, parts, **more)
        batch = 1024 if context.device == "cpu" else 16_384
        target = SentenceTarget(latent_data=latent_data, examples=examples, model=model, asked=asked, batch=batch)
        latent_run = LatentRun(target=target, search=method, seed=self.asked.seed, width=width, cap=self.asked.cap)
        yield from latent_run.run({item.id for item in share.items})
        yield TimeTaken({"forwarded": target.looks.forwarded})

    def measure(self, job: LatentJob, context: WorkerContext, inputs: Inputs) -> Iterator[TextFigures]:
        """Compute the figures of a run, with the victim's accuracy and the fluency of the adversaries."""
        turns = order_lines(inputs[GROUND], inputs[job.run], "examples")
        hits = [turn for turn in turns if turn.status == "success"]
        fluency = self.open_generator(context, inputs).yardstick.perplexity if hits else lambda sentences: 0.0  # noqa: ARG005
        tried = TextRunFigures.of(
            turns, victim=job.victim, search=job.search, settings=repr(self.make_search(job.search)),
            accuracy=self._rate(job, context, inputs),
            perplexity_original=round(fluency([turn.original for turn in hits]), 3),
            perplexity_adversary=round(fluency([turn.adversary for turn in hits]), 3),
        )  # fmt: skip
        shown = sorted(hits, key=lambda turn: not turn.kept)[:_SHOWN]  # those first whose start had not got there
        yield TextFigures(tried=tried, shown=tuple(shown))

    def _rate(self, job: LatentJob, context: WorkerContext, inputs: Inputs) -> Any:
        """Measure the accuracy of a classifier; a translator has none."""
        from malaprop.core.score import winners
        from malaprop.data.matching import agree
        from malaprop.frame.records.summary import Rate

        if self.probe is not None:
            return Rate(0, 0)
        victim = context.victim(inputs[job.model])
        judged = agree(inputs["whole"].sample(_JUDGED, self.asked.seed), victim)
        scores = victim.predict([tuple(e.fields.values()) for e in judged])
        return Rate(int((winners(scores) == [e.label for e in judged]).sum()), len(judged))

    def step(self, job: LatentJob, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Yield nothing: there is no gradient step on sentences."""
        del job, context, inputs
        yield from ()

    def describe(
        self, jobs: Sequence[LatentJob], context: WorkerContext, inputs: Inputs
    ) -> Iterator[NaturalTextRecord]:
        """Yield the record's part on the sentence model: its figures, samples, and the sentences around some others."""
        from malaprop.papers.natural.sentences import perturb_sentence, sentence_of

        latent_data, model = inputs[GROUND], self.open_generator(context, inputs)
        card, some = model.card, [sentence_of(e) for e in latent_data.items.examples[:_ORIGINALS]]
        means = [inputs[job.figures].tried.distance.mean for job in jobs]
        reach = max([mean for mean in means if mean], default=2.0)
        yield NaturalTextRecord(
            data=latent_data.items.name,
            generator=f"{card.kind.upper()} with {model.dim} dimensions, trained on {card.data}",
            goal=self.goal,
            items=len(latent_data),
            notes=latent_data.notes,
            quality=dict(card.figures),
            curves=card.curves,
            samples=card.samples[:10],
            around=perturb_sentence(
                model, some, latent_data.starts[: len(some)], reach=2.5 * reach, seed=self.asked.seed
            ),
        )


def check_data(model: SentenceModel, data: str, folder: str) -> None:
    """Raise if a sentence model was not trained on the data."""
    parts = model.card.data.split("+")
    if data not in parts and Path(data).name not in {Path(part).name for part in parts}:
        raise SettingError(
            f"{folder} was trained on {model.card.data}, not on {data}; train one with: malaprop train arae --data "
            f"{data}, or give --force"
        )
