"""Check that the measures of texts can be taken on this machine; count mistakes with an installed grammar checker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from shutil import which
from typing import Any, Protocol

from malaprop.core.errors import AssetError

JUDGE_ASSETS = ("entailment", "wordnet")  # what the packaged judge of meaning reads
_LIBRARIES = {"perplexity": ("transformers", "gguf")}


def check_measures(names: Sequence[str], *, encoder: str = "minilm") -> None:
    """Raise on the first measure that cannot be taken; fetch a model that is missing."""
    for name in names:
        if why := why_not(name, encoder=encoder):
            raise AssetError(f"{why}; leave {name} out of --measure, or provide it")


def why_not(measure: str, *, encoder: str = "minilm") -> str:
    """Say in one line what a measure lacks, empty where it can be taken; load nothing."""
    from malaprop.assets import store

    if missing := [name for name in _LIBRARIES.get(measure, ()) if find_spec(name) is None]:
        return f"{measure} needs the library {' and '.join(missing)}"
    if measure == "grammar":
        return _why_no_grammar()
    models = {"similarity": encoder, "perplexity": "smollm2"}
    try:
        if measure in models:
            store.locate(models[measure])
    except AssetError as error:
        return f"{measure} cannot be taken: {error}"
    return ""


def why_no_judge(name: str = "", *, fetch: bool = False) -> str:
    """Say in one line why the judge of meaning cannot be asked, empty where it can; any other judge is let pass."""
    from malaprop.assets import store

    if name:
        return ""
    if missing := [library for library in ("torch", "transformers") if find_spec(library) is None]:
        return f"the judge of meaning needs the library {' and '.join(missing)}: pip install malaprop[hf]"
    try:
        for asset in JUDGE_ASSETS:
            store.locate(asset, fetch=fetch)
    except AssetError as error:
        return f"the judge of meaning cannot be asked: {error}"
    return ""


def _why_no_grammar() -> str:
    """Say what grammar lacks: LanguageTool, which needs Java, comes first, as in `open_checker`."""
    if find_spec("language_tool_python") is not None:
        return "" if which("java") is not None else "grammar needs Java, which runs the checker"
    return "" if find_spec("harper") is not None else "grammar needs the library harper-py or language_tool_python"


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
