"""Measure language models as classifiers: the gain of keeping keys of shared beginnings, and prompts under attack.

python -m malaprop_bench.prompts speed docs/measured --texts 50
python -m malaprop_bench.prompts table docs/measured --texts 100 --device cuda
python -m malaprop_bench.prompts shape docs/measured --model llama-1b --tokenizer FOLDER --texts 256 --device cuda

`shape` makes a model of Llama's shape with a thousand million weights as drawn, and measures the tokens that it reads a
second under attack beside those of forward passes alone.

`--first 10` begins with the eleventh text and `--data mr` takes one dataset, so that processes can share the work.
Both add a line to a file of `docs/measured` for every few texts, so that what is cut short is no loss.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from malaprop.frame.records.summary import Rate
from malaprop.models.llm.template import TEXT_PROMPT

MODEL = "causal:smollm2"
DETAILED = (
    "You are given one text. Read it to its end, and decide which of the following words describes it best: {labels}. "
    "Do not explain your choice, do not repeat the text, and do not add anything else to the answer. "
    "Your whole answer has to be exactly one of these words.\n\nText: {text}\nAnswer:"
)
PROMPTS = {"default": TEXT_PROMPT, "bare": "Text: {text}\nLabel:", "detailed": DETAILED}
TURN = 5  # texts that both sides attack before the next ones

SPEED = ("side", "texts", "successes", "prompts scored", "tokens read", "processor s", "times")
FORWARD = (
    "model", "precision", "device", "texts", "prompts scored", "tokens of the prompts", "tokens read",
    "tokens read a second", "forward passes alone", "share",
)  # fmt: skip
BILLION = {
    "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "max_position_embeddings": 2048, "tie_word_embeddings": True,
}  # fmt: skip
ROBUST = ("data", "prompt", "shots", "texts", "clean accuracy", "accuracy under attack", "queries a text")


def speed_rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each side over all turns."""
    whole = sum(record["sides"]["whole"]["processor_s"] for record in records)
    out = []
    for name in ("whole", "shared"):
        sides = [record["sides"][name] for record in records]
        sums = [sum(side[key] for side in sides) for key in ("texts", "broken", "scored", "tokens")]
        spent = sum(side["processor_s"] for side in sides)
        said = {"whole": "every prompt whole", "shared": "shared beginnings kept"}[name]
        out.append([said, *(f"{number:,}" for number in sums), f"{spent:.0f}", f"{whole / spent:.2f}"])
    return out


