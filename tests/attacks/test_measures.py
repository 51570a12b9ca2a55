"""What is measured of a success besides."""

from __future__ import annotations

import numpy as np
import pytest
from toy import examples, listed, toy_services, victim

from malaprop.core.errors import SettingError
from malaprop.engine.service import FunctionService
from malaprop.frame.runs.local import run


def vectors(texts):
    """Unit vectors by length: equal for texts of one length."""
    return [np.asarray([np.cos(len(t)), np.sin(len(t))], np.float32) for t in texts]


def test_similarity_and_perplexity_of_a_success():
    model = victim()
    services = toy_services(model) | {
        "encoder": FunctionService(vectors),
        "language-model": FunctionService(lambda texts: [float(len(t)) for t in texts]),
    }
    attack = listed({"good": ("bad",)}, measures=("similarity", "perplexity"))
    (outcome,) = run(attack, model, examples(["a good film"]), services=services)
    assert outcome.status == "success"
    assert outcome.adversarial.text == "a bad film"
    assert outcome.measures == {
        "similarity": pytest.approx(np.cos(1.0), abs=1e-5),
        "perplexity_before": 11.0,
        "perplexity": 10.0,
        "perplexity_ratio": pytest.approx(10 / 11, abs=1e-5),
    }


def test_nothing_is_measured_of_a_failure_or_unasked():
    model = victim()
    (failed,) = run(
        listed({}, measures=("similarity",)), model, examples(["a good film"]), services=toy_services(model)
    )
    assert (failed.status, failed.measures) == ("failed", {})
    (won,) = run(listed({"good": ("bad",)}), model, examples(["a good film"]), services=toy_services(model))
    assert (won.status, won.measures) == ("success", {})


def test_an_unknown_measure_is_refused():
    with pytest.raises(SettingError, match="did you mean similarity"):
        listed(measures=("simlarity",))
