"""Recipes whose words come from a masked language model."""

from __future__ import annotations

from typing import Literal

from malaprop.attacks.attack import Attack, Candidates, Constraint
from malaprop.attacks.candidates.masked import MaskedWords
from malaprop.attacks.candidates.union import Union
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.constraints.positions import KeepStopWords
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.constraints.words import SamePart
from malaprop.attacks.encoders import parse_similarity
from malaprop.attacks.ranking.order import LeaveOneOut, UnknownWord
from malaprop.attacks.search.greedy import Greedy
from malaprop.core.errors import SettingError

_WINDOW = 15  # words: TextAttack asks no similarity of shorter texts
_MODES = {"r": ("replace",), "i": ("before", "after"), "r+i": ("replace", "before", "after")}


def bae(
    *,
    mode: Literal["r", "i", "r+i"] = "r",
    count: int = 50,
    similarity: float | str | None = 0.8,
    model: str | None = None,
    peer: bool = False,
) -> Attack:
    """Garg and Ramakrishnan 2020, "BAE: BERT-based adversarial examples for text classification".

    Each word in turn, in the order of what leaving it out does, is masked (`mode` r), or a mask is set beside it (i),
    or both are tried (r+i); of the masked language model's 50 likeliest words that keep the part of speech and the
    sentence's meaning the best is taken. Differs: our own masked language model on MiniLM stands in for BERT-base
    (`model`: another by folder or hub name), MiniLM for the Universal Sentence Encoder, whose threshold of 0.8 is kept;
    the paper's BAE-R/I, which takes one of the two for each word, is not offered apart.
    `peer`: TextAttack's variant: nouns and verbs may stand for each other, nothing is asked of the similarity of texts
    of under 15 words, and of the words that turn the label the one is taken that leaves the text most similar.
    """
    if mode not in _MODES:
        raise SettingError(f"mode is r, i or r+i, got {mode!r}")
    sources = tuple(MaskedWords(count=count, place=place, model=model) for place in _MODES[mode])  # type: ignore[arg-type]
    encoder, floor = parse_similarity(similarity)
    rules: list[Constraint] = [KeepStopWords()]
    if mode == "r":
        rules.append(SamePart(nouns_for_verbs=peer))
    if floor is not None:
        rules.append(SentenceCosine(floor=floor, least=_WINDOW if peer else 0))
    candidates: Candidates = sources[0] if len(sources) == 1 else Union(of=sources)
    return Attack(
        name="bae",
        candidates=candidates,
        constraints=tuple(rules),
        search=Greedy(rank=LeaveOneOut(), nearest=peer and floor is not None, least=_WINDOW if peer else 0),
        encoder=encoder,
    )


def bert_attack(
    *,
    count: int = 48,
    share: float = 0.4,
    similarity: float | str | None = 0.2,
    model: str | None = None,
    peer: bool = False,
) -> Attack:
    """Li et al. 2020, "BERT-ATTACK: adversarial attack against BERT using BERT".

    The masked language model reads the text as it is and offers 48 words for each place; words fall in the order of
    what an unknown word in their place does, at most 40% of them. Differs: words of several sub-words are replaced by
    whole words, not by combinations of sub-words; our own masked language model on MiniLM stands in for BERT-base, and
    MiniLM for the Universal Sentence Encoder, whose threshold of 0.2 is kept.
    `peer`: TextAttack's variant: of the words that turn the label the one is taken that leaves the text most similar.
    """
    encoder, floor = parse_similarity(similarity)
    rules: list[Constraint] = [KeepStopWords(), MaxShare(share=share)]
    if floor is not None:
        rules.append(SentenceCosine(floor=floor))
    return Attack(
        name="bert-attack",
        candidates=MaskedWords(count=count, hidden=False, model=model),
        constraints=tuple(rules),
        search=Greedy(rank=UnknownWord(), nearest=peer and floor is not None),
        encoder=encoder,
    )
