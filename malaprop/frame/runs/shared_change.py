"""One change for all texts, to a prompt or a prefix: searched on a panel of texts, then applied to others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from malaprop.attacks.attack import WRONG, Attack, Ending, Together
from malaprop.attacks.constraints.positions import KeepWords
from malaprop.attacks.goals.goal import Moved
from malaprop.core.errors import AssetError, LimitReached, RecordError, SettingError, VictimError, plain
from malaprop.core.example import NO_WORDS, Example
from malaprop.core.pool import Pool
from malaprop.core.score import Floats, winner
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim, find_rejected
from malaprop.engine.paid import Paid
from malaprop.frame.records.outcome import Edit, Outcome, Queries, Side, edits_between
from malaprop.models.llm.template import Template
from malaprop.models.victims.strings import StringVictim

_BLOCK = 64  # texts in one query of `apply_change`
_EVERYBODYS = (AssetError, LimitReached, RecordError, SettingError)  # no text's fault
_START = "the"  # each word of a prefix before the search


@runtime_checkable
class Prompted(Protocol):
    """A victim that is asked with a prompt."""

    @property
    def template(self) -> Template: ...

    def with_instruction(self, instruction: str) -> Victim:
        """Return the same model with another instruction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedChange:
    """A change that was found: the prompt or prefix before and after it, and its effect on the panel's scores."""

    side: str
    recipe: str
    victim: str  # the victim's fingerprint, or its name
    before: str
    after: str
    score_before: float  # the mean score of the true labels
    score_after: float
    panel: int  # texts
    tried: int  # changes that were scored on the panel
    changed_share: float = 0.0
    reason: str = ""  # why the search failed, if it did

    def describe(self) -> str:
        """Describe the change and its effect on the panel in one line."""
        said = {"prompt": "the instruction", "prefix": "the prefix of every text"}[self.side]
        if self.after == self.before:
            return f"{said} stays {self.before!r}: none of {self.tried} changes lowers the score of {self.panel} texts"
        return (
            f"{said} became {self.after!r} (it was {self.before!r}): the mean score of the true labels went from "
            f"{self.score_before:.3f} to {self.score_after:.3f} on {self.panel} texts, by {self.tried} changes tried"
        )


def find_change(
    attack: Attack, victim: Victim, panel: Sequence[Example], *, seed: int = 0, width: int = 256
) -> SharedChange:
    """Search for the change with the attack's own candidates, constraints and search."""
    from malaprop.frame.runs.local import run

    together = attack.together
    assert together is not None, "asked of attacks that change all texts at once"
    if not panel:
        raise SettingError(f"{attack.name} needs a panel of at least one text")
    judge = Judge(victim, together, panel)
    aim = Moved(bound=min(together.drop, 0.999), falls=True)
    words = tuple(part for word in judge.kept for part in word.split())  # without them the prompt has another task
    kept = (KeepWords(items=words),) if words else ()
    made = replace(attack, together=None, goal=aim, measures=(), constraints=(*attack.constraints, *kept))
    asked = StringVictim(call=judge.score, name=victim.name, answers="number", unknown=victim.unknown)
    example = Example(together.side, {together.side: judge.before}, 0)
    (found,) = run(made, asked, [example], seed=seed, width=width)
    if found.status == "error" or found.adversarial is None:
        raise VictimError(f"{attack.name} found no change for {victim.name}: {found.reason}")
    return SharedChange(
        side=together.side,
        recipe=attack.name,
        victim=victim.fingerprint or victim.name,
        before=judge.before,
        after=found.adversarial.fields[together.side],
        score_before=found.original.scores[0],
        score_after=found.adversarial.scores[0],
        panel=len(judge.labels),
        tried=found.queries.asked,
        changed_share=found.changed_share,
        reason=found.reason or "",
    )


class Judge:
    """Scores a prompt or prefix by the mean score of the panel's true labels, by the victim's fast path.

    The score of the label for rejection counts with the true label's: a rejected text is no success.
    """

    def __init__(self, victim: Victim, together: Together, panel: Sequence[Example]) -> None:
        self.victim, self.together, self.rejected = victim, together, find_rejected(victim.label_names)
        self.table = Words()
        texts = [Text.of(example.fields, self.table, owner) for owner, example in enumerate(panel)]
        some = [at for at, text in enumerate(texts) if text.slots]
        if not some:
            raise SettingError("no text of the panel holds a word")
        self.texts = [texts[at] for at in some]
        self.labels = np.asarray([panel[at].label for at in some], np.int64)
        self.kept: tuple[str, ...] = ()
        self.before = " ".join([_START] * together.words)
        if together.side == "prompt":
            template = find_prompt(victim).template
            self.before, self.kept = template.instruction_text, template.words
            if not self.before.strip():
                raise SettingError("the prompt has no instruction before its text, so there is nothing to attack in it")

    def score(self, strings: Sequence[str]) -> Floats:
        """Return one score for each string."""
        return np.asarray([self._mean(answers) for answers in self._answers(strings)], np.float32)

    def _mean(self, answers: Floats) -> float:
        own = answers[np.arange(len(self.labels)), self.labels]
        return float((own if self.rejected < 0 else own + answers[:, self.rejected]).mean())

    def _answers(self, strings: Sequence[str]) -> Iterator[Floats]:
        if self.together.side == "prompt":
            pool = Pool([Variants.itself(text) for text in self.texts])
            for string in strings:
                victim = ask_with(self.victim, string)
                yield victim.finish(victim.begin(pool, np.arange(pool.size)))
            return
        pool = Pool(
            [Variants.at(text, 0, self.table.ids([set_before(text, s) for s in strings])) for text in self.texts]
        )
        found = self.victim.finish(self.victim.begin(pool, np.arange(pool.size)))
        yield from found.reshape(len(self.texts), len(strings), -1).swapaxes(0, 1)


