"""Words of scripts that put no spaces between them: the likeliest cut of a run by how frequent its words are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from math import log

from malaprop.assets import store
from malaprop.assets.chinese import read_words
from malaprop.assets.wordlists import frequent_words
from malaprop.core.text import Cut, split_characters

_LONGEST = 16  # characters of a word that is looked up
_MANY = 1 << 26  # what the counts of a list without counts begin at: the word at place n of it has 1 / n of that
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class Segmenter:
    """Cuts a run of letters into listed words so that the product of their frequencies is greatest.

    Where no listed word fits, a Chinese character is a word by itself, and letters of other scripts are one word as far
    as they reach, such as a name.
    """

    def __init__(self, counts: Mapping[str, float]) -> None:
        total = sum(counts.values()) or 1.0
        self._unlisted = log(total) + 1.0  # less likely than any listed word
        self._costs = {word: log(total) - log(count) for word, count in counts.items() if count > 0}
        self._longest = min(_LONGEST, max(map(len, self._costs), default=1))

    def __call__(self, run: str) -> list[str]:
        """Return the words of a run, in order; joined they are the run."""
        ends = [0]
        for character in split_characters(run):
            ends.append(ends[-1] + len(character))
        costs, before = [0.0] * len(ends), [0] * len(ends)
        for i in range(1, len(ends)):
            costs[i], before[i] = costs[i - 1] + self._cost(run[ends[i - 1] : ends[i]], self._unlisted), i - 1
            for j in range(i - 2, -1, -1):
                if ends[i] - ends[j] > self._longest:
                    break
                cost = costs[j] + self._cost(run[ends[j] : ends[i]], float("inf"))
                if cost < costs[i]:
                    costs[i], before[i] = cost, j
        cuts = [len(ends) - 1]
        while cuts[-1]:
            cuts.append(before[cuts[-1]])
        cuts.reverse()
        return list(self._join(run[ends[a] : ends[b]] for a, b in pairwise(cuts)))

    def _cost(self, word: str, unlisted: float) -> float:
        return self._costs.get(word, unlisted)

    def _join(self, words: Iterable[str]) -> Iterator[str]:
        """Join neighbours that are in no list, unless they are Chinese characters."""
        held = ""
        for word in words:
            if word in self._costs or _HAN.match(word):
                yield from filter(None, (held, word))
                held = ""
            else:
                held += word
        yield from filter(None, (held,))


@cache
def open_segmenter(code: str) -> Cut:
    """Return what cuts a run of a language without spaces into words; by characters where there is no list of words."""
    if code == "zh":
        return Segmenter(read_words())
    if code == "th":
        folder = store.locate("thai")
        listed = dict.fromkeys((folder / "words_th.txt").read_text(encoding="utf-8").split("\n"), 1.0)
        return Segmenter(listed | _read_counts((folder / "tnc_freq.txt").read_text(encoding="utf-8")))
    if code == "ja":
        places = frequent_words(code)
        return Segmenter({word: _MANY / (place + 1) for word, place in places.items()})
    return split_characters


SEGMENTED = frozenset({"zh", "ja", "th"})  # languages whose words are looked up


def _read_counts(text: str) -> dict[str, float]:
    """Parse lines of a word, a tab and its count."""
    rows = (line.strip("\ufeff\r").partition("\t") for line in text.split("\n"))
    return {word: float(count) for word, _, count in rows if word and count.isdigit()}
