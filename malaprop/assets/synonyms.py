"""The packaged table of synonyms: for each word those that mean nearly the same, in every form, scored from 0 to 1.

The score of two words is `(cosine + graph * overlap) / (1 + graph)`.
- The cosine is that of learnt vectors: two sentence encoders and GloVe, side by side, under one linear map that draws
  WordNet's synonyms together, away from the other words of a batch, and its antonyms apart. The map has no numbers of
  its own for a word, so it says of words whose synonyms it has not seen what it has learnt from others.
- The overlap is that of what WordNet links to the two words: their senses by frequency, and what these are a kind of,
  are similar to or are derived from.
Not in the table: names, stop words and words that WordNet lacks. No word stands beside its antonym, a word that it
negates, or one of opposite valence. `malaprop.models.encoders.synonyms` made it;
docs/assets.md has its figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from malaprop.assets import yardsticks
from malaprop.assets.counterfit import Pairs, centred, constraints
from malaprop.assets.download import say
from malaprop.assets.inflection import MARKS, add, find_marks, list_forms
from malaprop.assets.lexicon import stop_words
from malaprop.assets.polarity import read_ratings
from malaprop.assets.relations import Relations, open_relations
from malaprop.assets.vectors import MOST, Floats, Ints
from malaprop.assets.wordnet import PARTS, WordNet, open_wordnet
from malaprop.core.errors import SettingError
from malaprop.core.text import word_pattern

if TYPE_CHECKING:
    from torch import Tensor

FLOOR = 0.45  # of a score: below it a reader would rarely call two words synonyms
_FORMS = {(pos, mark): 1 << bit for bit, (pos, mark) in enumerate((p, m) for p in PARTS for m in MARKS[p])}
_ROWS = 256  # words whose scores with all others are held at once
_CLEAR = 0.5  # the valence, of -4 to 4, from which a word says good or bad


class Synonyms:
    """Words, and for each the numbers of its nearest in `table` [word, k], best first, with scores in `cosines`.

    A row with fewer neighbours ends in the word itself with a score of 0. `forms` [word] has a bit for each part of
    speech and inflection that the word can have.
    """

    def __init__(self, words: Sequence[str], table: Ints, scores: NDArray[np.uint8], forms: NDArray[np.uint16]) -> None:
        self.words, self.table, self.forms = list(words), table, forms
        self.index = dict(zip(self.words, range(len(self.words)), strict=True))
        self.cosines: Floats = scores.astype(np.float32) / np.float32(255)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Return the place [word] of each word when all words are sorted by string."""
        out = np.empty(len(self.words), np.int64)
        out[sorted(range(len(out)), key=self.words.__getitem__)] = np.arange(len(out))
        return out

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Flag the words [word] that can fill a slot."""
        fits = word_pattern().fullmatch
        return np.fromiter((fits(word) is not None for word in self.words), np.bool_, len(self.words))

    @cached_property
    def parts(self) -> NDArray[np.uint8]:
        """Return the usual parts of speech [word] of each word, as bits (see `malaprop.assets.wordnet`)."""
        return np.fromiter(map(open_wordnet().usual, self.words), np.uint8, len(self.words))

    def share_form(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Flag the neighbours [row, k] that share a part of speech and an inflection with the row's word."""
        return (self.forms[self.table[rows]] & self.forms[rows, None]) > 0

    def score(self, one: str, two: str) -> float:
        """Return the score of two words, the higher one of both ways; 0 where neither lists the other."""
        rows = [self.index.get(word.lower(), -1) for word in (one, two)]
        if -1 in rows:
            return 0.0
        ways = (self.cosines[a][self.table[a] == b] for a, b in (rows, reversed(rows)))
        return float(max((scores.max() for scores in ways if len(scores)), default=0.0))

    def near(
        self, word: str, count: int = MOST, floor: float = FLOOR, *, same_form: bool = True
    ) -> list[tuple[str, float]]:
        """Return at most `count` synonyms of a score of at least `floor`, best first; none for an unknown word.

        With `same_form` those alone that can have a part of speech and an inflection that the word can have.
        """
        if count < 1 or not 0 < floor <= 1:
            raise SettingError(f"near needs count >= 1 and a floor above 0 and up to 1, got {count} and {floor}")
        row = self.index.get(word.lower())
        if row is None:
            return []
        others, scores = self.table[row], self.cosines[row]
        kept = scores >= floor
        if same_form:
            kept &= self.share_form(np.asarray([row]))[0]
        found = zip(others[kept].tolist(), scores[kept].tolist(), strict=True)
        return [(self.words[i], score) for i, score in found][:count]


