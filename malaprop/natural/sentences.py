"""Natural adversaries of text: sentences near an example's own in the dense space that change a victim's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from malaprop.attacks.latent.hunt import CAP, Catch, hunt
from malaprop.attacks.latent.probe import LatentSearch
from malaprop.core.ask import Ask, ServiceFailed, Steps
from malaprop.core.example import Example
from malaprop.core.score import Floats, winner
from malaprop.core.seeds import generator
from malaprop.core.victim import Fields, Victim
from malaprop.engine.drive import drive
from malaprop.engine.service import Batched, Service
from malaprop.models.generative.sentencemodel import SentenceModel
from malaprop.models.generative.sentences import dressed
from malaprop.natural.edits import apart
from malaprop.natural.textlooks import Answer, Case, Otherwise, Passes, Probed, Relative, TextLooks
from malaprop.records.ids import Ids
from malaprop.records.naturaltext import TURNS, SentenceTurn
from malaprop.records.run import Run
from malaprop.records.store import write_entries


@dataclass(frozen=True, eq=False, kw_only=True)
class TextGround:
    """Examples, the field of each that changes, and where the sentence model puts them."""

    examples: Sequence[Example]
    model: SentenceModel
    refine: int = 0

    @cached_property
    def cases(self) -> list[Case]:
        return [Case(fields=tuple(e.fields.values()), place=place(e)) for e in self.examples]

    @cached_property
    def sentences(self) -> list[str]:
        return [case.fields[case.place] for case in self.cases]

    @cached_property
    def starts(self) -> Floats:
        z = self.model.invert(self.sentences)
        return self.model.refine(self.sentences, z, steps=self.refine)

    @cached_property
    def returned(self) -> list[str]:
        made = self.model.generate(self.starts)
        return [dressed(item, own) for item, own in zip(made, self.sentences, strict=True)]


def place(example: Example) -> int:
    """Which field is searched: the last of those that an attack may change."""
    return list(example.fields).index(example.open[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """A classifier asked for labels; `names` are those of its labels. `wrong`: also examples that it has wrong."""

    victim: Victim
    names: Sequence[str]
    wrong: bool = False

    @property
    def fingerprint(self) -> str:
        return self.victim.fingerprint

    def answer(self, texts: list[Fields]) -> list[Floats]:
        return list(self.victim.predict(texts))

    def told(self, answer: Floats) -> str:
        label = winner(answer)
        return self.names[label] if label < len(self.names) else str(label)

    def label(self, example: Example) -> str:
        return self.names[example.label] if example.label < len(self.names) else str(example.label)

    def goal(self, case: Case, answer: Floats) -> Otherwise:
        return Otherwise(case=case, label=winner(answer))

    def kept(self, goal: Otherwise, sentence: str, after: Floats) -> bool:
        """Whether what came back has not reached the goal already."""
        del sentence
        return winner(after) == goal.label

    def nothing(self, example: Example, answer: Floats) -> str:
        """Why an example is not attacked, if so."""
        return "" if self.wrong or winner(answer) == example.label else "the victim was wrong already"


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """A translator asked for translations, which a probing function looks at."""

    translate: Callable[[Sequence[str]], Sequence[str]]
    probe: Passes
    fingerprint: str = ""

    def answer(self, texts: list[Fields]) -> list[str]:
        return list(self.translate([text[0] for text in texts]))

    def told(self, answer: str) -> str:
        return answer

    def label(self, example: Example) -> str:
        del example
        return ""

    def goal(self, case: Case, answer: str) -> Probed:
        return Probed(case=case, probe=self._beside(case.fields[0], answer))

    def kept(self, goal: Probed, sentence: str, after: str) -> bool:
        return not goal.probe(sentence, after)

    def nothing(self, example: Example, answer: str) -> str:
        own = next(iter(example.fields.values()))
        if self.probe(own, answer):
            return "the original passes already"
        probe = self._beside(own, answer)
        return probe.hopeless if isinstance(probe, Relative) else ""

    def _beside(self, source: str, translation: str) -> Passes:
        return self.probe.beside(source, translation) if isinstance(self.probe, Relative) else self.probe


@dataclass(frozen=True, eq=False, kw_only=True)
class TextQuest:
    """One victim under one search."""

    ground: TextGround
    asked: Classified | Translated
    search: LatentSearch
    seed: int = 0
    width: int = 64
    cap: int = CAP
    batch: int = 4096

    @cached_property
    def looks(self) -> TextLooks:
        return TextLooks(manifold=self.ground.model, answer=self.asked.answer, batch=self.batch)

    def turns(self, done: Ids | frozenset[str] = frozenset()) -> Iterator[SentenceTurn]:
        """Finished sentences, in the order they end; `done` are left out."""
        fresh = TextLooks(manifold=self.ground.model, answer=self.asked.answer, batch=self.batch, fresh=True)
        services: dict[str, Service] = {
            "latent": self.looks,
            "verify": fresh,
            "texts": Batched(self.asked.answer, remember=0),
        }
        jobs = ((i, self._steps(i)) for i, example in enumerate(self.ground.examples) if example.id not in done)
        for _, turn in drive(jobs, services, width=self.width):
            yield turn

    def _steps(self, i: int) -> Steps[SentenceTurn]:
        """One example, from what the victim says of it to what was found."""
        case = self.ground.cases[i]
        turn = self._blank(i)
        try:
            before, after = yield Ask("texts", [case.fields, case.whole(self.ground.returned[i])])
            goal: Any = self.asked.goal(case, before)
            kept = self.asked.kept(goal, self.ground.returned[i], after)
            turn = replace(turn, answer=self.asked.told(before), start=self.asked.told(after), kept=kept)
            if reason := self.asked.nothing(self.ground.examples[i], before):
                return replace(turn, status="skipped", reason=reason)
            rng = generator(self.seed, "latent", self.ground.examples[i].id)
            catch = yield from hunt(self.search, self.ground.starts[i], goal, rng, cap=self.cap)
            return (yield from self._told(goal, turn, catch))
        except ServiceFailed as error:
            return replace(turn, status="error", reason=str(error))

    def _blank(self, i: int) -> SentenceTurn:
        example, case = self.ground.examples[i], self.ground.cases[i]
        return SentenceTurn(
            id=example.id,
            status="failed",
            label=self.asked.label(example),
            answer="",
            fields=dict(example.fields),
            field=list(example.fields)[case.place],
            returned=self.ground.returned[i],
            rebuilt=apart(self.ground.sentences[i], self.ground.returned[i]),
            unknown=self.ground.model.codec.unknown(self.ground.sentences[i]),
        )

    def _told(self, goal: Any, turn: SentenceTurn, catch: Catch) -> Steps[SentenceTurn]:
        """A catch in words; the adversary is written and its answer asked anew, and both must still reach the goal."""
        turn = replace(turn, asked=catch.asked, reason=catch.reason or None)
        if catch.point is None or catch.distance is None:
            return replace(turn, status="error" if catch.failed else "failed")
        case: Case = goal.case
        sentence = self.ground.model.generate(catch.point[None])[0]
        whole = case.whole(sentence)
        answer = (yield Ask("texts", [whole]))[0]
        if not goal([sentence], [answer])[0]:
            return replace(turn, reason="a success was not confirmed by a fresh query")
        return replace(
            turn,
            status="success",
            adversary=whole[case.place],
            changed=self.asked.told(answer),
            distance=round(catch.distance, 6),
            words=apart(turn.original, whole[case.place]),
        )


def write_turns(
    quest: TextQuest, folder: Path, run: Run, *, resume: bool, seen: Callable[[SentenceTurn], None]
) -> list[SentenceTurn]:
    """Runs a quest into a folder, line by line; gives all its turns in the order of the data."""
    ids = {example.id: number for number, example in enumerate(quest.ground.examples)}
    found = write_entries(folder, run, TURNS, quest.turns, resume=resume, seen=seen)
    return sorted(found, key=lambda turn: ids[turn.id])


__all__ = ["Answer", "Classified", "TextGround", "TextQuest", "Translated", "write_turns"]
