"""Campaign: attacks on many sources, each in a run folder of its own, and the labels that targets give to texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np

from malaprop.attacks.attack import Attack
from malaprop.core.capability import check
from malaprop.core.errors import DataError, VictimError
from malaprop.core.text import Ints
from malaprop.core.victim import About, Fields
from malaprop.data.base import Dataset, draw
from malaprop.data.matching import agree, turn
from malaprop.records.outcome import Outcome
from malaprop.records.store import Writer, read_outcomes
from malaprop.records.summary import Rate
from malaprop.runs.folder import describe
from malaprop.transfer.hands import Hands
from malaprop.transfer.shelf import Ref
from malaprop.transfer.tasks import Look, Score, Scored, Strike

TOGETHER = 4  # sources that one process attacks side by side at most
Turn = tuple[int, ...] | None
Say = Callable[[str], None]


@dataclass(slots=True)
class Spent:
    """What the attacks of this campaign took; sources that were finished before cost nothing."""

    asked: int = 0
    forwarded: dict[str, int] = field(default_factory=dict)
    wall: float = 0.0
    busy: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Campaign:
    """One attack over one dataset, whoever the victims are."""

    hands: Hands
    data: Dataset
    attack: Attack
    seed: int = 0
    width: int = 256
    say: Say = lambda line: None  # noqa: ARG005
    seen: Callable[[Outcome], None] = lambda outcome: None  # noqa: ARG005
    spent: Spent = field(default_factory=Spent)

    def look(self, refs: Sequence[Ref]) -> dict[str, About]:
        """Loads every victim and hears what it is; refuses those that cannot be compared or attacked."""
        tasks = [Look(refs=group) for group in self._groups(refs)]
        found: dict[str, About] = {}
        heard = [0] * len(tasks)
        text = tuple(next(iter(self.data)).fields.values())
        for number, about in self.hands.all(tasks, text):
            found[tasks[number].refs[heard[number]].name] = about
            heard[number] += 1
        _same_labels(found, self.data)
        return found

    def _groups(self, refs: Sequence[Ref]) -> list[tuple[Ref, ...]]:
        size = max(1, min(TOGETHER, len(refs) // (2 * self.hands.many)))
        many = -(-len(refs) // size)
        return [tuple(refs[at::many]) for at in range(many)]

    def strike(self, refs: Sequence[Ref], facts: Mapping[str, About], folders: Mapping[str, Path]) -> None:
        """Attacks what is left of every source; what is finished stays as it is."""
        for ref in refs:
            check(self.attack.name, self.attack.needs, ref.name, facts[ref.name].offers)
        with ExitStack() as stack:
            writers = {ref.name: stack.enter_context(self._writer(facts[ref.name], folders[ref.name])) for ref in refs}
            left = {
                ref.name: tuple(i for i, e in enumerate(self.data.examples) if e.id not in writers[ref.name].done)
                for ref in refs
            }
            open_ = [ref for ref in refs if left[ref.name]]
            if len(open_) < len(refs):
                self.say(f"{len(refs) - len(open_)} of {len(refs)} sources are finished already")
            began = perf_counter()
            for name, outcome in self._outcomes(open_, facts, left):
                if outcome.id not in writers[name].done:
                    writers[name].add(outcome)
                    self._note(name, outcome)
                    self._tell(name, writers[name], len(refs))
            self.spent.wall += perf_counter() - began if open_ else 0.0

    def _writer(self, about: About, folder: Path) -> Writer:
        own = agree(self.data, about)
        return Writer(
            folder, describe(self.attack, about, own, seed=self.seed, width=self.width), resume=folder.is_dir()
        )

    def _outcomes(
        self, refs: Sequence[Ref], facts: Mapping[str, About], left: Mapping[str, tuple[int, ...]]
    ) -> Iterator[tuple[str, Outcome]]:
        tasks = [
            Strike(
                refs=group,
                left=tuple(left[ref.name] for ref in group),
                turns=tuple(turn_of(facts[ref.name], self.data) for ref in group),
                attack=self.attack,
                seed=self.seed,
                width=self.width,
            )
            for group in self._groups(refs)
        ]
        for number, piece in self.hands.all(tasks, list(self.data.examples)) if tasks else ():
            if isinstance(piece, float):
                self.spent.busy += piece
                continue
            which, outcomes = piece
            yield from ((tasks[number].refs[which].name, outcome) for outcome in outcomes)

    def _note(self, name: str, outcome: Outcome) -> None:
        self.spent.asked += outcome.queries.asked
        self.spent.forwarded[name] = self.spent.forwarded.get(name, 0) + outcome.queries.forwarded
        self.seen(outcome)

    def _tell(self, name: str, writer: Writer, many: int) -> None:
        if len(writer.done) == len(self.data):
            self.say(f"attacked {name} ({many} sources)" if many > 1 else f"attacked {name}")

    def score(self, asked: Mapping[str, tuple[Ref, Ints]], texts: Sequence[Fields]) -> dict[str, Scored]:
        """The label of each wanted text, by target; each target is loaded once and asked in large batches."""
        tasks = [Score(ref=ref, wanted=wanted) for ref, wanted in asked.values()]
        names = list(asked)
        return {names[number]: scored for number, scored in self.hands.all(tasks, list(texts))}


def turn_of(about: About, data: Dataset) -> Turn:
    """For each label of the data its number in the victim's terms; None where they are the same."""
    found = None if data.ordered else turn(data.name, data.labels, about.label_names, data.present)
    return None if found is None else tuple(found)


