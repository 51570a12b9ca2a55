"""Language models as classifiers: what keeping the keys of shared beginnings saves, and how prompts fare under attack.

python -m malaprop_bench.prompts speed docs/measured --texts 50
python -m malaprop_bench.prompts table docs/measured --texts 100 --device cuda

`--first 10` begins with the eleventh text and `--data mr` takes one dataset, so that processes can share the work.
Both add a line to a file of `docs/measured` for every few texts, so that what is cut short is no loss.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from malaprop.models.llm.template import TEXT_PROMPT
from malaprop.records.summary import Rate

MODEL = "causal:smollm2"
DETAILED = (
    "You are given one text. Read it to its end, and decide which of the following words describes it best: {labels}. "
    "Do not explain your choice, do not repeat the text, and do not add anything else to the answer. "
    "Your whole answer has to be exactly one of these words.\n\nText: {text}\nAnswer:"
)
PROMPTS = {"default": TEXT_PROMPT, "bare": "Text: {text}\nLabel:", "detailed": DETAILED}
TURN = 5  # texts that both sides attack before the next ones

SPEED = ("side", "texts", "broken", "prompts scored", "tokens read", "processor s", "times")
ROBUST = ("data", "prompt", "shots", "texts", "clean accuracy", "accuracy under attack", "queries a text")


def speed_rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Both sides over all turns."""
    whole = sum(record["sides"]["whole"]["processor_s"] for record in records)
    out = []
    for name in ("whole", "shared"):
        sides = [record["sides"][name] for record in records]
        sums = [sum(side[key] for side in sides) for key in ("texts", "broken", "scored", "tokens")]
        spent = sum(side["processor_s"] for side in sides)
        said = {"whole": "every prompt whole", "shared": "shared beginnings kept"}[name]
        out.append([said, *(f"{number:,}" for number in sums), f"{spent:.0f}", f"{whole / spent:.2f}"])
    return out


def robust_rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A line for each dataset, prompt and number of worked examples."""
    return [
        [
            held["data"], held["prompt"], str(held["shots"]), str(held["texts"]),
            str(Rate(held["right"], held["texts"])), str(Rate(held["held"], held["texts"])),
            f"{held['asked'] / max(1, held['right']):.0f}",
        ]
        for held in records
    ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTerms:
    """What is measured, and where."""

    model: str = MODEL
    texts: int = 20
    first: int = 0
    budget: int | None = None
    data: tuple[str, ...] = ("mr", "ag_news")
    device: str = "cpu"


def _equip(terms: PromptTerms, data: str, prompt: str, shots: int) -> tuple[Any, list[Any]]:
    """A victim asked with this prompt, and the examples."""
    from malaprop.data.matching import agree
    from malaprop.runs.victims import victim
    from malaprop.studies.prompting import Prompting
    from malaprop.studies.selection import Selection

    texts = Selection(data=data, n=terms.first + terms.texts)
    found = texts.examples(trains=shots > 0)
    made = victim(Prompting(prompt=prompt, shots=shots).equip(terms.model, texts, found), device=terms.device)
    return made, list(agree(found, made))[terms.first :]


def _attack(victim: Any, examples: Sequence[Any], budget: int | None) -> tuple[list[Any], float]:
    from malaprop.runs.api import make_attack
    from malaprop.runs.local import run

    attack = make_attack("pwws", {}).but(budget=budget)
    begun = process_time()
    return list(run(attack, victim, examples, width=64)), process_time() - begun


def measure_speed(terms: PromptTerms) -> Iterator[dict[str, Any]]:
    """PWWS on movie reviews by both sides, a few texts at a time; each side goes first in turn."""
    victim, examples = _equip(terms, "mr", DETAILED, 0)
    _attack(victim, examples[:1], 4)  # what is loaded once is no part of it
    for turn, first in enumerate(range(0, len(examples), TURN)):
        sides: dict[str, Any] = {}
        statuses: dict[str, Any] = {}
        for name in ("shared", "whole")[:: 1 if turn % 2 else -1]:
            victim.share = name == "shared"
            scored, tokens = victim.meter.queries, victim.tokens_read
            found, spent = _attack(victim, examples[first : first + TURN], None)
            statuses[name] = {outcome.id: outcome.status for outcome in found}
            sides[name] = {
                "texts": len(found), "broken": Counter(statuses[name].values())["success"],
                "scored": victim.meter.queries - scored, "tokens": victim.tokens_read - tokens,
                "processor_s": round(spent, 2),
            }  # fmt: skip
        yield {
            "model": MODEL,
            "data": "mr",
            "recipe": "pwws",
            "same": statuses["shared"] == statuses["whole"],
            "sides": sides,
        }


def measure_prompts(terms: PromptTerms) -> Iterator[dict[str, Any]]:
    """Accuracy, and accuracy under PWWS, of each prompt with and without worked examples."""
    for data in terms.data:
        for shots in (0, 4):
            for name, prompt in PROMPTS.items():
                victim, examples = _equip(terms, data, prompt, shots)
                found, spent = _attack(victim, examples, terms.budget)
                counts = Counter(outcome.status for outcome in found)
                yield {
                    "model": MODEL, "data": data, "prompt": name, "shots": shots, "texts": len(found) - counts["error"],
                    "right": counts["success"] + counts["failed"], "held": counts["failed"], "recipe": "pwws",
                    "budget": terms.budget, "asked": sum(o.queries.asked for o in found if o.status != "skipped"),
                    "processor_s": round(spent, 1),
                }  # fmt: skip


def main() -> None:
    from malaprop_bench.machine import describe
    from malaprop_bench.page import append

    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    words.add_argument("what", choices=("speed", "table"))
    words.add_argument("out", type=Path)
    words.add_argument("--model", default=MODEL)
    words.add_argument("--texts", type=int, default=20)
    words.add_argument("--first", type=int, default=0)
    words.add_argument("--budget", type=int)
    words.add_argument("--data", nargs="+", default=("mr", "ag_news"))
    words.add_argument("--device", default="cpu")
    given = words.parse_args()
    terms = PromptTerms(**{name: value for name, value in vars(given).items() if name not in ("what", "out")})
    lines = measure_speed(terms) if given.what == "speed" else measure_prompts(terms)
    for line in lines:
        append(given.out, "prompt-sharing" if given.what == "speed" else "prompts", {**line, **describe(terms.device)})


if __name__ == "__main__":
    main()
