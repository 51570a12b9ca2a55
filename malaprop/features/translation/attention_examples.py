"""Attention of a few successes before and after, as records (Figure 3 of Hsieh et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from malaprop.features.translation.models.looking import Look
from malaprop.features.translation.models.translator import Translator
from malaprop.features.translation.models.victim import OwnTranslator
from malaprop.features.translation.record import TranslationMap, TranslationSight
from malaprop.frame.records.outcome import Outcome


def sights(attack: str, translator: Translator, outcomes: Iterable[Outcome], most: int) -> list[TranslationSight]:
    """The first successes by id; none of a victim that shows no attention."""
    if not isinstance(translator, OwnTranslator):
        return []
    won = sorted((o for o in outcomes if o.status == "success"), key=lambda o: o.id)
    return [_sight(attack, translator, outcome) for outcome in islice(won, most)]


def _sight(attack: str, translator: OwnTranslator, outcome: Outcome) -> TranslationSight:
    assert outcome.adversarial is not None
    sides = outcome.original.fields, outcome.adversarial.fields
    before, after = (_map(translator.look(side["source"], side["translation"])) for side in sides)
    pairs = enumerate(zip(before.source, after.source, strict=False))
    changed = tuple(i for i, (a, b) in pairs if a != b)
    return TranslationSight(attack=attack, victim=translator.name, before=before, after=after, changed=changed)


def _map(found: Look) -> TranslationMap:
    weights = tuple(tuple(round(float(value), 4) for value in row) for row in found.weights)
    return TranslationMap(source=found.source, output=found.output, weights=weights)
