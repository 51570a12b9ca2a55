"""What a victim was asked for so far, by its own count: where answers cost money, tokens are what is paid for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


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
