"""Put a victim behind two defences, each with settings of its own: as values of Python, and from a file of TOML.

python examples/defend_a_victim.py
"""

from __future__ import annotations

import os
from pathlib import Path

from attack_a_function import EXAMPLES, predict

import malaprop as mp
from malaprop.features.defending.lost_words import RanDel, RanMask


def main() -> None:
    masked = mp.defend(predict, RanMask(keep=0.8, samples=16, vote="probabilities"), seed=3)
    both = mp.defend(masked, RanDel(samples=8))  # one call may name several defences, the innermost first

    os.chdir(Path(__file__).parent)  # attack_a_function:predict is looked for in the working folder
    from_file = mp.victim("victim.toml")
    print(from_file.name)

    texts = [text for text, _ in EXAMPLES]
    print("the same answers:", (from_file.predict(texts) == both.predict(texts)).all())
    for name, victim in {"plain": predict, "masked": masked, "both": from_file}.items():
        outcomes = mp.attack("keyboard", victim, EXAMPLES, seed=0)
        print(f"{name}: attack success {mp.Summary.of(outcomes).success}")


if __name__ == "__main__":
    main()
