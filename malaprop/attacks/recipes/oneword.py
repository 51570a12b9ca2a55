"""One word changed: the attacks of Hsieh et al. 2019, "On the robustness of self-attentive models"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from malaprop.attacks.attack import Attack, Candidates
from malaprop.attacks.candidates.lookup import Listed, NearWords, Vocabulary, WordNetSynonyms
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.ranking.order import ByAttention, LeaveOneOut, LeftToRight, Ranking, UnknownWord, ZeroVector
from malaprop.attacks.search.greedy import FirstFound
from malaprop.attacks.search.oneword import Sweep
from malaprop.attacks.search.sampling import Random
from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError
from malaprop.core.insight import Direction

Probe = Literal["zero", "leave-out", "unknown"]
_WORDS = 20_000
_ABREAST = 16  # sweeps of the vocabulary fill any batch, and each holds tens of thousands of answers
_BLOCK = 4_096


def random(*, trials: int = 100_000, vocabulary: int = _WORDS, words: int = 1, stop: bool = False) -> Attack:
    """Hsieh et al. 2019, attack RANDOM: a random word of the vocabulary in a random slot, 100,000 times a text.

    The paper's rate is the mean over texts of the share of trials that succeed, `hit_share` in the measures; the text
    counts as broken if any trial succeeds. `stop` ends with the first block of 100 that holds a success instead.
    """
    return Attack(
        name="random",
        candidates=Vocabulary(size=vocabulary),
        search=Random(trials=trials, changes=words, stop=stop, block=100 if stop else min(trials, _BLOCK)),
        abreast=None if stop else _ABREAST,
    )


def one_word_list(
    *, table: Mapping[str, tuple[str, ...]] | None = None, near: int | None = None, words: int = 1
) -> Attack:
    """Hsieh et al. 2019, attack LIST.

    One word changed: synonyms tried from left to right, earlier words restored, until the label flips. The paper's list
    is that of Alzantot et al. 2018, the 8 nearest words in counter-fitted space: `near` takes so many of our own.
    Differs: WordNet synonyms of the same part of speech unless `near` or a `table` of one's own is given.
    """
    if near is not None and table is not None:
        raise SettingError("near and table both name the replacements of a word; give only one of them")
    candidates: Candidates = WordNetSynonyms() if table is None else Listed(table=table)
    return Attack(
        name="list",
        candidates=candidates if near is None else NearWords(count=near),
        constraints=(KeepStopWords(),),
        search=FirstFound(rank=LeftToRight(), words=words),
    )


def _probe(probe: Probe) -> tuple[Ranking, frozenset[Capability]]:
    if probe == "zero":
        return ZeroVector(), frozenset({Capability.PADDING})
    if probe not in ("leave-out", "unknown"):
        raise SettingError(f"probe is zero, leave-out or unknown, got {probe!r}")
    return LeaveOneOut() if probe == "leave-out" else UnknownWord(), frozenset()


def _sweep(
    name: str, rank: Ranking, needs: frozenset[Capability], vocabulary: int, words: int, *, nearest: bool
) -> Attack:
    return Attack(
        name=name,
        candidates=Vocabulary(size=vocabulary),
        search=Sweep(rank=rank, nearest=nearest, words=words),
        wants=needs | {Capability.EMBEDDINGS} if nearest else needs,
        abreast=_ABREAST,
    )


def gs_gr(*, probe: Probe = "zero", vocabulary: int = _WORDS, words: int = 1) -> Attack:
    """Hsieh et al. 2019, GS-GR: greedy select, greedy replace.

    The word that a zero vector in its place shows to be weakest is replaced by random words of the vocabulary until
    the label flips. `probe` leave-out or unknown ranks by leaving words out or by an unknown word, for victims that
    show scores alone.
    """
    rank, needs = _probe(probe)
    return _sweep("gs-gr", rank, needs, vocabulary, words, nearest=False)


def gs_ec(*, probe: Probe = "zero", vocabulary: int = _WORDS, words: int = 1) -> Attack:
    """Hsieh et al. 2019, GS-EC: greedy select, embedding constraint.

    The same word as `gs-gr`; of the replacements that flip the label, the one nearest in L1 to the original in the
    vector that the victim's classifier reads.
    """
    rank, needs = _probe(probe)
    return _sweep("gs-ec", rank, needs, vocabulary, words, nearest=True)


def _attended(
    name: str, layer: int, direction: Direction, vocabulary: int, words: int, *, least: bool = False
) -> Attack:
    rank = ByAttention(least=least, layer=layer, direction=direction)
    needs = frozenset({Capability.ATTENTION})
    return _sweep(name, rank, needs, vocabulary, words, nearest=name.endswith("-ec"))


def asmax_gr(*, layer: int = 0, direction: Direction = "received", vocabulary: int = _WORDS, words: int = 1) -> Attack:
    """Hsieh et al. 2019, ASMAX-GR: the word with the highest attention score, random words until the label flips.

    Attention is the mean over the heads of the first layer (`layer` 0; -1 is the last), received from all tokens
    (`direction` received) or from the first one (cls), sub-words added up; the paper does not say which.
    """
    return _attended("asmax-gr", layer, direction, vocabulary, words)


def asmin_gr(*, layer: int = 0, direction: Direction = "received", vocabulary: int = _WORDS, words: int = 1) -> Attack:
    """Hsieh et al. 2019, ASMIN-GR: as `asmax-gr`, for the word with the lowest attention score."""
    return _attended("asmin-gr", layer, direction, vocabulary, words, least=True)


def asmax_ec(*, layer: int = 0, direction: Direction = "received", vocabulary: int = _WORDS, words: int = 1) -> Attack:
    """Hsieh et al. 2019, ASMAX-EC: the word of `asmax-gr`, the replacement of `gs-ec`."""
    return _attended("asmax-ec", layer, direction, vocabulary, words)


def asmin_ec(*, layer: int = 0, direction: Direction = "received", vocabulary: int = _WORDS, words: int = 1) -> Attack:
    """Hsieh et al. 2019, ASMIN-EC: the word of `asmin-gr`, the replacement of `gs-ec`."""
    return _attended("asmin-ec", layer, direction, vocabulary, words, least=True)
