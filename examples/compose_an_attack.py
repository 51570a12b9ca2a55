"""Put an attack together from parts: candidates from a list of one's own, two constraints, a search, a budget.

python examples/compose_an_attack.py
"""

from __future__ import annotations

from attack_a_function import EXAMPLES, predict

import malaprop as mp
from malaprop.attacks import Attack, Greedy, KeepStopWords, LeaveOneOut, Listed, MaxWords, Untargeted

SYNONYMS = {
    "moving": ("touching", "stirring"),
    "funny": ("droll", "comic"),
    "dull": ("slow", "tedious"),
    "clumsy": ("awkward",),
    "warm": ("gentle",),
    "film": ("movie", "picture"),
}

ATTACK = Attack(
    name="my-synonyms",
    goal=Untargeted(),
    candidates=Listed(table=SYNONYMS),
    constraints=(KeepStopWords(), MaxWords(count=2)),
    search=Greedy(rank=LeaveOneOut()),
    budget=50,
)


def main() -> None:
    print(ATTACK)
    outcomes = mp.attack(ATTACK, predict, EXAMPLES, seed=0)
    for outcome in outcomes:
        print(outcome.status, [f"{edit.before} -> {edit.after}" for edit in outcome.edits])
    print("attack success:", mp.Summary.of(outcomes).success)


if __name__ == "__main__":
    main()
