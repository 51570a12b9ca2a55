"""The asset `masked-lm`: the published MiniLM and a small adapter of our own make a masked language model."""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from malaprop.assets import store
from malaprop.assets.archives import Members
from malaprop.core.errors import AssetError
from malaprop.core.score import Floats

PACKAGE = "malaprop_masked_lm"
_SCALE = ".scale"
_BESIDE = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def read_adapter(path: Path) -> dict[str, Floats]:
    """Read an adapter's weights as 32-bit numbers; matrices are stored as bytes with a scale for each row."""
    try:
        stored = load_file(path)
    except (OSError, ValueError) as error:
        raise AssetError(f"{path} cannot be read as an adapter: {error}") from None
    return {
        name: rows.astype(np.float32) * stored.get(name + _SCALE, np.float32(1))
        for name, rows in stored.items()
        if not name.endswith(_SCALE)
    }


def merge_adapter(encoder: dict[str, Floats], adapter: dict[str, Floats]) -> dict[str, Floats]:
    """Return a masked language model's weights by the names that transformers uses: changed encoder and head."""
    whole = {f"bert.{name}": rows.astype(np.float32) for name, rows in encoder.items()}
    for name, rows in adapter.items():
        if name.endswith(".down"):
            layer = name.removesuffix(".down")
            if f"{layer}.weight" not in whole:
                raise AssetError(f"the adapter belongs to another encoder: that one has no {layer}")
            whole[f"{layer}.weight"] += adapter[f"{layer}.up"] @ rows
        elif not name.endswith(".up"):
            whole[name] = rows
    return whole


def build(_: Members, out: Path) -> None:
    """Build the asset `masked-lm`: a model folder that transformers can load."""
    try:
        package = files(PACKAGE)
    except ModuleNotFoundError:
        raise AssetError(
            "masked-lm is built from the package malaprop-masked-lm, which is not installed; install it, or name a "
            "masked language model of your own: a transformers folder or a hub name"
        ) from None
    base = store.locate("minilm")
    encoder: dict[str, Floats] = {}
    for path in sorted(base.glob("*.safetensors")):
        encoder |= load_file(path)
    with as_file(package / "adapter.safetensors") as path:
        merged = merge_adapter({n: r for n, r in encoder.items() if r.dtype.kind == "f"}, read_adapter(path))
    save_file(merged, out / "model.safetensors", {"format": "pt"})
    for name in _BESIDE:
        if (base / name).is_file():
            shutil.copyfile(base / name, out / name)
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    config |= {"architectures": ["BertForMaskedLM"], "dtype": "float32", "tie_word_embeddings": True}
    config.pop("torch_dtype", None)
    (out / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    (out / "pretrained.json").write_text((package / "adapter.json").read_text(encoding="utf-8"), encoding="utf-8")
