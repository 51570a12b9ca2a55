"""Judges of meaning by name: the packaged one, a language model, and classifiers of the task that it refers to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.judgement import MeaningJudge
from malaprop.core.pool import Pool
from malaprop.core.score import Floats
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields, Victim, is_language_model
from malaprop.data.matching import names_of, number_of
from malaprop.frame.runs.victims import Configured

KINDS = "openai:MODEL@http://host/v1, causal:FOLDER or causal:smollm2"
NO_JUDGE = "none"  # nobody rates the successes of a recipe as published
Find = Callable[[Any], Victim]  # loads a model by its name


def check_judge_name(name: str) -> None:
    """Raise on a name that is not that of a language model; the empty name is the packaged judge."""
    if name not in ("", NO_JUDGE) and not is_language_model(name):
        raise SettingError(f"no judge is called {name!r}; expected {KINDS}, none, or nothing for the packaged judge")
    if name.startswith("openai:"):
        from malaprop.models.llm.remote import split_spec

        split_spec(name.partition("#")[0].removeprefix("openai:"))


def configure(name: str) -> Configured:
    """Return the language model of this name with the judge's question as its prompt."""
    from malaprop.models.llm.judge import ANSWERS, PROMPT

    return Configured(name, {"labels": ANSWERS, "prompt": PROMPT})


def open_named(written: str, packaged: Callable[[], MeaningJudge], find: Find) -> MeaningJudge:
    """Open a judge as its service is named: the judge's name, empty for the packaged one, and a line a reference."""
    from malaprop.models.encoders.judge import Referred
    from malaprop.models.llm.judge import LanguageJudge

    name, *references = written.split("\n")
    judge = LanguageJudge(partial(ask_whole, find(configure(name)))) if name else packaged()
    return Referred(judge, [open_reference(find(one)) for one in references]) if references else judge


def open_reference(victim: Victim) -> Any:
    """Return a classifier as a reference of a judge, its labels matched by name where both sides have names."""
    from malaprop.models.encoders.judge import Reference

    return Reference(partial(ask_whole, victim), partial(number_of, names_of(victim)))


def ask_whole(victim: Victim, texts: Sequence[Fields]) -> Floats:
    """Return a model's scores of whole texts [text, label], from its cache and in batches where it has them."""
    table, rows = Words(), dict.fromkeys(texts)
    made = [Text.of({f"field {i}": v for i, v in enumerate(row)}, table, at) for at, row in enumerate(rows)]
    pool = Pool([Variants.itself(text) for text in made])
    found = dict(zip(rows, victim.finish(victim.begin(pool, np.arange(pool.size))), strict=True))
    return np.stack([found[row] for row in texts])


def check_reference(reference: Victim, victim: Victim) -> None:
    """Raise on a reference that cannot say whether a label is lost: one without labels, or the victim itself."""
    if reference.labels == 1:
        raise VictimError(f"--judge-reference {reference.name} gives a number, and a reference gives labels")
    layer: Victim | None = victim
    while layer is not None:
        if reference is layer or (reference.fingerprint and reference.fingerprint == layer.fingerprint):
            raise VictimError(
                f"--judge-reference {reference.name} is the victim itself, which would judge its own errors; "
                "name other models of the task"
            )
        layer = layer.inside
