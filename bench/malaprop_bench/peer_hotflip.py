"""TextAttack's HotFlip on its own LSTM. Run by the peer's Python, which has no malaprop but the folder on PYTHONPATH.

Takes a folder that `malaprop_bench.hotflip_peer` has filled, and writes one JSON line beside what it read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

LENGTH = 64


def model(folder: Path) -> Any:
    """Return the peer's own class and wrapper, with the weights of both sides."""
    import torch
    from textattack.models.helpers import LSTMForClassification  # type: ignore[import-not-found,unused-ignore]
    from textattack.models.wrappers import PyTorchModelWrapper  # type: ignore[import-not-found,unused-ignore]

    made = LSTMForClassification(max_seq_length=LENGTH)
    with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
        made.load_state_dict({name: torch.from_numpy(arrays[name]) for name in arrays.files})
    return PyTorchModelWrapper(made, made.tokenizer)


def build(wrapper: Any, stop_words: Sequence[str]) -> Any:
    """Build HotFlipEbrahimi2017 from its parts, with NLTK's tagger in place of its own, which would be downloaded."""
    from textattack import Attack  # type: ignore[import-not-found,unused-ignore]
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
    from textattack.search_methods import BeamSearch  # type: ignore[import-not-found,unused-ignore]
    from textattack.transformations import WordSwapGradientBased  # type: ignore[import-not-found,unused-ignore]

    rules = [
        RepeatModification(),
        StopwordModification(stopwords=set(stop_words)),
        MaxWordsPerturbed(max_num_words=2),
        WordEmbeddingDistance(min_cos_sim=0.8),
        PartOfSpeech(tagger_type="nltk"),
    ]
    swap = WordSwapGradientBased(wrapper, top_n=1)
    return Attack(UntargetedClassification(wrapper), rules, swap, BeamSearch(beam_width=10))


def main(given: Sequence[str]) -> int:
    folder = Path(given[0])
    import nltk  # type: ignore[import-untyped,import-not-found,unused-ignore]

    nltk.download = lambda *_, **__: True  # TextAttack calls it on import; the data lies ready
    wrapper = model(folder)
    attack = build(wrapper, (folder / "stop.txt").read_text(encoding="utf-8").split())
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    attack.attack(rows[0]["text"], rows[0]["label"])  # opens taggers and vectors
    attack.clear_cache()
    began, busy = time.perf_counter(), time.process_time()
    found = []
    for row in rows:
        result = attack.attack(row["text"], row["label"])
        kind = type(result).__name__.removesuffix("AttackResult").lower()
        found.append({"status": kind, "text": result.perturbed_result.attacked_text.text})
    line: dict[str, Any] = {
        "wall_s": time.perf_counter() - began,
        "cpu_s": time.process_time() - busy,
        "outcomes": found,
    }
    logits = np.asarray(wrapper([row["text"] for row in rows]))
    line["scores"] = (np.exp(logits) / np.exp(logits).sum(1, keepdims=True)).tolist()
    (folder / "peer.json").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
