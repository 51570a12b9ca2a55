"""Classifiers of the transformers library: a folder, a hub name, or a loaded model with its tokenizer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from malaprop.core.errors import SettingError, VictimError
from malaprop.models.classifierfolder import read_classifier
from malaprop.models.embeddings import last_linear, read_by
from malaprop.models.folder import fingerprint as fingerprint_of
from malaprop.models.gradients.layout import ByOffsets
from malaprop.models.gradients.tokens import TokenGradients
from malaprop.models.inside import WordAttention, WordStates, read_attention, read_first_layer, read_states
from malaprop.models.precision import ROUNDING, resolve
from malaprop.models.scorers.plain import without_padding
from malaprop.models.scorers.select_scorer import ScorerChoice
from malaprop.models.tokens.joins import best_join
from malaprop.models.tokens.padding import ZeroWords
from malaprop.models.tokens.pieces import at_breaks
from malaprop.models.tokens.splice import Frame
from malaprop.models.tokens.wordpieces import WordPieces
from malaprop.models.victims.labelsets import fold, is_multi_label, view_of
from malaprop.models.victims.probes import (
    TEXTS,
    Company,
    embedding_of,
    padding_is_masked,
    same_tokens,
)
from malaprop.models.victims.strings import StringVictim
from malaprop.models.victims.tokens import TokenVictim

MOST = 4_096  # tokens, for models that state no limit


def load_transformers(
    source: str | Path,
    *,
    device: str = "cpu",
    precision: str = "fp32",
    name: str | None = None,
    label: str | None = None,
    limit: int | None = None,
    fingerprint: str = "",
) -> TokenVictim | StringVictim:
    """Load a sequence classifier from a local folder or a hub name; run no code that comes with it.

    A checkpoint of ours has a fingerprint of its own, and the limit that its card states.
    """
    model, tokenizer = read_classifier(source, ours=bool(fingerprint))
    if not fingerprint:
        at_hub = str(getattr(model.config, "_commit_hash", "") or "")
        fingerprint = fingerprint_of(source) if isinstance(source, Path) else at_hub
    return wrap_transformers(
        model,
        tokenizer,
        device=device,
        precision=precision,
        name=name or Path(source).name,
        limit=limit,
        fingerprint=fingerprint,
        label=label,
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
    label: str | None = None,
) -> TokenVictim | StringVictim:
    """Wrap a loaded classifier, after trials of its tokenizer and of its answers to texts alone and in batches."""
    name = name or str(getattr(model.config, "_name_or_path", "") or type(model).__name__)
    where = torch.device(device or model.device)
    model = model.eval().to(where)
    model = _as_one_answer(model, label, name)
    fingerprint = f"{fingerprint}-{label}" if fingerprint and label is not None else fingerprint
    labels = int(getattr(model.config, "num_labels", 0))
    if labels < 1:
        raise VictimError(f"{name} scores no label; expected a classifier, or a regression of one number")
    number, given = labels == 1, _settle_precision(model, name, precision, where, number=labels == 1)
    most = min(limit or MOST, places(model, tokenizer))
    pieces = _pieces(model, tokenizer, most)
    if isinstance(pieces, str):
        if given in ("bf16", "int8") and precision != "auto":
            how = f"reads whole texts alone, as {pieces}, and then computes in fp32"
            raise SettingError(f"{name} {how}; use --precision fp32 or auto")
        return _by_strings(model, tokenizer, where, name, most, fingerprint, pieces)
    frame = Frame(limit=most, head=pieces.head, tail=pieces.tail, left=tokenizer.truncation_side == "left")
    choice = _choose_scorer(model, tokenizer, pieces, frame, where)
    if precision == "auto" and given == "int8" and not choice.nears(given):
        given = "fp32"
    about: dict[str, Any] = {
        "name": name,
        "fingerprint": f"{fingerprint}-{given}" if fingerprint and given != "fp32" else fingerprint,
        "label_names": _label_names(model),
        "unknown": tokenizer.unk_token or "[UNK]",
        "labels": labels,
        "number": number,
        "precision": given,
        "rounding": ROUNDING[given],
        "lanes": 2 if where.type == "cuda" else 1,
        "device": str(where),
    }
    return TokenVictim(
        cut=at_breaks(pieces.pieces, pieces.between),
        join=best_join(pieces.pieces, TEXTS),
        rows=partial(pieces.rows, limit=most, left=frame.left),
        limit=most,
        head=frame.head,
        tail=frame.tail,
        left=frame.left,
        forward=choice.forward,
        scorer=choice.scorer(given),
        pad=choice.pad,
        masks=choice.masks,
        bounds=choice.bounds,
        **about,
        **_shown(choice, ByOffsets(tokenizer=pieces, frame=frame), tokenizer, number),
    )


def _settle_precision(model: Any, name: str, asked: str, where: torch.device, *, number: bool) -> str:
    """Return the precision of a model; a model that gives a number computes in fp32."""
    if number and asked in ("bf16", "int8"):
        raise SettingError(f"{name} gives a number, which is computed in fp32; use --precision fp32 or auto")
    wide = int(getattr(model.config, "hidden_size", 0) or 0)
    return "fp32" if number else resolve(asked, where, width=wide)


def _choose_scorer(model: Any, tokenizer: Any, pieces: WordPieces, frame: Frame, where: torch.device) -> ScorerChoice:
    """Try the model on texts alone and in batches, and return the choice of its scorer."""
    pad = _padding(model, tokenizer)
    separator = pieces.between[0] if pieces.between and has_segments(model, tokenizer) else None
    rows = pieces.rows([(text,) for text in TEXTS], frame.limit, left=frame.left)
    choice = ScorerChoice(model=model, separator=separator, pad=pad, limit=frame.limit, rows=rows)
    company = Company(choice.forward, rows, pad, where)
    masks = company.padding_is_masked()
    return replace(choice, masks=masks, independent=masks or company.rows_are_independent())


def _shown(choice: ScorerChoice, layout: ByOffsets, tokenizer: Any, number: bool) -> dict[str, Any]:
    """Return what the victim shows beside answers (gradients, attention, ...), by the field names of `TokenVictim`."""
    model, where, separator = choice.model, choice.model.device, choice.separator
    embedding, last = embedding_of(model), last_linear(model)
    assert embedding is not None, "or the victim reads whole texts"
    places: dict[str, Any] = {"layout": layout, "device": where}
    padding: dict[str, Any] = {"pad": choice.pad, "masks": choice.masks}
    gradients = TokenGradients(
        module=model,
        forward=choice.forward,
        embedding=embedding,
        unknown=tokenizer.unk_token_id,
        **places,
        **padding,
    )
    weigh, read = read_attention(model, separator=separator), read_states(model, separator=separator)
    return {
        "gradients": None if number else gradients,
        "attention": WordAttention(weigh=weigh, first=bool(layout.frame.head), **places, **padding),
        "states": WordStates(read=read, first=partial(read_first_layer, model), **places),
        "pooled": None if last is None or number else read_by(last, choice.forward),
        "readout": None if number else last,
        "padding": None if number else ZeroWords.like(gradients, int(model.config.num_labels)),
    }


def _as_one_answer(model: Any, label: str | None, name: str) -> Any:
    """Fold a multi-label model to one answer a text: sets of labels, or one label, yes or no; others stay."""
    if not is_multi_label(model.config) or int(model.config.num_labels) < 2:
        if label is not None:
            raise SettingError(f"{name} gives one label a text; #label= is for models that give several")
        return model
    table = model.config.id2label or {}
    names = [str(table.get(i, f"LABEL_{i}")) for i in range(int(model.config.num_labels))]
    return fold(model, view_of(names, label, name), name)


def _pieces(model: Any, tokenizer: Any, limit: int) -> WordPieces | str:
    """Return how the tokenizer lays out texts, or the reason why only the tokenizer itself can do it."""
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        return "its tokenizer is written in Python"
    try:
        pieces = WordPieces.of(tokenizer.backend_tokenizer)
    except VictimError:
        return "its tokenizer changes a word when it adds special tokens"
    if embedding_of(model) is None:
        return "it has no table of its tokens' vectors"
    if not same_tokens(tokenizer, pieces, limit):
        return "its tokenizer does more than its own file says"
    return pieces


def _padding(model: Any, tokenizer: Any) -> int:
    """Return the padding token, the model's own first: some models find the end of a text by it."""
    stated = (getattr(model.config, "pad_token_id", None), tokenizer.pad_token_id, 0)
    return next(int(token) for token in stated if token is not None)


