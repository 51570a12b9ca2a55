"""The command line, called in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from malaprop.cli.main import main


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs a command and gives its exit code."""

    def run(*words: Any) -> int:
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    return run
