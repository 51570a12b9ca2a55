"""Counter-fitting (Mrksic et al. 2016, Counter-fitting Word Vectors to Linguistic Constraints): GloVe and WordNet.

Synonyms attract until their distance is 0, antonyms repel until it is 1, near neighbours (distance under 0.2) keep
theirs; distance is 1 - cosine. These margins are the paper's. Where we differ:
- constraints: WordNet's first three senses of each word and WordNet's antonyms, carried over to inflected forms; the
  paper takes PPDB 2.0's synonyms, and antonyms of PPDB and WordNet.
- vectors are centred first: in GloVe 50d nearly any two frequent words have a cosine over 0.5, which leaves the
  thresholds of attacks without a meaning (of 50 neighbours 39 pass 0.7 as they are, 19 centred).
- an anchor to the first vectors (weight 2, squared distance) in place of stopping early; without it the end state
  puts synonyms on one point. Repelling weighs 3, keeping neighbours 0.1; the paper weighs all three alike.
- all pairs at each of 40 steps of Adam, where the paper takes 20 rounds of plain descent; ten neighbours kept a word.
Weights, senses and steps were chosen by SimLex-999 on GloVe 50d (0.26 before, 0.48 after), so that figure is a fitted
one. `check.json` beside the vectors has what was measured when they were made, `curve.json` the losses.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.assets import yardsticks
from malaprop.assets.archives import Members
from malaprop.assets.inflection import ending
from malaprop.assets.vectors import Floats, Vectors, keep, open_vectors, passing
from malaprop.assets.wordnet import PARTS, WordNet, open_wordnet

Pairs = NDArray[np.int64]
Curve = list[dict[str, float]]
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterFit:
    """The settings of counter-fitting; the module's docstring says where they come from."""

    attract_to: float = 0.0
    repel_to: float = 1.0
    radius: float = 0.2
    neighbours: int = 10
    repel: float = 3.0
    preserve: float = 0.1
    anchor: float = 2.0
    senses: int = 3
    steps: int = 40
    rate: float = 0.01

    def fit(self, first: Floats, alike: Pairs, opposed: Pairs, near: Pairs) -> tuple[Floats, Curve]:
        """Return unit vectors moved by the three kinds of pairs, and the loss of each kind at every step."""
        import torch

        many = [len(alike), len(opposed), len(near)]
        pairs = np.concatenate([alike, opposed, near])
        apart = 1 - np.einsum("pd,pd->p", first[pairs[:, 0]], first[pairs[:, 1]])
        margins = np.concatenate(
            [np.full(many[0], self.attract_to), np.full(many[1], self.repel_to), apart[-many[2] :]]
        )
        weights = torch.from_numpy(np.repeat(np.asarray([1.0, -self.repel, self.preserve], np.float32), many))
        margin = torch.from_numpy(margins[: len(pairs)].astype(np.float32))
        one, two = torch.from_numpy(pairs.T.copy())
        order = np.argsort(np.concatenate(pairs.T), kind="stable")  # both directions, by the word that is moved
        source = np.concatenate(pairs.T)[order]
        starts = torch.from_numpy(np.searchsorted(source, np.arange(len(first))))
        mover, target = torch.from_numpy(source), torch.from_numpy(np.concatenate(pairs.T[::-1])[order])
        pair = torch.from_numpy(order % max(len(pairs), 1))
        start = torch.from_numpy(first)
        now, mean, square = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
        curve: Curve = []
        for step in range(1, self.steps + 1):
            cosine = (now[one] * now[two]).sum(1)
            over = (1 - cosine - margin) * weights.sign()
            pull = weights * (over > 0)
            kinds = torch.split(pull * (1 - cosine - margin), many)
            curve.append(dict(zip(("attract", "repel", "preserve"), (float(k.sum()) for k in kinds), strict=True)))
            curve[-1]["anchor"] = self.anchor * float((now - start).square().sum()) / 2
            edge = pull[pair]
            drawn = torch.nn.functional.embedding_bag(target, now, starts, per_sample_weights=edge, mode="sum")
            along = torch.zeros(len(now)).index_add_(0, mover, edge * cosine[pair])
            slope = along[:, None] * now - drawn + self.anchor * (now - start)
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope * slope
            now = now - self.rate * (mean / (1 - 0.9**step)) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
            now = now / now.norm(dim=1, keepdim=True)
        return now.numpy(), curve