def robust_rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each dataset, prompt and number of worked examples."""
    return [
        [
            held["data"], held["prompt"], str(held["shots"]), str(held["texts"]),
            str(Rate(held["right"], held["texts"])), str(Rate(held["held"], held["texts"])),
            f"{held['asked'] / max(1, held['right']):.0f}",
        ]
        for held in records
    ]  # fmt: skip


def forward_rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each model and precision."""
    return [
        [
            held["model"], held["precision"], held["machine"], str(held["texts"]), f"{held['scored']:,}",
            f"{held['tokens']:,}", f"{held['read']:,}", f"{held['read'] / held['seconds']:,.0f}",
            f"{held['forward']:,.0f}", f"{held['read'] / held['seconds'] / held['forward']:.2f}",
        ]
        for held in records
    ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTerms:
    """The model, texts and machine of a measurement."""

    model: str = MODEL
    tokenizer: str = ""
    precision: str = "auto"
    texts: int = 20
    first: int = 0
    budget: int | None = None
    data: tuple[str, ...] = ("mr", "ag_news")
    device: str = "cpu"


def _equip(terms: PromptTerms, data: str, prompt: str, shots: int) -> tuple[Any, list[Any]]:
    """Return a victim with this prompt, and the examples."""
    from malaprop.data.matching import agree
    from malaprop.frame.runs.victims import victim
    from malaprop.frame.study.prompt_options import Prompting
    from malaprop.frame.study.selection import Selection

    texts = Selection(data=data, n=terms.first + terms.texts)
    found = texts.examples(trains=shots > 0)
    asked = Prompting(prompt=prompt, shots=shots).equip(terms.model, texts, found)
    made = victim(asked, device=terms.device, precision=terms.precision)
    return made, list(agree(found, made))[terms.first :]


def _attack(victim: Any, examples: Sequence[Any], budget: int | None, *, width: int = 64) -> tuple[list[Any], float]:
    from malaprop.frame.runs.local import run
    from malaprop.frame.runs.make_attack import make_attack

    attack = make_attack("pwws", {}).but(budget=budget)
    begun = process_time()
    return list(run(attack, victim, examples, width=width)), process_time() - begun


def measure_speed(terms: PromptTerms) -> Iterator[dict[str, Any]]:
    """Run PWWS on movie reviews with both sides, a few texts at a time; each side goes first in turn."""
    victim, examples = _equip(terms, "mr", DETAILED, 0)
    _attack(victim, examples[:1], 4)  # loading is not measured
    for turn, first in enumerate(range(0, len(examples), TURN)):
        sides: dict[str, Any] = {}
        statuses: dict[str, Any] = {}
        for name in ("shared", "whole")[:: 1 if turn % 2 else -1]:
            victim.share = name == "shared"
            scored, tokens = victim.meter.queries, victim.tokens_read
            found, spent = _attack(victim, examples[first : first + TURN], None)
            statuses[name] = {outcome.id: outcome.status for outcome in found}
            sides[name] = {
                "texts": len(found), "broken": Counter(statuses[name].values())["success"],
                "scored": victim.meter.queries - scored, "tokens": victim.tokens_read - tokens,
                "processor_s": round(spent, 2),
            }  # fmt: skip
        yield {
            "model": MODEL,
            "data": "mr",
            "recipe": "pwws",
            "same": statuses["shared"] == statuses["whole"],
            "sides": sides,
        }


def measure_prompts(terms: PromptTerms) -> Iterator[dict[str, Any]]:
    """Measure accuracy, and accuracy under PWWS, of each prompt with and without worked examples."""
    for data in terms.data:
        for shots in (0, 4):
            for name, prompt in PROMPTS.items():
                victim, examples = _equip(terms, data, prompt, shots)
                found, spent = _attack(victim, examples, terms.budget)
                counts = Counter(outcome.status for outcome in found)
                yield {
                    "model": MODEL, "data": data, "prompt": name, "shots": shots, "texts": len(found) - counts["error"],
                    "right": counts["success"] + counts["failed"], "held": counts["failed"], "recipe": "pwws",
                    "budget": terms.budget, "asked": sum(o.queries.asked for o in found if o.status != "skipped"),
                    "processor_s": round(spent, 1),
                }  # fmt: skip


def make_folder(folder: Path, tokenizer: str, settings: Mapping[str, int | bool] = BILLION) -> None:
    """Write a causal model of Llama's shape with random weights, and the tokenizer of another model."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    words = AutoTokenizer.from_pretrained(tokenizer, local_files_only=True)
    torch.manual_seed(0)
    made = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), **settings))
    made.save_pretrained(folder)
    words.save_pretrained(folder)


def measure_share(terms: PromptTerms) -> Iterator[dict[str, Any]]:
    """Run PWWS on news with the model's own labels, and forward passes over prompts of the same length."""
    victim, examples = _equip(terms, terms.data[0], DETAILED, 0)
    model = Path(terms.model.removeprefix("causal:")).name
    yield {"model": model, "data": terms.data[0], **share_of(victim, examples)}


def share_of(victim: Any, examples: Sequence[Any], *, seconds: float = 3.0) -> dict[str, Any]:
    """Measure a victim under PWWS and its forward passes alone; the labels are its own answers."""
    given = victim.predict([tuple(one.fields.values()) for one in examples]).argmax(1).tolist()
    examples = [replace(one, label=label) for one, label in zip(examples, given, strict=True)]
    _attack(victim, examples[:8], None)  # loading is not measured
    scored, tokens, read = victim.meter.queries, victim.meter.tokens_in, victim.tokens_read
    begun = perf_counter()
    found, spent = _attack(victim, examples, None, width=256)
    wall = perf_counter() - begun
    return {
        "recipe": "pwws", "precision": victim.precision, "texts": len(found), "seconds": round(wall, 2),
        "processor_s": round(spent, 2), "scored": victim.meter.queries - scored,
        "tokens": victim.meter.tokens_in - tokens, "read": victim.tokens_read - read,
        "broken": sum(one.status == "success" for one in found),
        "errors": sum(one.status == "error" for one in found),
        "forward": round(_forward_rate(victim, seconds=seconds)),
    }  # fmt: skip


def draw_victim(
    data: str, *, device: str = "cpu", precision: str = "auto", settings: Mapping[str, int | bool] = BILLION
) -> Any:
    """Return a causal model of Llama's shape with random weights as a victim, with a tokenizer learned from the data.

    The weights are drawn on the device: nothing is read but the data.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from malaprop.data.base import load
    from malaprop.models.llm.load import wrap_causal
    from malaprop.models.llm.template import Asking
    from malaprop.training.splits import splits
    from malaprop_bench.shapes import SPECIAL, byte_pairs

    known = splits(load, data)
    cut = byte_pairs(" ".join(one.fields.values()) for one in known.train[:5000])
    words = PreTrainedTokenizerFast(tokenizer_object=cut, unk_token=SPECIAL["unk"], model_max_length=2048)
    torch.manual_seed(0)
    with torch.device(device):
        model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), **settings))
    asking = Asking(prompt=DETAILED, labels=known.labels)
    return wrap_causal(model.float(), words, asking, name="llama", precision=precision)


def _forward_rate(victim: Any, *, rows: int = 256, length: int = 128, seconds: float = 3.0) -> float:
    """Return the tokens a second of the library's own forward pass in the same precision, at one batch size."""
    import torch

    model = victim.model if victim.fast is None else victim.fast
    if model.device.type == "cpu":
        rows = 16
    ids = torch.randint(0, model.config.vocab_size, (rows, length), device=model.device)

    def settle() -> None:
        if model.device.type == "cuda":
            torch.cuda.synchronize()

    best = 0.0
    with torch.inference_mode():
        for size in (rows, rows // 4):
            model(input_ids=ids[:size], use_cache=False, logits_to_keep=1)
            settle()
            begun, many = perf_counter(), 0
            while perf_counter() - begun < seconds:
                model(input_ids=ids[:size], use_cache=False, logits_to_keep=1)
                settle()
                many += 1
            best = max(best, many * size * length / (perf_counter() - begun))
    return best


def main() -> None:
    from malaprop_bench.machine import describe
    from malaprop_bench.page import append

    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    words.add_argument("what", choices=("speed", "table", "shape"))
    words.add_argument("out", type=Path)
    words.add_argument("--model", default=MODEL)
    words.add_argument("--tokenizer", default="", help="of shape: a folder whose tokenizer the model gets")
    words.add_argument("--precision", default="auto")
    words.add_argument("--texts", type=int, default=20)
    words.add_argument("--first", type=int, default=0)
    words.add_argument("--budget", type=int)
    words.add_argument("--data", nargs="+", default=("mr", "ag_news"))
    words.add_argument("--device", default="cpu")
    given = words.parse_args()
    terms = PromptTerms(**{name: value for name, value in vars(given).items() if name not in ("what", "out")})
    if given.what == "shape":
        if not Path(terms.model).is_dir():
            make_folder(Path(terms.model), terms.tokenizer)
        terms = replace(terms, model=f"causal:{terms.model}")
    measure, file = {
        "speed": (measure_speed, "prompt-sharing"),
        "table": (measure_prompts, "prompts"),
        "shape": (measure_share, "causal-share"),
    }[given.what]
    for line in measure(terms):
        append(given.out, file, {**line, **describe(terms.device)})


if __name__ == "__main__":
    main()
