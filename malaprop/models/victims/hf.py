"""Classifiers of the transformers library: a folder, a hub name, or a loaded model with its tokenizer."""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path
from typing import Any

import torch

from malaprop.assets.folders import offline
from malaprop.core.errors import VictimError
from malaprop.models import checkpoint
from malaprop.models.attention import WordAttention, from_transformers
from malaprop.models.embeddings import last_linear, read_by
from malaprop.models.firstlayer import of_transformers
from malaprop.models.gradients.layout import ByOffsets, Frame
from malaprop.models.gradients.tokens import TokenGradients
from malaprop.models.padding import ZeroWords
from malaprop.models.pieces import at_breaks
from malaprop.models.precision import ROUNDING, dtype_for
from malaprop.models.quiet import quietly
from malaprop.models.scorers.bert import BertScorer, readable
from malaprop.models.scorers.plain import attended
from malaprop.models.states import WordStates
from malaprop.models.states import from_transformers as states_of
from malaprop.models.victims.strings import StringVictim
from malaprop.models.victims.tokens import TokenVictim
from malaprop.models.wordpieces import WordPieces

MOST = 4_096  # tokens, for models that state no limit


def load_transformers(
    source: str | Path, *, device: str = "cpu", precision: str = "fp32", name: str | None = None
) -> TokenVictim | StringVictim:
    """A sequence classifier from a local folder or a hub name; no code that comes with it is run."""
    local = isinstance(source, Path)
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise VictimError(f"{source} needs the transformers library; install malaprop[hf]") from None
    options = {"trust_remote_code": False, "local_files_only": local or offline()}
    try:
        with quietly():
            model, report = AutoModelForSequenceClassification.from_pretrained(
                source, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **options
            )
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
    except Exception as error:  # noqa: BLE001 - the library and the hub's client raise errors of many kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise VictimError(f"{source} cannot be loaded as a transformers classifier: {reason}") from None
    if missing := sorted(report["missing_keys"]):
        raise VictimError(
            f"{source} has no trained classifier: weights are missing for {', '.join(missing[:3])}; "
            "fine-tune it first, or name a model for sequence classification"
        )
    folder = Path(source)
    return wrap_transformers(
        model,
        tokenizer,
        device=device,
        precision=precision,
        name=name or folder.name,
        limit=checkpoint.read_card(folder).limit if local and checkpoint.is_checkpoint(folder) else None,
        fingerprint=checkpoint.fingerprint(folder) if local else str(getattr(model.config, "_commit_hash", "") or ""),
    )


def wrap_transformers(
    model: Any,
    tokenizer: Any,
    *,
    device: str | None = None,
    precision: str = "fp32",
    name: str | None = None,
    limit: int | None = None,
    fingerprint: str = "",
) -> TokenVictim | StringVictim:
    """A loaded classifier. BERT goes the fast road, in the precision asked for; any other reads whole rows, padded and
    masked, in its own."""
    labels = int(getattr(model.config, "num_labels", 0))
    if labels < 2:
        raise VictimError(f"{name or type(model).__name__} scores {labels} label; expected a classifier of two or more")
    name = name or str(getattr(model.config, "_name_or_path", "") or type(model).__name__)
    where = torch.device(device or model.device)
    model = model.eval().to(where)
    most = min(limit or MOST, places(model, tokenizer))
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        return _by_strings(model, tokenizer, where, name, most, fingerprint)
    pieces = WordPieces.of(tokenizer.backend_tokenizer)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else getattr(model.config, "pad_token_id", None)
    separator = pieces.between[0] if pieces.between and has_segments(model, tokenizer) else None
    scorer = (
        BertScorer(model=model, separator=separator, dtype=dtype_for(precision, where)) if readable(model) else None
    )
    half = scorer is not None and scorer.half
    gradients = _gradients(model, pieces, tokenizer, most, pad, separator, where)
    forward = attended(model, separator=separator)
    last = last_linear(model)
    return TokenVictim(
        name=name,
        cut=at_breaks(pieces.pieces, pieces.between),
        forward=forward,
        scorer=scorer,
        rounding=ROUNDING if half else 0.0,
        lanes=2 if where.type == "cuda" else 1,
        labels=labels,
        limit=most,
        head=pieces.head,
        tail=pieces.tail,
        pad=pad or 0,
        masks=pad is not None,
        fingerprint=f"{fingerprint}-bf16" if fingerprint and half else fingerprint,
        label_names=_label_names(model),
        unknown=tokenizer.unk_token or "[UNK]",
        gradients=gradients,
        attention=WordAttention(
            layout=gradients.layout,
            weigh=from_transformers(model, separator=separator),
            device=where,
            pad=pad or 0,
            masks=pad is not None,
            first=bool(pieces.head),
        ),
        states=WordStates(
            layout=gradients.layout,
            read=states_of(model, separator=separator),
            first=partial(of_transformers, model),
            device=where,
        ),
        pooled=None if last is None else read_by(last, forward),
        padding=ZeroWords.like(gradients, labels),
        device=str(where),
    )


def _gradients(
    model: Any,
    pieces: WordPieces,
    tokenizer: Any,
    limit: int,
    pad: int | None,
    separator: int | None,
    where: torch.device,
) -> TokenGradients:
    return TokenGradients(
        module=model,
        forward=attended(model, separator=separator),
        embedding=model.get_input_embeddings(),
        layout=ByOffsets(tokenizer=pieces, frame=Frame(limit=limit, head=pieces.head, tail=pieces.tail)),
        pad=pad or 0,
        masks=pad is not None,
        unknown=tokenizer.unk_token_id,
        device=where,
    )


def _by_strings(
    model: Any, tokenizer: Any, where: torch.device, name: str, limit: int, fingerprint: str
) -> StringVictim:
    """For tokenizers written in Python, which only read whole texts."""

    @torch.inference_mode()
    def scores(*columns: list[str]) -> torch.Tensor:
        rows = tokenizer(*columns, padding=True, truncation=True, max_length=limit, return_tensors="pt").to(where)
        probabilities: torch.Tensor = model(**rows).logits.float().softmax(-1)
        return probabilities

    return StringVictim(
        call=scores,
        name=name,
        pairs="columns",
        labels=int(model.config.num_labels),
        fingerprint=fingerprint,
        label_names=_label_names(model),
        unknown=tokenizer.unk_token or "[UNK]",
        device=str(where),
    )


def _label_names(model: Any) -> tuple[str, ...]:
    """Names of the labels by number; none where the library made them up (LABEL_0, LABEL_1, ...)."""
    table = getattr(model.config, "id2label", None) or {}
    names = tuple(str(table.get(i, "")) for i in range(int(model.config.num_labels)))
    return () if any(not name or name.startswith("LABEL_") for name in names) else names


def has_segments(model: Any, tokenizer: Any) -> bool:
    """Whether the library itself would tell the model which field a token is of."""
    takes = "token_type_ids" in inspect.signature(model.forward).parameters
    gives = "token_type_ids" in tokenizer.model_input_names
    return takes and gives and int(getattr(model.config, "type_vocab_size", 0) or 0) > 1


def places(model: Any, tokenizer: Any) -> int:
    """The smaller of what the tokenizer states and what the model has places for."""
    stated = int(tokenizer.model_max_length) if tokenizer.model_max_length else MOST
    places = int(getattr(model.config, "max_position_embeddings", 0) or MOST)
    if "roberta" in type(model).__name__.lower():  # its places begin behind the padding's number
        places -= int(model.config.pad_token_id) + 1
    return min(stated, places, MOST)
