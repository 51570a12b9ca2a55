"""Two small runs over the same texts, and a study whose every answer is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from malaprop.core.png import address
from malaprop.features.humans.items import RatedItem, Turn
from malaprop.features.humans.sources import System
from malaprop.features.humans.study import Facts, GivenAnswer, Rater, connect, create, save_answer, transaction
from malaprop.frame.records import Outcome, Run, Side, Status, Writer
from malaprop.papers.natural.record import FINDS, ImageResult, NaturalRecord
from malaprop.papers.natural.text_record import TURNS, SentenceResult

LABELS = ("negative", "positive")
TEXTS = tuple(f"the {name} was {'good' if n % 2 else 'poor'} from start to end" for n, name in enumerate(
    ("film", "story", "acting", "score", "script", "humour", "ending", "cast", "camera", "sound", "title", "pace")
))  # fmt: skip
SYNONYM = {"good": "decent", "poor": "weak"}
TYPO = {"good": "gxod", "poor": "pxor"}


def changed(text: str, table: Mapping[str, str]) -> str:
    return " ".join(table.get(word, word) for word in text.split())


def write_run(
    folder: Path,
    recipe: str,
    table: Mapping[str, str],
    *,
    victim: str = "toy",
    texts: Sequence[str] = TEXTS,
    status: Status = "success",
    labels: tuple[str, ...] = LABELS,
) -> Path:
    """A run in which every text fell, or had the status given."""
    run = Run(recipe=recipe, victim=victim, data="tiny", n=len(texts), labels=labels)
    with Writer(folder, run) as writer:
        for n, text in enumerate(texts):
            other = Side({"text": changed(text, table)}, 1 - n % 2, (0.5, 0.5)) if status != "skipped" else None
            original = Side({"text": text}, n % 2, (0.4, 0.6))
            writer.add(Outcome(id=str(n), status=status, label=n % 2, original=original, adversarial=other))
    return folder


def two_runs(folder: Path, **settings) -> Path:
    write_run(folder / "synonym", "synonym", SYNONYM, **settings)
    write_run(folder / "typo", "typo", TYPO, **settings)
    return folder


def system(name: str, successes: int = 8, attacked: int = 10) -> System:
    return System(name=name, recipe=name, victim="toy", data="tiny", attacked=attacked, successes=successes)


def item(question: str, systems: tuple[int, ...], *, source: str = "s", label: int = 1, expected: str | None = None):
    texts = tuple({"text": f"text {n} of {source}"} for n in range(max(1, len(systems))))
    return RatedItem(question=question, source=source, label=label, systems=systems, texts=texts, expected=expected)


def write_study(path: Path, items: Sequence[RatedItem], answers: Mapping[str, Sequence[str | None]]) -> Path:
    """A study in which every rater has every item, with each rater's answers in the items' order."""
    asked = tuple(dict.fromkeys(i.question for i in items))
    facts = Facts(
        id="tiny", created="", seed=0, each=len(answers), labels=LABELS, systems=(system("one"), system("two")),
        ask=asked, admin="secret-of-the-admin",
    )  # fmt: skip
    raters = [Rater(n, name, f"secret-{n}") for n, name in enumerate(answers, start=1)]
    numbered = dict(enumerate(items, start=1))
    create(path, facts, numbered, raters, [[Turn(n, False) for n in numbered] for _ in raters])
    base = connect(path, write=True)
    with transaction(base, path):
        for rater in raters:
            for number, value in enumerate(answers[rater.name], start=1):
                if value is not None:
                    save_answer(base, GivenAnswer(rater.id, number, value), "")
    base.close()
    return path


def shade(level: int) -> str:
    """A picture of one grey."""
    return address(np.full((8, 8), level, np.uint8))


def write_finds(folder: Path, victim: str, step: int, *, fgsm: int = 0, many: int = 6, broken: str = "") -> Path:
    """A natural run on images: greys that an adversary makes lighter by `step`; and by `fgsm` beside it."""

    def finds(step: int) -> list[ImageResult]:
        return [
            ImageResult(
                id=str(n), status="success", label=n % 3, prediction=n % 3, changed=5, distance=1.0,
                original=shade(20 * n), adversary=broken or shade(20 * n + step),
            )
            for n in range(many)
        ]  # fmt: skip

    with Writer(folder, Run(recipe="hybrid", victim=victim, data="digits", n=many), kind=FINDS) as writer:
        for find in finds(step):
            writer.add(find)
    gallery = {f"{victim}, FGSM": tuple(finds(fgsm))} if fgsm else {}
    NaturalRecord(data="digits", gallery=gallery).write(folder)
    return folder


def write_turns(folder: Path, victim: str, word: str, many: int = 6) -> Path:
    """A natural run on pairs of sentences: the verb of the hypothesis gives way to `word`."""
    with Writer(folder, Run(recipe="hybrid", victim=victim, data="pairs", n=many), kind=TURNS) as writer:
        for n in range(many):
            fields = {"premise": f"man {n} is outside", "hypothesis": f"man {n} sleeps"}
            writer.add(
                SentenceResult(
                    id=str(n), status="success", label=("neutral", "entailment")[n % 2], answer="neutral",
                    fields=fields, field="hypothesis", adversary=f"man {n} {word}", changed="entailment",
                )
            )  # fmt: skip
    return folder
