"""The same study on a Ray of two workers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import toy

from malaprop.core.errors import VictimError
from malaprop.data.base import Dataset
from malaprop.runs.cluster.session import join
from malaprop.transfer.campaign import Campaign
from malaprop.transfer.entrants import Entrant
from malaprop.transfer.hands import Here
from malaprop.transfer.onray import OnRay
from malaprop.transfer.shelf import Place
from malaprop.transfer.study import transfer

HERE = Path(__file__).parent
DATA = Dataset(name="toy", examples=tuple(toy.some_examples(30)), labels=("bad", "good"))
JUDGES = """
import toy

def plain(texts):
    return toy.predict(texts)

def sour(texts):
    return toy.predict([text + " poor" for text in texts])

def sweet(texts):
    return toy.predict([text + " fine" for text in texts])
"""


@pytest.fixture
def cluster(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE.parent), str(HERE.parents[1])]))
    with join(workers=2) as found:
        yield found


@pytest.mark.slow
def test_the_same_study_as_in_one_process(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rayjudges.py").write_text(JUDGES)
    entrants = [Entrant.of(f"rayjudges:{name}") for name in ("plain", "sour", "sweet")]
    found = []
    for hands in (Here(Place()), OnRay(cluster, Place(device="auto"), workers=2)):
        campaign = Campaign(hands=hands, data=DATA, attack=toy.listed())
        found.append(transfer(entrants, campaign, tmp_path / type(hands).__name__))
    assert found[0].hits == found[1].hits
    assert found[0].totals == found[1].totals
    hands = OnRay(cluster, Place(device="auto"), workers=2)
    with pytest.raises(VictimError, match="rayjudges:none"):
        transfer([entrants[0], Entrant.of("rayjudges:none")], Campaign(hands=hands, data=DATA, attack=toy.listed()),
                 tmp_path / "none")  # fmt: skip
