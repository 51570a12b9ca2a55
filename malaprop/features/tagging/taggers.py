"""The interface of taggers under attack, functions as taggers, and how a tagger is loaded from its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from malaprop.core.errors import DataError, SettingError, VictimError, plain
from malaprop.core.score import Floats
from malaprop.features.tagging.entities import OUTSIDE, classes_of, split_tag, tags_of

Tokens = Sequence[str]
MAPS = {
    "conll": {
        "PERSON": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG", "NORP": "MISC", "EVENT": "MISC",
        "WORK_OF_ART": "MISC", "PRODUCT": "MISC", "LANGUAGE": "MISC", "LAW": "MISC",
    },
}  # fmt: skip
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
SPACY = "spacy:"


class Tagger(Protocol):
    """A model that gives each token of a sentence a tag. One token in is one tag out."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that it knows in the order of its scores; empty where that is unknown."""

    @property
    def rounding(self) -> float:
        """The largest difference between `scores` of many sentences and of one; 0 where they are equal."""

    def scores(self, sentences: Sequence[Tokens]) -> list[Floats]:
        """Return the probabilities [token, tag] of each sentence; the largest of a token is its tag."""

    def tag(self, sentences: Sequence[Tokens]) -> list[list[str]]:
        """Return the tags of each sentence, computed for that sentence alone."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionTagger:
    """A function from a list of token lists to tags, or to tag scores.

    It answers a list for each sentence: a tag a token, or a mapping from tags to scores a token, or an array of scores
    [token, tag] where the function has an attribute `tags` with their names.
    """

    call: Callable[[list[list[str]]], Sequence[Any]]
    name: str
    tags: tuple[str, ...] = ()
    fingerprint: str = ""
    rounding: float = field(default=0.0, init=False)

    def ask(self, sentences: Sequence[Tokens]) -> list[list[Mapping[str, float]]]:
        """Return a mapping from tags to scores for each token of each sentence; raise on any other answer."""
        try:
            answers = list(self.call([list(tokens) for tokens in sentences]))
        except Exception as error:
            raise VictimError(f"{self.name} failed on {len(sentences)} sentences: {plain(error)[:200]}") from error
        if len(answers) != len(sentences):
            raise VictimError(f"{self.name} answered {len(answers)} of {len(sentences)} sentences; expected all")
        return [self._read(tokens, answer) for tokens, answer in zip(sentences, answers, strict=True)]

    def _read(self, tokens: Tokens, answer: Any) -> list[Mapping[str, float]]:
        rows = list(answer) if isinstance(answer, Iterable) and not isinstance(answer, str) else [answer]
        if len(rows) != len(tokens):
            raise VictimError(f"{self.name} gave {len(rows)} tags to {len(tokens)} tokens; expected one a token")
        return [self._row(row) for row in rows]

    def _row(self, row: Any) -> Mapping[str, float]:
        if isinstance(row, str):
            return {row: 1.0}
        try:
            names, scores = zip(*row.items(), strict=True) if isinstance(row, Mapping) else (self.tags, row)
            numbers = [float(score) for score in scores]
        except (TypeError, ValueError):
            raise VictimError(
                f"{self.name} gave a token {row!r:.60}; expected a tag, or numbers as scores of all tags"
            ) from None
        if len(numbers) != len(names):
            raise VictimError(
                f"{self.name} gave {len(numbers)} scores a token and names {len(names)} tags; set its attribute `tags`"
            )
        if not np.isfinite(numbers).all():
            raise VictimError(f"{self.name} gave a token the scores {numbers!r:.60}; expected finite numbers")
        return dict(zip(map(str, names), numbers, strict=True))

    def tag(self, sentences: Sequence[Tokens]) -> list[list[str]]:
        return [[max(row, key=row.__getitem__) for row in rows] for rows in self.ask(sentences)]


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """A tagger in terms of the data's classes: its tags are renamed by `classes`, and what has no name there is O."""

    inner: Tagger | FunctionTagger
    classes: Mapping[str, str] | None  # None: the classes stay, and one that the data lacks is an error
    known: tuple[str, ...]  # the classes of the data, and further ones of the tagger where they stay
    lowest: float = field(default=1e-6, init=False)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    @property
    def tags(self) -> tuple[str, ...]:
        return tags_of(self.known)

    @property
    def rounding(self) -> float:
        return self.inner.rounding

    def rename(self, tag: str) -> str:
        """Return the data's tag for one of the tagger's."""
        prefix, kind = split_tag(tag)
        kind = kind if self.classes is None else self.classes.get(kind, "")
        if kind and kind not in self.known:
            raise VictimError(
                f"{self.name} answered the tag {tag!r}, whose class the data does not have ({', '.join(self.known)}); "
                "rename or drop it with --map"
            )
        return f"{prefix}-{kind}" if kind else OUTSIDE

    def scores(self, sentences: Sequence[Tokens]) -> list[Floats]:
        if isinstance(self.inner, FunctionTagger):
            return [self._fold_mappings(rows) for rows in self.inner.ask(sentences)]
        fold = np.zeros((len(self.inner.tags), len(self.tags)), np.float32)
        for row, tag in enumerate(self.inner.tags):
            fold[row, self.tags.index(self.rename(tag))] = 1
        return [self._keep_winner(scores, fold) for scores in self.inner.scores(sentences)]

    def _keep_winner(self, scores: Floats, fold: Floats) -> Floats:
        """Add up the scores of tags of one name; the tag that wins before stays ahead of what others add up to."""
        folded = np.asarray(scores @ fold, np.float32)
        if len(folded):
            here = np.arange(len(folded))
            winner = fold.argmax(1)[scores.argmax(1)]
            rest = folded.copy()
            rest[here, winner] = -1
            folded[here, winner] = np.maximum(folded[here, winner], rest.max(1) + self.lowest)
        return folded

    def _fold_mappings(self, rows: Sequence[Mapping[str, float]]) -> Floats:
        out = np.zeros((len(rows), len(self.tags)), np.float32)
        for place, row in enumerate(rows):
            for tag, score in row.items():
                out[place, self.tags.index(self.rename(tag))] += score
        return out

    def tag(self, sentences: Sequence[Tokens]) -> list[list[str]]:
        return [[self.rename(tag) for tag in tags] for tags in self.inner.tag(sentences)]


