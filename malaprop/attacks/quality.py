"""Quality of replacements: `strict` makes an attack on words keep grammar and meaning better, and breaks less."""

from __future__ import annotations

from dataclasses import replace

from malaprop.attacks.attack import Attack, Candidates, Constraint, try_in_turn
from malaprop.attacks.candidates.combined import Agreeing, Filtered, Union
from malaprop.attacks.candidates.lookup import CloseSynonyms, Listed, NearWords, Vocabulary, WordNetSynonyms
from malaprop.attacks.candidates.masked import Likely, MaskedWords
from malaprop.attacks.constraints.meaning import InContext, KeepNames, NotOpposed, OtherLexeme, Related
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError

QUALITIES = ("paper", "strict")
STRICT = ":strict"  # behind the name of a recipe
WORDS = (WordNetSynonyms, NearWords, CloseSynonyms, MaskedWords, Vocabulary, Listed, Likely)  # put words for words
LIKELY = 500  # words of a masked language model, of which few share a sense with the word
FLOOR = 0.8  # of the sentence's similarity, where the recipe asks for less
RULES = (KeepNames(), OtherLexeme(), NotOpposed(), Related(), InContext())  # the cheaper first


def set_quality(attack: Attack, quality: str | None) -> Attack:
    """Return the attack at a quality: unchanged for `paper` or None; for `strict` tightened and renamed."""
    check_quality(quality)
    if quality != "strict":
        return attack
    strict = tighten(attack)
    check_quality(quality, strict)
    return strict


def check_quality(quality: str | None, *attacks: Attack) -> None:
    """Raise on an unknown quality, and on `strict` where none of the attacks has a strict form."""
    if quality is not None and quality not in QUALITIES:
        raise unknown("quality", quality, QUALITIES)
    if quality == "strict" and attacks and not any(attack.name.endswith(STRICT) for attack in attacks):
        names = ", ".join(attack.name for attack in attacks)
        raise SettingError(
            f"{names}: quality strict is for recipes that put words for words, such as pwws or bae; leave it out here"
        )


def tighten(attack: Attack) -> Attack:
    """Return the strict form of an attack; one that does not replace words by words is returned unchanged.

    Names stay, antonyms and words of no shared sense are left out, replacements are inflected as the word is, and a
    masked language model must find them likely in their place; the sentence stays similar.
    """
    if attack.stages:
        stages = [tighten(stage) for stage in attack.stages]
        same = all(new == old for new, old in zip(stages, attack.stages, strict=True))
        return attack if same else replace(_keep_conditions(attack, try_in_turn(attack.name + STRICT, stages)))
    candidates = _tighten(attack.candidates)
    if attack.together is not None or candidates == attack.candidates:
        return attack
    fallback = attack.fallback and replace(attack.fallback, candidates=_tighten(attack.fallback.candidates))
    return replace(
        attack, name=attack.name + STRICT, candidates=candidates, fallback=fallback,
        constraints=_raise_floor(attack.constraints),
    )  # fmt: skip


def _keep_conditions(old: Attack, new: Attack) -> Attack:
    return replace(new, goal=old.goal, budget=old.budget, measures=old.measures)


def _tighten(candidates: Candidates) -> Candidates:
    if isinstance(candidates, Union):
        return Union(of=tuple(map(_tighten, candidates.of)))
    if not isinstance(candidates, WORDS):
        return candidates
    if isinstance(candidates, MaskedWords):
        candidates = replace(candidates, count=max(candidates.count, LIKELY))
    return Filtered(of=Agreeing(of=candidates), rules=RULES)


def _raise_floor(rules: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Return the constraints with a sentence similarity of at least the strict floor."""
    others = tuple(rule for rule in rules if not isinstance(rule, SentenceCosine))
    floors = [rule.floor for rule in rules if isinstance(rule, SentenceCosine)]
    return (*others, SentenceCosine(floor=max([FLOOR, *floors])))
