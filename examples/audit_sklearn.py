"""Train a small scikit-learn pipeline, attack it with three recipes, and write a report of what broke.

python examples/audit_sklearn.py [FOLDER]

The texts are made up from a few phrases, so the figures say nothing about real classifiers. Wants malaprop[sklearn].
"""

from __future__ import annotations

import sys
from itertools import combinations, product
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import malaprop as mp
from malaprop.data import of
from malaprop.frame.records import Summary
from malaprop.frame.report import write_report
from malaprop.frame.runs.folder import run_to_folder

THINGS = ("film", "plot", "cast", "score", "dialogue", "ending")
WORDS = (("dull", "clumsy", "tedious", "shallow"), ("moving", "clever", "charming", "vivid"))  # of label 0 and label 1
SHAPES = (
    "the {thing} is {one} and {other}, if a little {against}",
    "a {one} {thing}, {other} to the last, and only at times {against}",
)


def made_texts() -> list[tuple[str, int]]:
    """Every shape with every thing, two words of the label's side and one of the other side."""
    return [
        (shape.format(thing=thing, one=one, other=other, against=against), label)
        for shape, thing, label in product(SHAPES, THINGS, (0, 1))
        for one, other in combinations(WORDS[label], 2)
        for against in WORDS[1 - label]
    ]


def main(folder: Path) -> None:
    shuffled = list(of(made_texts()).sample(None, seed=0))
    train, test = shuffled[40:], of(shuffled[:40], name="made reviews")
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    pipeline.fit([example.fields["text"] for example in train], [example.label for example in train])
    victim = mp.victim(pipeline, name="tf-idf")
    for recipe in ("keyboard", "deepwordbug", "homoglyph"):
        outcomes = run_to_folder(mp.recipe(recipe), victim, test, folder / recipe, seed=0)
        summary = Summary.of(outcomes)
        print(f"{recipe}: {summary.under_attack} right under attack, median {summary.asked.median:.0f} queries")
    print(write_report([folder], folder / "report.html"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/sklearn"))
