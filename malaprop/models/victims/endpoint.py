"""Endpoint: JSON over POST with kept connections, time-outs, retries, and a key that nothing shows."""

from __future__ import annotations

import json
import os
import re
import selectors
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead, responses
from random import uniform
from time import monotonic, sleep
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urljoin, urlsplit
from weakref import finalize

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.secrets import scrub, scrub_within
from malaprop.models.victims.requests import CallCost, RequestMeter, Throttle

KEY_ENV = "MALAPROP_KEY"
OPENAI_KEY_ENV = "OPENAI_API_KEY"  # by custom; a server of one's own wants none
_SECRET = re.compile(r"(?:^|[_-])(?:api)?(?:key|token|secret|pass(?:word|wd)?|pwd|sig|signature|auth|code)$", re.I)
# A server that sends header and body apart waits 40 ms for our sign in between, unless we give it at once (Linux).
_QUICK: int | None = getattr(socket, "TCP_QUICKACK", None)
_POLL: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)  # one system call
_REDIRECTS = (301, 302, 307, 308)
_HOPS = 3
_PART = re.compile(r"[a-zA-Z.+-]{0,8}")  # of a number or a word of JSON
_LARGEST = 1 << 26  # bytes of an answer
_LONGEST = 60.0  # seconds that a pause may last, whatever the server wishes
_PATIENCE = 16  # calls in a row that may fail for good; finding one bad text in 256 takes ten
_REST = 30.0  # seconds without a call after that
_HINTS = {
    401: "put the key into the environment variable {key}",
    403: "check that the key in the environment variable {key} may use this address",
    404: "check the path of the address",
    405: "the path must take POST",
    413: "lower `batch`",
}


class RefusedError(VictimError):
    """The server answered with an error status."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class _Again(Exception):  # noqa: N818 - a reason to try again
    """A failure that another try may cure; `wait` is the least pause, in seconds.

    Without a status the server was not reached at all.
    """

    def __init__(self, reason: str, status: int | None = None, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.status, self.wait = status, wait


class _Line(HTTPConnection):
    """A connection that sends header and body together: one system call here, and one awakening of the server."""

    _held: list[Any] | None = None

    def request(self, *request: Any, **more: Any) -> None:
        self._held = []
        try:
            super().request(*request, **more)
            held, self._held = self._held, None
            super().send(b"".join(held))
        finally:
            self._held = None

    def send(self, data: Any) -> None:
        if self._held is None:
            super().send(data)
        else:
            self._held.append(data)


class _SecureLine(_Line, HTTPSConnection):
    pass


def split_address(url: str, key_env: str = KEY_ENV) -> SplitResult:
    """Return the parts of an address; raise where it holds a secret, as records would show it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SettingError("the victim's address has no valid host or port; write http://host:port/path") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise SettingError(f"a victim's address is written http://host:port/path, got {parts.scheme or 'none'}://...")
    if parts.username is not None or parts.password is not None:
        raise SettingError(f"the victim's address holds a user or password; put the key into {key_env} instead")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if _SECRET.search(name):
            raise SettingError(f"the victim's address holds a secret ({name}=); put the key into {key_env} instead")
    return parts


def in_line(data: bytes, most: int = 120, secrets: Sequence[str] = ()) -> str:
    """Return the beginning of an answer as a message can show it: its title where it is HTML, and no secret."""
    text = data[:4096].decode("utf-8", "replace")
    if is_html(data):
        title = re.search(r"<title[^>]*>(.*?)</title", text, re.I | re.S)
        text = title[1] if title else ""
    shown = " ".join("".join(c if c.isprintable() else " " for c in scrub(text, secrets)).split())
    return shown if len(shown) <= most else shown[: most - 3] + "..."


def is_html(data: bytes) -> bool:
    return data[:512].lstrip()[:1] == b"<"


