"""Build OpenAttack's own recipes, with our resources in place of its downloads.

Run by the peer's Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from malaprop_bench.nltk_data import read_wordnets
from malaprop_bench.roster import OPENATTACK, find

Rows = Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The resources of a recipe: the victim's token for unknown words, our stop words, our masked language model."""

    unknown: str
    stop_words: Sequence[str] | None = None
    masked_lm: Path | None = None

    @property
    def shared(self) -> dict[str, Any]:
        return {"filter_words": None if self.stop_words is None else list(self.stop_words)}


def build_recipe(recipe: str, given: Given, victim: Any = None, rows: Rows = ()) -> Any:
    """Build the recipe by its name in `roster`, with the thresholds of the other sides."""
    entry = find(OPENATTACK, recipe)
    assert entry is not None
    kind = getattr(import_module("OpenAttack").attackers, entry.theirs)
    if recipe == "trigger":
        return kind(triggers=_triggers(kind, victim, rows), lang="english")
    return kind(**SETTINGS[recipe](given))


def _substitutes() -> Any:
    return import_module("OpenAttack.attack_assist.substitute").word


def _synonyms(given: Given) -> dict[str, Any]:
    return {"substitute": _substitutes().WordNetSubstitute(), **given.shared}


def _near(k: int, threshold: float) -> Any:
    """Return a word and its k - 1 nearest in our counter-fitted vectors."""
    return _substitutes().CounterFittedSubstitute(cosine=True, k=k, threshold=threshold)


def _textfooler(given: Given) -> dict[str, Any]:
    module: Any = import_module("OpenAttack.attackers.textfooler")
    module.UniversalSentenceEncoder = no_encoder()
    return {"substitute": _near(51, 0.5), "token_unk": given.unknown, **given.shared}


def _masked(given: Given) -> dict[str, Any]:
    return {"mlm_path": str(given.masked_lm), **given.shared}


def _chinese(given: Given, *, cilin: bool = False) -> dict[str, Any]:
    """Return the settings of Chinese attacks: OpenAttack's own cutting by jieba, and its synonyms or those of Cilin."""
    words = _substitutes()
    read_wordnets()
    return {
        "substitute": words.ChineseCiLinSubstitute() if cilin else words.ChineseWordNetSubstitute(),
        "lang": "chinese",
        **given.shared,
    }


def _chinese_textfooler(given: Given) -> dict[str, Any]:
    module: Any = import_module("OpenAttack.attackers.textfooler")
    module.UniversalSentenceEncoder = no_encoder()
    return {**_chinese(given), "token_unk": given.unknown}


SETTINGS: dict[str, Callable[[Given], dict[str, Any]]] = {
    "pwws": lambda given: {**_synonyms(given), "token_unk": given.unknown},
    "textfooler": _textfooler,
    "genetic": lambda given: {
        "pop_size": 60,
        "max_iters": 20,
        "substitute": _near(9, 0.25),  # a squared distance of 0.5
        **given.shared,
    },
    "deepwordbug": lambda given: {"token_unk": given.unknown},
    "bae": lambda given: {**_masked(given), "sentence_encoder": encoder()},
    "bert-attack": _masked,
    "pso": _synonyms,
    "chinese-pwws": lambda given: {**_chinese(given), "token_unk": given.unknown},
    "chinese-pwws-cilin": lambda given: {**_chinese(given, cilin=True), "token_unk": given.unknown},
    "chinese-textfooler": _chinese_textfooler,
    "chinese-pso": _chinese,
    "textbugger": lambda given: {"substitute": _near(6, 0.5), **given.shared},
    "viper": lambda _: {},
    "fd": lambda given: {**_synonyms(given), "token_unk": "<unk>"},  # looked up in the victim's own vocabulary
    "hotflip": _synonyms,
}


def _triggers(kind: Any, victim: Any, rows: Rows) -> list[str]:
    """Find one prefix for all rows before the clock starts, as the tool does."""
    tokenizer = import_module("OpenAttack.text_process.tokenizer").PunctTokenizer()
    texts: dict[str, list[Any]] = {"x": [text for text, _ in rows], "y": [label for _, label in rows]}
    found: list[str] = kind.get_triggers(victim, Columns(texts), tokenizer, epoch=2, lang="english")
    return found


class Columns:
    """Rows as a table of columns; a slice is a table too."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns["x"])

    def __getitem__(self, part: slice) -> dict[str, list[Any]]:
        return {name: values[part] for name, values in self.columns.items()}


def encoder() -> Any:
    """Return our sentence encoder, computed by the transformers library, in OpenAttack's form."""
    from malaprop.assets import store
    from malaprop.models.encoders.encoder import SentenceEncoder

    ours = SentenceEncoder(store.locate("minilm"), fast=False)

    class Cosine(no_encoder()):  # type: ignore[misc]
        def calc_score(self, one: str, two: str) -> float:
            first, second = ours.encode([one, two])
            return float(first @ second)

    return Cosine()


def no_encoder() -> type:
    from OpenAttack.tags import TAG_Chinese, TAG_English  # type: ignore[import-not-found,unused-ignore]

    class Alike:
        """Every pair of sentences counts as similar."""

        TAGS = {TAG_English, TAG_Chinese}

        def calc_score(self, one: str, two: str) -> float:  # noqa: ARG002
            return 1.0

    return Alike
