"""Syntax: the same words in another construction, by a parse where spaCy is installed, by templates otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from malaprop.attacks.sentences.parse import rewrite_by_parse
from malaprop.attacks.sentences.style import Sentence, keep_rewrites, write_as_prose
from malaprop.attacks.sentences.templates import rewrite_by_templates
from malaprop.attacks.trial import Trial
from malaprop.core.ask import PARSER, Ask, Leaf, Steps
from malaprop.core.errors import SettingError

Parser = Literal["auto", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """Active and passive exchanged, clauses and times moved, joined words exchanged, contractions made and written out.

    The parse is spaCy's, by the asset `tagger`; where it is not installed, and with `parser` none, templates of clauses
    and contractions remain. The measure `parsed` says which it was. English alone.
    """

    parser: Parser = "auto"

    def __post_init__(self) -> None:
        if self.parser not in get_args(Parser):
            raise SettingError(f"the parser of Syntax is auto or none, got {self.parser!r}")

    def rewrite(self, trial: Trial, sentences: Sequence[Sentence]) -> Steps[list[list[str]]]:
        if not trial.language.is_english:
            return [[] for _ in sentences]
        prose = [write_as_prose(sentence.text) for sentence in sentences]
        parses: Sequence[Sequence[Leaf]] = (yield Ask(PARSER, prose)) if self.parser == "auto" else [()] * len(prose)
        trial.notes["parsed"] = float(any(map(len, parses)))
        return [
            keep_rewrites(_list_forms(text, leaves), sentence.text)
            for text, leaves, sentence in zip(prose, parses, sentences, strict=True)
        ]


def _list_forms(prose: str, leaves: Sequence[Leaf]) -> Iterator[str]:
    if leaves:
        yield from rewrite_by_parse(leaves, _verb_forms)
    yield from rewrite_by_templates(prose)


@cache
def _verb_forms(lemma: str) -> dict[str, str]:
    from malaprop.assets.inflection import list_forms
    from malaprop.assets.wordnet import open_wordnet

    return list_forms(open_wordnet(), lemma, "v")
