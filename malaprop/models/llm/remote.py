"""OpenAiVictim: a language model behind any server that speaks OpenAI's protocol, as a classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np

from malaprop.core.budget import Meter
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.score import Floats
from malaprop.core.victim import ANSWERS, NO_LABEL, Fields, in_fields
from malaprop.models.llm.replies import count_usage, find_label, is_plausible, parse, read_reply, weigh_top
from malaprop.models.llm.template import Asking, Template, check_fields
from malaprop.models.victims.endpoint import OPENAI_KEY_ENV, Endpoint, RefusedError
from malaprop.models.victims.requests import LETTERS, CallCost, RemoteVictim, RequestMeter, RequestPool, estimate_tokens
from malaprop.models.victims.strings import StringVictim

AnswerMethod = Literal["auto", "top", "echo", "text"]
_ROADS = ("auto", "top", "echo", "text")
_TOPS = (20, 5)  # likeliest tokens that are asked for; some servers give no more than 5
_ANSWER = 16  # tokens of an answer that is read as a text
_UNLIKE = (400, 404, 405, 422, 501)  # what servers answer to a request of a kind that they do not know


@dataclass(slots=True, eq=False, kw_only=True)
class OpenAiVictim(RemoteVictim):
    """Scores by the likelihood of the labels' words where the server gives it, else by labels alone.

    `answers` says how it is read: `top` by the likeliest first tokens, `echo` by the likelihood of every token of each
    label's word (a request a label), `text` by what is written; `auto` takes the first that the server gives, asked
    once before the work begins. The last column of the scores is that of an answer that names no label.
    """

    model: str
    url: str
    asking: Asking
    answers: AnswerMethod = "auto"
    concurrency: int = 4
    timeout: float = 60.0  # seconds
    retries: int = 4
    pause: float = 0.5  # seconds before the first retry; doubles
    key_env: str = OPENAI_KEY_ENV  # the environment variable that holds the key
    version: str = ""  # yours: change it when the model behind the name changes
    unknown: str = "[UNK]"
    say: Callable[[str], None] | None = field(default=None, repr=False)
    template: Template = field(init=False, repr=False)
    _top: int = field(default=_TOPS[0], init=False, repr=False)
    _chats: Endpoint = field(init=False, repr=False)
    _completions: Endpoint = field(init=False, repr=False)
    _one: StringVictim = field(init=False, repr=False)
    _all: StringVictim = field(init=False, repr=False)
    _requests: RequestPool = field(init=False, repr=False)
    _request_meter: RequestMeter = field(default_factory=RequestMeter, init=False, repr=False)
    _answered: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.answers not in _ROADS:
            raise SettingError(f"answers is {', '.join(_ROADS)}; got {self.answers!r}")
        if self.concurrency < 1:
            raise SettingError(f"concurrency must be at least 1, got {self.concurrency}")
        if not self.model.strip():
            raise SettingError("the victim names no model; write openai:MODEL@http://host/v1")
        self.template = self.asking.template
        made: dict[str, Any] = {"timeout": self.timeout, "retries": self.retries, "pause": self.pause, "parse": parse}
        made |= {
            "key_env": self.key_env,
            "expects": "an answer of OpenAI's protocol; the address ends in /v1 as a rule",
        }
        base = self.url.rstrip("/")
        self._chats = Endpoint(url=f"{base}/chat/completions", **made)
        self._completions = Endpoint(url=f"{base}/completions", **made)
        names = self.label_names
        self._one = StringVictim(
            call=self._request, name=self.name, batch=1, say=self.say, label_names=names, labels=len(names)
        )
        self._requests = RequestPool(
            ask=self._one.predict, begun=lambda: self._answered, batch=1, concurrency=self.concurrency
        )
        self._all = StringVictim(
            call=partial(self._requests.answer, keep=True), name=self.name, batch=1 << 62, labels=len(names)
        )
        if self._chats.exposed:
            self._one.note(f"the key in {self.key_env} goes unencrypted to {self.name}; use https")

    @property
    def meter(self) -> Meter:
        return self._request_meter.meter

    @property
    def name(self) -> str:
        return f"{self.model}@{urlsplit(self.url).netloc}"

    @property
    def label_names(self) -> tuple[str, ...]:
        return (*self.asking.labels, NO_LABEL)

    @property
    def labels(self) -> int:
        return len(self.label_names)

    @property
    def offers(self) -> frozenset[Capability]:
        return ANSWERS - {Capability.SCORES} if self.answers == "text" else ANSWERS

    @property
    def withheld(self) -> str:
        return "its server gives no likelihood of tokens" if self.answers == "text" else ""

    @property
    def fingerprint(self) -> str:
        whole = "\x1f".join(("openai", self.url, self.model, self.version, self.answers, self.asking.mark))
        return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def close(self) -> None:
        self._chats.close()
        self._completions.close()

    def with_instruction(self, instruction: str) -> OpenAiVictim:
        """Return a victim of the same model under another instruction, with a meter of its own."""
        prompt = self.template.with_instruction(instruction).prompt
        return replace(self, asking=replace(self.asking, prompt=prompt))

    # --- finding out how it answers

    def probe(self) -> None:
        """Send one word in each way of answering until the server knows one, and keep to that way.

        Raises with the reason where nothing there can answer, or where the labels cannot be told apart.
        """
        sample = ("a",) * len(self.template.fields)
        for way in ("top", "echo", "text") if self.answers == "auto" else (self.answers,):
            with self._chats.probing(), self._completions.probing():
                known = self._knows(way, sample)
            if known:
                self.answers = way
                break
        else:
            raise VictimError(
                f"{self.name} gives no likelihood of tokens by {self.answers}; leave out #answers={self.answers}"
            )
        if self.answers == "text":
            self._one.note(
                f"{self.name} gives no likelihood of tokens: its answers are read as labels alone; attack it with "
                "--goal label-only"
            )

    def _knows(self, way: str, sample: Fields) -> bool:
        try:
            if way == "top":
                return self._knows_top(sample)
            if way == "echo":
                return bool(self._echo(sample)[1].any())
            self._say(sample, 0, _ANSWER)
        except RefusedError as refused:
            if refused.status == 404 and way == "text":
                raise VictimError(
                    f"{refused}; check the address and the model's name ({self.model}), which the server may not know"
                ) from None
            alive = (
                way == "echo" and self.answers == "auto"
            )  # it has answered a chat, so this request is what it fails at
            if way == "text" or not (alive or refused.status in _UNLIKE):
                raise
            return False
        return True

    def _knows_top(self, sample: Fields) -> bool:
        for self._top in _TOPS:
            try:
                reply = self._say(sample, self._top, 1)
            except RefusedError as refused:
                if refused.status in (400, 422) and self._top != _TOPS[-1]:
                    continue
                raise
            if not reply.top:
                return False
            _, shared = weigh_top(reply.top, self.template.words)
            alike = _begin_alike(self.template.words)
            if not shared and alike is None:
                return True
            if self.answers == "top":
                raise self._alike(shared)
            return False
        return False

    def _alike(self, token: str) -> SettingError:
        pair = _begin_alike(self.template.words) or tuple(
            word for word in self.template.words if word.casefold().startswith(token.strip().casefold())
        )
        return SettingError(
            f"the label words {' and '.join(map(repr, pair[:2]))} begin with one token "
            f"for {self.name}, which tells the first token alone; choose others with --label-words"
        )

    # --- asking

    def _request(self, texts: Sequence[str] | Sequence[Fields]) -> Floats:
        rows = in_fields(texts)
        check_fields(self.template, rows, self.name)
        out = np.zeros((len(rows), self.labels), np.float32)
        for at, text in enumerate(rows):
            found = self._scores(text)
            out[at] = (*found, 0.0) if found is not None else (*[0.0] * (self.labels - 1), 1.0)
            self._answered = True
        return out

    def _scores(self, text: Fields) -> Floats | None:
        """Return the probabilities of the labels; None for an answer that names none of them."""
        words = self.template.words
        if self.answers == "echo":
            _, likely = self._echo(text)
            raised = np.exp(likely - likely.max())
            return np.asarray(raised / raised.sum(), np.float32)
        if self.answers == "top":
            reply = self._say(text, self._top, 1)
            if reply.top:
                found, shared = weigh_top(reply.top, words)
                if shared and found is None:
                    raise self._alike(shared)
                return found
        reply = self._say(text, 0, _ANSWER)
        label = find_label(reply.text, words)
        return None if label is None else np.eye(len(words), dtype=np.float32)[label]

    def _say(self, text: Fields, top: int, most: int) -> Any:
        """Return the first choice of an answer of at most so many tokens."""
        body: dict[str, Any] = {"model": self.model, "temperature": 0, "max_tokens": most, "stream": False}
        if self.asking.chat == "no":
            prompt = self.template.frame().fill(text)
            answer = self._post(self._completions, {**body, "prompt": prompt, **({"logprobs": top} if top else {})})
        else:
            more = {"logprobs": True, "top_logprobs": top} if top else {}
            answer = self._post(self._chats, {**body, "messages": self.template.messages(text), **more})
        return read_reply(answer, self.name)[0]

    def _echo(self, text: Fields) -> tuple[str, Floats]:
        """Return the echoed answer and the log-probability of each label's word, all its tokens, behind the prompt."""
        frame = self.template.frame()
        prompt, out = frame.fill(text), []
        for word in self.template.words:
            body = {"model": self.model, "prompt": prompt + frame.space + word, "max_tokens": 0, "temperature": 0}
            answer = self._post(self._completions, {**body, "echo": True, "logprobs": 1, "stream": False})
            echo = read_reply(answer, self.name)[0].echo
            mine = [value for place, value in echo if place >= len(prompt)]
            if not mine:
                return prompt, np.zeros(0, np.float32)
            out.append(sum(mine))
        return prompt, np.asarray(out, np.float32)

    def _post(self, endpoint: Endpoint, body: dict[str, Any]) -> Any:
        asked = str(body.get("prompt") or "".join(message["content"] for message in body["messages"]))
        cost = CallCost(self._request_meter, 1, (estimate_tokens(len(asked)), int(body["max_tokens"])))
        answer = endpoint.post(body, cost)
        if isinstance(answer, Mapping) and answer.get("streamed"):
            self._one.note(f"{self.name} streams though the request says not to; the parts are put together")
        used, guessed = count_usage(answer), f"those in the totals are estimates, {LETTERS} characters each"
        if used is None:
            self._one.note(f"{self.name} does not count tokens; {guessed}")
        elif not is_plausible(used, len(asked)):
            self._one.note(
                f"{self.name} gives counts of tokens that are not believed, as no text has so many; {guessed}"
            )
            used = None
        cost.settle(used)
        return answer


def _begin_alike(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return two words that begin with the same word, so that their first token is surely the same; else None."""
    first: dict[str, str] = {}
    for word in words:
        begin = word.casefold().split()[0]
        if begin in first:
            return first[begin], word
        first[begin] = word
    return None


def split_spec(spec: str) -> tuple[str, str]:
    """Return model and address of MODEL@http://host/v1."""
    model, mark, url = spec.rpartition("@")
    if not mark or not model or not url.lower().startswith(("http://", "https://")):
        raise SettingError(f"a model behind a server is written openai:MODEL@http://host/v1, got openai:{spec[:60]}")
    return model, url