def vocabulary(words: Iterable[str], wordnet: WordNet, *, most: int = 60_000, frequent: int = 20_000) -> list[str]:
    """Return at most `most` plain words: all of the first `frequent`, and later ones that WordNet knows."""
    kept: list[str] = []
    for rank, word in enumerate(words):
        if _WORD.fullmatch(word) and (rank < frequent or wordnet.parts(word)):
            kept.append(word)
            if len(kept) == most:
                break
    return kept


def constraints(index: dict[str, int], wordnet: WordNet, senses: int) -> tuple[Pairs, Pairs]:
    """Return pairs of synonyms and of antonyms among the words, also between their forms with the same ending."""
    forms: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for word, number in index.items():
        for pos in PARTS:
            for base in wordnet.bases(word, pos):
                forms[base, pos][ending(word, base, pos)].append(number)

    def carry(pairs: Iterable[tuple[str, str]], pos: str) -> set[tuple[int, int]]:
        found = set()
        for one, two in pairs:
            ones, twos = forms.get((one, pos), {}), forms.get((two, pos), {})
            for mark in ones.keys() & twos.keys():
                found |= {(min(a, b), max(a, b)) for a in ones[mark] for b in twos[mark] if a != b}
        return found

    against = wordnet.antonyms()
    opposed = set().union(*(carry(against, pos) for pos in PARTS))
    alike = set().union(*(carry(wordnet.synonym_pairs(pos, senses=senses), pos) for pos in PARTS)) - opposed
    return _array(alike), _array(opposed)


def _array(pairs: set[tuple[int, int]]) -> Pairs:
    return np.asarray(sorted(pairs), np.int64).reshape(-1, 2)


def centred(raw: Floats, frequent: int = 20_000) -> Floats:
    """Centre vectors on the mean of the frequent words and scale them to length one, so that cosines differ more."""
    moved = raw - raw[:frequent].mean(0)
    return np.asarray(moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-12), np.float32)


def close(matrix: Floats, radius: float, most: int) -> Pairs:
    """Return the pairs of words within the radius, the nearest few of each word."""
    found = []
    for start in range(0, len(matrix), 256):
        rows = np.arange(start, min(start + 256, len(matrix)))
        at, other, cosine = passing(matrix, rows, np.full(len(rows), 1 - radius, np.float32))
        order = np.lexsort((other, -cosine, at))
        at, other = at[order], other[order]
        near = np.arange(len(at)) - np.searchsorted(at, at) < most
        found.append(np.sort(np.stack([rows[at[near]], other[near]], axis=1), axis=1))
    return np.unique(np.concatenate(found), axis=0)


def build(_: Members, out: Path, settings: CounterFit | None = None) -> None:
    """Build the asset `counter-fitted`: vectors, neighbours, the loss curve and the check."""
    settings = settings or CounterFit()
    glove, wordnet = open_vectors("glove"), open_wordnet()
    words = vocabulary(glove.words, wordnet)
    first = centred(glove.raw(words)[0])
    alike, opposed = constraints({word: number for number, word in enumerate(words)}, wordnet, settings.senses)
    fitted, curve = settings.fit(first, alike, opposed, close(first, settings.radius, settings.neighbours))
    figures = {
        when: {
            "synonyms": yardsticks.mean_cosine(matrix, alike),
            "antonyms": yardsticks.mean_cosine(matrix, opposed),
            **yardsticks.outside(Vectors(words, matrix)),
        }
        for when, matrix in (("before", first), ("after", fitted))
    }
    counts = {"words": len(words), "dimensions": int(first.shape[1]), "synonyms": len(alike), "antonyms": len(opposed)}
    (out / "check.json").write_text(json.dumps({"counts": counts, **figures}, indent=1), encoding="utf-8")
    (out / "curve.json").write_text(json.dumps(curve), encoding="utf-8")
    keep(out, words, fitted)
