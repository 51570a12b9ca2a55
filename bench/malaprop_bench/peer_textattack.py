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
    WARM,
    Attacked,
    Meter,
    Plain,
    Predictor,
    arguments,
    attack_all,
    attack_each,
    read_rows,
    read_words,
    settle,
    write,
)
from malaprop_bench.roster import TEXTATTACK, language_of, names_of

VARIANTS = ("textfooler-untagged", "textfooler-similar")  # of a recipe, for comparisons of their own
RECIPES = (*names_of(TEXTATTACK), *VARIANTS)
ROLES = tuple(f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))


def stock(folder: str) -> Predictor:
    """Return TextAttack's own wrapper of a Hugging Face folder, which pads every text to the model's maximum."""
    from textattack.models.wrappers import HuggingFaceModelWrapper  # type: ignore[import-not-found,unused-ignore]
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    wrapper: Predictor = HuggingFaceModelWrapper(model, stock_tokenizer(Path(folder), model))
    return wrapper


def stock_tokenizer(folder: Path, model: Any) -> Any:
    """Return the folder's tokenizer, which gives the model only the inputs that its forward takes.

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
    """Return the special tokens of a folder by role, such as `pad_token`."""
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


def outcome(result: Any) -> dict[str, Any]:
    """Return one attacked example as a plain row; the text of a failed attack is its strongest attempt.

    An attack that shortens the text as far as possible is a success if half of its words are gone.
    """
    kinds = {"SuccessfulAttackResult": "success", "FailedAttackResult": "failed", "SkippedAttackResult": "skipped"}
    after, kind = result.perturbed_result.attacked_text, type(result).__name__
    if kind == "MaximizedAttackResult":
        shorter = 2 * len(after.words) <= len(result.original_result.attacked_text.words)
        kind = "SuccessfulAttackResult" if shorter else "FailedAttackResult"
    return {
        "status": kinds[kind],
        "text": after.text,
        "queries": int(result.num_queries),
    }


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given, __doc__, RECIPES)
    import nltk  # type: ignore[import-untyped,import-not-found,unused-ignore]

    from malaprop_bench.textattack_recipes import Resources, build_recipe

    nltk.download = lambda *_, **__: True  # TextAttack calls it on import and for each attack; the data lies ready
    settle(options.threads, options.seed)
    meter = Meter(stock(options.victim) if options.stock else Plain(options.victim))
    resources = Resources(stop_words=read_words(options.stop_words), masked_lm=options.masked_lm)
    from importlib.metadata import version

    def one(recipe: str, out: Path) -> None:
        attack = build_recipe(recipe, meter, resources)
        result = attack_all(
            attacking(attack), meter, read_rows(options.rows), options.seconds, WARM[language_of(recipe)]
        )
        write(out, f"TextAttack {version('textattack')}", result)

    return attack_each(options, one)


def attacking(attack: Any) -> Attacked:
    """Return a function that attacks one text; it clears the tool's caches after the warm-up."""
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
