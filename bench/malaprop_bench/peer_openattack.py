"""OpenAttack on a victim of ours, as `peer_textattack` runs TextAttack.

OpenAttack fetches its resources from a server of its own; here each is handed over in memory: NLTK's WordNet and tagger
from NLTK_DATA, and our word vectors. Texts are taken as one sentence each, and no sentence encoder is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from malaprop_bench.metered import (
    Attacked,
    Meter,
    Plain,
    arguments,
    attack_all,
    read_rows,
    read_words,
    settle,
    write,
)

RECIPES = ("pwws", "textfooler", "genetic")
_NAMES = ("NLTKSentTokenizer", "NLTKPerceptronPosTagger", "NLTKWordNet")


def hand_over(vectors: Path | None) -> None:
    """Puts what OpenAttack would download where it looks first."""
    import nltk  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from OpenAttack.data_manager import DataManager  # type: ignore[import-not-found,unused-ignore]

    nltk.download = lambda *_, **__: True
    held = DataManager.data_reference
    for name in (*(f"TProcess.{n}" for n in _NAMES), "AttackAssist.CounterFit"):
        DataManager.data_path[name] = str(Path(__file__).parent)  # a path that exists: nothing is fetched
    held["TProcess.NLTKSentTokenizer"] = lambda text: [text]
    held["TProcess.NLTKPerceptronPosTagger"] = nltk.tag.PerceptronTagger().tag
    from nltk.corpus import wordnet  # type: ignore[import-untyped,import-not-found,unused-ignore]

    held["TProcess.NLTKWordNet"] = wordnet
    if vectors is not None:
        held["AttackAssist.CounterFit"] = embedding(vectors)


def embedding(folder: Path) -> Any:
    import numpy as np
    from OpenAttack.attack_assist import WordEmbedding  # type: ignore[import-not-found,unused-ignore]

    words = (folder / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]
    return WordEmbedding({word: number for number, word in enumerate(words)}, np.load(folder / "paragram.npy"))


def classifier(meter: Meter) -> Any:
    """The victim as OpenAttack wants one."""
    import OpenAttack  # type: ignore[import-not-found,unused-ignore]

    class Asked(OpenAttack.Classifier):  # type: ignore[misc,unused-ignore]
        def get_pred(self, input_: list[str]) -> Any:
            return self.get_prob(input_).argmax(axis=1)

        def get_prob(self, input_: list[str]) -> Any:
            return meter(input_).numpy()

    return Asked()


def build(recipe: str, unknown: str, stop_words: Sequence[str] | None) -> Any:
    """The recipe as OpenAttack has it, with the thresholds that the other sides have and no sentence encoder."""
    import OpenAttack
    from OpenAttack.attack_assist.substitute import word as substitutes  # type: ignore[import-not-found,unused-ignore]

    shared = {"filter_words": None if stop_words is None else list(stop_words)}
    if recipe == "pwws":
        found = substitutes.WordNetSubstitute()
        return OpenAttack.attackers.PWWSAttacker(substitute=found, token_unk=unknown, **shared)
    if recipe == "textfooler":
        import OpenAttack.attackers.textfooler as module  # type: ignore[import-not-found,unused-ignore]

        module.UniversalSentenceEncoder = no_encoder()
        near = substitutes.CounterFittedSubstitute(cosine=True, k=51, threshold=0.5)  # itself and the 50 nearest
        return OpenAttack.attackers.TextFoolerAttacker(substitute=near, token_unk=unknown, **shared)
    near = substitutes.CounterFittedSubstitute(cosine=True, k=9, threshold=0.25)  # a squared distance of 0.5
    return OpenAttack.attackers.GeneticAttacker(pop_size=60, max_iters=20, substitute=near, **shared)


def no_encoder() -> type:
    from OpenAttack.tags import TAG_English  # type: ignore[import-not-found,unused-ignore]

    class Alike:
        """Every pair of sentences counts as similar."""

        TAGS = {TAG_English}

        def calc_score(self, one: str, two: str) -> float:  # noqa: ARG002
            return 1.0

    return Alike


def attacking(attacker: Any, victim: Any, meter: Meter) -> Attacked:
    """OpenAttack counts no queries and gives nothing back when it fails; what reached the victim is counted instead."""
    from OpenAttack.attack_assist.goal import ClassifierGoal  # type: ignore[import-not-found,unused-ignore]

    def one(text: str, label: int) -> dict[str, Any]:
        before = meter.sent
        found = attacker.attack(victim, text, ClassifierGoal(label, targeted=False))
        tokens = attacker.tokenizer.tokenize(text.lower(), pos_tagging=False)
        start = attacker.tokenizer.detokenize(tokens)
        status = "failed" if found is None else "success"
        return {"status": status, "text": found or start, "queries": meter.sent - before, "start": start}

    return one


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given, __doc__, RECIPES)
    settle(options.threads, options.seed)
    hand_over(options.vectors)
    meter = Meter(Plain(options.victim))
    attacker = build(options.recipe, meter.model.unknown, read_words(options.stop_words))
    attack = attacking(attacker, classifier(meter), meter)
    result = attack_all(attack, meter, read_rows(options.rows), options.seconds)
    from importlib.metadata import version

    write(options.out, f"OpenAttack {version('OpenAttack')}", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
