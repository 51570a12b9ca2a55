"""OpenAttack on a victim of ours, as `peer_textattack` runs TextAttack.

OpenAttack fetches its resources from a server of its own; here it gets each in memory: NLTK's WordNet and tagger from
NLTK_DATA, and our word vectors. Each text counts as one sentence, and no sentence encoder is used.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from malaprop_bench.metered import (
    WARM,
    Attacked,
    Meter,
    Plain,
    arguments,
    attack_all,
    attack_each,
    read_rows,
    read_words,
    settle,
    write,
)
from malaprop_bench.openattack_recipes import Given, build_recipe
from malaprop_bench.roster import OPENATTACK, language_of, names_of
from malaprop_bench.slopes import gradients_of

RECIPES = names_of(OPENATTACK)
_NAMES = ("NLTKSentTokenizer", "NLTKPerceptronPosTagger", "NLTKWordNet")


def hand_over(vectors: Path | None) -> None:
    """Put the resources that OpenAttack would download where it looks first."""
    import nltk  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from OpenAttack.data_manager import DataManager  # type: ignore[import-not-found,unused-ignore]
    from transformers import BertTokenizer

    nltk.download = lambda *_, **__: True
    if not hasattr(BertTokenizer, "encode_plus"):  # gone from transformers 5
        BertTokenizer.encode_plus = BertTokenizer.__call__
    held = DataManager.data_reference
    for name in (*(f"TProcess.{n}" for n in _NAMES), "AttackAssist.CounterFit"):
        DataManager.data_path[name] = str(Path(__file__).parent)  # a path that exists: nothing is fetched
    held["TProcess.NLTKSentTokenizer"] = lambda text: [text]
    held["TProcess.NLTKPerceptronPosTagger"] = nltk.tag.PerceptronTagger().tag
    from nltk.corpus import wordnet  # type: ignore[import-untyped,import-not-found,unused-ignore]

    held["TProcess.NLTKWordNet"] = wordnet
    DataManager.data_path["AttackAssist.CiLin"] = str(Path(__file__).parent)
    held["AttackAssist.CiLin"] = Cilin()
    if vectors is not None:
        held["AttackAssist.CounterFit"] = embedding(vectors)


class Cilin:
    """Our Cilin as the dictionary that OpenAttack would download; it is read at the first word."""

    @cached_property
    def words(self) -> dict[str, list[str]]:
        from malaprop.assets.chinese import read_synonyms

        found: dict[str, list[str]] = {}
        for _, *group in (line.split("\t") for line in read_synonyms()):
            for word in group:
                found.setdefault(word, []).extend(other for other in group if other != word)
        return found

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def __getitem__(self, word: str) -> list[str]:
        return self.words[word]


def embedding(folder: Path) -> Any:
    import numpy as np
    from OpenAttack.attack_assist import WordEmbedding  # type: ignore[import-not-found,unused-ignore]

    words = (folder / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]
    return WordEmbedding({word: number for number, word in enumerate(words)}, np.load(folder / "paragram.npy"))


def classifier(meter: Meter) -> Any:
    """Return the victim as an OpenAttack classifier, with gradients if it has them at every token."""
    import OpenAttack  # type: ignore[import-not-found,unused-ignore]

    from malaprop_bench.slopes import token_slopes

    class Asked(OpenAttack.Classifier):  # type: ignore[misc,unused-ignore]
        def get_pred(self, input_: list[str]) -> Any:
            return self.get_prob(input_).argmax(axis=1)

        def get_prob(self, input_: list[str]) -> Any:
            return meter(input_).numpy()

        def get_grad(self, input_: list[list[str]], labels: Sequence[int]) -> tuple[Any, Any]:
            """Return scores, and the gradient at each token that raises the label, as OpenAttack's own victims do."""
            pairs = list(zip(input_, labels, strict=True))
            slopes = [meter.look(partial(token_slopes, meter.model, t, int(y))) for t, y in pairs]
            whole = np.zeros((len(slopes), max(map(len, slopes)), slopes[0].shape[1]), np.float32)
            for row, slope in zip(whole, slopes, strict=True):
                row[: len(slope)] = slope
            return meter.inner([" ".join(tokens) for tokens in input_]).numpy(), whole

        def get_embedding(self) -> Any:
            return vocabulary(meter.model)

    return Asked()


def vocabulary(victim: Any) -> Any:
    """Return the vocabulary of a word model with its vectors."""
    from OpenAttack.attack_assist import WordEmbedding  # type: ignore[import-not-found,unused-ignore]

    table = gradients_of(victim).embedding.weight.detach().numpy()
    words = victim.cut.__self__.words
    return WordEmbedding({word: number for number, word in enumerate(words)}, table)


def attacking(attacker: Any, victim: Any, meter: Meter) -> Attacked:
    """Return a function that attacks one text; it counts texts at the victim, as OpenAttack counts no queries."""
    from OpenAttack.attack_assist.goal import ClassifierGoal  # type: ignore[import-not-found,unused-ignore]

    def one(text: str, label: int) -> dict[str, Any]:
        before = meter.sent
        found = attacker.attack(victim, text, ClassifierGoal(label, targeted=False))
        start = written_anew(attacker, text)
        status = "failed" if found is None else "success"
        return {"status": status, "text": found or start, "queries": meter.sent - before, "start": start}

    return one


def written_anew(attacker: Any, text: str) -> str:
    """Return the text as the attacker rewrites it before it changes a word."""
    tokenizer = getattr(attacker, "tokenizer", None)
    if tokenizer is None:  # by spaces, or by characters
        return text if hasattr(attacker, "generations") else text.lower()
    found: str = tokenizer.detokenize(tokenizer.tokenize(text.lower(), pos_tagging=False))
    return found


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given, __doc__, RECIPES)
    settle(options.threads, options.seed)
    hand_over(options.vectors)
    meter = Meter(Plain(options.victim))
    stop_words, rows = read_words(options.stop_words), read_rows(options.rows)
    victim = classifier(meter)
    resources = Given(unknown=meter.model.unknown, stop_words=stop_words, masked_lm=options.masked_lm)
    from importlib.metadata import version

    def one(recipe: str, out: Path) -> None:
        began, spent = time.perf_counter(), time.process_time()
        attacker = build_recipe(recipe, resources, victim, rows)
        wall, processor = time.perf_counter() - began, time.process_time() - spent
        result = attack_all(attacking(attacker, victim, meter), meter, rows, options.seconds, WARM[language_of(recipe)])
        if recipe == "trigger":  # looking for it is the attack
            result |= {"wall_s": result["wall_s"] + wall, "processor_s": result["processor_s"] + processor}
        write(out, f"OpenAttack {version('OpenAttack')}", result)

    return attack_each(options, one)


if __name__ == "__main__":
    sys.exit(main())
