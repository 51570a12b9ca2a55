"""Made-up yet plausible runs, for tests and for looking at a page: `python sample_records.py FOLDER [N]`."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

from malaprop.core.text import Text, Words
from malaprop.frame.records import Outcome, Queries, Run, Side, Status, Writer, edits_between

SWAPS = {
    "good": ("decent", "respectable", "well"),
    "funny": ("odd", "fishy", "laughable"),
    "moving": ("stirring", "go", "affecting"),
    "dull": ("muffled", "slow", "blunt"),
    "tedious": ("wordy", "tiresome", "slow"),
    "film": ("cinema", "flick", "celluloid"),
    "story": ("narration", "tale", "storey"),
    "brilliant": ("vivid", "brainy", "splendid"),
    "charming": ("magic", "influence"),
    "bad": ("regretful", "tough", "forged"),
    "acting": ("playing", "performing"),
    "fresh": ("new", "sassy", "impertinent"),
    "weak": ("light", "faint", "washy"),
    "ending": ("stop", "conclusion", "close"),
}
PRAISE = ("good", "funny", "moving", "brilliant", "charming", "fresh")
BLAME = ("dull", "tedious", "bad", "weak")
PATTERNS = (
    "a {0} , {1} film that never forgets its story , with acting that stays {2} until the ending",
    "the story is {0} and the acting {1} , but what stays with you is the {2} ending of a film about two brothers",
    '" the long way home " is a {0} film , {1} in its details and {2} in what it leaves out',
    "too {0} to be called {1} , this film wants a story ; the director's cut is {2} in every sense",
    "few will call it {0} , yet the acting is {1} and the ending , oddly , {2}",
)
ATTACKS = {  # share broken, typical queries
    "pwws": (0.93, 110),
    "textfooler": (0.88, 260),
    "genetic": (0.8, 2600),
    "deepwordbug": (0.66, 38),
    "keyboard": (0.41, 64),
}
VICTIMS = {"LSTM-W-GloVe-1": (0.8, 1.0), "CNN-W-GloVe-1": (0.79, 0.96), "BERT": (0.86, 0.72)}


def typo(word: str, rng: random.Random) -> str:
    at = rng.randrange(len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _text(rng: random.Random, label: int) -> str:
    bank = PRAISE if label else BLAME
    whole = rng.choice(PATTERNS).format(*rng.sample(bank, 3))
    return f"{whole} , says reviewer {rng.randrange(10_000)} ."


def _attack(text: Text, recipe: str, rng: random.Random) -> Text:
    open_slots = [slot for slot, word in enumerate(text.strings) if word in SWAPS]
    for slot in rng.sample(open_slots, min(len(open_slots), rng.choice((1, 1, 2, 2, 3)))):
        word = text.strings[slot]
        typos = recipe in ("deepwordbug", "keyboard")
        text = text.put(slot, typo(word, rng) if typos else rng.choice(SWAPS[word]))
    return text


def outcome(name: int, recipe: str, victim: str, seed: int = 0) -> Outcome:
    """Example `name` under attack; the text depends on its number alone."""
    label = name % 2
    text = Text.of(_text(random.Random(name), label), Words())
    right, hardness = VICTIMS[victim]
    rng = random.Random(f"{name} {recipe} {victim} {seed}")
    sure = rng.uniform(0.6, 0.99)
    if random.Random(f"{name} {victim}").random() > right:
        scores = (sure, 1 - sure) if label else (1 - sure, sure)
        return _outcome(name, "skipped", label, Side(text.fields, 1 - label, scores), None, text, text, 1, rng)
    success, cost = ATTACKS[recipe]
    before = Side(text.fields, label, (1 - sure, sure) if label else (sure, 1 - sure))
    if rng.random() < 0.008:
        why = "victim is not deterministic" if rng.random() < 0.6 else "VictimError: the victim answered nan for 1 text"
        return _outcome(name, "error", label, before, None, text, text, 1, rng, why)
    now = _attack(text, recipe, rng)
    won = rng.random() < success * hardness
    left = rng.uniform(0.05, 0.49) if won else rng.uniform(0.5, sure)
    after = Side(now.fields, 1 - label if won else label, (1 - left, left) if label else (left, 1 - left))
    asked = max(3, int(cost * math.exp(rng.gauss(0, 0.7)) * (1 if won else 2)))
    return _outcome(name, "success" if won else "failed", label, before, after, text, now, asked, rng)


def _outcome(
    name: int,
    status: Status,
    label: int,
    before: Side,
    after: Side | None,
    text: Text,
    now: Text,
    asked: int,
    rng: random.Random,
    reason: str | None = None,
) -> Outcome:
    edits = edits_between(text, now)
    return Outcome(
        id=f"{name:012x}",
        status=status,
        label=label,
        original=before,
        adversarial=after,
        edits=edits,
        queries=Queries(asked, int(asked * 0.93), int(asked * 0.7)),
        changed_share=len(edits) / text.slots,
        seconds=rng.uniform(0.01, 0.4),
        reason=reason,
    )


def sample(n: int, victims: int = 3, attacks: int = 5) -> list[tuple[Run, list[Outcome]]]:
    """Runs of every victim under every attack, over the same n texts."""
    return [
        (
            Run(
                recipe=recipe,
                victim=victim,
                data="mr",
                n=n,
                width=256,
                labels=("negative", "positive"),
                started="2026-03-01T10:00:00+00:00",
                parts={"goal": {"kind": "Untargeted"}, "search": {"kind": "Greedy", "rank": {"kind": "Saliency"}}},
                fingerprints={"victim": "5f1d0c2ab3", "data": "91be7a0042"},
                versions={"malaprop": "0.1.0", "python": "3.11.9", "numpy": "2.1.0", "torch": "2.5.0"},
            ),
            [outcome(name, recipe, victim) for name in range(n)],
        )
        for victim in list(VICTIMS)[:victims]
        for recipe in list(ATTACKS)[:attacks]
    ]


def main() -> None:
    folder, n = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    for run, found in sample(n):
        with Writer(folder / run.victim / run.recipe, run) as writer:
            for one in found:
                writer.add(one)


if __name__ == "__main__":
    main()
