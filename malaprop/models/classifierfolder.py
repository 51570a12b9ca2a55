"""Reads sequence classifiers of the transformers library from a folder or a hub; refuses those it cannot use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from malaprop.assets.folders import offline
from malaprop.core.errors import VictimError
from malaprop.models.folder import FINE_TUNED, quietly
from malaprop.models.victims.probes import check_vocabulary

_TRANSLATE = "attack a translator with malaprop translate attack --victim {}"
_PROMPT = "ask it with a prompt as --victim causal:{}"
# What a class of the library is made for, by the end of its name, and how such a model is used here; {} is the folder.
_TASKS = {
    "ForTokenClassification": ("labels each token (token classification)", ""),
    "ForQuestionAnswering": ("finds answers in passages (question answering)", ""),
    "ForMultipleChoice": ("chooses among answers (multiple choice)", ""),
    "ForMaskedLM": ("fills in hidden words (masked language model)", ""),
    "ForPreTraining": ("is pre-trained and not fine-tuned", ""),
    "ForConditionalGeneration": ("writes a text for a text (sequence to sequence)", _TRANSLATE),
    "MTModel": ("translates", _TRANSLATE),
    "ForCausalLM": ("continues texts (causal language model)", _PROMPT),
    "LMHeadModel": ("continues texts (causal language model)", _PROMPT),
    "ForImageClassification": ("classifies images", ""),
}


def is_classifier_folder(name: str) -> bool:
    """Return whether a name is a local folder that transformers could read."""
    return (Path(name).expanduser() / "config.json").is_file()


def read_classifier(source: str | Path, *, ours: bool = False) -> tuple[Any, Any]:
    """Load a model in float32 and its tokenizer; run no code that comes with them.

    `ours`: the folder is a checkpoint that we wrote, with the tokenizer that the model was trained with.
    """
    local = isinstance(source, Path)
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise VictimError(f"{source} needs the transformers library; install malaprop[hf]") from None
    if isinstance(source, Path):
        check_folder(source)
    options = {"trust_remote_code": False, "local_files_only": local or offline()}
    _refuse_other_tasks(source, options)
    try:
        with quietly():
            model, report = AutoModelForSequenceClassification.from_pretrained(
                source, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **options
            )
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
    except Exception as error:  # noqa: BLE001 - the library and the hub's client raise errors of many kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise VictimError(
            f"{source} cannot be loaded as a transformers classifier: {reason.rstrip('.')}; save it there "
            "with save_pretrained, as safetensors"
        ) from None
    if missing := sorted(report["missing_keys"]):
        raise VictimError(
            f"{source} has no trained classifier: weights are missing for {', '.join(missing[:3])}; "
            f"{_how_to_train(source, {'model_type': model.config.model_type})}, or name another model"
        )
    if not ours:
        check_vocabulary(tokenizer, model, str(source))
    return model, tokenizer


def _refuse_other_tasks(source: str | Path, options: Mapping[str, Any]) -> None:
    """Raise where the configuration names a class for another task than classifying texts."""
    from transformers import PretrainedConfig

    try:
        with quietly():
            settings, _ = PretrainedConfig.get_config_dict(source, **options)
    except Exception:  # noqa: BLE001 - whoever loads the model says what is wrong
        return
    found = settings.get("architectures")
    for name in map(str, found if isinstance(found, list) else []):
        what, use = next((_TASKS[end] for end in _TASKS if name.endswith(end)), ("", ""))
        if what:
            raise VictimError(
                f"{source} is a {name}, which {what}; expected a classifier of texts (...ForSequenceClassification): "
                f"{use.format(source) or _how_to_train(source, settings)}"
            )


def _how_to_train(source: str | Path, settings: Mapping[str, Any]) -> str:
    ours = next((name for name, kind in FINE_TUNED.items() if kind == settings.get("model_type")), "")
    return f"fine-tune it as one first{f', malaprop train {ours} --start {source} --data FILE' if ours else ''}"


def check_folder(folder: Path, kind: str = "AutoModelForSequenceClassification") -> None:
    """Raise on a folder with code, pickled weights or a part of its weights; `kind` is the library's class."""
    _refuse_own_code(folder)
    _refuse_pickled_weights(folder, kind)
    _refuse_missing_shards(folder)


def _refuse_own_code(folder: Path) -> None:
    """Raise on a folder whose model would run Python code of its own."""
    for name in ("config.json", "tokenizer_config.json"):
        try:
            settings = json.loads((folder / name).read_text(encoding="utf-8"))
        except OSError:
            continue
        except ValueError as error:
            raise VictimError(f"{folder / name} is not valid JSON: {error}; copy the folder again") from None
        if isinstance(settings, dict) and (own := settings.get("auto_map")):
            shown = next(iter(own.values())) if isinstance(own, dict) and own else own
            shown = next((part for part in shown if part), shown) if isinstance(shown, list) else shown
            raise VictimError(
                f"{folder} brings code of its own ({name} has auto_map: {str(shown)[:80]}), which is never run here; "
                "if you trust it, load it yourself and give it as a function, module:attribute"
            )


def _refuse_missing_shards(folder: Path) -> None:
    """Raise where the index of the weights names a file that the folder lacks."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return
    try:
        wanted = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError):
        raise VictimError(f"{index} is damaged; copy the folder again") from None
    if missing := sorted(name for name in wanted if not (folder / str(name)).is_file()):
        raise VictimError(
            f"{folder} holds {len(wanted) - len(missing)} of the {len(wanted)} files its weights are in; "
            f"{missing[0]} is missing: copy the folder again"
        )


def _refuse_pickled_weights(folder: Path, kind: str) -> None:
    if any(folder.glob("*.safetensors")) or not (found := sorted(folder.glob("pytorch_model*.bin"))):
        return
    convert = (
        f"from transformers import {kind} as M; M.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r})"
    )
    raise VictimError(
        f"{folder} holds its weights as {found[0].name}, a pickle, which can run code and is never opened; "
        f'if you trust it, convert it once: python -c "{convert}"'
    )
