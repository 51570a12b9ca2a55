"""Count grammar mistakes with LanguageTool or Harper, whichever is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from malaprop.core.errors import AssetError

# What texts of a lower-cased corpus with spaces before its stops have by the dozen, as each checker calls it.
_STYLE = frozenset({"TYPOGRAPHY", "CASING", "Capitalization", "Formatting", "Punctuation"})


class GrammarChecker(Protocol):
    """Counts the mistakes in texts; case and typography do not count."""

    def mistakes(self, strings: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Checker:
    """LanguageTool by way of `language_tool_python`."""

    tool: Any  # of a library without types

    def mistakes(self, strings: Sequence[str]) -> list[int]:
        return [sum(match.category not in _STYLE for match in self.tool.check(string)) for string in strings]


@dataclass(frozen=True, slots=True, eq=False)
class Harper:
    """Harper by way of `harper-py`: no Java and no server, and fewer rules than LanguageTool has."""

    linter: Any  # of a library that may not be there

    def mistakes(self, strings: Sequence[str]) -> list[int]:
        return [sum(found.lint_kind not in _STYLE for found in self.linter.lint(string)) for string in strings]


def open_checker() -> GrammarChecker:
    """Open a checker for American English: LanguageTool where installed, which starts a Java server, else Harper."""
    try:
        library = import_module("language_tool_python")
    except ImportError:
        return _open_harper()
    try:
        return Checker(library.LanguageTool("en-US"))
    except Exception as error:  # noqa: BLE001 - it may lack Java, its own files or the network, with errors of many kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:150]
        raise AssetError(f"the grammar checker cannot be started: {reason}") from None


def _open_harper() -> Harper:
    try:
        return Harper(import_module("harper").Linter())
    except ImportError:
        raise AssetError(
            "counting mistakes of grammar needs the library harper-py, or language_tool_python and Java; install one, "
            "or leave grammar out of --measure"
        ) from None