@cache
def open_synonyms() -> Synonyms:
    """Open the packaged table of synonyms, read once a process."""
    with as_file(files("malaprop.assets") / "words" / "synonyms.npz") as path:
        return read(path)


def read(path: Path) -> Synonyms:
    """Read a table that `write` wrote."""
    with np.load(path, allow_pickle=False) as held:
        words, sizes = held["words"].tobytes().decode().split("\n"), held["sizes"]
        table = np.tile(np.arange(len(sizes), dtype=np.int32)[:, None], (1, max(int(sizes.max(initial=0)), 1)))
        kept = np.arange(table.shape[1]) < sizes[:, None]
        scores = np.zeros(table.shape, np.uint8)
        table[kept], scores[kept] = held["neighbours"], held["scores"]
        return Synonyms(words, table, scores, held["forms"])


def write(path: Path, words: Sequence[str], table: Ints, scores: NDArray[np.uint8], wordnet: WordNet) -> None:
    """Write a table that `read` reads: flat arrays of the neighbours that each word has, and of their scores."""
    kept = scores > 0
    held = {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "sizes": kept.sum(1).astype(np.uint8),
        "neighbours": table[kept].astype(np.uint16 if len(words) <= 1 << 16 else np.int32),
        "scores": scores[kept],
        "forms": np.fromiter((_form_bits(wordnet, word) for word in words), np.uint16, len(words)),
    }
    np.savez_compressed(path, **held)


def choose_words(words: Iterable[str], wordnet: WordNet) -> list[str]:
    """Return the words of the table: no names, no stop words, none that WordNet lacks or that is misspelt."""
    stop = stop_words()
    return [w for w in words if w not in stop and not wordnet.is_name(w) and next(_true_bases(wordnet, w), None)]


def _true_bases(wordnet: WordNet, word: str) -> Iterator[tuple[str, str]]:
    """Yield the base forms of a word with their parts of speech; *gooder* has none, *wined* has only *wine*."""
    for pos in PARTS:
        for base in wordnet.bases(word, pos):
            if word == base or word in wordnet.irregular(base, pos) or word in list_forms(wordnet, base, pos).values():
                yield base, pos
            elif pos == "v" and word in (add(base, "ing"), base + "ing"):
                yield base, pos  # both spellings: travelling, traveling
            elif pos == "v" and base[-1] in "lpst" and word in (base + "ed", base + base[-1] + "ed"):
                yield base, pos


