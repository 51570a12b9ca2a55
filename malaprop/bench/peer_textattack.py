"""TextAttack on a victim of ours. Run by the peer's Python, which has no malaprop but the folder on PYTHONPATH.

Takes a victim, a JSONL file of `text` and `label`, a recipe, and writes one JSON line (see `malaprop.bench.measured`).
`prepare` of `malaprop.bench.peer` sets the environment up: NLTK_DATA, TA_CACHE_DIR with our word vectors, threads.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

RECIPES = ("pwws", "textfooler", "textfooler-untagged", "genetic")
WARM = "a warm , moving film with a good cast ."  # opens corpora and taggers before the clock starts


class Predictor(Protocol):
    """What the attack calls: a list of texts to scores [text, label]. `model` is what TextAttack names in messages."""

    model: Any

    def __call__(self, texts: Sequence[str]) -> Any: ...


class Plain:
    """A victim of ours by its plain road of finished strings, padded to the longest text of the batch."""

    def __init__(self, spec: str) -> None:
        from malaprop.models.victims.load import load

        self.model = load(spec)

    def __call__(self, texts: Sequence[str]) -> Any:
        import torch

        return torch.as_tensor(self.model.predict([(text,) for text in texts]))


def stock(folder: str) -> Predictor:
    """TextAttack's own wrapper of a Hugging Face folder, which pads every text to the model's maximum."""
    from textattack.models.wrappers import HuggingFaceModelWrapper  # type: ignore[import-not-found,unused-ignore]
    from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    # read from tokenizer.json: the class names in tokenizer_config.json differ between releases
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(Path(folder) / "tokenizer.json"),
        model_max_length=model.config.max_position_embeddings,
        unk_token="[UNK]",  # noqa: S106
        sep_token="[SEP]",  # noqa: S106
        pad_token="[PAD]",  # noqa: S106
        cls_token="[CLS]",  # noqa: S106
        mask_token="[MASK]",  # noqa: S106
    )
    wrapper: Predictor = HuggingFaceModelWrapper(model, tokenizer)
    return wrapper


class Meter:
    """Passes texts on to the model; keeps each distinct one, how many were sent, and the seconds the model took."""

    def __init__(self, inner: Predictor) -> None:
        self.inner, self.model = inner, inner.model
        self.reset()

    def reset(self) -> None:
        self.texts: dict[str, None] = {}
        self.sent, self.seconds = 0, 0.0

    def __call__(self, texts: Sequence[str]) -> Any:
        began = time.perf_counter()
        answer = self.inner(texts)
        self.seconds += time.perf_counter() - began
        self.sent += len(texts)
        self.texts.update(dict.fromkeys(texts))
        return answer


def build(recipe: str, model: Predictor, stop_words: Sequence[str] | None) -> Any:
    """The recipe as TextAttack has it. Without sentence encoder and language model, which ours leaves out as well."""
    from textattack import Attack  # type: ignore[import-not-found,unused-ignore]
    from textattack.attack_recipes import PWWSRen2019  # type: ignore[import-not-found,unused-ignore]
    from textattack.constraints.grammaticality import PartOfSpeech  # type: ignore[import-not-found,unused-ignore]
    from textattack.constraints.overlap import MaxWordsPerturbed  # type: ignore[import-not-found,unused-ignore]
    from textattack.constraints.pre_transformation import (  # type: ignore[import-not-found,unused-ignore]
        RepeatModification,
        StopwordModification,
    )
    from textattack.constraints.semantics import (  # type: ignore[import-not-found,unused-ignore]
        WordEmbeddingDistance,
    )
    from textattack.goal_functions import UntargetedClassification  # type: ignore[import-not-found,unused-ignore]
    from textattack.search_methods import (  # type: ignore[import-not-found,unused-ignore]
        AlzantotGeneticAlgorithm,
        GreedyWordSwapWIR,
    )
    from textattack.transformations import WordSwapEmbedding  # type: ignore[import-not-found,unused-ignore]

    if recipe == "pwws":
        attack = PWWSRen2019.build(model)
    elif recipe.startswith("textfooler"):
        rules = [RepeatModification(), StopwordModification(), WordEmbeddingDistance(min_cos_sim=0.5)]
        rules += [PartOfSpeech(allow_verb_noun_swap=True)] if recipe == "textfooler" else []
        attack = Attack(
            UntargetedClassification(model),
            rules,
            WordSwapEmbedding(max_candidates=50),
            GreedyWordSwapWIR(wir_method="delete"),
        )
    else:
        near = WordEmbeddingDistance(max_mse_dist=0.5, compare_against_original=False)
        attack = Attack(
            UntargetedClassification(model),
            [RepeatModification(), StopwordModification(), MaxWordsPerturbed(max_percent=0.2), near],
            WordSwapEmbedding(max_candidates=8),
            AlzantotGeneticAlgorithm(pop_size=60, max_iters=20, post_crossover_check=False),
        )
    unknown = getattr(model.model, "unknown", None)
    if recipe == "pwws" and unknown:  # its own [UNK] is three words to a victim that reads words
        attack.search_method.unk_token = unknown
    if stop_words is not None:  # both tools may then change the same words
        for constraint in attack.pre_transformation_constraints:
            if isinstance(constraint, StopwordModification):
                constraint.stopwords = set(stop_words)
    return attack


def outcome(result: Any) -> dict[str, Any]:
    """One attacked example as a plain row; the text of a failed one is the strongest attempt."""
    kinds = {"SuccessfulAttackResult": "success", "FailedAttackResult": "failed", "SkippedAttackResult": "skipped"}
    return {
        "status": kinds[type(result).__name__],
        "text": result.perturbed_result.attacked_text.text,
        "queries": int(result.num_queries),
    }


def attack_all(attack: Any, meter: Meter, rows: Sequence[tuple[str, int]], seconds: float) -> dict[str, Any]:
    """Attacks the rows in order until the time is over; at least one."""
    attack.attack(WARM, int(meter([WARM])[0].argmax()))
    attack.clear_cache()
    meter.reset()
    outcomes: list[dict[str, Any]] = []
    began = time.perf_counter()
    for text, label in rows:
        try:
            outcomes.append(outcome(attack.attack(text, label)))
        except Exception as error:  # noqa: BLE001 - one text that breaks the peer must not cost the others
            print(f"{type(error).__name__}: {error} on {text!r}", file=sys.stderr)
            outcomes.append({"status": "error", "text": text, "queries": 0})
        if time.perf_counter() - began > seconds:
            break
    wall = time.perf_counter() - began
    return {
        "wall_s": wall,
        "model_s": meter.seconds,
        "forwarded": meter.sent,
        "outcomes": outcomes,
        "texts": list(meter.texts),
    }


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("victim", help="a folder written by `malaprop train`, or any name that --victim takes")
    parser.add_argument("rows", type=Path, help="JSONL with text and label, read in order")
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("out", type=Path, help="where the JSON line goes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="no new example is begun after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop-words", type=Path, help="a file, one word a line, in place of the peer's list")
    parser.add_argument("--stock", action="store_true", help="the peer's own Hugging Face wrapper")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given)
    import nltk  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import numpy as np
    import torch

    nltk.download = lambda *_, **__: True  # TextAttack calls it on import and for each attack; the data lies ready
    torch.set_num_threads(options.threads)
    random.seed(options.seed)
    np.random.seed(options.seed)  # the peer draws from the global stream
    torch.manual_seed(options.seed)
    with options.rows.open(encoding="utf-8") as lines:
        rows = [(row["text"], int(row["label"])) for row in map(json.loads, lines)]
    words = None if options.stop_words is None else options.stop_words.read_text(encoding="utf-8").split()
    meter = Meter(stock(options.victim) if options.stock else Plain(options.victim))
    result = attack_all(build(options.recipe, meter, words), meter, rows, options.seconds)
    from importlib.metadata import version

    line = {"tool": f"TextAttack {version('textattack')}", "threads": torch.get_num_threads(), **result}
    options.out.write_text(json.dumps(line) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
