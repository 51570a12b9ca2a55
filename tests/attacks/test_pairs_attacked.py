"""Attacks on pairs: the field that stays counts neither for shares nor for similarity, and both must be there."""

from __future__ import annotations

import numpy as np
import pytest
from toy import examples, listed, toy_services, victim

from malaprop.attacks.constraints.edits import MaxShare
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.engine.service import FunctionService
from malaprop.frame.runs.local import run

PREMISE = "a film that is as long as this one is and then some more of it"
PAIR = {"premise": PREMISE, "hypothesis": "a good fine film"}


def attacked(attack, fields=PAIR, *, label=1, asked=None, **more):
    """The outcome on one pair; the texts that the encoder is asked for go to `asked`."""
    model = victim()

    def vectors(texts):
        if asked is not None:
            asked.extend(texts)
        return [np.asarray([1.0, 0.0], np.float32) for _ in texts]

    services = toy_services(model) | {
        "encoder": FunctionService(vectors),
        "encoder/rough": FunctionService(vectors),
        "language-model": FunctionService(lambda t: [1.0] * len(t)),
    }
    return next(run(attack, model, examples([fields], label=label, **more), services=services))


def test_similarity_is_that_of_the_field_that_may_change():
    asked: list[str] = []
    attack = listed({"good": ("awful",)}, constraints=(SentenceCosine(floor=0.5),), measures=("similarity",))
    outcome = attacked(attack, asked=asked, editable=("hypothesis",))
    assert outcome.status == "success"
    assert set(asked) == {"a good fine film", "a awful fine film"}
    asked.clear()
    attacked(attack, asked=asked, editable=("premise", "hypothesis"))
    assert f"{PREMISE}\na good fine film" in asked


def test_the_share_of_changed_words_is_of_those_that_may_change():
    outcome = attacked(listed({"good": ("awful",)}), editable=("hypothesis",))
    assert outcome.changed_share == pytest.approx(1 / 4)
    outcome = attacked(listed({"good": ("awful",)}), editable=("premise", "hypothesis"))
    assert outcome.changed_share == pytest.approx(1 / 20)


@pytest.mark.parametrize(("share", "status"), [(0.25, "failed"), (0.5, "success")])
def test_a_bound_on_the_share_is_of_those_that_may_change(share, status):
    """Two of four words must change; of the twenty of both fields that would be a tenth."""
    attack = listed({"good": ("okay",), "fine": ("poor",)}, constraints=(MaxShare(share=share),))
    assert attacked(attack, editable=("hypothesis",)).status == status


@pytest.mark.parametrize("empty", ["premise", "hypothesis"])
@pytest.mark.parametrize("blank", ["", " \n"])
def test_an_empty_field_is_an_error_of_its_own_row_alone(empty, blank):
    model = victim()
    rows = examples([PAIR | {empty: blank}, PAIR], label=1, editable=("hypothesis",))
    first, second = sorted(
        run(listed({"good": ("awful",)}), model, rows, services=toy_services(model)), key=lambda o: o.id != rows[0].id
    )
    assert (first.status, first.reason) == ("error", f"the {empty} is empty; a pair needs both")
    assert first.queries.asked == 0
    assert second.status == "success"
