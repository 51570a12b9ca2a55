"""Victims whose fast path computes in fewer bits: what it finds counts only where the plain road confirms it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from malaprop.attacks.attack import RETRIES, Attack
from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.encoders import service_of
from malaprop.attacks.ranking.order import LeftToRight
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.differential import DifferentialEvolution
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.greedy import FirstFound, Greedy
from malaprop.attacks.search.oneword import Sweep
from malaprop.attacks.search.swarm import Swarm
from malaprop.core.capability import Capability
from malaprop.core.example import Example
from malaprop.core.insight import Apart
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Ints, Words
from malaprop.core.victim import Fields
from malaprop.engine.service import FunctionService, Scoring
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.runs.local import run
from malaprop.frame.runs.services import services
from malaprop.models.victims.strings import complete


def weight(text: str) -> float:
    """How bad a text is, by its plain answer: worse words add up, and it falls from 0.5 on."""
    return 0.2 + 0.1 * sum({"poor": 2, "bad": 1, "awful": 4}.get(word, 0) for word in text.split())


@dataclass
class Rough:
    """Its fast path adds `error` to the weight of texts that hold `fooled`; its plain road does not."""

    error: float
    fooled: str
    rounding: float = 0.05
    name: str = "rough"
    labels: int = 2
    fingerprint: str = ""
    unknown: str = "?"
    offers: frozenset[Capability] = frozenset({Capability.LABELS, Capability.SCORES})
    plain: list[str] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)  # how many plain answers were asked for at a time

    def classes(self, table: Words) -> Ints | None:
        return None

    def begin(self, pool: Pool, wanted: Ints) -> list[str]:
        return [str(text) for text in pool.texts(wanted)]

    def finish(self, begun: list[str]) -> Floats:
        return scores([weight(text) + self.error * (self.fooled in text.split()) for text in begun])

    def predict(self, texts: Sequence[Fields]) -> Floats:
        self.plain += [fields[0] for fields in texts]
        self.calls.append(len(texts))
        return scores([weight(fields[0]) for fields in texts])


def scores(bad: list[float]) -> Floats:
    row = np.asarray(bad, np.float32)
    return np.stack([1 - row, row], 1)


def attack(**more: Any) -> Attack:
    table = {"good": ("bad", "poor"), "fine": ("awful",), "nice": ("poor",)}
    return Attack(name="toy", candidates=Listed(table=table), search=Greedy(rank=LeftToRight()), **more)


def outcomes(victim: Rough, text: str, made: Attack | None = None, **how: Any) -> Outcome:
    (found,) = run(made or attack(), complete(victim), [Example("one", {"text": text}, 0)], **how)
    return found


@pytest.mark.parametrize("width", [1, 8])
def test_the_search_goes_on_where_the_plain_answer_does_not_confirm(width: int) -> None:
    victim = Rough(error=0.2, fooled="poor")
    found = outcomes(victim, "good fine film", width=width)
    assert found.status == "success"
    assert found.adversarial is not None
    assert found.adversarial.text == "poor awful film"
    assert victim.plain == ["poor fine film", "poor awful film"], "the flip that was none was asked once"
    assert found.queries.asked == 4, "the first answer, two words for good, one for fine: asked as if at one go"


def test_what_confirms_is_counted_as_forwarded() -> None:
    exact, rough = (outcomes(Rough(error=e, fooled="poor"), "good fine film") for e in (0.0, 0.2))
    assert rough.queries.forwarded == exact.queries.forwarded + 1
    assert rough.queries.asked == exact.queries.asked


def test_no_success_is_written_where_none_is_confirmed() -> None:
    found = outcomes(Rough(error=0.2, fooled="poor"), "good film")
    assert found.status == "failed"
    assert found.adversarial is not None
    assert found.adversarial.prediction == 0


def test_a_victim_that_claims_to_be_exact_is_held_to_it() -> None:
    found = outcomes(Rough(error=0.2, fooled="poor", rounding=0.0), "good film")
    assert found.status == "error"
    assert "not deterministic" in (found.reason or "")


def test_whether_an_original_is_right_is_settled_by_the_plain_answer() -> None:
    victim = Rough(error=0.33, fooled="film")  # 0.53 by the fast path
    found = outcomes(victim, "good fine film")
    assert victim.plain[0] == "good fine film"
    assert found.status != "skipped"
    sure = Rough(error=0.0, fooled="film")
    outcomes(sure, "film")
    assert sure.plain == [], "far from the border there is nothing to settle"


def test_a_budget_holds_over_all_searches() -> None:
    found = outcomes(Rough(error=0.2, fooled="poor"), "good fine film", attack(budget=3))
    assert found.status == "failed"
    assert found.queries.asked == 3


def test_it_ends() -> None:
    words = tuple(f"poor{i:02}" for i in range(RETRIES + 8))
    victim = Rough(error=0.0, fooled="")
    victim.finish = lambda begun: scores([0.9 if "poor" in text else 0.2 for text in begun])  # type: ignore[method-assign]
    made = Attack(name="toy", candidates=Listed(table={"good": words}), search=Greedy(rank=LeftToRight()))
    found = outcomes(victim, "good", made)
    assert found.status == "failed"
    assert len(victim.plain) == RETRIES + 1
    assert "not confirmed" in (found.reason or "")


@dataclass
class Crowded(Rough):
    """Of words w0, w1, ... only w60 and later turn the label; its fast path says that all do, by a hair."""

    offers: frozenset[Capability] = frozenset({Capability.LABELS, Capability.SCORES, Capability.EMBEDDINGS})

    @property
    def embeddings(self) -> Crowded:
        return self

    def apart(self, looks: Sequence[Apart]) -> list[Floats]:
        return [np.asarray([_number(str(t)) for t in look.variants.texts()], np.float32) for look in looks]

    def finish(self, begun: list[str]) -> Floats:
        return scores([0.2 if _number(text) < 0 else 0.51 for text in begun])

    def predict(self, texts: Sequence[Fields]) -> Floats:
        self.plain += [fields[0] for fields in texts]
        self.calls.append(len(texts))
        return scores([0.2 if (n := _number(text)) < 0 else 0.49 if n < 60 else 0.52 for (text,) in texts])


def _number(text: str) -> int:
    word = text.split()[0]
    return int(word[1:]) if word[1:].isdecimal() else -1


def test_the_nearest_is_chosen_among_what_plain_answers_confirm() -> None:
    """More of the near ones are flips of rounding than a search is begun anew for: they are put to it together."""
    words = tuple(f"w{i}" for i in range(2 * RETRIES + 30))
    made = Attack(
        name="toy",
        candidates=Listed(table={"good": words}),
        search=Sweep(rank=LeftToRight(), nearest=True),
        wants=frozenset({Capability.EMBEDDINGS}),
    )
    found = outcomes(Crowded(error=0.0, fooled=""), "good film", made)
    assert found.status == "success"
    assert found.adversarial is not None
    assert found.adversarial.text == "w60 film"
    assert found.queries.asked == 1 + len(words)


def test_where_plain_answers_confirm_none_of_the_near_ones_the_search_ends_at_once() -> None:
    words = tuple(f"w{i}" for i in range(50))
    made = Attack(
        name="toy",
        candidates=Listed(table={"good": words}),
        search=Sweep(rank=LeftToRight(), nearest=True),
        wants=frozenset({Capability.EMBEDDINGS}),
    )
    victim = Crowded(error=0.0, fooled="")
    found = outcomes(victim, "good film", made)
    assert (found.status, found.reason) == ("failed", None)
    assert len(victim.plain) == len(words), "each was asked once"


WORDS = {"poor": 3, "bad": 2, "awful": 7, "dull": 5, "grim": 4, "flat": 1, "cold": 6}
OPTIONS = {
    "good": ("bad", "dull", "poor"),
    "fine": ("awful", "grim"),
    "nice": ("cold", "flat", "poor"),
    "warm": ("cold", "grim"),
}


@dataclass
class Coarse(Rough):
    """Every text that is nearly over the border has flipped by its fast answer, and by a hair, as in few bits."""

    def finish(self, begun: list[str]) -> Floats:
        exact = [badness(text) for text in begun]
        return scores([0.51 if self.error and 0.46 <= bad < 0.5 else bad for bad in exact])

    def predict(self, texts: Sequence[Fields]) -> Floats:
        self.plain += [fields[0] for fields in texts]
        self.calls.append(len(texts))
        return scores([badness(fields[0]) for fields in texts])


def badness(text: str) -> float:
    """0.43 to begin with; each word adds a little of its own, so that many texts lie just below the border."""
    return 0.43 + 0.003 * sum(WORDS.get(word, 0) for word in text.split()) + 0.0001 * (len(text) % 7)


def turning(many: int = 24) -> list[Example]:
    """Texts of three to fourteen words that may change: the short ones never flip."""
    words = [*OPTIONS]
    texts = [" ".join(words[(i + k * (1 + i % 3)) % 4] for k in range(3 + i % 12)) for i in range(many)]
    return [Example(f"{i}", {"text": f"{text} film {i}"}, 0) for i, text in enumerate(texts)]


SEARCHES = {
    "greedy": Greedy(rank=LeftToRight()),
    "nearest": Greedy(rank=LeftToRight(), nearest=True, among=4),
    "nearest of all": Greedy(rank=LeftToRight(), nearest=True),
    "first found": FirstFound(rank=LeftToRight(), words=9),
    "beam": Beam(width=3),
    "genetic": Genetic(size=6, rounds=4, share=1.0),
    "swarm": Swarm(size=6, rounds=4),
    "differential": DifferentialEvolution(most=6, size=8, rounds=3),
}


def attack_all(victim: Coarse, search: Any, width: int) -> tuple[dict[str, tuple[Any, ...]], int]:
    """What became of each example, and in how many rounds the victim was asked."""
    whole = complete(victim)
    known = services(whole)
    encoder = FunctionService(lambda texts: [vector(text) for text in texts])
    known |= {service_of("minilm"): encoder, f"{service_of('minilm')}/rough": encoder}
    made = Attack(name="toy", candidates=Listed(table=OPTIONS), search=search)
    found = run(made, whole, turning(), width=width, services=known)
    ends = {o.id: (o.status, o.adversarial and o.adversarial.text, o.queries.asked, o.queries.unique) for o in found}
    scoring = known["victim"]
    assert isinstance(scoring, Scoring)
    return ends, scoring.clock.rounds


def vector(text: str) -> Floats:
    made = np.asarray([1 + text.count(letter) for letter in "abcdefgh"], np.float32)
    return made / np.float32(np.linalg.norm(made))


@pytest.mark.parametrize("name", SEARCHES)
def test_an_attack_near_the_border_goes_on_where_it_is(name: str) -> None:
    """Each false flip made the whole search run again; the plain answer is now asked for before it is taken."""
    exact, rough = Coarse(error=0.0, fooled="", rounding=0.0), Coarse(error=1.0, fooled="")
    wanted, rounds = attack_all(exact, SEARCHES[name], width=1)
    assert {"success", "failed"} <= {status for status, *_ in wanted.values()}
    found, took = attack_all(rough, SEARCHES[name], width=1)
    assert len(rough.plain) > 2 * len(exact.plain), "flips of rounding were met"
    assert len(rough.plain) == len({*rough.plain}), "no text was asked twice for its plain answer"
    assert found == wanted
    assert took == rounds
    for width in (4, 64):
        assert attack_all(Coarse(error=1.0, fooled=""), SEARCHES[name], width)[0] == wanted


def test_plain_answers_are_asked_for_in_few_rounds() -> None:
    words = tuple(f"w{i:02}" for i in range(60))
    made = Attack(name="toy", candidates=Listed(table={"good": words}), search=Greedy(rank=LeftToRight()))
    victim = Crowded(error=0.0, fooled="")
    found = outcomes(victim, "good film", made)
    assert (found.status, found.queries.asked, found.queries.forwarded) == ("failed", 61, 121)
    assert sum(victim.calls) == 60
    assert len(victim.calls) <= 7, "twice as many each time"
