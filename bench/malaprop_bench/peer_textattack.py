"""TextAttack on a victim of ours. Run by the peer's Python, which has no malaprop but the folder on PYTHONPATH.

Takes a victim, a JSONL file of `text` and `label`, a recipe, and writes one JSON line (see `malaprop_bench.measured`).
`prepare` of `malaprop_bench.peer` sets the environment up: NLTK_DATA, TA_CACHE_DIR with our word vectors, threads.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from malaprop_bench.metered import (
    Attacked,
    Meter,
    Plain,
    Predictor,
    arguments,
    attack_all,
    read_rows,
    read_words,
    settle,
    write,
)

RECIPES = ("pwws", "textfooler", "textfooler-untagged", "textfooler-similar", "genetic", "deepwordbug")
ROLES = tuple(f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))


def stock(folder: str) -> Predictor:
    """TextAttack's own wrapper of a Hugging Face folder, which pads every text to the model's maximum."""
    from textattack.models.wrappers import HuggingFaceModelWrapper  # type: ignore[import-not-found,unused-ignore]
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    wrapper: Predictor = HuggingFaceModelWrapper(model, stock_tokenizer(Path(folder), model))
    return wrapper


def stock_tokenizer(folder: Path, model: Any) -> Any:
    """The folder's tokenizer, giving the model only what its forward takes.

    It is read from tokenizer.json: the class names in tokenizer_config.json differ between releases, but the special
    tokens listed there hold in all of them.
    """
    from transformers import PreTrainedTokenizerFast

    from malaprop.models.victims.hf import places

    takes = inspect.signature(model.forward).parameters
    made = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        model_input_names=[n for n in ("input_ids", "token_type_ids", "attention_mask") if n in takes],
        **special_tokens(folder),
    )
    made.model_max_length = places(model, made)
    return made


def special_tokens(folder: Path) -> dict[str, str]:
    """The special tokens that a folder states, by role: `pad_token` and its like."""
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            continue
        stated = json.loads((folder / name).read_text(encoding="utf-8"))
        for role, token in stated.items():
            token = token.get("content") if isinstance(token, dict) else token
            if role in ROLES and isinstance(token, str):
                found[role] = token
    return found


def build(recipe: str, model: Predictor, stop_words: Sequence[str] | None) -> Any:
    """The recipe as TextAttack has it, without its sentence encoder and language model, which ours leaves out as well.

    `textfooler-similar` has the sentence encoder that ours has, with the same threshold.
    """
    from textattack import Attack  # type: ignore[import-not-found,unused-ignore]
    from textattack.attack_recipes import (  # type: ignore[import-not-found,unused-ignore]
        DeepWordBugGao2018,
        PWWSRen2019,
    )
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
    elif recipe == "deepwordbug":
        attack = DeepWordBugGao2018.build(model)
    elif recipe.startswith("textfooler"):
        rules = [RepeatModification(), StopwordModification(), WordEmbeddingDistance(min_cos_sim=0.5)]
        rules += [PartOfSpeech(allow_verb_noun_swap=True)] if recipe != "textfooler-untagged" else []
        rules += [sentence_constraint()] if recipe == "textfooler-similar" else []
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
    unknown = getattr(model.model, "unknown", None) or getattr(getattr(model, "tokenizer", None), "unk_token", None)
    if recipe in ("pwws", "deepwordbug") and unknown:  # its own [UNK] is three words to a victim that reads words
        attack.search_method.unk_token = unknown
    if stop_words is not None:  # both tools may then change the same words
        for constraint in attack.pre_transformation_constraints:
            if isinstance(constraint, StopwordModification):
                constraint.stopwords = set(stop_words)
    return attack


def sentence_constraint(floor: float = 0.7, least: int = 15) -> Any:
    """Our sentence encoder as a constraint of theirs, with the defaults that our textfooler has."""
    from textattack.constraints import Constraint  # type: ignore[import-not-found,unused-ignore]

    from malaprop.models.encoders.encoder import open_encoder

    encoder = open_encoder()

    class Similar(Constraint):  # type: ignore[misc,unused-ignore]
        def _check_constraint_many(self, texts: list[Any], original: Any) -> list[Any]:
            if len(original.words) < least or not texts:
                return texts
            first, *rest = encoder.encode([text.text for text in (original, *texts)])
            for text, vector in zip(texts, rest, strict=True):
                text.attack_attrs["similarity_score"] = float(first @ vector)
            return [text for text in texts if text.attack_attrs["similarity_score"] >= floor]

        def _check_constraint(self, text: Any, original: Any) -> bool:
            return bool(self._check_constraint_many([text], original))

    return Similar(compare_against_original=True)


def outcome(result: Any) -> dict[str, Any]:
    """One attacked example as a plain row; the text of a failed one is the strongest attempt."""
    kinds = {"SuccessfulAttackResult": "success", "FailedAttackResult": "failed", "SkippedAttackResult": "skipped"}
    return {
        "status": kinds[type(result).__name__],
        "text": result.perturbed_result.attacked_text.text,
        "queries": int(result.num_queries),
    }


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given, __doc__, RECIPES)
    import nltk  # type: ignore[import-untyped,import-not-found,unused-ignore]

    nltk.download = lambda *_, **__: True  # TextAttack calls it on import and for each attack; the data lies ready
    settle(options.threads, options.seed)
    meter = Meter(stock(options.victim) if options.stock else Plain(options.victim))
    attack = build(options.recipe, meter, read_words(options.stop_words))
    result = attack_all(attacking(attack), meter, read_rows(options.rows), options.seconds)
    from importlib.metadata import version

    write(options.out, f"TextAttack {version('textattack')}", result)
    return 0


def attacking(attack: Any) -> Attacked:
    """One text after another; what the tool remembers of the warm-up is forgotten."""
    warm = True

    def one(text: str, label: int) -> dict[str, Any]:
        nonlocal warm
        result = attack.attack(text, label)
        if warm:
            attack.clear_cache()
        warm = False
        return outcome(result)

    return one


if __name__ == "__main__":
    sys.exit(main())
