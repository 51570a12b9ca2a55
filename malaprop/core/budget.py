"""The budget of a run: the queries, tokens, money and minutes that it has used and may use.

A `Meter` counts for one victim. A `Budget` counts for a whole run; the driver holds the only one. Before every round,
or before every request of a victim that counts its own requests, each worker sends a `Charge` (the queries that it is
about to send, and the answers since its last charge) and receives a `BudgetState`. A `BudgetClient` is the worker's end
of that exchange. Queries are counted before they are sent, so no number of workers can exceed the limit. Tokens are
known only afterwards: those of requests under way are estimated at the mean of the others.
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
    """Counters of one victim in one process. They only grow; a victim updates them with each answer.

    `queries` are the texts that it was queried with; `tokens_in` and `tokens_out` are the tokens of requests and of
    answers, as counted by the server where it reports them. A request that is sent twice because the first attempt
    failed is counted as often as the server charges for it.
    """

    queries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


def add_meters(meters: Iterable[Meter | None]) -> Meter | None:
    """Sum the meters that are not None; None where all are."""
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
    """The limits of a whole run, over all its victims, and the prices of a million tokens; None means no limit."""

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
        """Whether some limit may end the run; `NO_LIMIT` tokens are only counted."""
        tokens = None if self.tokens == NO_LIMIT else self.tokens
        return any(limit is not None for limit in (self.queries, tokens, self.cost, self.minutes))

    def cost_of(self, tokens_in: float, tokens_out: float) -> float:
        return (self.price_in * tokens_in + self.price_out * tokens_out) / MILLION


class Charge(NamedTuple):
    """What a worker reports to the budget: `queries` are about to be sent, the other counts date from its last charge.

    `ahead` are the queries of a round that is about to begin, each of which is charged when it is sent.
    """

    queries: int = 0
    answered: int = 0  # queries
    tokens_in: int = 0
    tokens_out: int = 0
    ended: int = 0  # examples
    ahead: int = 0  # queries


class BudgetState(NamedTuple):
    """The answer to a charge: the limit that the charge would exceed, empty where it exceeds none."""

    reached: str = ""


@dataclass(slots=True, kw_only=True)
class Budget:
    """The spending of a run, over all workers and attempts. `reached` names the limit that refused a charge last."""

    limits: Limits = field(default_factory=Limits)
    spent: Meter = field(default_factory=Meter)
    seconds: float = 0.0  # of earlier attempts
    ended: int = 0  # examples
    reached: str = ""
    began: float = field(default_factory=monotonic)
    tell: Callable[[], None] | None = None  # called after each charge, to save the state
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
        """Add a charge; its queries count from now on, unless a limit forbids them."""
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
        """Return, by limit, the amount used once `more` further queries are answered, and the limit itself."""
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
        """Return the used share of the limit that is nearest to its end; 0 without limits."""
        return max((used / limit for used, limit in self._uses(0).values()), default=0.0)


class BudgetClient:
    """A worker's end of the budget: asks for leave before each round. Safe to use from several threads."""

    def __init__(self, send: Callable[[Charge], BudgetState], limits: Limits) -> None:
        self.limits = limits
        self._send = send
        self._open = Charge()  # the next charge
        self._lock = RLock()

    def draw(self, queries: int) -> None:
        """Charge this many queries before they are sent; raise `LimitReached` where a limit forbids them."""
        self._ask(queries=queries)

    def look_ahead(self, queries: int) -> None:
        """Check a round whose queries are charged one by one; raise where a limit forbids them together."""
        self._ask(ahead=queries)

    def _ask(self, *, queries: int = 0, ahead: int = 0) -> None:
        with self._lock:
            state = self._send(self._open._replace(queries=queries, ahead=ahead))
            self._open = Charge()
        if state.reached:
            raise LimitReached(f"{state.reached} is reached")

    def settle(self, answered: int, tokens_in: int = 0, tokens_out: int = 0, *, now: bool = False) -> None:
        """Record answered queries; the next charge reports them, or with `now` one that is sent at once."""
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
        """Record that an attack on an example has ended."""
        with self._lock:
            self._open = self._open._replace(ended=self._open.ended + 1)

    def close(self) -> None:
        """Send the last charge, if it holds anything."""
        with self._lock:
            if self._open != Charge():
                self._hand_in()


_PAYER: ContextVar[BudgetClient | None] = ContextVar("payer", default=None)


@contextmanager
def charge_to(purse: BudgetClient | None) -> Iterator[None]:
    """Charge this budget with the requests that `Paying` victims send inside the block."""
    token = _PAYER.set(purse)
    try:
        yield
    finally:
        _PAYER.reset(token)


def find_budget() -> BudgetClient | None:
    """Return the budget that `charge_to` has set; None outside of such a block."""
    return _PAYER.get()
