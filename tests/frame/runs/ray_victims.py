"""Victims that workers of a cluster load by name; some of them end badly."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import toy


def predict(texts: list[str]) -> list[list[float]]:
    return toy.predict(texts)


def slow(texts: list[str]) -> list[list[float]]:
    time.sleep(0.02)
    return toy.predict(texts)


def busy(texts: list[str]) -> list[list[float]]:
    """Burns two milliseconds of processor a text, as a model of some size would."""
    until = time.thread_time() + 0.002 * len(texts)
    while time.thread_time() < until:
        pass
    return toy.predict(texts)


def dies_once(texts: list[str]) -> list[list[float]]:
    """From the third call on, of all processes in this folder, the first to see it ends."""
    calls = Path("calls")
    with calls.open("a") as file:
        file.write("x")
    if calls.stat().st_size >= 3:
        try:
            Path("died").touch(exist_ok=False)
        except FileExistsError:
            return toy.predict(texts)
        os.kill(os.getpid(), signal.SIGKILL)
    return toy.predict(texts)


def poisoned(texts: list[str]) -> list[list[float]]:
    if any("poison" in text for text in texts):
        os._exit(1)
    return toy.predict(texts)


class NoMemory:
    @property
    def name(self) -> Any:
        raise MemoryError("cannot hold 40 GB")

    offers = classes = begin = finish = predict = labels = fingerprint = None


no_memory = NoMemory()


class Stillborn(NoMemory):
    @property
    def name(self) -> Any:
        os._exit(1)


stillborn = Stillborn()
