"""Measure training to reject under attack: a model is hardened, then attacked on held-out texts.

python -m malaprop_bench.rejected docs/measured/reject.jsonl reject:tries=4 --model BERT --data mr-full --set epochs=5

One half of the held-out texts sets the threshold of rejection, at each cost in turn; PWWS and TextFooler attack texts
of the other half. A line an attack and cost is added to the file; `malaprop bench --fill docs/appendix/defences.md`
puts the table on the page. Methods that reject nothing, and `plain`, have one cost, 0.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

from malaprop.frame.records.summary import Rate

HEAD = (
    *("model", "texts", "method", "epochs", "threshold costs", "right without attack"),
    *("under `pwws`", "under `textfooler`", "under both"),
)
ATTACKS = ("pwws", "textfooler")
PLAIN = "plain"


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each model and cost."""
    return [
        [
            one["model"], one["data"], f"`{one['method']}`", str(one["epochs"]),
            f"{one['cost']:.0%}" if one["rejects"] else "-", _rate(one["clean"]),
            *(_rate(one["left"][name]) for name in ATTACKS), _rate(one["worst"]),
        ]
        for one in records
    ]  # fmt: skip


def _rate(found: Mapping[str, int]) -> str:
    return str(Rate(found["hits"], found["total"]))


def measure(
    method: str, *, model: str, data: str, settings: Mapping[str, Any], costs: Sequence[float], texts: int, device: str
) -> Iterator[dict[str, Any]]:
    """Harden a model, attack it at each cost, and yield a record for each."""
    import malaprop as mp
    from malaprop.core.victim import REJECTED
    from malaprop.frame.study.selection import Selection

    held = list(Selection(data=data).splits().held_out)
    tuned, attacked = held[: len(held) // 2], held[len(held) // 2 :][:texts]
    with TemporaryDirectory(prefix="malaprop-") as room:
        made = Path(room, "made")
        about: dict[str, Any] = {"data": data, "set": dict(settings), "device": device, "quiet": True}
        if method == PLAIN:
            mp.train(model, out=str(made), **about)
        else:
            mp.harden(method, model=model, out=str(made), **about)
        rejects = REJECTED in mp.victim(str(made), device=device).label_names
        for cost in costs if rejects else costs[:1]:
            folder = made if not rejects else set_threshold(made, Path(room, f"{cost:g}"), tuned, cost, device)
            found = attack(folder, attacked, device)
            about_row = {"model": model, "data": data, "method": method, "epochs": settings.get("epochs"), "cost": cost}
            yield {**about_row, "rejects": rejects, "set": dict(settings), **found}


def set_threshold(source: Path, target: Path, texts: Sequence[Any], cost: float, device: str) -> Path:
    """Copy a model, with its threshold of rejection moved by as much as costs the share `cost` of these texts."""
    import torch
    from safetensors.torch import load_file, save_file

    import malaprop as mp
    from malaprop.features.hardening.reject import find_shift

    shares = torch.from_numpy(mp.victim(str(source), device=device).predict([tuple(e.fields.values()) for e in texts]))
    move = find_shift(shares.clamp_min(1e-9).log(), torch.tensor([e.label for e in texts]), cost)
    copytree(source, target)
    weights = load_file(target / "model.safetensors")
    bias = [name for name in weights if name.endswith("bias") and weights[name].shape == (shares.shape[1],)][-1]
    weights[bias][-1] += move
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    return target


def attack(folder: Path, texts: Sequence[Any], device: str) -> dict[str, Any]:
    """Count the texts that are right without an attack, under each attack, and under all of them."""
    import malaprop as mp

    victim, total = mp.victim(str(folder), device=device), len(texts)
    answers = victim.predict([tuple(example.fields.values()) for example in texts])
    clean = sum(int(row.argmax() == example.label) for row, example in zip(answers, texts, strict=True))
    left = {
        name: {outcome.id for outcome in mp.attack(name, victim, texts, seed=0) if outcome.status == "failed"}
        for name in ATTACKS
    }
    return {
        "clean": {"hits": clean, "total": total},
        "left": {name: {"hits": len(ids), "total": total} for name, ids in left.items()},
        "worst": {"hits": len(set.intersection(*left.values())), "total": total},
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.rejected", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("method", help="a method of harden with its settings, or plain")
    parser.add_argument("--model", default="BERT")
    parser.add_argument("--data", default="mr")
    parser.add_argument("--set", action="append", default=[], help="of the training, as name=value")
    parser.add_argument("--costs", default="0.01,0.03")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args(words)
    settings = {name: json.loads(value) for name, _, value in (one.partition("=") for one in given.set)}
    costs = [float(cost) for cost in given.costs.split(",")]
    for row in measure(
        given.method, model=given.model, data=given.data, settings=settings, costs=costs, texts=given.texts,
        device=given.device,
    ):  # fmt: skip
        with given.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(" | ".join(rows([row])[0]), flush=True)


if __name__ == "__main__":
    main()
