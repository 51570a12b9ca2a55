from __future__ import annotations

from pathlib import Path

import pytest

from malaprop.features.translation.models.train import Pair, Parts, train
from tests.features.translation.small_translators import PAIRS

SETTINGS = {
    "nmt-lstm": {"dim": 16, "units": 32, "epochs": 14, "rate": 0.02},
    "nmt-transformer": {"dim": 24, "heads": 2, "inner": 48, "layers": 1, "epochs": 30, "rate": 0.02},
}
COMMON = {"vocab": 120, "tokens": 128, "dropout": 0.0, "warmup": 20, "average": 0.5, "limit": 24, "look_from": 12}


def toy_parts() -> Parts:
    learnt = tuple(Pair(*pair) for pair in PAIRS)
    return Parts("toy", learnt, learnt[:12], learnt[:12], "toy", True)


@pytest.fixture(scope="session", params=("nmt-lstm", "nmt-transformer"))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that knows the toy pairs by heart."""
    folder = tmp_path_factory.mktemp("translators") / request.param
    train(request.param, toy_parts(), folder, settings={**COMMON, **SETTINGS[request.param]}, quiet=True)
    return folder