def _form_bits(wordnet: WordNet, word: str) -> int:
    """Return a bit for each part of speech and inflection that a word can have; *elements* is no singular."""
    bits = 0
    for pos in {pos for _, pos in _true_bases(wordnet, word)}:
        marks = find_marks(wordnet, word, pos)
        others = any(p == pos and base != word for base, p in _true_bases(wordnet, word))
        for mark in (marks - {""} or marks) if others else marks:
            bits |= _FORMS.get((pos, mark), 0)
    return bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """The settings of the table; `graph` is the weight of WordNet against the learnt vectors.

    Chosen by synonyms that were held out of the training, and by half of SimLex's words; see docs/assets.md.
    """

    senses: int = 3  # of each word, whose synonyms the map learns from
    width: int = 256  # of the learnt vectors
    steps: int = 300
    batch: int = 1024
    rate: float = 0.002
    temperature: float = 0.07
    graph: float = 0.5
    looked_at: int = 150  # of the best others, before opposed words are left out
    least: float = 0.35  # a lower score is not kept

    def learn(self, vectors: Floats, alike: Pairs, opposed: Pairs, seed: int = 0) -> Floats:
        """Return unit vectors [word, width]: the given ones under a linear map, learnt by the InfoNCE loss."""
        import torch
        from torch.nn import functional

        given, wide = torch.from_numpy(vectors), min(self.width, *vectors.shape)
        some = given[:20_000]
        start = torch.linalg.eigh(some.T @ some).eigenvectors[:, -wide:].contiguous()  # the principal axes
        if not len(alike):
            return np.asarray(functional.normalize(given @ start, dim=1).numpy(), np.float32)
        map_ = torch.nn.Parameter(start.clone())
        adam = torch.optim.Adam([map_], lr=self.rate)
        rng = torch.Generator().manual_seed(seed)
        pairs, against = torch.from_numpy(alike), torch.from_numpy(opposed)
        here = torch.arange(self.batch)
        for step in range(self.steps):
            adam.param_groups[0]["lr"] = self.rate * (1 - step / self.steps)
            drawn = pairs[torch.randint(len(pairs), (self.batch,), generator=rng)]
            one, two = torch.where(torch.rand(self.batch, 1, generator=rng) < 0.5, drawn, drawn.flip(1)).T
            ones, twos = (functional.normalize(given[words] @ map_, dim=1) for words in (one, two))
            same = (one[:, None] == one) | (two[:, None] == two) | (one[:, None] == two)
            same.fill_diagonal_(False)
            loss = functional.cross_entropy((ones @ twos.T / self.temperature).masked_fill(same, -1e4), here)
            if len(against):
                foes = against[torch.randint(len(against), (self.batch // 2,), generator=rng)].T
                ones, twos = (functional.normalize(given[words] @ map_, dim=1) for words in foes)
                loss = loss + 2 * functional.relu((ones * twos).sum(1)).square().mean()
            adam.zero_grad()
            torch.autograd.backward(loss)
            adam.step()
        return np.asarray(functional.normalize(given @ map_.detach(), dim=1).numpy(), np.float32)


class Links:
    """What WordNet links to each word, as a sparse matrix [word, synset] with rows of length one."""

    _RANKS = (1.0, 0.5, 0.3, 0.2, 0.15, 0.1)  # weight of a sense by its rank in its part of speech
    _SIMILAR, _DERIVED, _WIDER, _HIGH = 0.6, 0.4, 0.6, 3  # weights of links; what it is a kind of, three levels up

    def __init__(self, words: Sequence[str], relations: Relations) -> None:
        import torch

        self.relations, self.wordnet = relations, relations.wordnet
        rows = [self._list(word) for word in words]
        at = np.repeat(np.arange(len(rows)), [*map(len, rows)])
        synsets = np.fromiter((synset for row in rows for synset in row), np.int64)
        weights = np.sqrt(np.fromiter((weight for row in rows for weight in row.values()), np.float64))
        used, column, many = np.unique(synsets, return_inverse=True, return_counts=True)
        rare = np.log(len(words) / many) / np.log(max(len(words), 2))
        weights *= rare[column] * (many[column] > 1)  # a synset of one word alone tells nothing
        lengths = np.sqrt(np.bincount(at, weights**2, minlength=len(rows)))
        weights /= np.maximum(lengths[at], 1e-9)
        self.starts = torch.from_numpy(np.searchsorted(at, np.arange(len(rows))))
        self.columns, self.weights = torch.from_numpy(column.ravel()), torch.from_numpy(weights).float()
        self.many = max(len(used), 1)

    def _list(self, word: str) -> dict[int, float]:
        counts, found = self.wordnet.frequency(word), defaultdict[int, float](float)
        bases: dict[str, list[str]] = defaultdict(list)
        for base, pos in _true_bases(self.wordnet, word):
            bases[pos].append(base)
        total = sum(counts.get(pos, 0) + 0.5 for pos in bases)
        for pos, listed in bases.items():
            senses = dict.fromkeys(s for base in listed for s in self.wordnet.senses(base, pos))
            for weight, sense in zip(self._RANKS, senses, strict=False):
                self._spread(found, sense, weight * (counts.get(pos, 0) + 0.5) / total)
            for base in listed:
                for sense in self.relations.derived_from(base):
                    found[sense] += self._DERIVED * (counts.get(pos, 0) + 0.5) / total
        return dict(found)

    def _spread(self, found: dict[int, float], sense: int, weight: float) -> None:
        found[sense] += weight
        for similar in self.relations.similar_to(sense):
            found[similar] += self._SIMILAR * weight
        level, wide = {sense}, weight
        for _ in range(self._HIGH):
            level = {above for one in level for above in self.relations.kinds_of(one)}
            wide *= self._WIDER
            for above in level:
                found[above] += wide

    def overlap(self, rows: NDArray[np.int64]) -> Tensor:
        """Return the overlap [row, word] of some words with all, from 0 to 1."""
        import torch
        from torch.nn import functional

        some = torch.zeros(self.many, len(rows))
        ends = [*self.starts[1:].tolist(), len(self.columns)]
        for at, row in enumerate(rows.tolist()):
            own = slice(int(self.starts[row]), ends[row])
            some[self.columns[own], at] = self.weights[own]
        # in a tenth of the time of a product of sparse matrices
        found: Tensor = functional.embedding_bag(
            self.columns, some, self.starts, per_sample_weights=self.weights, mode="sum"
        )
        return found.T


class Opposed:
    """Tells which words must not stand for each other: antonyms, negated words, words of opposite valence."""

    def __init__(self, words: Sequence[str], relations: Relations, ratings: dict[str, float]) -> None:
        self.words, self.relations = words, relations
        self.valences = [self._rate(word, ratings) for word in words]

    def _rate(self, word: str, ratings: dict[str, float]) -> float:
        """Return the rated valence of a word or of its base form; 0 where there is none."""
        if word in ratings:
            return ratings[word]
        return next((ratings[base] for base, _ in _true_bases(self.relations.wordnet, word) if base in ratings), 0.0)

    def __call__(self, one: int, two: int) -> bool:
        sides = self.valences[one], self.valences[two]
        if sides[0] * sides[1] < 0 and min(map(abs, sides)) >= _CLEAR:
            return True
        return self.relations.are_opposed(self.words[one], self.words[two])


Score = Callable[[NDArray[np.int64]], Floats]  # some words to their scores [row, word] with all words


def score_with(vectors: Floats, links: Links, graph: float) -> Score:
    """Return a function that scores words with all words: the cosine and, weighing `graph`, the overlap of links."""
    import torch

    held = torch.from_numpy(vectors)

    def score(rows: NDArray[np.int64]) -> Floats:
        found: Floats = ((held[rows] @ held.T + graph * links.overlap(rows)) / (1 + graph)).numpy()
        return found

    return score


def rank(
    many: int, score: Score, opposed: Callable[[int, int], bool], settings: Mixture
) -> tuple[Ints, NDArray[np.uint8]]:
    """Return for each of `many` words its best others, best first, with scores as bytes; opposed words are left out."""
    table = np.tile(np.arange(many, dtype=np.int32)[:, None], (1, MOST))
    scores = np.zeros(table.shape, np.uint8)
    least = (np.ceil(255 * settings.least) - 0.5) / 255  # of scores that are not below it as bytes either
    for rows in np.array_split(np.arange(many), -(-many // _ROWS)):
        found = score(rows)
        found[np.arange(len(rows)), rows] = -1
        places, others = np.nonzero(found >= least)
        values = found[places, others]
        order = np.lexsort((others, -values, places))
        ends = np.cumsum(np.bincount(places, minlength=len(rows))).tolist()
        for row, start, end in zip(rows.tolist(), [0, *ends], ends, strict=False):
            at = 0
            for place in order[start : min(end, start + settings.looked_at)].tolist():
                other = int(others[place])
                if at < MOST and not opposed(row, other):
                    table[row, at], scores[row, at] = other, round(255 * min(float(values[place]), 1))
                    at += 1
    return table, scores


def build(
    path: Path, words: Sequence[str], encoded: Sequence[Floats], ratings: Path, settings: Mixture | None = None
) -> dict[str, float | int | None]:
    """Build the table of `words`, the frequent ones first, from what several models make of each; return its figures.

    What can be measured without outside lists is always among them; see `yardsticks.outside_table` for the rest.
    """
    settings, wordnet, relations = settings or Mixture(), open_wordnet(), open_relations()
    alike, apart = constraints({word: number for number, word in enumerate(words)}, wordnet, settings.senses)
    vectors = settings.learn(np.concatenate([centred(one) for one in encoded], 1), alike, apart)
    say(f"synonyms: learnt from {len(alike):,} pairs of synonyms; scoring {len(words):,} words with each other")
    score = score_with(vectors, Links(words, relations), settings.graph)
    opposed = Opposed(words, relations, read_ratings(ratings))
    write(path, words, *rank(len(words), score, opposed, settings), wordnet)
    made = read(path)
    beside = int((made.cosines >= FLOOR).sum())
    found: dict[str, float | int | None] = {"words": len(words), "synonyms": len(alike), "antonyms": len(apart)}
    found |= {"floor": FLOOR, "pairs": int((made.cosines > 0).sum()), "pairs_from_floor": beside}
    return found | yardsticks.outside_table(made, score, FLOOR)
