"""The interface of models that answer questions from a context; functions, and models of transformers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite
from pathlib import Path
from typing import Any, Protocol

from malaprop.core.errors import VictimError, plain
from malaprop.models.folder import fingerprint, open_task_model

Pair = tuple[str, str]  # a question and a context
Spans = list[tuple[str, float]]  # answers and their shares, the answer that is given first
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_MOST = 20  # starts and ends of answers that are combined
_LONGEST = 30  # sub-words of an answer
_STRIDE = 128  # sub-words that windows of a long context share


class Reader(Protocol):
    """A model that answers a question with a part of its context."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    def ask(self, pairs: Sequence[Pair]) -> list[Spans]:
        """Return for each pair at least one answer; a pair's neighbours change nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionReader:
    """A function from a list of (question, context) to an answer for each.

    An answer is a text, or its start and end in the context, or a mapping from texts to scores.
    """

    call: Callable[[list[Pair]], Sequence[Any]]
    name: str
    fingerprint: str = ""

    def ask(self, pairs: Sequence[Pair]) -> list[Spans]:
        try:
            answers = list(self.call(list(pairs)))
        except Exception as error:
            raise VictimError(f"{self.name} failed on {len(pairs)} questions: {plain(error)[:200]}") from error
        if len(answers) != len(pairs):
            raise VictimError(f"{self.name} answered {len(answers)} of {len(pairs)} questions; expected all")
        return [self._read(answer, context) for answer, (_, context) in zip(answers, pairs, strict=True)]

    def _read(self, answer: Any, context: str) -> Spans:
        if isinstance(answer, str):
            return [(answer, 1.0)]
        if isinstance(answer, Mapping) and answer:
            shares = {str(text): float(score) for text, score in answer.items()}
            if min(shares.values()) >= 0 and isfinite(total := sum(shares.values())) and total > 0:
                return sorted(((text, share / total) for text, share in shares.items()), key=lambda one: -one[1])
        elif isinstance(answer, (tuple, list)) and len(answer) == 2 and all(isinstance(at, int) for at in answer):
            start, end = answer
            if 0 <= start <= end <= len(context):
                return [(context[start:end], 1.0)]
        raise VictimError(
            f"{self.name} answered {answer!r:.60}; expected a text, its start and end in the context, or a mapping "
            "from texts to scores of at least 0"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransformersReader:
    """A loaded question-answering model with its tokenizer. Questions are asked one by one, so no padding is read."""

    model: Any
    tokenizer: Any
    name: str
    inputs: frozenset[str]  # the names of what the model reads
    fingerprint: str = ""
    device: str = "cpu"
    most: int = 512  # sub-words that it reads

    def ask(self, pairs: Sequence[Pair]) -> list[Spans]:
        return [self._ask(question, context) for question, context in pairs]

    def _ask(self, question: str, context: str) -> Spans:
        import torch

        try:
            windows = self.tokenizer(
                question, context, truncation="only_second", max_length=self.most, verbose=False,
                stride=min(_STRIDE, self.most // 4), return_overflowing_tokens=True, return_offsets_mapping=True,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - tokenizers raise errors of many kinds
            raise VictimError(f"{self.name} cannot read the question: {plain(error)[:200]}") from None
        spans: dict[str, float] = {}
        for number, offsets in enumerate(windows["offset_mapping"]):
            inputs = {
                name: torch.tensor([windows[name][number]], device=self.device)
                for name in self.tokenizer.model_input_names
                if name in self.inputs and name in windows
            }
            with torch.inference_mode():
                out = self.model(**inputs)
            starts, ends = out.start_logits[0].float().tolist(), out.end_logits[0].float().tolist()
            inside = [i for i, side in enumerate(windows.sequence_ids(number)) if side == 1]
            for start, end, score in _combine(inside, starts, ends):
                text = context[offsets[start][0] : offsets[end][1]]
                spans[text] = max(score, spans.get(text, score))
        if not spans:
            raise VictimError(f"{self.name} found no word of the context within {self.most} sub-words")
        top = max(spans.values())
        weights = {text: exp(score - top) for text, score in spans.items()}
        total = sum(weights.values())
        return sorted(((text, weight / total) for text, weight in weights.items()), key=lambda one: -one[1])


def _combine(inside: Sequence[int], starts: Sequence[float], ends: Sequence[float]) -> list[tuple[int, int, float]]:
    """Return the likely answers of one window: their first and last sub-word, and the sum of both scores."""
    firsts = sorted(inside, key=lambda i: -starts[i])[:_MOST]
    lasts = sorted(inside, key=lambda i: -ends[i])[:_MOST]
    return [(a, b, starts[a] + ends[b]) for a in firsts for b in lasts if a <= b < a + _LONGEST]


def load_transformers(folder: Path, *, device: str = "cpu") -> TransformersReader:
    """Load a model from a local folder, without running code that comes with it."""
    opened = open_task_model(folder, "question answering", device=device)
    return TransformersReader(
        model=opened.model, tokenizer=opened.tokenizer, name=folder.name, inputs=opened.inputs,
        fingerprint=fingerprint(folder), device=device, most=opened.most,
    )  # fmt: skip


def load(spec: str, *, device: str = "cpu") -> Reader:
    """Load a reader: a folder of transformers, or module:function."""
    path = Path(spec).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise VictimError(f"{spec} is no question-answering model: expected config.json of transformers")
        return load_transformers(path, device=device)
    if _REFERENCE.fullmatch(spec):
        from malaprop.frame.runs.load_victim import resolve

        found = resolve(spec)
        if not callable(found):
            raise VictimError(f"{spec} is no function; expected one from a list of (question, context) to answers")
        return FunctionReader(call=found, name=spec)
    raise VictimError(f"there is no reader {spec!r}: give a folder of a question-answering model, or module:function")