def _by_strings(
    model: Any, tokenizer: Any, where: torch.device, name: str, limit: int, fingerprint: str, reason: str
) -> StringVictim:
    """Wrap a model whose tokenizer only reads whole texts; where padding shows, a batch has one length."""

    number = int(model.config.num_labels) == 1

    @torch.inference_mode()
    def ask(rows: Sequence[Mapping[str, list[int]]]) -> torch.Tensor:
        if len({len(row["input_ids"]) for row in rows}) == 1:
            batch = {key: torch.tensor([row[key] for row in rows], device=where) for key in rows[0]}
        else:
            batch = dict(tokenizer.pad([dict(row) for row in rows], return_tensors="pt").to(where))
        with without_padding(model):
            logits: torch.Tensor = model(**batch).logits.float()
        return logits if number else logits.softmax(-1)

    def encode(*columns: Sequence[str]) -> list[dict[str, list[int]]]:
        found = tokenizer(*map(list, columns), truncation=True, max_length=limit)
        return [{key: found[key][at] for key in found} for at in range(len(columns[0]))]

    together = padding_is_masked(ask, encode([*TEXTS]))

    def scores(*columns: list[str]) -> torch.Tensor:
        rows = encode(*columns)
        if together:
            return ask(rows)
        lengths = [len(row["input_ids"]) for row in rows]
        out = torch.empty(len(rows), int(model.config.num_labels), device=where)
        for length in sorted(set(lengths)):
            mine = [at for at, many in enumerate(lengths) if many == length]
            out[mine] = ask([rows[at] for at in mine])
        return out

    return StringVictim(
        call=scores,
        name=name,
        pairs="columns",
        answers="number" if number else "scores",
        labels=int(model.config.num_labels),
        fingerprint=fingerprint,
        label_names=_label_names(model),
        unknown=tokenizer.unk_token or "[UNK]",
        device=str(where),
        withheld=reason,
    )


def _label_names(model: Any) -> tuple[str, ...]:
    """Return the names of the labels by number; none where the library invented them (LABEL_0, LABEL_1, ...)."""
    table = getattr(model.config, "id2label", None) or {}
    names = tuple(str(table.get(i, "")) for i in range(int(model.config.num_labels)))
    return () if any(not name or name.startswith("LABEL_") for name in names) else names


def has_segments(model: Any, tokenizer: Any) -> bool:
    """Return whether the library itself would tell the model which field a token belongs to."""
    takes = "token_type_ids" in inspect.signature(model.forward).parameters
    gives = "token_type_ids" in tokenizer.model_input_names
    return takes and gives and int(getattr(model.config, "type_vocab_size", 0) or 0) > 1


def places(model: Any, tokenizer: Any) -> int:
    """Return the smaller limit of tokenizer and model, in tokens; no number or -1 sets no limit."""
    stated, places = (
        int(number) if number is not None and number > 0 else MOST
        for number in (tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None))
    )
    if "roberta" in type(model).__name__.lower():  # its places begin behind the padding's number
        places -= int(model.config.pad_token_id) + 1
    return min(stated, places, MOST)
