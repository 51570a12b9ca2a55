"""Latent searches around sentences: generated sentences are put to a classifier or translator, and goals tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.example import Example
from malaprop.core.score import Flags, Floats, winner, winners
from malaprop.core.seeds import generator
from malaprop.core.victim import Fields, Victim
from malaprop.data.base import Dataset
from malaprop.engine.service import FunctionService, Service
from malaprop.models.tokens.vocab import tokens
from malaprop.papers.natural.models.sentencemodel import SentenceModel
from malaprop.papers.natural.models.sentences import join_tokens, restore_case
from malaprop.papers.natural.search.service import LatentData, LatentPoints, noise
from malaprop.papers.natural.text_record import SentenceAround, SentenceResult

Answer = Callable[[list[Fields]], Sequence[Any]]
_MOST = 1_000_000  # answers remembered


class SentenceGenerator(Protocol):
    """The part of a sentence model that the service uses."""

    def generate(self, z: Floats) -> list[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCase:
    """One example under search: the field that changes, and that its sentence must differ from the original."""

    fields: Fields
    place: int

    def whole(self, sentence: str) -> Fields:
        """Return the example with this sentence in its place, with a capital letter where the original has one."""
        own = restore_case(sentence, self.fields[self.place])
        return (*self.fields[: self.place], own, *self.fields[self.place + 1 :])

    def others(self, items: Sequence[str]) -> Flags:
        """Return which sentences are neither empty nor the original, whatever their case and spacing."""
        mine = join_tokens(tokens(self.fields[self.place]))  # as a sentence model would write it
        return np.asarray([item not in ("", mine) for item in items], bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSentenceLabel:
    """The goal for classifiers: another label than `label` wins."""

    case: SentenceCase
    label: int

    def __call__(self, items: Sequence[str], answers: Sequence[Floats]) -> Flags:
        found = np.asarray(winners(np.stack(answers)) != self.label)
        return found & self.case.others(items)


class SentenceGoal(Protocol):
    """A probing function: returns whether a source and its translation pass the test."""

    def __call__(self, source: str, translation: str) -> bool: ...


@runtime_checkable
class RelativeProbe(SentenceGoal, Protocol):
    """A probing function that depends on the original sentence and its translation."""

    @property
    def hopeless(self) -> str: ...

    def beside(self, source: str, translation: str) -> RelativeProbe: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePasses:
    """The goal for translators: a probing function passes."""

    case: SentenceCase
    probe: SentenceGoal

    def __call__(self, items: Sequence[str], answers: Sequence[str]) -> Flags:
        passed = [self.probe(item, answer) for item, answer in zip(items, answers, strict=True)]
        return np.asarray(passed, bool) & self.case.others(items)


@dataclass(slots=True, kw_only=True)
class SentenceService:
    """Judges latent points whose goals have a `case`; a text that was queried before is not queried again.

    `fresh` caches nothing between rounds, so that a success can be verified.
    """

    manifold: SentenceGenerator
    answer: Answer
    batch: int = 4096
    fresh: bool = False
    forwarded: int = 0
    _known: dict[Fields, Any] = field(default_factory=dict)

    def begin(self, asks: Sequence[Sequence[LatentPoints]]) -> list[Sequence[LatentPoints]]:
        return list(asks)

    def finish(self, pending: list[Sequence[LatentPoints]]) -> list[list[Flags]]:
        clouds = [cloud for ask in pending for cloud in ask]
        flags = iter(self._judge(clouds))
        return [[next(flags) for _ in ask] for ask in pending]

    def _judge(self, clouds: list[LatentPoints]) -> list[Flags]:
        sentences = self.manifold.generate(np.concatenate([cloud.points for cloud in clouds]))
        cuts = [0, *accumulate(len(cloud.points) for cloud in clouds)]
        parts = [sentences[a:b] for a, b in pairwise(cuts)]
        goals: list[Any] = [cloud.goal for cloud in clouds]
        texts = [[goal.case.whole(item) for item in part] for goal, part in zip(goals, parts, strict=True)]
        self._ask(dict.fromkeys(text for part in texts for text in part))
        known = self._known
        flags = [
            goal(part, [known[text] for text in whole]) for goal, part, whole in zip(goals, parts, texts, strict=True)
        ]
        if self.fresh or len(known) > _MOST:
            known.clear()
        return flags

    def _ask(self, texts: dict[Fields, None]) -> None:
        wanted = [text for text in texts if text not in self._known]
        for at in range(0, len(wanted), self.batch):
            some = wanted[at : at + self.batch]
            answers = self.answer(some)
            if len(answers) != len(some):
                raise VictimError(f"the victim gave {len(answers)} answers to {len(some)} texts; expected one a text")
            self.forwarded += len(some)
            self._known.update(zip(some, answers, strict=True))


def count_word_edits(one: str, other: str) -> int:
    """Count the fewest words inserted, deleted or replaced between two sentences; marks are words, case is ignored."""
    a, b = tokens(one), tokens(other)
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


_SHELLS = 12


def perturb_sentence(
    model: SentenceModel,
    sentences: Sequence[str],
    starts: np.ndarray,
    *,
    reach: float,
    samples: int = 64,
    seed: int = 0,
) -> tuple[SentenceAround, ...]:
    """Find for each sentence the most frequent new one in each shell around its point, up to distance `reach`."""
    found = []
    for sentence, start in zip(sentences, starts, strict=True):
        rng = generator(seed, "around", sentence)
        returned = model.generate(start[None])[0]
        seen, near = {tuple(tokens(sentence)), tuple(tokens(returned))}, []
        for shell in range(_SHELLS):
            low, high = reach * shell / _SHELLS, reach * (shell + 1) / _SHELLS
            made = model.generate(start + noise(rng, samples, model.dim, low, high))
            fresh = Counter(item for item in made if item and tuple(tokens(item)) not in seen)
            if fresh:
                best = min(fresh, key=lambda item: (-fresh[item], item))
                seen.add(tuple(tokens(best)))
                near.append((round(high, 4), restore_case(best, sentence)))
        found.append(SentenceAround(original=sentence, returned=restore_case(returned, sentence), near=tuple(near)))
    return tuple(found)


def make_sentence_data(data: Dataset, model: SentenceModel, refine: int = 0, notes: tuple[str, ...] = ()) -> LatentData:
    """Find where the searches of sentences start; `refine` gradient steps bring each start nearer to its sentence."""
    sentences = [sentence_of(example) for example in data]
    starts = model.refine(sentences, model.invert(sentences), steps=refine)
    made = [restore_case(item, own) for item, own in zip(model.generate(starts), sentences, strict=True)]
    return LatentData(items=data, ids=tuple(e.id for e in data), starts=starts, returned=made, notes=notes)


def place(example: Example) -> int:
    """Return the place of the field that is searched: the last of those that an attack may change."""
    return list(example.fields).index(example.open[-1])


def sentence_of(example: Example) -> str:
    """Return the sentence that is searched around."""
    return list(example.fields.values())[place(example)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierUnderSearch:
    """A classifier under search; `names` are those of its labels. `wrong`: search misclassified examples too."""

    victim: Victim
    names: Sequence[str]
    wrong: bool = False

    @property
    def fingerprint(self) -> str:
        return self.victim.fingerprint

    def answer(self, texts: list[Fields]) -> list[Floats]:
        return list(self.victim.predict(texts))

    def show(self, answer: Floats) -> str:
        label = winner(answer)
        return self.names[label] if label < len(self.names) else str(label)

    def label(self, example: Example) -> str:
        return self.names[example.label] if example.label < len(self.names) else str(example.label)

    def goal(self, case: SentenceCase, answer: Floats) -> OtherSentenceLabel:
        return OtherSentenceLabel(case=case, label=winner(answer))

    def kept(self, goal: OtherSentenceLabel, sentence: str, after: Floats) -> bool:
        """Return whether the sentence generated at the start has not reached the goal already."""
        del sentence
        return winner(after) == goal.label

    def nothing(self, example: Example, answer: Floats) -> str:
        """Return why an example is not searched around; empty if it is."""
        return "" if self.wrong or winner(answer) == example.label else "the victim was wrong already"


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatorUnderSearch:
    """A translator under search, whose translations a probing function tests."""

    translate: Callable[[Sequence[str]], Sequence[str]]
    probe: SentenceGoal
    fingerprint: str = ""

    def answer(self, texts: list[Fields]) -> list[str]:
        return list(self.translate([text[0] for text in texts]))

    def show(self, answer: str) -> str:
        return answer

    def label(self, example: Example) -> str:
        del example
        return ""

    def goal(self, case: SentenceCase, answer: str) -> ProbePasses:
        return ProbePasses(case=case, probe=self._beside(case.fields[0], answer))

    def kept(self, goal: ProbePasses, sentence: str, after: str) -> bool:
        return not goal.probe(sentence, after)

    def nothing(self, example: Example, answer: str) -> str:
        own = next(iter(example.fields.values()))
        if self.probe(own, answer):
            return "the original passes already"
        probe = self._beside(own, answer)
        return probe.hopeless if isinstance(probe, RelativeProbe) else ""

    def _beside(self, source: str, translation: str) -> SentenceGoal:
        return self.probe.beside(source, translation) if isinstance(self.probe, RelativeProbe) else self.probe


@dataclass(frozen=True, eq=False, kw_only=True)
class SentenceTarget:
    """A classifier or translator as the target of searches; `examples` are as the victim reads labels and fields."""

    latent_data: LatentData
    examples: Sequence[Example]
    model: SentenceModel
    asked: ClassifierUnderSearch | TranslatorUnderSearch
    batch: int = 4096

    @cached_property
    def looks(self) -> SentenceService:
        return SentenceService(manifold=self.model, answer=self.asked.answer, batch=self.batch)

    def services(self) -> dict[str, Service]:
        fresh = SentenceService(manifold=self.model, answer=self.asked.answer, batch=self.batch, fresh=True)
        return {"latent": self.looks, "verify": fresh, "items": FunctionService(self.asked.answer, remember=0)}

    def case(self, at: int) -> SentenceCase:
        example = self.examples[at]
        return SentenceCase(fields=tuple(example.fields.values()), place=place(example))

    def describe(self, at: int) -> SentenceResult:
        example, sentence = self.examples[at], sentence_of(self.examples[at])
        return SentenceResult(
            id=example.id,
            status="failed",
            label=self.asked.label(example),
            answer="",
            fields=dict(example.fields),
            field=list(example.fields)[place(example)],
            returned=self.latent_data.returned[at],
            rebuilt=count_word_edits(sentence, self.latent_data.returned[at]),
            unknown=self.model.codec.unknown(sentence),
        )

    def show(self, at: int) -> list[Fields]:
        case = self.case(at)
        return [case.fields, case.whole(self.latent_data.returned[at])]

    def begin(self, at: int, line: SentenceResult, answers: Sequence[Any]) -> tuple[SentenceResult, Any]:
        before, after = answers
        goal: Any = self.asked.goal(self.case(at), before)
        kept = self.asked.kept(goal, self.latent_data.returned[at], after)
        line = replace(line, answer=self.asked.show(before), start=self.asked.show(after), kept=kept)
        if reason := self.asked.nothing(self.examples[at], before):
            line = replace(line, status="skipped", reason=reason)
        return line, goal

    def write(self, at: int, point: Floats) -> tuple[str, Fields]:
        sentence = self.model.generate(point[None])[0]
        return sentence, self.case(at).whole(sentence)

    def tell(
        self, at: int, line: SentenceResult, made: tuple[str, Fields], answer: Any, point: Floats
    ) -> SentenceResult:
        del point
        adversary = made[1][place(self.examples[at])]
        words = count_word_edits(line.original, adversary)
        return replace(line, adversary=adversary, changed=self.asked.show(answer), words=words)


def error_turn(item: Example, seed: int, why: str) -> SentenceResult:
    """Return the result of a sentence that could not be searched around."""
    del seed
    field = list(item.fields)[place(item)]
    return SentenceResult(
        id=item.id, status="error", label="", answer="", fields=dict(item.fields), field=field, reason=why
    )
