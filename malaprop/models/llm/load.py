"""Load causal language models as classifiers, by what a user types: causal:FOLDER, causal:FILE.gguf, causal:smollm2."""

from __future__ import annotations

from contextlib import redirect_stderr
from copy import deepcopy
from hashlib import blake2b
from io import StringIO
from pathlib import Path
from typing import Any

import torch

from malaprop.core.errors import SettingError, VictimError
from malaprop.models.classifierfolder import check_folder
from malaprop.models.folder import fingerprint, quietly
from malaprop.models.llm.causal import CausalVictim
from malaprop.models.llm.template import Asking
from malaprop.models.precision import dtype_for
from malaprop.models.victims.hf import places
from malaprop.models.victims.probes import check_vocabulary

PACKAGED = "smollm2"
KIND = "causal:"


def load_causal(source: str, asking: Asking, *, device: str = "cpu", precision: str = "fp32") -> CausalVictim:
    """Load a causal model and its prompt, from a transformers folder, a GGUF file or the packaged asset."""
    model, tokenizer, mark = read_causal(source)
    name = Path(source).name
    return wrap_causal(model.to(device), tokenizer, asking, name=name, fingerprint=mark, precision=precision)


def read_causal(source: str) -> tuple[Any, Any, str]:
    """Return a causal model in float32, its tokenizer and its fingerprint, by what stands behind `causal:`."""
    folder, gguf = _find(source)
    model, tokenizer = _read(folder, gguf, source)
    return model, tokenizer, _file_mark(folder / gguf) if gguf else fingerprint(folder)


def wrap_causal(
    model: Any,
    tokenizer: Any,
    asking: Asking,
    *,
    name: str | None = None,
    fingerprint: str = "",
    precision: str = "fp32",
) -> CausalVictim:
    """Return a victim of a loaded causal model with its tokenizer.

    In bf16 the fast path reads a copy, and each success is confirmed in float32.
    """
    fast = _copy_in_bf16(model, precision)
    if getattr(model, "get_output_embeddings", lambda: None)() is None:
        raise VictimError(f"{name or type(model).__name__} predicts no next word; expected a causal language model")
    return CausalVictim(
        name=name or type(model).__name__, model=model.eval(), tokenizer=tokenizer, template=asking.template,
        fast=fast, label_names=asking.labels, limit=places(model, tokenizer), chat=asking.chat != "no",
        share=asking.share == "yes",
        unknown=tokenizer.unk_token or "[UNK]", fingerprint=f"{fingerprint}-{asking.mark}" if fingerprint else "",
    )  # fmt: skip


def _copy_in_bf16(model: Any, precision: str) -> Any:
    """Return a copy in bf16, or None where the model itself computes; on a CPU, of which few gain, by name alone."""
    if precision == "int8":
        raise SettingError("causal language models compute in fp32 or bf16; use one of these as --precision")
    if precision == "fp32" or (precision == "auto" and model.device.type == "cpu"):
        return None
    if dtype_for(precision, model.device) != torch.bfloat16:
        return None
    return deepcopy(model).to(torch.bfloat16).eval()


def _find(source: str) -> tuple[Path, str | None]:
    """Return the folder of a model, and the name of its GGUF file where it has one."""
    path = Path(source).expanduser()
    if path.is_dir():
        if (path / "config.json").is_file():
            return path, None
        files = sorted(path.glob("*.gguf"))
        if len(files) == 1:
            return path, files[0].name
        held = f"{len(files)} .gguf files; name one of them" if files else "neither config.json nor a .gguf file"
        raise VictimError(f"{path} is not a causal model: it holds {held}")
    if path.is_file() and path.suffix.lower() == ".gguf":
        return path.parent, path.name
    if source == PACKAGED:
        from malaprop.assets import store

        folder = store.locate(PACKAGED)
        return folder, sorted(folder.glob("*.gguf"))[0].name
    raise VictimError(
        f"no causal model at {source!r}: expected causal:FOLDER written by transformers, causal:FILE.gguf or "
        f"causal:{PACKAGED}"
    )


def _read(folder: Path, gguf: str | None, source: str) -> tuple[Any, Any]:
    """Load a model in float32 and its tokenizer; run no code that comes with them."""
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        raise VictimError(f"causal:{source} needs the transformers library; install malaprop[lm]") from None
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if gguf is None:
        check_folder(folder, "AutoModelForCausalLM")
        weights: dict[str, Any] = {**options, "use_safetensors": True}
    else:
        options["gguf_file"] = gguf
        weights = options
    try:
        with quietly(), redirect_stderr(StringIO()):  # unpacking a GGUF file has a progress bar of its own
            tokenizer = AutoTokenizer.from_pretrained(folder, **options)
            model, report = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True, **weights
            )
    except Exception as error:  # noqa: BLE001 - the library raises errors of many kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise VictimError(f"{source} cannot be loaded as a causal language model: {reason}") from None
    if missing := sorted(report["missing_keys"]):
        raise VictimError(f"{source} is not a trained causal model: weights are missing for {', '.join(missing[:3])}")
    check_vocabulary(tokenizer, model, source)
    return model, tokenizer


def _file_mark(path: Path) -> str:
    digest = blake2b(digest_size=8)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