def _same_labels(found: Mapping[str, About], data: Dataset) -> None:
    known = {name: about.labels for name, about in found.items() if about.labels is not None}
    if len(set(known.values())) > 1:
        each = ", ".join(f"{name} {count}" for name, count in known.items())
        raise VictimError(f"the victims must score the same labels, got {each}; leave out the odd one")
    most = max(data.present, default=0) + 1
    for name, count in known.items():
        if count < most:
            raise VictimError(f"{name} scores {count} labels and {data.name} has {most}; leave one of them out")
    for name, about in found.items():
        try:
            turn_of(about, data)
        except DataError as error:
            raise VictimError(f"{name}: {error}") from None


class Texts:
    """Distinct texts by number: one that several sources came to is asked about once."""

    def __init__(self) -> None:
        self.fields: list[Fields] = []
        self._numbers: dict[Fields, int] = {}

    def add(self, fields: Mapping[str, str]) -> int:
        text = tuple(fields.values())
        number = self._numbers.setdefault(text, len(self.fields))
        if number == len(self.fields):
            self.fields.append(text)
        return number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Successes of one source drawn by the seed: their adversarial texts, originals and labels in the data's terms."""

    counts: dict[str, int]
    asked: int
    forwarded: int
    reason: str  # the most frequent, where examples ended in an error
    texts: Ints
    originals: Ints
    labels: Ints

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def right(self) -> Rate:
        right = self.counts["success"] + self.counts["failed"]
        return Rate(right, right + self.counts["skipped"])


def drawn(folder: Path, data: Dataset, texts: Texts, *, wanted: int, seed: int) -> Drawn:
    """At most `wanted` successes of a run, chosen by a hash of (seed, id)."""
    outcomes = read_outcomes(folder)
    labels = {e.id: e.label for e in data.examples}
    won = sorted((o for o in outcomes if o.status == "success" and o.id in labels), key=lambda o: draw(seed, o.id))
    kept = [(o, o.adversarial) for o in won[:wanted] if o.adversarial is not None]
    counts = {status: sum(o.status == status for o in outcomes) for status in ("success", "failed", "skipped", "error")}
    reasons = [o.reason or "no reason given" for o in outcomes if o.status == "error"]
    return Drawn(
        counts=counts,
        asked=sum(o.queries.asked for o in outcomes),
        forwarded=sum(o.queries.forwarded for o in outcomes),
        reason=max(reasons, key=reasons.count, default=""),
        texts=np.asarray([texts.add(side.fields) for _, side in kept], np.int64),
        originals=np.asarray([texts.add(o.original.fields) for o, _ in kept], np.int64),
        labels=np.asarray([labels[o.id] for o, _ in kept], np.int64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What one target says of all texts it was asked about."""

    labels: Ints  # [text], -1 where it was not asked or could not answer
    turn: Turn

    @classmethod
    def of(cls, scored: Scored, wanted: Ints, many: int, turn: Turn) -> Answers:
        labels = np.full(many, -1, np.int64)
        labels[wanted] = scored.labels
        return cls(labels, turn)

    def wrong(self, texts: Ints, labels: Ints) -> tuple[Ints, Ints]:
        """For each text whether it is answered, and whether that is wrong; labels are in the data's terms."""
        said = self.labels[texts]
        true = labels if self.turn is None else np.asarray(self.turn, np.int64)[labels]
        answered = said >= 0
        return answered.astype(np.int64), (answered & (said != true)).astype(np.int64)
