"""Probing functions: tests of a translation; a source whose translation passes is an adversary of the translator.

Which words translate which is estimated from pairs of sentences by IBM's first model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from malaprop.core.errors import DataError, SettingError
from malaprop.core.text import word_pattern
from malaprop.models.tokens.vocab import tokens
from malaprop.papers.natural.sentences import SentenceGoal

_MANY = 100  # pairs, from which on shares of them tell something
_REST = 0.1  # a word that becomes common words nine times in ten has no translation to look for


def translations(
    pairs: Sequence[tuple[str, str]],
    words: frozenset[str],
    *,
    rounds: int = 6,
    floor: float = 0.08,
    least: int = 2,
    common: float = 0.1,
) -> dict[str, frozenset[str]]:
    """Find for each of `words`, lower-cased, the target words it becomes in at least a share `floor` of its uses.

    A word counts where it is in at least `least` pairs, and so do the words it becomes; marks, and words that more
    than a share `common` of the targets hold, are no translation of anything. Each source has an empty word
    besides, which takes what nothing in the source says.
    """
    if not pairs:
        raise DataError("no pairs of source and target to count translations from")
    left, right = _Numbers(), _Numbers()
    ones, twos, groups, many = [], [], [], 0
    for source, target in pairs:
        a = np.asarray([left[word] for word in ("", *dict.fromkeys(tokens(source)))], np.int64)
        b = np.asarray([right[word] for word in dict.fromkeys(tokens(target))], np.int64)
        ones.append(np.tile(a, len(b)))
        twos.append(np.repeat(b, len(a)))
        groups.append(np.repeat(np.arange(many, many + len(b)), len(a)))  # one group a target word of a pair
        many += len(b)
    if not many:
        raise DataError("the targets hold no word to count translations from")
    one, two, group = np.concatenate(ones), np.concatenate(twos), np.concatenate(groups)
    key, inverse = np.unique(one * len(right) + two, return_inverse=True)
    chance = np.ones(len(key))
    for _ in range(rounds):
        share = chance[inverse]
        share = share / np.bincount(group, share)[group]
        counts = np.bincount(inverse, share)
        chance = counts / np.bincount(key // len(right), counts, minlength=len(left))[key // len(right)]
    often = np.bincount(two[np.unique(group, return_index=True)[1]], minlength=len(right))  # targets with each word
    limit = common * len(pairs) if len(pairs) >= _MANY else len(pairs)
    said = np.asarray([word.isalpha() for word in right.words]) & (often <= limit)
    chance = np.where(said[key % len(right)] & (np.bincount(inverse) >= least), chance, 0.0)
    whole = np.bincount(key // len(right), chance, minlength=len(left))[key // len(right)]
    out: dict[str, set[str]] = {}
    for pair in key[(chance > 0) & (chance >= floor * whole) & (whole >= _REST)].tolist():
        if (word := left.words[pair // len(right)]) in words:
            out.setdefault(word, set()).add(right.words[pair % len(right)])
    return {word: frozenset(found) for word, found in sorted(out.items())}


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they are first looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def __missing__(self, word: str) -> int:
        self[word] = len(self.words)
        self.words.append(word)
        return self[word]


WORD, VERB, BOTH = "word-appears", "verb-dropped", "verb-dropped:both"
_FORMS = "is are was were be been being am do does did has have had will would"
_AUXILIARIES = frozenset(_FORMS.split())
_TAGGED = 5_000  # sentences that are looked through for verbs


@dataclass(frozen=True, slots=True)
class WordAppears:
    """Passes where the translation holds the word, whatever its case."""

    word: str

    def __post_init__(self) -> None:
        if len(tokens(self.word)) != 1:
            raise SettingError(f"{WORD} looks for one word, got {self.word!r}; write --probe {WORD}:stehen")

    def __call__(self, source: str, translation: str) -> bool:  # noqa: ARG002 - others look at the source
        return tokens(self.word)[0] in tokens(translation)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbDropped:
    """Passes where the source has two known verbs or more, and the translation some of them but not all.

    `verbs` says what each verb may become. A verb that becomes a word which is not in the table, as a rare form, looks
    dropped too: what passes is worth a look by someone who reads both languages, and is no proof. `of`, where given,
    are verbs of which one must be dropped; with `both` all of them, two or more, must still stand in the source.
    """

    verbs: Mapping[str, frozenset[str]] = field(repr=False)
    of: frozenset[str] | None = None
    both: bool = False

    def beside(self, source: str, translation: str) -> VerbDropped:
        """Return the probe for searches around this source, which ignores verbs that its translation lacks already."""
        missing = self.missing(source, translation)
        return replace(self, of=frozenset(verb for verb in self.known(source) if verb not in missing))

    @property
    def hopeless(self) -> str:
        """Return the reason why no translation can pass; empty if one can."""
        if self.both and self.of is not None and len(self.of) < 2:
            return "it has no two verbs that its translation has too"
        return "its translation has no verb that could be dropped" if self.of == frozenset() else ""

    def missing(self, source: str, translation: str) -> tuple[str, ...]:
        """Return the verbs of the source that have no translation in the target."""
        written = set(tokens(translation))
        return tuple(verb for verb in self.known(source) if not self.verbs[verb] & written)

    def known(self, source: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word for word in tokens(source) if word in self.verbs))

    def __call__(self, source: str, translation: str) -> bool:
        known, missing = self.known(source), self.missing(source, translation)
        fits = self.of is None or not self.of.isdisjoint(missing)
        if self.both and self.of is not None:
            fits = fits and self.of <= set(known) and not self.of <= set(missing)
        return fits and len(known) >= 2 and 0 < len(missing) < len(known)


def parse(text: str) -> str:
    """Return the word of `word-appears:WORD`, or "" for `verb-dropped` and `verb-dropped:both`; raise on other text."""
    kind, _, word = text.partition(":")
    if kind == WORD and word:
        return word
    if text in (VERB, BOTH):
        return ""
    raise SettingError(f"--probe takes {WORD}:WORD, {VERB} or {BOTH}, got {text!r}")


def make(text: str, sentences: Sequence[str], pairs: Sequence[tuple[str, str]]) -> SentenceGoal:
    """Make a probe by name; `pairs` of source and translation give verbs' translations, `sentences` the verbs."""
    word = parse(text)
    if word:
        return WordAppears(word)
    found = verbs_of(sentences)
    table = _with_forms(translations(pairs, found))
    if len(table) < 2:
        raise SettingError(
            f"{VERB} knows {len(table)} verbs from {len(pairs):,} pairs; give --data with source and target columns"
        )
    return VerbDropped(verbs=table, both=text == BOTH)