def find_prompt(victim: Victim) -> Prompted:
    """Return the victim that has the prompt, without the cache on disk, whose answers are of another prompt."""
    inner = victim.inside if isinstance(victim, Paid) else victim
    if not isinstance(inner, Prompted):
        raise SettingError(f"{victim.name} has no prompt; --fields prompt is for causal: and openai: victims")
    return inner


def ask_with(victim: Victim, instruction: str) -> Victim:
    """Return the victim with another instruction; its queries count against the same limits."""
    made = find_prompt(victim).with_instruction(instruction)
    return Paid(made, None, victim.purse) if isinstance(victim, Paid) and victim.purse is not None else made


def set_before(text: Text, prefix: str) -> str:
    """Return the first slot's string with a prefix before it."""
    return f"{prefix} {text.strings[0]}".strip()


def run_together(
    attack: Attack, victim: Victim, examples: Sequence[Example], *, seed: int = 0, width: int = 256
) -> Iterator[Outcome]:
    """Find the change on the first of these examples and apply it to all of them."""
    assert attack.together is not None, "asked of attacks that change all texts at once"
    if examples:
        change = find_change(attack, victim, examples[: attack.together.panel], seed=seed, width=width)
        yield from apply_change(victim, change, examples, seed=seed)


def apply_change(
    victim: Victim, change: SharedChange, examples: Iterable[Example], *, seed: int = 0
) -> Iterator[Outcome]:
    """Yield the outcome of each example under the change; all answers come from fresh calls of `predict`."""
    changed = ask_with(victim, change.after) if change.side == "prompt" else victim
    rest = iter(examples)
    while block := list(islice(rest, _BLOCK)):
        yield from _put(victim, changed, change, block, seed)


def _put(
    victim: Victim, changed: Victim, change: SharedChange, block: Sequence[Example], seed: int
) -> Iterator[Outcome]:
    started, table = perf_counter(), Words()
    try:
        texts = [Text.of(example.fields, table, at) for at, example in enumerate(block)]
        finals = [
            text if change.side == "prompt" or not text.slots else text.put(0, set_before(text, change.after))
            for text in texts
        ]
        first = victim.predict([text.values() for text in texts])
        last = changed.predict([text.values() for text in finals])
    except _EVERYBODYS:
        raise
    except Exception as error:  # noqa: BLE001 - a victim may raise anything; one text must not cost the others
        if len(block) > 1:
            for example in block:
                yield from _put(victim, changed, change, [example], seed)
            return
        yield _end(block[0], change, Ending("error", None, None, None, None, 0, plain(error)), seed, 0.0)
        return
    each = (perf_counter() - started) / len(block)
    for example, origin, final, one, other in zip(block, texts, finals, first, last, strict=True):
        if winner(one) != example.label:
            ending = Ending("skipped", origin, one, None, None, 1, WRONG)
        elif change.side == "prefix" and not origin.slots:
            ending = Ending("failed", origin, one, origin, one, 1, NO_WORDS)
        else:
            broken = winner(other) not in (example.label, find_rejected(victim.label_names))
            ending = Ending("success" if broken else "failed", origin, one, final, other, 2)
        yield _end(example, change, ending, seed, each)


def _end(example: Example, change: SharedChange, ending: Ending, seed: int, seconds: float) -> Outcome:
    """Return the outcome of one text; a changed prompt is shown as one more field of it."""
    prompt = change.side == "prompt"
    share = 0.0
    edits: tuple[Edit, ...] = ()
    if ending.final is not None and ending.origin is not None:
        edits = edits_between(ending.origin, ending.final)
        share = change.changed_share if prompt else len(edits) / max(1, ending.origin.slots)
        if prompt:
            table = Words()
            edits = edits_between(Text.of({"prompt": change.before}, table), _aligned(change, table))
    return Outcome(
        id=example.id,
        status=ending.status,
        label=example.label,
        original=_side(example.fields, change.before if prompt else None, ending.first),
        adversarial=None
        if ending.final is None
        else _side(ending.final.fields, change.after if prompt else None, ending.last),
        edits=edits,
        queries=Queries(ending.asked, ending.asked, ending.asked),
        changed_share=share,
        seconds=seconds,
        seed=seed,
        reason=ending.reason or None,
    )


def _aligned(change: SharedChange, table: Words) -> Text:
    """Return the changed instruction as a `Text` with the original's slots, if their number is the same."""
    before, after = Text.of({"prompt": change.before}, table), Text.of({"prompt": change.after}, table)
    if after.slots == before.slots:
        return after
    return before.put(0, change.after) if before.slots else before


def _side(fields: Any, prompt: str | None, answer: Floats | None) -> Side:
    whole = dict(fields) if prompt is None else {"prompt": prompt, **fields}
    if answer is None:
        return Side(whole)
    return Side(whole, winner(answer), tuple(answer.tolist()))
