"""Looks, as a search asks for them: counted, within the budget, and held where they are better than what is held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from malaprop.attacks.goals.goal import Accepted, Targeted
from malaprop.attacks.trial import Held, Spent, Trial
from malaprop.core.ask import Ask, Steps
from malaprop.core.gradient import Aim, CharLook, SlotLook, WordLook
from malaprop.core.score import Floats, Scored
from malaprop.core.text import Text
from malaprop.core.variants import Variants


def aim(trial: Trial, *, odds: bool) -> Aim:
    """Away from the true label, and from that of rejecting the text where the victim has it; or towards the target."""
    given = trial.attack.goal
    goal, rejected = (given.goal, given.rejected) if isinstance(given, Accepted) else (given, None)
    if isinstance(goal, Targeted):
        return Aim(label=goal.target, away=False, odds=odds)
    return Aim(label=trial.example.label, beside=rejected, odds=odds)


def look(trial: Trial, looks: Sequence[CharLook | WordLook | SlotLook]) -> Steps[list[tuple[Any, Held]]]:
    """Answers with what each look's own text came to; a look counts as one query.

    Looks that the budget no longer covers are left out. Of the others each text is held if it is better than what is
    held, unless a constraint on texts forbids it.
    """
    if trial.attack.budget is not None:
        left = trial.attack.budget - trial.asked
        if left < 1:
            raise Spent
        looks = looks[:left]
    trial.asked += len(looks)
    trial.tried += sum(bool(len(one.text.changed(trial.origin))) for one in looks)
    seen = yield Ask("gradient", looks)
    found = [judge_look(trial, one.text, answer.answer) for one, answer in zip(looks, seen, strict=True)]
    return list(zip(seen, found, strict=True))


def judge_look(trial: Trial, text: Text, answer: Floats) -> Held:
    """A text in the light of the goal, held where it is better."""
    goal, label = trial.attack.goal, trial.example.label
    answers = np.asarray(answer, np.float32)[None]
    return trial.take(
        Scored(Variants.itself(text), answers, goal.values(answers, label), goal.reached(answers, label)), 0
    )


def filter_allowed(trial: Trial, texts: Sequence[Text]) -> Steps[list[Text]]:
    """The texts that keep the constraints on edits and on whole texts."""
    flags = trial.allows(Variants.between(trial.origin, texts))
    fine = [text for text, flag in zip(texts, flags.tolist(), strict=True) if flag]
    admitted = (yield from trial.admit(fine)) if fine else np.empty(0, np.bool_)
    return [text for text, flag in zip(fine, admitted.tolist(), strict=True) if flag]