def _with_forms(table: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Let the forms of a verb share their translations: sits, sitting and sit."""
    forms: dict[str, set[str]] = {}
    for verb, words in table.items():
        forms.setdefault(_stem(verb), set()).update(words)
    return {verb: frozenset(forms[_stem(verb)]) for verb in table}


def _stem(verb: str) -> str:
    """Return a verb without its ending, to compare its forms; irregular forms stay distinct."""
    for ending in ("ing", "ed", "es", "s"):
        if verb.endswith(ending) and len(verb) - len(ending) >= 3:
            verb = verb.removesuffix(ending)
            break
    if len(verb) > 3 and verb[-1] == verb[-2]:
        verb = verb[:-1]
    return verb.removesuffix("e")


def count_verbs(sentence: str, verbs: frozenset[str]) -> int:
    """Count how many of these verbs a sentence has."""
    return len(verbs.intersection(tokens(sentence)))


def verbs_of(sentences: Sequence[str]) -> frozenset[str]:
    """Return the words that are tagged as verbs in most uses, auxiliaries left out."""
    from malaprop.assets.tagger import open_tagger

    some = [sentence for sentence in sentences if sentence][:_TAGGED]
    spans = [[match.span() for match in word_pattern().finditer(sentence)] for sentence in some]
    tags = open_tagger("light").tags(some, spans)
    all_, verbs = Counter[str](), Counter[str]()
    for sentence, places, row in zip(some, spans, tags, strict=True):
        for (start, end), tag in zip(places, row, strict=True):
            word = sentence[start:end].lower()
            all_[word] += 1
            verbs[word] += tag == "VERB"
    return frozenset(w for w, n in verbs.items() if 2 * n > all_[w]) - _AUXILIARIES
