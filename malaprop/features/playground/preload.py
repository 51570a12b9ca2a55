"""Loads what the first visitor would wait for: models, lexicons, the tagger."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from malaprop.core.errors import MalapropError
from malaprop.core.example import Example
from malaprop.features.playground.error_messages import log
from malaprop.features.playground.jobs import attack_on, importance_of, scores_of
from malaprop.features.playground.victim_thread import VictimThread
from malaprop.features.playground.victims import FIRST, PlaygroundVictims

SECONDS = 120.0  # for each piece of work; a victim that takes longer is warm enough


def warm_up(room: PlaygroundVictims) -> None:
    """A moment's work for every desk. What fails is noted, and met again by who asks for it."""
    for desk in room.desks:
        for future in _work(room, desk):
            try:
                future.result(SECONDS)
            except (MalapropError, TimeoutError) as error:
                log.warning("%s is not ready: %s", desk.name, error)


def _work(room: PlaygroundVictims, desk: VictimThread) -> list[Future[Any]]:
    fields = dict.fromkeys(room.fields, "a warm and funny film")
    out: list[Future[Any]] = [desk.submit(scores_of(fields)).future]
    try:
        out.append(desk.submit(importance_of(desk, fields, None, room.substitutes)).future)
        for label in (0, 1):  # one of them is what the victim says
            example = Example(f"warm-up-{label}", fields, label)
            out.append(desk.submit(attack_on(desk, room.recipes[FIRST].attack, example, 0)).future)
    except MalapropError as error:
        log.warning("%s is not ready: %s", desk.name, error)
    return out
