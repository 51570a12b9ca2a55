"""Compare our hotflip-word with TextAttack's HotFlip on TextAttack's LSTM, with the same weights, texts and vectors.

python -m malaprop_bench.hotflip_peer [--n 100] [--python .venv-peers/bin/python]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from malaprop.core.errors import MalapropError
from malaprop.core.example import Example
from malaprop.core.text import Text, Words
from malaprop.frame.records.summary import Rate
from malaprop_bench import child, peer, peer_lstm


def words_and_vectors(texts: Sequence[str], most: int = 20_000) -> tuple[list[str], Any]:
    """Return GloVe's most frequent words and those of the texts that it has, with their vectors."""
    import torch

    from malaprop.assets.vectors import open_vectors

    glove = open_vectors("glove")
    met = {word for text in texts for word in text.lower().split()}
    words = [w for i, w in enumerate(glove.words) if i < most or w in met]
    return words, torch.from_numpy(glove.raw(words)[0]).float()


def split_alike(example: Example) -> bool:
    """Return whether spaces separate a text into the same words as our slots: the peer's tokenizer splits at spaces."""
    text = Text.of(example.fields, Words())
    gaps = [text.table.strings[i] for i in text.parts[2:-1:2].tolist()]
    return bool(gaps) and all(gap[:1].isspace() and gap[-1:].isspace() for gap in gaps)


def ours(victim: Any, rows: Sequence[Example], **settings: Any) -> dict[str, Any]:
    from malaprop.attacks.recipes.hotflip import hotflip_word
    from malaprop.frame.runs.local import run

    attack = hotflip_word(**settings)
    list(run(attack, victim, rows[:1]))  # opens taggers and vectors
    began, busy = time.perf_counter(), time.process_time()
    found = {o.id: o for o in run(attack, victim, rows)}
    took = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - busy}
    outcomes = [found[row.id] for row in rows]
    return {**took, "outcomes": [{"status": o.status, "reason": o.reason} for o in outcomes]}


def theirs(python: Path, folder: Path, rows: Sequence[Example]) -> dict[str, Any]:
    lines = [json.dumps({"text": e.fields["text"], "label": e.label}) for e in rows]
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    places = {
        "NLTK_DATA": str(folder / "nltk_data"),
        "TA_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(folder / "import"),
    }
    script = Path(__file__).with_name("peer_hotflip.py")
    child.run([python, script, folder], child.environment(1, places), seconds=900, what="TextAttack's HotFlip")
    answer: dict[str, Any] = json.loads((folder / "peer.json").read_text(encoding="utf-8"))
    return answer


def compare(n: int, python: Path, folder: Path, *, epochs: int, seed: int) -> dict[str, Any]:
    import numpy as np
    import torch

    from malaprop.data.base import load
    from malaprop.models.victims.module import wrap_module

    torch.set_num_threads(1)
    train, test = (list(load("mr", split=split)) for split in ("train", "test"))
    words, vectors = words_and_vectors([e.fields["text"] for e in (*train, *test)])
    model = peer_lstm.train(words, vectors, train, epochs=epochs, seed=seed)
    reader = peer_lstm.Reader(words)
    victim = wrap_module(model, reader, name="TextAttack LSTM", limit=peer_lstm.LENGTH, masks=True)
    scores = victim.predict([(e.fields["text"],) for e in test])
    right = [e for e, row in zip(test, scores, strict=True) if int(row.argmax()) == e.label]
    rows = [e for e in right if split_alike(e)][:n]
    peer.prepare(folder, ("textfooler",))
    peer_lstm.save(folder, model, words)
    mine, narrow, peers = ours(victim, rows), ours(victim, rows, width=1, tries=1), theirs(python, folder, rows)
    again = victim.predict([(e.fields["text"],) for e in rows])
    apart = float(np.abs(np.asarray(peers["scores"]) - again).max())
    return {
        "texts": len(rows),
        "clean_accuracy": len(right) / len(test),
        "scores_apart": apart,
        "ours": _summarise(mine),
        "ours, width=1 tries=1": _summarise(narrow),
        "TextAttack": _summarise(peers),
        "times_faster": {
            name: {unit: round(peers[unit] / side[unit], 2) for unit in ("wall_s", "cpu_s")}
            for name, side in (("ours", mine), ("ours, width=1 tries=1", narrow))
        },
    }


def _summarise(side: dict[str, Any]) -> dict[str, Any]:
    kinds = [outcome["status"] for outcome in side["outcomes"]]
    hits = sum(kind in ("success", "successful") for kind in kinds)
    took = {name: round(side[name], 2) for name in ("wall_s", "cpu_s")}
    return {"success": str(Rate(hits, len(kinds))), "hits": hits, **took}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=100, help="texts that the model gets right")
    parser.add_argument("--python", type=Path, default=Path(".venv-peers/bin/python"), help="made by make bench-peers")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(given)
    try:
        if not options.python.exists():
            raise child.BenchError(f"no Python at {options.python}; make it with: make bench-peers")
        with tempfile.TemporaryDirectory() as folder:
            found = compare(options.n, options.python, Path(folder), epochs=options.epochs, seed=options.seed)
    except MalapropError as error:
        print(f"malaprop: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
