"""Check that the measures of texts can be taken on this machine: each needs a library or a model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from shutil import which

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
