"""What victims are asked for, and how much of it a run may ask: queries, tokens, money and minutes.

A `Meter` counts for one victim. A `Ledger` counts for a whole run, and there is one, with the driver: before every
round, or every request of a victim that pays by itself, each worker sends a `Bill` (what it is about to ask, and what
was answered since the last one) and is told its `Standing`. A `Purse` is the worker's end of that. Queries are counted
before they are asked, so no number of workers can ask more than the limit. Tokens are known afterwards: those on their
way are estimated at the mean of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import RLock
from time import monotonic
from typing import NamedTuple

from malaprop.core.errors import LimitReached

MILLION = 1_000_000
NO_LIMIT = 10**15  # tokens: they are counted, and no run reaches this


@dataclass(slots=True)
class Meter:
    """Counters of one victim in one process. They only grow, and a victim adds to them as soon as it was answered.

    `queries` are texts that it was asked about; `tokens_in` and `tokens_out` are tokens of requests and of answers, as
    the server counts them where it says so. A request that is sent twice because the first attempt failed is counted as
    often as the server charges for it.
    """

    queries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


def add_meters(meters: Iterable[Meter | None]) -> Meter | None:
    """The sum of those that are known; None where none is."""
    known = [meter for meter in meters if meter is not None]
    if not known:
        return None
    return Meter(
        queries=sum(meter.queries for meter in known),
        tokens_in=sum(meter.tokens_in for meter in known),
        tokens_out=sum(meter.tokens_out for meter in known),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a whole run may ask of its victims, and the prices of a million tokens; None: no limit."""

    queries: int | None = None
    tokens: int | None = None
    cost: float | None = None
    minutes: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0

    @property
    def priced(self) -> bool:
        return self.price_in > 0 or self.price_out > 0

    @property
    def counts_tokens(self) -> bool:
        """Whether anything here depends on tokens."""
        return self.tokens is not None or self.priced

    @property
    def bound(self) -> bool:
        """Whether a limit may end the run, and nothing is counted for its own sake alone."""
        tokens = None if self.tokens == NO_LIMIT else self.tokens
        return any(limit is not None for limit in (self.queries, tokens, self.cost, self.minutes))

    def cost_of(self, tokens_in: float, tokens_out: float) -> float:
        return (self.price_in * tokens_in + self.price_out * tokens_out) / MILLION


class Charge(NamedTuple):
    """`queries` are about to be asked; the others came about since the last bill of this worker.

    `ahead` are queries of a round that is about to begin, each of which is drawn when it is asked.
    """

    queries: int = 0
    answered: int = 0  # queries
    tokens_in: int = 0
    tokens_out: int = 0
    ended: int = 0  # examples
    ahead: int = 0  # queries


class BudgetState(NamedTuple):
    """What a worker is told: which limit its bill would exceed, if any."""

    reached: str = ""


@dataclass(slots=True, kw_only=True)
class Budget:
    """All that a run has spent, over all workers and all attempts. `reached` names the limit that refused last."""

    limits: Limits = field(default_factory=Limits)
    spent: Meter = field(default_factory=Meter)
    seconds: float = 0.0  # of earlier attempts
    ended: int = 0  # examples
    reached: str = ""
    began: float = field(default_factory=monotonic)
    tell: Callable[[], None] | None = None  # who writes it down, after each bill
    _answered: int = 0  # queries whose tokens are counted

    def __post_init__(self) -> None:
        self._answered = self.spent.queries

    @property
    def minutes(self) -> float:
        return (self.seconds + monotonic() - self.began) / 60

    @property
    def cost(self) -> float:
        return self.limits.cost_of(self.spent.tokens_in, self.spent.tokens_out)

    def draw(self, bill: Charge) -> BudgetState:
        """Takes in a bill; its queries count from now on, unless a limit forbids them."""
        self.spent.tokens_in += bill.tokens_in
        self.spent.tokens_out += bill.tokens_out
        self._answered += bill.answered
        self.ended += bill.ended
        if refused := self._exceeded(bill.queries + bill.ahead):
            self.reached = refused
        else:
            self.spent.queries += bill.queries
        if self.tell is not None:
            self.tell()
        return BudgetState(refused)

    def _uses(self, more: int) -> dict[str, tuple[float, float]]:
        """For each limit what is used of it once so many queries more are answered, and the limit."""
        limits, spent = self.limits, self.spent
        pending = spent.queries + more - self._answered
        grown = 1 + max(0, pending) / self._answered if self._answered > 0 else 1.0
        uses = {
            "--max-queries": (spent.queries + more, limits.queries),
            "--max-tokens": ((spent.tokens_in + spent.tokens_out) * grown, limits.tokens),
            "--max-cost": (self.cost * grown, limits.cost),
            "--max-minutes": (self.minutes, limits.minutes),
        }
        return {name: (used, limit) for name, (used, limit) in uses.items() if limit is not None}

    def _exceeded(self, more: int) -> str:
        found = (f"{name} {limit:g}" for name, (used, limit) in self._uses(more).items() if used > limit)
        return next(found, "")

    def read_share(self) -> float:
        """The share that is used of the limit that is nearest; 0 where there is none."""
        return max((used / limit for used, limit in self._uses(0).values()), default=0.0)


class BudgetClient:
    """A worker's end of the ledger: asks before each round. Any number of threads may draw and settle."""

    def __init__(self, send: Callable[[Charge], BudgetState], limits: Limits) -> None:
        self.limits = limits
        self._send = send
        self._open = Charge()  # what the next bill will say
        self._lock = RLock()

    def draw(self, queries: int) -> None:
        """Before so many queries are asked; raises where a limit forbids them."""
        self._ask(queries=queries)

    def look_ahead(self, queries: int) -> None:
        """Before a round of so many queries that draw one by one; raises where a limit forbids them together."""
        self._ask(ahead=queries)

    def _ask(self, *, queries: int = 0, ahead: int = 0) -> None:
        with self._lock:
            standing = self._send(self._open._replace(queries=queries, ahead=ahead))
            self._open = Charge()
        if standing.reached:
            raise LimitReached(f"{standing.reached} is reached")

    def settle(self, answered: int, tokens_in: int = 0, tokens_out: int = 0, *, now: bool = False) -> None:
        """After queries were answered; `now` tells the ledger at once, else the next bill does."""
        with self._lock:
            known = self._open
            self._open = known._replace(
                answered=known.answered + answered,
                tokens_in=known.tokens_in + tokens_in,
                tokens_out=known.tokens_out + tokens_out,
            )
            if now:
                self._hand_in()

    def _hand_in(self) -> None:
        self._send(self._open)
        self._open = Charge()

    def end(self) -> None:
        """An example has ended."""
        with self._lock:
            self._open = self._open._replace(ended=self._open.ended + 1)

    def close(self) -> None:
        """Sends what was not sent yet."""
        with self._lock:
            if self._open != Charge():
                self._hand_in()


_PAYER: ContextVar[BudgetClient | None] = ContextVar("payer", default=None)


@contextmanager
def paid_by(purse: BudgetClient | None) -> Iterator[None]:
    """What victims that are `Paying` send inside is counted with this purse."""
    token = _PAYER.set(purse)
    try:
        yield
    finally:
        _PAYER.reset(token)


def find_payer() -> BudgetClient | None:
    """The purse of `paid_by`; None where nobody counts."""
    return _PAYER.get()
