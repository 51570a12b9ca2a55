"""Shared parts of the peers' scripts: our victim behind a meter, the loop over the rows, and the line they write.

The scripts run in the peer's own Python, which has no malaprop but the folder on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

PATIENCE = 900  # seconds that the last text of a recipe may take beyond the limit
WARM = {  # opens corpora, lists of words and taggers before the clock starts
    "en": "a warm , moving film with a good cast .",
    "fr": "Ces beaux films chaleureux émouvaient les spectateurs de la grande ville.",
    "es": "Estas bonitas películas emocionaban a los espectadores de la gran ciudad.",
    "zh": "这部电影非常感人. 演员的表演也很好, 值得一看.",
}


class Predictor(Protocol):
    """The function that an attack calls: a list of texts to scores [text, label]. `model` is the victim itself."""

    model: Any

    def __call__(self, texts: Sequence[str]) -> Any: ...


class Plain:
    """A victim of ours that scores whole strings, padded to the longest text of the batch."""

    def __init__(self, spec: str) -> None:
        from malaprop.frame.runs.load_victim import load

        self.model = load(spec)

    def __call__(self, texts: Sequence[str]) -> Any:
        import torch

        return torch.as_tensor(self.model.predict([(text,) for text in texts]))


class Meter:
    """A predictor that keeps each distinct text, counts the texts sent, and times the model.

    Reading a text's gradients counts as one text sent, as it does on our side.
    """

    def __init__(self, inner: Predictor) -> None:
        self.inner, self.model = inner, inner.model
        self.tokenizer = getattr(inner, "tokenizer", None)  # of a peer's own wrapper
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

    def look(self, slopes: Callable[[], Any]) -> Any:
        """Compute the gradients of one text, timed and counted."""
        began = time.perf_counter()
        found = slopes()
        self.seconds += time.perf_counter() - began
        self.sent += 1
        return found

    def get_grad(self, text: str) -> dict[str, Any]:
        """Return the gradient of the loss of the model's answer at each word, in TextAttack's form."""
        from malaprop_bench.slopes import word_slopes

        label = int(self.inner([text])[0].argmax())
        return {"gradient": self.look(lambda: word_slopes(self.model, text, label)[1])}

    def tokenize(self, texts: Sequence[str], strip_prefix: bool = False) -> list[list[str]]:  # noqa: ARG002
        """Return the words of each text; `get_grad` has a row for each."""
        from malaprop.core.text import Text, Words

        return [list(Text.of(text, Words()).strings) for text in texts]

    max_length = 512  # words that A2T ranks at most


Attacked = Callable[[str, int], dict[str, Any]]  # one text and its label to a row of `measured.Ended`


def attack_all(
    attack: Attacked, meter: Meter, rows: Sequence[tuple[str, int]], seconds: float, warm: str = WARM["en"]
) -> dict[str, Any]:
    """Attack the rows in order until the processor time is over; at least one."""
    attack(warm, int(meter([warm])[0].argmax()))
    meter.reset()
    outcomes: list[dict[str, Any]] = []
    began, spent = time.perf_counter(), time.process_time()
    for text, label in rows:
        try:
            outcomes.append(attack(text, label))
        except Exception as error:  # noqa: BLE001 - one text that breaks the peer must not cost the others
            print(f"{type(error).__name__}: {error} on {text!r}", file=sys.stderr)
            outcomes.append({"status": "error", "text": text, "queries": 0})
        if time.process_time() - spent > seconds:
            break
    wall = time.perf_counter() - began
    return {
        "wall_s": wall,
        "processor_s": time.process_time() - spent,
        "model_s": meter.seconds,
        "forwarded": meter.sent,
        "outcomes": outcomes,
        "texts": list(meter.texts),
    }


def arguments(given: Sequence[str] | None, about: str | None, recipes: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("victim", help="a folder written by `malaprop train`, or any name that --victim takes")
    parser.add_argument("rows", type=Path, help="JSONL with text and label, read in order")
    parser.add_argument("recipe", help=f"one, or several separated by commas: {', '.join(recipes)}")
    parser.add_argument("out", type=Path, help="where the JSON line goes; a folder, for several recipes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="of the processor: no new example is begun after")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop-words", type=Path, help="a file, one word a line, in place of the peer's list")
    parser.add_argument("--vectors", type=Path, help="a folder of word vectors, as export_vectors writes it")
    parser.add_argument("--masked-lm", type=Path, help="a folder of transformers with a masked language model")
    parser.add_argument("--stock", action="store_true", help="the peer's own Hugging Face wrapper")
    options = parser.parse_args(given)
    options.recipes = options.recipe.split(",")
    if odd := [recipe for recipe in options.recipes if recipe not in recipes]:
        parser.error(f"no recipe is called {odd[0]!r}; there are {', '.join(recipes)}")
    return options


def attack_each(options: argparse.Namespace, attack: Callable[[str, Path], None]) -> int:
    """Attack with one recipe here, or with several in forks, each with random numbers of its own from the seed."""
    from malaprop_bench.forked import run_each

    def one(recipe: str, out: Path) -> None:
        settle(options.threads, options.seed)
        attack(recipe, out)

    if len(options.recipes) == 1 and options.out.suffix:
        one(options.recipe, options.out)
    else:
        run_each(options.recipes, options.out, one, seconds=options.seconds + PATIENCE)
    return 0


def settle(threads: int, seed: int) -> None:
    """Set the number of threads and seed every global random generator; the peers use them."""
    import numpy as np
    import torch

    torch.set_num_threads(threads)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def read_rows(path: Path) -> list[tuple[str, int]]:
    with path.open(encoding="utf-8") as lines:
        return [(row["text"], int(row["label"])) for row in map(json.loads, lines)]


def read_words(path: Path | None) -> list[str] | None:
    return None if path is None else path.read_text(encoding="utf-8").split()


def write(out: Path, tool: str, result: Mapping[str, Any]) -> None:
    import torch

    line = {"tool": tool, "threads": torch.get_num_threads(), **result}
    out.write_text(json.dumps(line) + "\n", encoding="utf-8")
