"""Services as the playground uses them: one thread at a time, and silent about what went wrong inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any

from malaprop.core.victim import Victim
from malaprop.engine.service import Service
from malaprop.features.playground.error_messages import ShownError, describe_error
from malaprop.frame.runs.services import services as make_services

_shared = Lock()  # the tagger and the encoder serve every victim of the process


class LockedService:
    """A service whose errors are clear words, so that none of them ends the work of other clients."""

    def __init__(self, service: Service, victim: str, lock: Lock | None) -> None:
        self.service, self.victim = service, victim
        self.lock: AbstractContextManager[object] = nullcontext() if lock is None else lock

    def begin(self, asks: Sequence[Sequence[Any]]) -> Any:
        try:
            with self.lock:
                return self.service.begin(asks)
        except Exception as error:  # noqa: BLE001 - a victim may raise anything
            raise ShownError(describe_error(error, self.victim)) from None

    def finish(self, pending: Any) -> list[list[Any]]:
        try:
            with self.lock:
                return self.service.finish(pending)
        except Exception as error:  # noqa: BLE001 - a victim may raise anything
            raise ShownError(describe_error(error, self.victim)) from None


def lock_services(victim: Victim, name: str) -> tuple[Service, Mapping[str, Service]]:
    """The service that scores for this victim, which keeps the counts, and all services as an engine may ask them."""
    known = make_services(victim)
    own = ("victim", "verify")
    made = {key: LockedService(service, name, None if key in own else _shared) for key, service in known.items()}
    return known["victim"], made
