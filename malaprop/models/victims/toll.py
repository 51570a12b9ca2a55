"""Toll: what the requests of a victim behind an address cost, counted as each is sent and answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from malaprop.core.budget import Meter, find_payer

LETTERS = 4  # of a token, where nobody counts them


def estimate_tokens(letters: int) -> int:
    """Tokens of a text of so many letters, where nobody counts them."""
    return -(-letters // LETTERS)


@dataclass(slots=True, eq=False)
class Toll:
    """Counts the requests of one victim, and tells the purse of a run where there is one. Threads share it."""

    meter: Meter = field(default_factory=Meter)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def counts_tokens(self) -> bool:
        """Whether somebody wants to know tokens that have to be estimated."""
        purse = find_payer()
        return purse is not None and purse.limits.counts_tokens

    def send(self, queries: int) -> None:
        """Before a request about so many texts leaves; raises where a limit forbids it."""
        if (purse := find_payer()) is not None:
            purse.draw(queries)
        with self._lock:
            self.meter.queries += queries

    def settle(self, queries: int, tokens_in: int, tokens_out: int) -> None:
        """A request about so many texts has ended, and cost these tokens."""
        with self._lock:
            self.meter.tokens_in += tokens_in
            self.meter.tokens_out += tokens_out
        if (purse := find_payer()) is not None:
            purse.settle(queries, tokens_in, tokens_out, now=True)


@dataclass(slots=True, eq=False)
class Fare:
    """What one call costs: a request about `queries` texts, sent as often as it takes to be answered.

    `guess` are the tokens of a request and of its answer where the server does not say.
    """

    toll: Toll
    queries: int = 1
    guess: tuple[int, int] = (0, 0)
    _open: int = 0  # requests that left and are not settled

    def send(self) -> None:
        """Before each request leaves."""
        self.toll.send(self.queries)
        self._open += 1

    def lose(self, status: int | None = None) -> None:
        """What left brought no answer that can be read: it costs what is guessed, but no token where it was refused."""
        refused = status is not None and status >= 400
        self._end(self._open * [(0, 0) if refused else self.guess])

    def settle(self, used: tuple[int, int] | None = None) -> None:
        """The last request was answered and cost so much; whatever left before it was lost."""
        if self._open:
            self._end([*(self._open - 1) * [self.guess], self.guess if used is None else used])

    def _end(self, costs: Sequence[tuple[int, int]]) -> None:
        self._open = 0
        for tokens in costs:
            self.toll.settle(self.queries, *tokens)
