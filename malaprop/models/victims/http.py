"""HttpVictim: a model behind an address, which answers JSON over POST. The protocol is in docs/victims-reference.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any, ClassVar

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.score import Floats
from malaprop.core.victim import ANSWERS, Fields
from malaprop.models.victims.answers import has_entries, order_scores, winners_alone
from malaprop.models.victims.endpoint import KEY_ENV, Endpoint, RefusedError
from malaprop.models.victims.requests import CallCost, RemoteVictim, RequestMeter, RequestPool, estimate_tokens
from malaprop.models.victims.strings import StringVictim

_TABLES = ("scores", "labels", "predictions")  # where an answer holds its rows
_SINGLE = (*_TABLES, "score", "label", "prediction", "probability", "probabilities")  # where it holds that of one text


@dataclass(slots=True, eq=False, kw_only=True)
class HttpVictim(RemoteVictim):
    """Scores texts at an address, `batch` in a request and up to `concurrency` requests at a time.

    With `send_as="text"` a request holds one text, and its answer is that of this text alone.

    Answers come back in the order asked, whichever request ends first. When one request of a round fails, the others'
    answers are kept, so that finding the text at fault asks nothing twice that was answered. `order` names the labels
    where the server answers with names: without it they are sorted, by number if they end in one (LABEL_2 before
    LABEL_10), else by name. `version` is yours: change it when the model behind the address changes.
    """

    url: str
    batch: int = 32
    concurrency: int = 16  # at most; how many it takes is learnt
    timeout: float = 30.0  # seconds
    retries: int = 4
    pause: float = 0.5  # seconds before the first retry; doubles
    key_env: str = KEY_ENV  # the environment variable that holds the key
    send_as: str = "texts"  # the name of the list in the request; Hugging Face servers want "inputs"; "text": no list
    order: tuple[str, ...] = ()
    version: str = ""
    unknown: str = "[UNK]"
    say: Callable[[str], None] | None = field(default=None, repr=False)
    offers: ClassVar[frozenset[Capability]] = ANSWERS
    withheld: ClassVar[str] = ""
    meter: ClassVar[None] = None
    name: str = field(init=False, repr=False)
    fingerprint: str = field(init=False, repr=False)
    _endpoint: Endpoint = field(init=False, repr=False)
    _one: StringVictim = field(init=False, repr=False)  # one request
    _all: StringVictim = field(init=False, repr=False)  # a round
    _names: tuple[str, ...] = field(default=(), init=False, repr=False)  # labels seen, in order
    _known_names: tuple[str, ...] = field(default=(), init=False, repr=False)  # labels known before the work begins
    _requests: RequestPool = field(init=False, repr=False)
    _request_meter: RequestMeter = field(default_factory=RequestMeter, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.batch < 1 or self.concurrency < 1:
            raise SettingError(f"batch and concurrency must be at least 1, got {self.batch} and {self.concurrency}")
        self._endpoint = Endpoint(
            url=self.url, timeout=self.timeout, retries=self.retries, pause=self.pause, key_env=self.key_env,
            hint=self._describe_request(),
        )  # fmt: skip
        batch = 1 if self.singly else self.batch
        self.name, self._names = self._endpoint.shown, tuple(self.order)
        self._known_names = self._names
        whole = "\x1f".join(("http", self.name, self.version, *self.order))
        self.fingerprint = blake2b(whole.encode(), digest_size=8).hexdigest()
        self._one = StringVictim(call=self._request, name=self.name, batch=batch, say=self.say, label_names=self._names)
        self._requests = RequestPool(
            ask=self._one.predict,
            begun=lambda: self.labels is not None,
            batch=batch,
            concurrency=self.concurrency,
        )
        self._all = StringVictim(call=partial(self._requests.answer, keep=True), name=self.name, batch=1 << 62)
        if self._endpoint.exposed:
            self._one.note(f"the key in {self.key_env} goes unencrypted to {self.name}; use https")

    @property
    def label_names(self) -> tuple[str, ...]:
        """Return the names in `order`, or those of the answer to `probe`: they must not change during an attack."""
        return self._known_names

    @property
    def singly(self) -> bool:
        """Return whether a request holds one text."""
        return self.send_as == "text"

    def assume(self, names: Sequence[str]) -> None:
        """Name the labels as the data does, where neither the user nor the server names them."""
        self._one.assumed = tuple(names)

    def probe(self) -> None:
        """Send one request with one word; raise, with the reason, if nothing there can answer. Scores are not judged.

        A server that names its labels tells them so before the work begins; one that wants pairs is asked once more.
        All of it takes no longer than `timeout`.
        """
        with self._endpoint.probing():
            try:
                self._learn_names(self._send(["a"]))
            except RefusedError as refused:
                if refused.status not in (400, 422, 500):  # which it may answer because it wants pairs
                    raise
                self._probe_with_a_pair(refused)

    def _probe_with_a_pair(self, refused: RefusedError) -> None:
        try:
            self._learn_names(self._send([("a", "a")]))
        except RefusedError as again:
            if refused.status == again.status == 500:
                raise RefusedError(f"{refused}, and again for a pair; {self._describe_request()}", 500) from None
        except VictimError:
            if refused.status == 500:
                raise

    def _describe_request(self) -> str:
        sent = '"..."' if self.singly else '["..."]'
        others = "#send_as=texts sends a list" if self.singly else "#send_as=inputs renames the list"
        single = "" if self.singly else ", #send_as=text sends one text a request"
        return f"it was sent {{{json.dumps(self.send_as)}: {sent}}}: check what it expects ({others}{single})"

    def _learn_names(self, answer: Any) -> None:
        with suppress(VictimError):
            self._rows(answer, 1)
            if not any(name.startswith("LABEL_") for name in self._names):  # which a library makes up
                self._known_names = self._names

    def close(self) -> None:
        self._endpoint.close()

    def _request(self, texts: Sequence[str] | Sequence[Fields]) -> Any:
        return self._rows(self._send(texts), len(texts))

    def _send(self, texts: Sequence[str] | Sequence[Fields]) -> Any:
        """Return the server's answer to these texts; an answer to a single one as if it had been sent a list.

        Each text of a request counts, and tokens are guessed where anybody wants to know them.
        """
        whole = [text if isinstance(text, str) else list(text) for text in texts]
        guess = sum(estimate_tokens(len("".join(text))) for text in texts) if self._request_meter.counts_tokens else 0
        cost = CallCost(self._request_meter, len(whole), (guess, 0))
        answer = self._endpoint.post({self.send_as: whole[0] if self.singly else whole}, cost)
        cost.settle()
        return _in_list(answer) if self.singly else answer

    def _rows(self, answer: Any, count: int) -> Any:
        """Return the table of scores in any answer that the protocol knows; StringVictim checks it further."""
        if isinstance(answer, Mapping):
            found = next((name for name in _TABLES if name in answer), None)
            if found is None:
                said = " ".join(str(answer.get("error", "")).split())[:120]
                what = f"an error ({said})" if said else f"the keys {', '.join(map(str, answer))[:80] or 'none'}"
                raise VictimError(f'{self.name} answered with {what}; expected {{"scores": [[0.1, 0.9], ...]}}')
            answer = answer[found]
        if isinstance(answer, list) and answer and isinstance(answer[0], Mapping):
            if count > 1 or len(answer) == 1:
                return self._fill(answer)
            answer = [answer]
        if has_entries(answer):
            rows, self._names = order_scores(answer, name=self.name, label_names=self._names)
            return rows
        return answer

    def _fill(self, rows: Sequence[Any]) -> Floats:
        """Return full scores from the winning label and its score alone, for servers that give one (no top_k=None)."""
        found = winners_alone(rows, name=self.name, label_names=self._names or self._one.assumed)
        if found.note:
            self._one.note(found.note)
        return found.scores


def _in_list(answer: Any) -> Any:
    """Turn an answer to one text into that to a list of one."""
    if isinstance(answer, Mapping):
        if "label" in answer and "score" in answer:
            return [answer]
        found = next((name for name in _SINGLE if name in answer), None)
        if found is None:
            return answer  # which is refused with what it holds
        answer = answer[found]
    return answer if isinstance(answer, list) and len(answer) == 1 else [answer]