def parse_map(given: str | None) -> Mapping[str, str] | None:
    """Parse a renaming of classes: PERSON=PER,GPE=LOC, or the name of one of `MAPS`; None stays None."""
    if given is None:
        return None
    if given in MAPS:
        return MAPS[given]
    pairs = [part.partition("=") for part in given.split(",") if part.strip()]
    if not pairs or any(not (old.strip() and new.strip()) for old, _, new in pairs):
        raise SettingError(f"--map takes CLASS=CLASS,... (PERSON=PER,GPE=LOC) or {', '.join(MAPS)}; got {given!r}")
    return {old.strip(): new.strip() for old, _, new in pairs}


def in_terms_of(tagger: Tagger | FunctionTagger, classes: Mapping[str, str] | None, data: Sequence[str]) -> Mapped:
    """Return the tagger in terms of the data's classes; raise where it cannot give one of them."""
    own = classes_of([tagger.tags])
    given = own if classes is None else tuple(sorted({classes[kind] for kind in own if kind in classes}))
    if own and (lacking := [kind for kind in data if kind not in given]):
        raise DataError(
            f"the data has the class {lacking[0]}, and {tagger.name} gives {', '.join(given) or 'none of its own'}; "
            "rename the tagger's classes with --map PERSON=PER,... or --map conll"
        )
    return Mapped(tagger, classes, tuple(dict.fromkeys([*data, *given])))


def load(spec: str, *, device: str = "cpu") -> Tagger | FunctionTagger:
    """Load a tagger: spacy:NAME, a folder of spaCy or transformers, or module:function."""
    if spec.startswith(SPACY):
        from malaprop.features.tagging.spacy_tagger import load_spacy

        return load_spacy(spec.removeprefix(SPACY))
    path = Path(spec).expanduser()
    if path.is_dir():
        if (path / "meta.json").is_file() and (path / "config.cfg").is_file():
            from malaprop.features.tagging.spacy_tagger import load_spacy

            return load_spacy(str(path))
        if (path / "config.json").is_file():
            from malaprop.features.tagging.transformers_tagger import load_transformers

            return load_transformers(path, device=device)
        raise VictimError(f"{spec} is not a tagger: expected config.json of transformers, or meta.json and config.cfg")
    if _REFERENCE.fullmatch(spec):
        from malaprop.frame.runs.load_victim import resolve

        found = resolve(spec)
        if not callable(found):
            raise VictimError(f"{spec} is not a function; expected one from a list of token lists to tags")
        return FunctionTagger(call=found, name=spec, tags=tuple(getattr(found, "tags", ())))
    raise VictimError(f"there is not a tagger {spec!r}: give spacy:en_core_web_md, a folder, or module:function")
