"""Reading the answers of servers that speak OpenAI's protocol: text, log-probabilities of tokens, token counts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from malaprop.core.errors import VictimError
from malaprop.core.score import Floats

_LEAST = 4  # tokens that a letter can be: the bytes of one
_HIDDEN = 100_000  # tokens that a server may add, or an answer have
_HIGHEST = 0.1  # of a log-probability: over 0 by what a server's rounding may add
_EDGE = r"(?<![^\W_])(?:{})(?![^\W_])"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `top` are the likeliest first tokens with their log-probabilities, `tokens` those of an echo."""

    text: str = ""
    top: tuple[tuple[str, float], ...] = ()
    echo: tuple[tuple[int, float], ...] = ()  # of each token where it begins, and its log-probability


def read_reply(answer: Any, name: str) -> list[Reply]:
    """Return the choices of an answer to a chat or completion request; raise on other forms."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(choices, list) or not choices:
        said = answer.get("error", answer) if isinstance(answer, Mapping) else answer
        shown = " ".join(str(said.get("message", said) if isinstance(said, Mapping) else said).split())[:120]
        raise VictimError(f"{name} answered without choices ({shown}); expected an answer of OpenAI's protocol")
    try:
        found = [_read_choice(choice) for choice in choices]
    except (TypeError, KeyError, ValueError, AttributeError, IndexError):
        shown = " ".join(str(choices[0]).split())[:120]
        raise VictimError(f"{name} answered with a choice of another form ({shown})") from None
    told = (value for reply in found for _, value in (*reply.top, *reply.echo))
    if (odd := next((value for value in told if not value <= _HIGHEST), None)) is not None:
        raise VictimError(f"{name} answered with a log-probability of {odd:g}; expected numbers of at most 0")
    return found


def _read_choice(choice: Mapping[str, Any]) -> Reply:
    message = choice.get("message")
    text = str((message.get("content") if message is not None else choice.get("text")) or "")
    logs = choice.get("logprobs") or {}
    if logs.get("content"):
        first = logs["content"][0]
        return Reply(text, tuple((str(one["token"]), float(one["logprob"])) for one in first["top_logprobs"]))
    tops = [one for one in logs.get("top_logprobs") or [] if one]
    values, places = logs.get("token_logprobs"), logs.get("text_offset")
    echo = () if not values or not places else tuple(
        (int(place), float(value)) for place, value in zip(places, values, strict=True) if value is not None
    )  # fmt: skip
    top = tuple((str(token), float(value)) for token, value in tops[0].items()) if tops else ()
    return Reply(text, top, echo)


def count_usage(answer: Any) -> tuple[int, int] | None:
    """Return the tokens of the request and of the answer, as the server counts them; None where it does not say."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    try:
        return None if not usage else (int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0))
    except (TypeError, KeyError, ValueError, OverflowError, AttributeError):
        return None


def is_plausible(used: tuple[int, int], letters: int) -> bool:
    """Return whether a request of so many letters can cost these tokens, with a long prompt of the server's own."""
    return 0 < used[0] <= letters * _LEAST + _HIDDEN and 0 <= used[1] <= _HIDDEN


def find_label(text: str, words: Sequence[str]) -> int | None:
    """Return the number of the one label that an answer names; None where it names none, or several."""
    found = [at for at, word in enumerate(words) if re.search(_EDGE.format(re.escape(word)), text, re.IGNORECASE)]
    begins = [at for at in found if text.lstrip(" \n\"'*`([").casefold().startswith(words[at].casefold())]
    chosen = begins if len(begins) == 1 else found
    return chosen[0] if len(chosen) == 1 else None


def weigh_top(top: Sequence[tuple[str, float]], words: Sequence[str]) -> tuple[Floats | None, str]:
    """Return the labels' probabilities, from first tokens that fit one label's word alone, and a token that fits two.

    None where no label is among the likeliest tokens. One that is missing beside others is given what the least likely
    token has, which is the most that it can be.
    """
    sums, shared = np.zeros(len(words)), ""
    heaviest = 0.0
    for token, value in top:
        begin = token.strip().casefold()
        mine = [at for at, word in enumerate(words) if begin and word.casefold().startswith(begin)]
        if len(mine) == 1:
            sums[mine[0]] += exp(value)
        elif mine and exp(value) > heaviest:
            shared, heaviest = token, exp(value)
    shared = shared if heaviest > sums.sum() else ""
    if not sums.any():
        return None, shared
    least = min(exp(value) for _, value in top)
    sums[sums == 0] = min(least, max(1.0 - sums.sum(), 0.0))
    return np.asarray(sums / sums.sum(), np.float32), shared


def parse(data: bytes | str) -> Any:
    """Return the answer read as JSON; put a streamed answer together first."""
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    return join_stream(text) if is_stream(text) else json.loads(text)


def is_stream(text: str) -> bool:
    """Return whether an answer comes as events, though the request did not want any."""
    return text.lstrip().startswith(("data:", ":", "event:"))


def join_stream(text: str) -> dict[str, Any]:
    """Join the events of a stream to one answer; raise JSONDecodeError on one that ends too early, for a retry."""
    lines = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("data:")]
    if not lines or lines[-1] != "[DONE]":
        raise json.JSONDecodeError("Unterminated string", "{" + text[-40:], 1)
    whole: dict[str, Any] = {"choices": [{"message": {"content": ""}, "text": "", "logprobs": None}], "streamed": True}
    first = whole["choices"][0]
    for line in lines[:-1]:
        event = json.loads(line)
        if event.get("usage"):
            whole["usage"] = event["usage"]
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            first["message"]["content"] += str(delta.get("content") or choice.get("text") or "")
            if first["logprobs"] is None and choice.get("logprobs"):
                first["logprobs"] = choice["logprobs"]
    return whole