@dataclass(slots=True, weakref_slot=True, eq=False, kw_only=True)
class Endpoint:
    """One address that accepts POST; any number of threads may call it.

    Tried again, after a pause that doubles and is drawn a little shorter or longer: refused and lost connections,
    time-outs, answers that end too early, and status 408, 425, 429 and 5xx. A pause changes times alone, never an
    answer. Once a call could not reach the server at all, the next ones try once until one succeeds; after 16 failures
    in a row it is left alone for 30 seconds at a time. How many requests it gets at a time is learnt (`Throttle`).
    Redirects are followed on the same host alone, so the key goes nowhere else.
    """

    url: str
    timeout: float = 30.0
    retries: int = 4
    pause: float = 0.5
    key_env: str = KEY_ENV
    parse: Callable[[bytes], Any] = json.loads  # of an answer's body
    expects: str = 'JSON such as {"scores": [[0.1, 0.9]]}'
    hint: str = "check what the server expects"  # where it refuses what it is sent
    shown: str = field(init=False)
    _parts: SplitResult = field(init=False, repr=False)
    _idle: deque[HTTPConnection] = field(default_factory=deque, init=False, repr=False)
    _lost: int = field(default=0, init=False, repr=False)  # calls in a row that failed for good
    _last: tuple[float, str] = field(default=(0.0, ""), init=False, repr=False)
    _out_of_reach: bool = field(default=False, init=False, repr=False)
    _throttle: Throttle = field(default_factory=Throttle, init=False, repr=False)
    _until: float | None = field(default=None, init=False, repr=False)  # the end of a probe

    def __post_init__(self) -> None:
        if self.timeout <= 0 or self.retries < 0 or self.pause < 0:
            raise SettingError(
                f"timeout must be over 0, retries and pause at least 0, got {self.timeout:g}, {self.retries} and "
                f"{self.pause:g}"
            )
        self._parts = split_address(self.url, self.key_env)
        if (key := os.environ.get(self.key_env, "").strip()) and key in unquote(self.url):
            raise SettingError(f"the victim's address holds the key that is in {self.key_env}; leave it out there")
        self.shown = self._parts._replace(fragment="").geturl()
        finalize(self, _let_go, self._idle)

    @property
    def exposed(self) -> bool:
        """Return whether a key would travel over the net unencrypted."""
        here = self._parts.hostname in ("localhost", "::1") or str(self._parts.hostname).startswith("127.")
        return self._parts.scheme == "http" and not here and bool(os.environ.get(self.key_env, "").strip())

    def key(self) -> str:
        """Return the key, read again for each call; empty where the usual variable is not set."""
        key = os.environ.get(self.key_env, "").strip()
        if not key and self.key_env not in (KEY_ENV, OPENAI_KEY_ENV):
            raise SettingError(f"the environment variable {self.key_env} should hold the key, but is not set")
        if not (key.isascii() and key.isprintable()):
            raise SettingError(f"the environment variable {self.key_env} holds characters that no key can have")
        return key

    @contextmanager
    def probing(self) -> Iterator[None]:
        """Within the block, all requests together end after `timeout` seconds, and each is tried again at most once."""
        self._until = monotonic() + self.timeout
        try:
            yield
        finally:
            self._until = None

    def post(self, value: Any, cost: CallCost | None = None) -> Any:
        """Return the server's answer, read as JSON; `cost` counts each request sent, and the caller settles it."""
        cost = CallCost(RequestMeter()) if cost is None else cost
        body, key = json.dumps(value).encode(), self.key()
        since, reason = self._last
        if self._lost >= _PATIENCE and monotonic() - since < _REST:
            raise VictimError(f"{reason}; left alone for a while after {self._lost} failures in a row")
        for attempt in range(self.retries + 1):
            try:
                with self._throttle.turn():
                    sent = self._send(body, key, cost)
                answer = self._read_answer(*sent, key)
            except _Again as again:
                cost.lose(again.status)
                if again.status == 429 or (again.status == 503 and again.wait):
                    self._throttle.fall(min(_LONGEST, max(again.wait, self.pause)))
                doubled = self.pause * 2**attempt * uniform(0.75, 1.25)
                wait = min(_LONGEST, max(again.wait, doubled))
                if attempt == self.retries or not self._worth_another(again, attempt, wait):
                    raise self._given_up(again, attempt + 1) from None
                sleep(wait)
            except VictimError as error:  # it answers, if badly
                cost.lose(getattr(error, "status", None))
                self._lost, self._out_of_reach = 0, False
                raise
            else:
                self._lost, self._out_of_reach = 0, False
                self._throttle.rise()
                return answer
        raise AssertionError("the last attempt returns or raises")

    def _worth_another(self, again: _Again, attempt: int, wait: float) -> bool:
        """Return whether to send a failed request again after this pause."""
        if self._until is None:
            return not (self._out_of_reach and again.status is None)
        return attempt == 0 and monotonic() + wait < self._until

    def _time_left(self) -> float:
        """Return the seconds that a connection or an answer may take."""
        left = self.timeout if self._until is None else min(self.timeout, self._until - monotonic())
        return max(left, 0.001)  # a socket without time would not wait at all, which is another mode

    def _given_up(self, again: _Again, attempts: int) -> VictimError:
        reason = f"{self.shown} {again} ({attempts} attempt{'s' * (attempts > 1)})"
        self._lost += 1
        self._last = monotonic(), reason
        self._out_of_reach = again.status is None
        return VictimError(reason) if again.status is None else RefusedError(reason, again.status)

    def _send(self, body: bytes, key: str, cost: CallCost) -> tuple[int, str, bytes]:
        """Send the request, follow redirects, and return status, Retry-After and body of the answer."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "malaprop"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        parts = self._parts
        for _ in range(_HOPS):
            target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (f"?{parts.query}" if parts.query else "")
            status, response, data = self._exchange(target, body, headers, cost)
            location = response.getheader("Location")
            if status not in _REDIRECTS or location is None:
                return status, response.getheader("Retry-After", ""), data
            parts = self._follow(parts, location, status, key)
        raise VictimError(f"{self.shown} redirects more than {_HOPS} times; give the address it should end at")

    def _follow(self, here: SplitResult, location: str, status: int, key: str) -> SplitResult:
        """Return the address of a redirect; raise where it leads to another host."""
        try:
            there = urlsplit(urljoin(here.geturl(), location))
        except ValueError:
            raise VictimError(
                f"{self.shown} answered {status} and redirects to something that is not an address"
            ) from None
        if (there.scheme, there.netloc) != (here.scheme, here.netloc):
            place = scrub(f"{there.scheme}://{there.hostname or 'nowhere'}", [key])[:120]
            raise VictimError(
                f"{self.shown} answered {status} and redirects to another place ({place}), which is "
                "not followed; give that address if you trust it"
            )
        return there

    def _exchange(
        self, target: str, body: bytes, headers: dict[str, str], cost: CallCost
    ) -> tuple[int, HTTPResponse, bytes]:
        if (kept := self._taken()) is not None:
            try:
                return self._on(kept, target, body, headers, cost)
            except (ConnectionError, HTTPException):
                pass  # the server had closed it meanwhile, which is no fault of this call
        try:
            return self._on(self._opened(), target, body, headers, cost)
        except (ConnectionError, HTTPException):
            raise _Again("closes the connection without an answer") from None

    def _on(
        self, line: HTTPConnection, target: str, body: bytes, headers: dict[str, str], cost: CallCost
    ) -> tuple[int, HTTPResponse, bytes]:
        done = False
        line.timeout = self._time_left()
        if line.sock is not None:
            line.sock.settimeout(line.timeout)
        try:
            if line.sock is None:
                line.connect()  # what reaches nobody costs nothing
            cost.send()
            line.request("POST", target, body, headers)
            if _QUICK is not None:  # holds for one answer
                line.sock.setsockopt(socket.IPPROTO_TCP, _QUICK, 1)
            response = line.getresponse()
            data = self._read(response)
            done = not response.will_close
            return response.status, response, data
        except TimeoutError:
            raise _Again(f"did not answer within {self.timeout:g} s") from None
        except ConnectionRefusedError:
            raise _Again("refuses connections; start the server or check the address") from None
        except socket.gaierror:
            raise _Again(f"cannot be found: no host is called {self._parts.hostname}") from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or error.reason or "unknown reason"
            raise VictimError(f"{self.shown} cannot be reached over TLS: {reason}") from None
        except (ConnectionError, HTTPException):
            raise
        except OSError as error:
            raise _Again(f"cannot be reached: {error.strerror or error}") from None
        finally:
            if done:
                self._idle.append(line)
            else:
                line.close()

    def _taken(self) -> HTTPConnection | None:
        """Take a kept connection that the server has not closed: a request sent into a closed one is lost."""
        while True:
            try:
                line = self._idle.pop()
            except IndexError:
                return None
            if line.sock is not None and not _is_readable(line.sock):
                return line
            line.close()

    def _opened(self) -> HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return _SecureLine(host, port, timeout=self.timeout, context=ssl.create_default_context())
        return _Line(host, port, timeout=self.timeout)

    def _read(self, response: HTTPResponse) -> bytes:
        """Return the whole body; raise where it comes too slowly, even drop by drop, or is too large."""
        end, parts, size = monotonic() + self._time_left(), [], 0
        while part := response.read1(1 << 16):
            parts.append(part)
            size += len(part)
            if monotonic() > end:
                raise TimeoutError
            if size > _LARGEST:
                raise VictimError(f"{self.shown} answered with over {_LARGEST >> 20} MiB; expected scores alone")
        if response.length:
            raise IncompleteRead(b"", response.length)
        response.close()  # read1 leaves it open at its end, and the connection would take no other request
        return b"".join(parts)

    def _read_answer(self, status: int, wish: str, data: bytes, key: str) -> Any:
        """Return the value in an answer, or raise the error that it is, without any key that the server repeats."""
        if not 200 <= status < 300:
            said = in_line(data, secrets=[key])
            line = f"answered {status} {responses.get(status, '')}".rstrip() + (f" ({said})" if said else "")
            if status in (408, 425, 429) or status >= 500:
                raise _Again(line, status, float(wish) if wish.isdecimal() else 0.0)
            hint = _HINTS.get(status, self.hint).replace("{key}", self.key_env)
            raise RefusedError(f"{self.shown} {line}; {hint}", status)
        try:
            return scrub_within(self.parse(data), [key])
        except (ValueError, RecursionError) as error:
            said = in_line(data, secrets=[key])
            if isinstance(error, json.JSONDecodeError) and _ends_early(error):
                raise _Again(f"answered with JSON that ends too early ({said})", status) from None
            kind = "HTML" if is_html(data) else "what is not JSON" if data.strip() else "an empty body"
            raise VictimError(
                f"{self.shown} answered with {kind}{f' ({said})' if said else ''}; expected {self.expects}"
            ) from None

    def close(self) -> None:
        """Close the kept connections; the next call opens new ones."""
        _let_go(self._idle)


def _ends_early(error: json.JSONDecodeError) -> bool:
    """Return whether JSON began well and was cut: its only fault is that it ends."""
    begins, rest = error.doc.lstrip()[:1] in ("{", "["), error.doc[error.pos :].strip()
    return begins and (error.msg.startswith("Unterminated string") or bool(_PART.fullmatch(rest)))


def _is_readable(sock: socket.socket) -> bool:
    """Return whether an idle connection has something to read, as a rule its end.

    TLS brings tickets meanwhile, so of it nothing is known.
    """
    if isinstance(sock, ssl.SSLSocket):
        return False
    with _POLL() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _let_go(idle: deque[HTTPConnection]) -> None:
    while idle:
        idle.pop().close()
