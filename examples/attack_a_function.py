"""Attack a function of your own: a list of texts in, a row of scores for each text out.

python examples/attack_a_function.py
"""

from __future__ import annotations

import malaprop as mp

LEANS = {"moving": 2.0, "funny": 1.0, "warm": 1.0, "dull": -2.0, "clumsy": -1.0, "boring": -1.0}


def predict(texts: list[str]) -> list[list[float]]:
    """Scores of negative and positive, by counting words."""
    rows = []
    for text in texts:
        lean = sum(LEANS.get(word.strip(".,!").lower(), 0.0) for word in text.split())
        positive = 1 / (1 + 2.718 ** (-lean - 0.1))
        rows.append([1 - positive, positive])
    return rows


EXAMPLES = [
    ("A moving, funny film.", 1),
    ("Dull dialogue and a clumsy plot.", 0),
    ("A warm and funny story, never boring.", 1),
    ("Boring.", 1),  # the victim is wrong here already, so there is nothing to attack
]


def main() -> None:
    for outcome in mp.attack("keyboard", predict, EXAMPLES, seed=0):
        print(f"{outcome.status:8}{outcome.original.text}")
        if outcome.status == "success" and outcome.adversarial is not None:
            print(f"{'':8}{outcome.adversarial.text}   ({outcome.queries.asked} queries)")


if __name__ == "__main__":
    main()
