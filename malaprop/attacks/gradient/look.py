"""Send requests for gradients: count them, keep to the budget, and hold the best text so far."""

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
    """Return the loss for the goal: away from the true label, and from that of rejection; or towards the target."""
    given = trial.attack.goal
    goal, rejected = (given.goal, given.rejected) if isinstance(given, Accepted) else (given, None)
    if isinstance(goal, Targeted):
        return Aim(label=goal.target, away=False, odds=odds)
    return Aim(label=trial.example.label, beside=rejected, odds=odds)


def look(trial: Trial, looks: Sequence[CharLook | WordLook | SlotLook]) -> Steps[list[tuple[Any, Held]]]:
    """Send requests for gradients, one query each; return each answer with the scored text that it belongs to.

    Requests beyond the budget are dropped. The text of each other request is held as the result so far if it is better.
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
    """Score a text by the goal, and hold it where it is better."""
    goal, label = trial.attack.goal, trial.example.label
    answers = np.asarray(answer, np.float32)[None]
    return trial.take(
        Scored(Variants.itself(text), answers, goal.values(answers, label), goal.reached(answers, label)), 0
    )


def filter_allowed(trial: Trial, texts: Sequence[Text]) -> Steps[list[Text]]:
    """Return the texts that satisfy the constraints on edits and on whole texts."""
    flags = trial.allows(Variants.between(trial.origin, texts))
    fine = [text for text, flag in zip(texts, flags.tolist(), strict=True) if flag]
    admitted = (yield from trial.admit(fine)) if fine else np.empty(0, np.bool_)
    return [text for text, flag in zip(fine, admitted.tolist(), strict=True) if flag]
