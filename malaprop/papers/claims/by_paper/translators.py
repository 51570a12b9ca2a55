"""The steps that train the translators that two papers attack, each trained once."""

from __future__ import annotations

from typing import Any

from malaprop.papers.claims.by_paper import commands
from malaprop.papers.claims.claim import ClaimStep

PAIRS = {"small": "eng-fra", "full": "multi30k"}
ABOUT = {
    "small": "two small translators, English to French, six and eight epochs on 12,000 packaged pairs",
    "full": "two translators of Multi30k",
}
NAMES = ("lstm", "transformer")
_BOTH = {"tokens": 8192, "look_from": 8}  # large batches, for a GPU
# Small batches: what counts on a CPU are steps.
_LITTLE: dict[str, Any] = {"pairs": 12_000, "vocab": 2000, "dim": 128, "tokens": 1024}
_SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "small": {
        "lstm": {**_LITTLE, "epochs": 6, "units": 256, "warmup": 100, "rate": 0.003, "dropout": 0.2},
        "transformer": {**_LITTLE, "epochs": 8, "inner": 256, "layers": 2, "warmup": 200, "dropout": 0.1},
    },
    "full": {
        "lstm": {**_BOTH, "epochs": 40, "warmup": 200},
        "transformer": {**_BOTH, "epochs": 60, "warmup": 1000},
    },
}


def place(name: str) -> str:
    """Return the folder of a translator, as the settings of later steps refer to it."""
    return f"{{root}}/translation/{name}/model"


def step(name: str) -> str:
    """Return the name of the step that trains a translator."""
    return f"translation/{name}"


TRAINED = tuple(
    ClaimStep(
        name=step(name),
        does={
            size: (commands.train(f"nmt-{name}", data=data, settings=_SETTINGS[size][name], out="{here}/model"),)
            for size, data in PAIRS.items()
        },
        about=ABOUT,
    )
    for name in NAMES
)
