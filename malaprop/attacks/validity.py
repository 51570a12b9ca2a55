"""How far an attack must keep the meaning of a text: as the paper has it, behind guards and a judge, or strictly.

`set_validity` gives an attack one of three forms. `paper` leaves it as it is; its successes may be rated. `valid` puts
guards before the words that it may take, and a judge of meaning before the texts that it may choose. `strict` asks
more of both: the judge is asked both ways, a language model must find the text fluent, and all words are known.
"""

from __future__ import annotations

from dataclasses import replace

from malaprop.attacks.attack import Attack, Candidates, WordRule
from malaprop.attacks.candidates.combined import Agreeing, Filtered, Union
from malaprop.attacks.candidates.lookup import CloseSynonyms, Listed, NearWords, Vocabulary, WordNetSynonyms
from malaprop.attacks.candidates.masked import Likely, MaskedWords
from malaprop.attacks.constraints.guards import KeepFunctionWords, KeepQuantities, SameForm, SamePolarity
from malaprop.attacks.constraints.language import KnownWords, PerplexityRatio
from malaprop.attacks.constraints.meaning import InContext, KeepNames, NotOpposed, OtherLexeme, Related
from malaprop.attacks.constraints.senses import FitsSense
from malaprop.attacks.goals.goal import Kept
from malaprop.attacks.judge import Judge
from malaprop.core.catalogue import unknown

KINDS = ("synonyms", "listed", "neighbours", "masked")
VALIDITIES = ("paper", "valid", "strict")
# Words of the table of synonyms that share a fitting sense with the word score `LEAST`, others `ALIKE`. Of 130 pairs
# drawn in MR and AG News and read, 57 of 63 that pass by these kept the meaning, and 54 of 68 neighbours that passed.
LEAST, ALIKE = 0.45, 0.55
SURE = 0.85  # the least number of the judge for a strict attack, whichever way it is asked
FLUENT = 2.0  # times the perplexity of the original that a strict attack may reach


def guards(kind: str) -> tuple[WordRule, ...]:
    """Return the constraints on words that keep a text's meaning, the cheapest first.

    `kind` says where the candidates come from: `synonyms` of the packaged table or of a thesaurus; synonyms that a user
    has `listed`; `neighbours` in a space of vectors; words of a `masked` language model. The last two must share a
    sense with the word, as what is near or likely often means something else.
    """
    if kind not in KINDS:
        raise unknown("kind of candidates", kind, KINDS)
    by_place = (KeepFunctionWords(), KeepQuantities(), KeepNames())
    by_pair = (OtherLexeme(), SameForm(), SamePolarity(), NotOpposed())
    if kind == "synonyms":
        sense: tuple[WordRule, ...] = (FitsSense(alike=ALIKE),)
    else:
        sense = (FitsSense(),) if kind == "listed" else (Related(), FitsSense(unshared=False))
    # Of 180 replacements that passed least=1e-5, read in MR and AG News, 71% kept the meaning; of those that pass this,
    # 84%, with 68% of the good ones among them. `times` may be wider than in `strict`, as the sense was judged already.
    return (*by_place, *by_pair, *sense, InContext(times=100, least=1.2e-4, several=kind == "synonyms"))


def set_validity(attack: Attack, validity: str, *, judge: Judge | None = None, rated: bool = True) -> Attack:
    """Return the attack at a validity: `paper`, `valid` or `strict`; see the module's docstring.

    `judge` is another judge than the packaged one. `rated`: a paper's attack has its successes rated by the judge.
    Attacks that mean to change what a text says, or that change all texts at once, stay as they are.
    """
    if validity not in VALIDITIES:
        raise unknown("validity", validity, VALIDITIES)
    if attack.together is not None or isinstance(attack.goal, Kept):
        return attack
    judge = judge or Judge()
    if validity == "paper":
        return replace(attack, rater=judge) if rated else attack
    guarded = _guard(attack)
    if validity == "valid":
        return replace(guarded, judge=judge)
    rules = (*attack.constraints, KnownWords(), PerplexityRatio(most=FLUENT))
    return replace(guarded, constraints=rules, judge=replace(judge, floor=SURE, both=True))


def _guard(attack: Attack) -> Attack:
    """Return the attack with its candidates, and those of its fallback and stages, behind the guards."""
    fallback = attack.fallback and replace(attack.fallback, candidates=guard(attack.fallback.candidates))
    stages = tuple(map(_guard, attack.stages))
    return replace(attack, candidates=guard(attack.candidates), fallback=fallback, stages=stages)


def guard(candidates: Candidates) -> Candidates:
    """Return candidates that put words for words behind the guards, in the form of the word; others as they are.

    WordNet's synonyms, of any sense of the word, and neighbours in a space of vectors give way to the packaged table of
    synonyms, which has more that keep the meaning and fewer that do not.
    """
    if isinstance(candidates, Union):
        return Union(of=tuple(map(guard, candidates.of)))
    if isinstance(candidates, Likely):
        return replace(candidates, of=guard(candidates.of))
    if isinstance(candidates, (WordNetSynonyms, NearWords)):
        candidates = CloseSynonyms(floor=LEAST)
    if isinstance(candidates, CloseSynonyms):
        return Filtered(of=Agreeing(of=candidates), rules=guards("synonyms"))
    if isinstance(candidates, Listed):
        return Filtered(of=Agreeing(of=candidates), rules=guards("listed"))
    if isinstance(candidates, (MaskedWords, Vocabulary)):
        return Filtered(of=Agreeing(of=candidates), rules=guards("masked"))
    return candidates
