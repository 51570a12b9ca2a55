"""Language models that continue a prompt in their own words: a causal model in this process, or one behind a server."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor

from malaprop.core.ask import Prompt
from malaprop.core.errors import MalapropError, SettingError, VictimError
from malaprop.models.llm.load import KIND, read_causal
from malaprop.models.llm.remote import split_spec
from malaprop.models.llm.replies import count_usage, is_plausible, parse, read_reply
from malaprop.models.llm.template import chat_of
from malaprop.models.victims.endpoint import OPENAI_KEY_ENV, Endpoint
from malaprop.models.victims.hf import places
from malaprop.models.victims.requests import CallCost, RequestMeter, estimate_tokens

SERVED = "openai:"
_LIKELY = 50  # tokens that may be drawn, and the share of probability that they cover at most
_NUCLEUS = 0.95
_REMEMBERED = 1 << 14  # prompts whose answers are kept, some 2 kB each


class Writer(Protocol):
    """A language model that answers prompts."""

    def write(self, prompts: Sequence[Prompt]) -> list[tuple[str, ...]]:
        """Return for each prompt its answers, one for each time that it wants one."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CausalWriter:
    """A causal model of transformers. Each prompt is read by itself, so its answers do not depend on the others.

    The latest answers are kept: an attack on another victim asks for the same rewrites of the same texts.
    """

    model: Any
    tokenizer: Any
    name: str
    _kept: dict[Prompt, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @torch.inference_mode()
    def write(self, prompts: Sequence[Prompt]) -> list[tuple[str, ...]]:
        return [self._recall(prompt) for prompt in prompts]

    def _recall(self, prompt: Prompt) -> tuple[str, ...]:
        found = self._kept.pop(prompt, None)
        self._kept[prompt] = found = self._answer(prompt) if found is None else found
        while len(self._kept) > _REMEMBERED:
            del self._kept[next(iter(self._kept))]
        return found

    def _answer(self, prompt: Prompt) -> tuple[str, ...]:
        chat = chat_of(self.tokenizer)
        whole = prompt.text if chat is None else chat([{"role": "user", "content": prompt.text}])
        ids: list[int] = self.tokenizer(whole, add_special_tokens=chat is None)["input_ids"]
        room = places(self.model, self.tokenizer) - prompt.tokens
        if len(ids) > room:
            raise VictimError(f"the prompt has {len(ids)} tokens, {self.name} reads {room} and the answer; shorten it")
        count = prompt.count if prompt.heat else 1  # the likeliest answer is one alone
        rows = self._continue(torch.tensor([ids], device=self.model.device), count, prompt)
        return tuple(self.tokenizer.batch_decode(rows, skip_special_tokens=True))

    def _continue(self, ids: Int[Tensor, "1 token"], count: int, prompt: Prompt) -> list[list[int]]:
        """Draw the tokens of all answers to one prompt side by side; the prompt itself is read once."""
        generator = torch.Generator().manual_seed(prompt.seed)
        ends = _list_ends(self.model, self.tokenizer)
        rows: list[list[int]] = [[] for _ in range(count)]
        running, drawn = set(range(count)), ids[0]
        seen = self.model(input_ids=ids, use_cache=True)
        past, logits = seen.past_key_values, seen.logits[:, -1].expand(count, -1)
        past.batch_repeat_interleave(count)
        for step in range(prompt.tokens):
            if step:
                seen = self.model(input_ids=drawn[:, None].to(ids.device), past_key_values=past, use_cache=True)
                logits = seen.logits[:, -1]
            drawn = _draw(logits.float().cpu(), prompt.heat, generator)
            for row in tuple(running):
                token = int(drawn[row])
                if token in ends:
                    running.discard(row)
                else:
                    rows[row].append(token)
            if not running:
                break
        return rows


def _draw(logits: Float[Tensor, "answer word"], heat: float, generator: torch.Generator) -> Int[Tensor, " answer"]:
    """Draw a token for each answer among the likeliest; without heat take the likeliest."""
    if not heat:
        return logits.argmax(-1)
    top, which = logits.topk(min(_LIKELY, logits.shape[-1]))
    chances = (top / heat).softmax(-1)
    chances = chances.masked_fill(chances.cumsum(-1) - chances > _NUCLEUS, 0.0)
    return which.gather(-1, torch.multinomial(chances, 1, generator=generator))[:, 0]


def _list_ends(model: Any, tokenizer: Any) -> set[int]:
    """Return the tokens that end an answer."""
    stated = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    listed = stated if isinstance(stated, (list, tuple)) else [stated]
    return {int(one) for one in (*listed, tokenizer.eos_token_id) if one is not None}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RemoteWriter:
    """A chat model behind a server of OpenAI's protocol; each answer is a request, charged to the run's budget.

    Answers are kept: a request that fails later in the same round does not send the others again.
    """

    model: str
    url: str
    concurrency: int = 4
    timeout: float = 60.0
    retries: int = 4
    pause: float = 0.5
    _meter: RequestMeter = field(default_factory=RequestMeter, repr=False)
    _kept: dict[tuple[Prompt, int], str] = field(default_factory=dict, repr=False)
    _chats: Endpoint = field(init=False, repr=False)

    def __post_init__(self) -> None:
        address = f"{self.url.rstrip('/')}/chat/completions"
        chats = Endpoint(
            url=address, timeout=self.timeout, retries=self.retries, pause=self.pause, key_env=OPENAI_KEY_ENV,
            parse=parse, expects="an answer of OpenAI's protocol; the address ends in /v1 as a rule",
        )  # fmt: skip
        object.__setattr__(self, "_chats", chats)

    def write(self, prompts: Sequence[Prompt]) -> list[tuple[str, ...]]:
        counts = [prompt.count if prompt.heat else 1 for prompt in prompts]
        wanted = [(p, n) for p, count in zip(prompts, counts, strict=True) for n in range(count)]
        left = [one for one in dict.fromkeys(wanted) if one not in self._kept]
        failed: list[MalapropError] = []

        def ask(one: tuple[Prompt, int]) -> None:
            if failed:
                return
            try:
                self._kept[one] = self._ask(*one)
            except MalapropError as error:
                failed.append(error)

        with ThreadPoolExecutor(self.concurrency) as executor:
            jobs = [executor.submit(copy_context().run, ask, one) for one in left]
        for job in jobs:
            job.result()
        if failed:
            raise failed[0]
        return [
            tuple(self._kept[prompt, n] for n in range(count)) for prompt, count in zip(prompts, counts, strict=True)
        ]

    def _ask(self, prompt: Prompt, number: int) -> str:
        name = f"{self.model} at {self._chats.shown}"
        body = {
            "model": self.model, "temperature": prompt.heat, "max_tokens": prompt.tokens, "stream": False,
            "seed": prompt.seed + number, "messages": [{"role": "user", "content": prompt.text}],
        }  # fmt: skip
        cost = CallCost(self._meter, 1, (estimate_tokens(len(prompt.text)), prompt.tokens))
        answer = self._chats.post(body, cost)
        used = count_usage(answer)
        cost.settle(used if used is not None and is_plausible(used, len(prompt.text)) else None)
        return read_reply(answer, name)[0].text


def open_writer(spec: str, *, device: str = "cpu") -> Writer:
    """Open a writer by what a user types: causal:FOLDER, causal:FILE.gguf, causal:smollm2, openai:MODEL@ADDRESS."""
    kind, _, rest = spec.partition(":")
    if f"{kind}:" == SERVED:
        model, url = split_spec(rest)
        return RemoteWriter(model=model, url=url)
    if f"{kind}:" == KIND:
        model, tokenizer, _ = read_causal(rest)
        return CausalWriter(model=model.eval().to(device), tokenizer=tokenizer, name=rest)
    raise SettingError(
        f"no language model at {spec!r}: expected causal:FOLDER, causal:FILE.gguf, causal:smollm2 or "
        "openai:MODEL@http://HOST/v1"
    )
