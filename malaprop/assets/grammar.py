"""How many mistakes a grammar checker finds in a text, where one is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from malaprop.core.errors import AssetError

_STYLE = frozenset({"TYPOGRAPHY", "CASING"})  # what texts of a lower-cased corpus have by the dozen


@dataclass(frozen=True, slots=True, eq=False)
class Checker:
    """LanguageTool by way of `language_tool_python`."""

    tool: Any  # of a library without types

    def mistakes(self, strings: Sequence[str]) -> list[int]:
        """For each text the number of findings, those on case and typography left out."""
        return [sum(match.category not in _STYLE for match in self.tool.check(string)) for string in strings]


def open_checker() -> Checker:
    """For American English; the library starts its own Java server on this machine."""
    try:
        library = import_module("language_tool_python")
    except ImportError:
        raise AssetError(
            "counting mistakes of grammar needs the library language_tool_python and Java; install them, or leave "
            "grammar out of --measure"
        ) from None
    try:
        return Checker(library.LanguageTool("en-US"))
    except Exception as error:  # noqa: BLE001 - it may lack Java, its own files or the network, with errors of many kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:150]
        raise AssetError(f"the grammar checker cannot be started: {reason}") from None
