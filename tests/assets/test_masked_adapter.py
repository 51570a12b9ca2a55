"""The packaged adapter says what it reaches, and the page says the same."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from malaprop.assets.maskedlm import PACKAGE, read_adapter

ROOT = Path(__file__).parents[2]


def test_the_pages_say_what_the_adapters_card_says():
    figures = json.loads((files(PACKAGE) / "adapter.json").read_text(encoding="utf-8"))["figures"]
    one, five = (f"{figures[f'masked_accuracy_at_{k}']:.0%}" for k in (1, 5))
    assert f"{one} are its first guess, {five} among" in (ROOT / "docs/assets.md").read_text(encoding="utf-8")
    assert f"{one} of hidden tokens guessed, {five} among" in (ROOT / "docs/recipes/bae.md").read_text(encoding="utf-8")


def test_the_packaged_adapter_is_of_minilms_six_layers():
    weights = read_adapter(Path(str(files(PACKAGE) / "adapter.safetensors")))
    layers = {name.split(".")[3] for name in weights if name.endswith(".down") and ".layer." in name}
    assert layers == set("012345")
    assert {rows.shape[0] for name, rows in weights.items() if name.endswith(".down")} == {32}
