"""The work of malaprop natural on texts: victims, a sentence model and data are put together; records come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from malaprop.assets.folders import cache_root
from malaprop.attacks.latent import searching
from malaprop.attacks.latent.hunt import CAP
from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.core.example import Example
from malaprop.core.score import winners
from malaprop.data.base import Dataset
from malaprop.data.base import load as read
from malaprop.data.matching import agree
from malaprop.models.generative.sentencemodel import SentenceModel, is_sentence_model
from malaprop.natural.around import around
from malaprop.natural.compare import largest, pairs
from malaprop.natural.probes import VERB, make, parse
from malaprop.natural.sentences import Classified, TextGround, TextQuest, Translated, place, write_turns
from malaprop.records.natural import Find
from malaprop.records.naturaltext import FILE, LINES, NaturalTextRecord, SentenceTurn, TextTried
from malaprop.records.run import Run
from malaprop.records.store import refuse_results
from malaprop.records.summary import Rate

Say = Callable[[str], None]
Bar = Callable[
    [str, int], AbstractContextManager[Callable[[SentenceTurn], None]]
]  # a title and a count: shows what is done
TASK = "natural adversaries of text"
_SHOWN = 30  # turns of each victim that the record keeps
_ORIGINALS = 6  # sentences whose surroundings are shown
_JUDGED = 2_000  # examples that accuracy is measured on
# What the searches do here if not told otherwise: the paper's N for text, and steps that fit our space.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "iterative": {"samples": 100, "step": 0.05},
    "hybrid": {"samples": 100, "step": 0.05},
    "boundary": {"samples": 100},
}


@dataclass(eq=False, kw_only=True)
class TextJob:
    """One command's settings; what is made of them is made once, when it is first wanted."""

    data: str
    whole: Dataset  # the part of it that examples are drawn from
    folder: Path
    generator: str | None = None
    search: str = "hybrid"
    settings: Mapping[str, Any] = field(default_factory=dict)
    n: int = 100
    seed: int = 0
    width: int = 64
    cap: int = CAP
    refine: int = 0
    probe: str | None = None
    force: bool = False
    device: str = "cpu"
    quiet: bool = False
    say: Say = print

    @cached_property
    def model(self) -> SentenceModel:
        """The sentence model asked for: a folder, or an ARAE or VAE that is trained once for these texts."""
        name = self.generator or "arae"
        if name not in ("arae", "vae"):
            folder = Path(name).expanduser()
            made = SentenceModel.load(folder, device=self.device)
            if not self.force:
                _same_data(made, self.data, folder)
            return made
        from malaprop.models.generative.sentencetraining import train_sentences

        data = "mr,imdb" if self.data in ("mr", "imdb") else self.data
        key = sha256(f"{data}|{self._train_fingerprint()}|{self.seed}|{self.device == 'cpu'}".encode()).hexdigest()[:12]
        folder = cache_root() / "generators" / f"{name}-text-{key}"
        if not is_sentence_model(folder):
            self.say(f"training an {name.upper()} on the sentences of {data} (once; kept in the cache)")
            sizes = _SMALL if self.device == "cpu" else {}
            train_sentences(
                name, data, read, folder, settings=sizes, seed=self.seed, device=self.device, quiet=self.quiet
            )
        return SentenceModel.load(folder, device=self.device)

    def _train_fingerprint(self) -> str:
        return read(self.data, split="train").fingerprint

    @cached_property
    def chosen(self) -> Dataset:
        """Examples whose sentence the model can hold, drawn by the seed."""
        fits = [e for e in self.whole.examples if self.model.codec.fits(_sentence(e))]
        if not fits:
            raise DataError(
                f"{self.whole.name} has no sentence of up to {self.model.codec.longest} words among "
                f"{len(self.whole):,}; train a sentence model with --set longest=20"
            )
        return replace(self.whole, examples=tuple(fits)).sample(self.n or None, self.seed)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures should know of the examples."""
        longest = self.model.codec.longest
        fits = sum(self.model.codec.fits(_sentence(e)) for e in self.whole.examples)
        odd = [e for e in self.chosen if self.model.codec.unknown(_sentence(e))]
        found = [
            f"{fits:,} of {len(self.whole):,} sentences of {self.whole.name} have up to {longest} words; "
            f"{len(self.chosen):,} of them were drawn"
        ]
        if odd:
            words = dict.fromkeys(word for e in odd for word in self.model.codec.unknown(_sentence(e)))
            shown = ", ".join(list(words)[:5])
            found.append(
                f"{len(odd):,} of those hold words that the sentence model does not know ({shown}"
                f"{' ...' if len(words) > 5 else ''}): they come back with other words in their place"
            )
        return (*found, *self.whole.notes)

    def ground(self, examples: Sequence[Example]) -> TextGround:
        return TextGround(examples=examples, model=self.model, refine=self.refine)

    @property
    def batch(self) -> int:
        return 1024 if self.device == "cpu" else 16_384

    def run(
        self,
        spec: str,
        folder: Path,
        *,
        called: str = "",
        search: str = "",
        wrong: bool = False,
        resume: bool,
        bar: Bar,
    ) -> tuple[TextTried, list[SentenceTurn]]:
        """One victim under one search, in a folder of its own; `wrong`: also on what the victim has wrong."""
        began, name = perf_counter(), search or self.search
        method = searching(name, self.settings, _DEFAULTS.get(name))
        asked, examples, accuracy = self._translator(spec) if self.probe else self._classifier(spec, wrong)
        quest = TextQuest(
            ground=self.ground(examples),
            asked=asked,
            search=method,
            seed=self.seed,
            width=self.width,
            cap=self.cap,
            batch=self.batch,
        )
        about = self._describe(name, called or short([spec])[spec], asked.fingerprint, search=method, wrong=wrong)
        with bar(f"{name} on {about.victim}", len(examples)) as seen:
            turns = write_turns(quest, folder, about, resume=resume, seen=seen)
        _some_answered(turns)
        hits = [turn for turn in turns if turn.status == "success"]
        tried = TextTried.of(
            turns,
            victim=called or short([spec])[spec],
            search=name,
            settings=repr(method),
            accuracy=accuracy,
            perplexity_original=self._fluency([turn.original for turn in hits]),
            perplexity_adversary=self._fluency([turn.adversary for turn in hits]),
            forwarded=quest.looks.forwarded,
            seconds=round(perf_counter() - began, 2),
        )
        return tried, turns

    def _describe(self, recipe: str, victim: str, mark: str, **parts: Any) -> Run:
        """What is run, written beside what it finds: a resume must be of the same work."""
        goal = self.probe or "another label"
        part = self.whole.part if self.whole.part in ("train", "validation") else "test"  # as runs of before say it
        return Run(
            recipe=recipe,
            victim=victim,
            data=self.chosen.name,
            split=self.whole.part,
            n=len(self.chosen),
            seed=self.seed,
            budget=self.cap,
            width=self.width,
            parts={"task": TASK, "split": part, "goal": goal, "refine": self.refine, **parts},
            fingerprints={
                "victim": mark,
                "data": self.chosen.fingerprint,
                "generator": self.model.fingerprint,
            },
        )

    def _fluency(self, sentences: Sequence[str]) -> float:
        return round(self.model.yardstick.perplexity(sentences), 3) if sentences else 0.0

    def _classifier(self, spec: str, wrong: bool) -> tuple[Classified, Sequence[Example], Rate]:
        from malaprop.runs.victims import victim

        assert len(self.chosen)  # what is wrong with the data should not wait for a victim
        made = victim(spec, device=self.device, quiet=self.quiet)
        chosen = agree(self.chosen, made)
        judged = agree(self.whole.sample(_JUDGED, self.seed), made)
        scores = made.predict([tuple(e.fields.values()) for e in judged])
        right = int((winners(scores) == [e.label for e in judged]).sum())
        asked = Classified(victim=made, names=chosen.labels, wrong=wrong)
        return asked, chosen.examples, Rate(right, len(judged))

    def _translator(self, spec: str) -> tuple[Translated, Sequence[Example], Rate]:
        from malaprop.models.victims.seq2seq import load

        assert self.probe is not None
        parse(self.probe)  # a wrong name should not wait for models
        made = load(spec, device=self.device, beam=1)
        probe = make(self.probe, self.model.sentences, self._pairs(made.translate) if self.probe == VERB else ())
        examples = [Example(e.id, {list(e.fields)[place(e)]: _sentence(e)}, 0) for e in self.chosen]
        return Translated(translate=made.translate, probe=probe, fingerprint=made.fingerprint), examples, Rate(0, 0)

    def _pairs(self, translate: Callable[[Sequence[str]], Sequence[str]]) -> list[tuple[str, str]]:
        """What verbs become: from the targets of the training data, else from what the translator itself writes."""
        try:
            train = read(self.data, split="train")
        except DataError:
            train = self.whole
        if train.fields == ("source", "target"):
            return [(e.fields["source"], e.fields["target"]) for e in train]
        some = list(self.model.sentences[:_JUDGED])
        return list(zip(some, translate(some), strict=True))

    def record(
        self, tried: Sequence[TextTried], found: Mapping[str, Sequence[SentenceTurn]], **more: Any
    ) -> NaturalTextRecord:
        """What was found, some of it in full, figures of the sentence model, and what lies around some sentences."""
        card, ground = self.model.card, self.ground(self.chosen.examples[:_ORIGINALS])
        reach = max([t.distance.mean for t in tried if t.distance.mean], default=2.0)
        return NaturalTextRecord(
            data=self.whole.name,
            generator=f"{card.kind.upper()} with {self.model.dim} dimensions, trained on {card.data}",
            goal=self.probe or "another label",
            items=len(self.chosen),
            notes=self.notes,
            quality=dict(card.figures),
            curves=card.curves,
            samples=card.samples[:10],
            tried=tuple(tried),
            shown={name: tuple(_few(turns)) for name, turns in found.items()},
            around=around(self.model, ground.sentences, ground.starts, reach=2.5 * reach, seed=self.seed),
            **more,
        )

    def compared(self, found: Mapping[str, Sequence[SentenceTurn]]) -> dict[str, Any]:
        """Which victim needs the larger change, on sentences where every one was changed."""
        finds = {name: [_find(turn) for turn in turns] for name, turns in found.items()}
        return {"largest": largest(finds), "pairs": pairs(finds)}


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


def short(specs: Sequence[str]) -> dict[str, str]:
    """What victims are called: a folder by its last name, unless two would be called the same."""
    names = {spec: Path(spec).name if Path(spec).is_dir() else spec for spec in specs}
    return names if len(set(names.values())) == len(names) else {spec: spec for spec in specs}


def _sentence(example: Example) -> str:
    return list(example.fields.values())[place(example)]


def _find(turn: SentenceTurn) -> Find:
    """What a comparison wants to know of a turn."""
    return Find(id=turn.id, status=turn.status, label=0, prediction=0, distance=turn.distance)


def _few(turns: Sequence[SentenceTurn]) -> list[SentenceTurn]:
    """Successes to look at, those first whose start had not reached the goal."""
    hits = [turn for turn in turns if turn.status == "success"]
    return sorted(hits, key=lambda turn: not turn.kept)[:_SHOWN]


def _some_answered(turns: Sequence[SentenceTurn]) -> None:
    errors = [turn for turn in turns if turn.status == "error"]
    if errors and len(errors) == len([turn for turn in turns if turn.status != "skipped"]):
        raise VictimError(f"all {len(errors)} examples ended in an error: {errors[0].reason}")


def _same_data(model: SentenceModel, data: str, folder: Path) -> None:
    """Refuses a model that never saw such texts."""
    parts = model.card.data.split("+")
    if data not in parts and Path(data).name not in {Path(part).name for part in parts}:
        raise SettingError(
            f"{folder} was trained on {model.card.data}, not on {data}; train one with: malaprop train arae --data "
            f"{data}, or give --force"
        )


def run(
    *,
    victim: str,
    resume: bool = False,
    bar: Bar,
    **settings: Any,
) -> tuple[TextJob, NaturalTextRecord]:
    """`malaprop natural` on texts."""
    job = TextJob(**settings)
    refuse_results(job.folder, FILE, LINES, resume=resume)
    tried, turns = job.run(victim, job.folder, resume=resume, bar=bar)
    return job, job.record([tried], {tried.victim: turns})


def compare(
    *,
    victims: Sequence[str],
    searches: Sequence[str],
    resume: bool = False,
    place_of: Callable[[str], str] = str,
    bar: Bar,
    **settings: Any,
) -> tuple[TextJob, NaturalTextRecord]:
    """`malaprop natural compare` on texts: no label is looked at; the first search compares the victims."""
    job = TextJob(search=searches[0], **settings)
    refuse_results(job.folder, FILE, LINES, resume=resume)
    rows, shown = [], {}
    for kind in searches:
        for spec, name in short(victims).items():
            folder = job.folder / place_of(kind) / place_of(name)
            tried, turns = job.run(spec, folder, called=name, search=kind, wrong=True, resume=resume, bar=bar)
            rows.append(tried)
            if kind == searches[0]:
                shown[name] = turns
    return job, job.record(rows, shown, **job.compared(shown))
