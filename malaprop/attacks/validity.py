"""How strictly an attack must keep the meaning of a text: the three settings of `--validity`.

- `paper`: the attack as published; the judge of meaning only rates its successes.
- `valid`: constraints on words (the guards) filter the replacements, an attack that misspells changes at most a fifth
  of the words, and a text is a success only if the judge of meaning accepts it.
- `strict`: as `valid`, and the judge must accept the pair in both directions with a probability of 0.85, the perplexity
  may at most double, and every new word must be known.

Not to be mixed up with `--quality strict` (quality.py), which filters the replacements and uses no judge.
"""

from __future__ import annotations

from dataclasses import replace

from malaprop.attacks.attack import Attack, Candidates, Constraint, WordRule
from malaprop.attacks.candidates.chars import CharEdits
from malaprop.attacks.candidates.combined import Agreeing, Filtered, Union
from malaprop.attacks.candidates.lookup import (
    CloseSynonyms,
    Listed,
    Misspellings,
    NearWords,
    Vocabulary,
    WordNetSynonyms,
)
from malaprop.attacks.candidates.masked import Likely, MaskedWords
from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.constraints.guards import KeepFunctionWords, KeepQuantities, SameForm, SamePolarity
from malaprop.attacks.constraints.language import KnownWords, PerplexityRatio
from malaprop.attacks.constraints.meaning import InContext, KeepNames, NotOpposed, OtherLexeme, Related
from malaprop.attacks.constraints.senses import FitsSense
from malaprop.attacks.goals.goal import Kept
from malaprop.attacks.judge import Judge
from malaprop.core.catalogue import unknown

KINDS = ("synonyms", "listed", "neighbours", "masked")
VALIDITIES = ("paper", "valid", "strict")
# The least score in the packaged synonym table with which a synonym is allowed: LEAST_WITH_SENSE if it shares with the
# word a WordNet sense that fits the sentence, LEAST_WITHOUT_SENSE if it does not. Read by hand in MR and AG News: 57 of
# 63 replacements allowed by these keep the meaning; of counter-fitted neighbours, 54 of 68.
LEAST_WITH_SENSE, LEAST_WITHOUT_SENSE = 0.45, 0.55
# What replaces an ambiguous word (senses.AMBIGUOUS): the least chance of the senses that the two share, and the least
# chance that the language model gives it. We read 177 successes of MR: these refuse 41, of which 14 kept the meaning,
# and leave 136, of which 116 did. Of 88 on other texts they refuse 28, with 7 that did, and leave 60, with 48.
CLEAR_SENSE, LIKELY = 0.7, 5e-4
SURE = 0.85  # the least probability, in both directions, with which the judge accepts a text under `strict`
# The share of the words that an attack that misspells may change: of half the words, readers lose the thread. Where it
# also swaps words, such as `textbugger`, those count too.
READABLE = 0.2
FLUENT = 2.0  # the largest perplexity under `strict`, as a multiple of the original's


def guards(kind: str) -> tuple[WordRule, ...]:
    """Return the constraints on words that keep a text's meaning, the cheapest first.

    `kind` says where the candidates come from: `synonyms` of the packaged table or of a thesaurus; synonyms that a user
    has `listed`; `neighbours` in a space of vectors; words of a `masked` language model. The last two must share a
    sense with the word, because a near or likely word often has another meaning.
    """
    if kind not in KINDS:
        raise unknown("kind of candidates", kind, KINDS)
    by_place = (KeepFunctionWords(), KeepQuantities(), KeepNames())
    by_pair = (OtherLexeme(), SameForm(), SamePolarity(), NotOpposed())
    if kind == "synonyms":
        sense: tuple[WordRule, ...] = (FitsSense(alike=LEAST_WITHOUT_SENSE, ambiguous=CLEAR_SENSE),)
    else:
        rule = FitsSense(unshared=kind == "listed", ambiguous=CLEAR_SENSE)
        sense = (rule,) if kind == "listed" else (Related(), rule)
    # We read 180 replacements that pass least=1e-5 (MR, AG News): 71% keep the meaning. With 1.2e-4 84% do, and 68% of
    # the good ones still pass. `times` may be larger than in quality `strict` (quality.py), as FitsSense came before.
    # Not `several`: of 56 successes read, 8 of 16 with a chance that is not known kept the meaning, 35 of 40 others.
    return (*by_place, *by_pair, *sense, InContext(times=100, least=1.2e-4, ambiguous=LIKELY, several=False))


def set_validity(attack: Attack, validity: str, *, judge: Judge | None = None, rated: bool = True) -> Attack:
    """Return the attack at a validity: `paper`, `valid` or `strict`; see the module's docstring.

    `judge` replaces the packaged judge. `rated`: under `paper` the judge rates the successes. Attacks that are meant to
    change the meaning, or that make one change for all texts, are returned unchanged.
    """
    if validity not in VALIDITIES:
        raise unknown("validity", validity, VALIDITIES)
    if attack.together is not None or isinstance(attack.goal, Kept):
        return attack
    judge = judge or Judge()
    if validity == "paper":
        return replace(attack, rater=judge) if rated else attack
    if validity == "valid":
        return replace(_guard(attack), judge=judge)
    strict = _guard(attack, KnownWords(), PerplexityRatio(most=FLUENT))
    return replace(strict, judge=replace(judge, floor=SURE, both=True))


def _guard(attack: Attack, *rules: Constraint) -> Attack:
    """Return the attack, its fallback and its stages with their candidates filtered, and with further constraints.

    An attack whose candidates misspell may change READABLE of the words, by misspellings and synonyms together.
    """
    spelt = (MaxShare(share=READABLE),) if _misspell(attack.candidates) else ()
    return replace(
        attack,
        candidates=guard(attack.candidates),
        constraints=(*attack.constraints, *spelt, *rules),
        fallback=attack.fallback and replace(attack.fallback, candidates=guard(attack.fallback.candidates)),
        stages=tuple(_guard(stage, *rules) for stage in attack.stages),
    )


def _misspell(candidates: Candidates) -> bool:
    """Whether the candidates misspell words; look-alike and invisible characters leave a text as readable as it was."""
    if isinstance(candidates, Union):
        return any(map(_misspell, candidates.of))
    if isinstance(candidates, (Filtered, Likely)):
        return _misspell(candidates.of)
    return isinstance(candidates, (CharEdits, Misspellings))


def guard(candidates: Candidates) -> Candidates:
    """Return candidates that replace a word by a word, filtered by the guards and inflected like the original word.

    Other candidates are returned unchanged. WordNet's synonyms (of any sense of the word) and neighbours in a space of
    vectors are replaced by the packaged table of synonyms, of which more keep the meaning.
    """
    if isinstance(candidates, Union):
        return Union(of=tuple(map(guard, candidates.of)))
    if isinstance(candidates, Likely):
        return replace(candidates, of=guard(candidates.of))
    if isinstance(candidates, (WordNetSynonyms, NearWords)):
        candidates = CloseSynonyms(floor=LEAST_WITH_SENSE)
    if isinstance(candidates, CloseSynonyms):
        return Filtered(of=Agreeing(of=candidates), rules=guards("synonyms"))
    if isinstance(candidates, Listed):
        return Filtered(of=Agreeing(of=candidates), rules=guards("listed"))
    if isinstance(candidates, (MaskedWords, Vocabulary)):
        return Filtered(of=Agreeing(of=candidates), rules=guards("masked"))
    return candidates
